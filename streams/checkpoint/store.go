package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Store keeps the checkpoints of many entities in one directory: a folder for each entity, a file for each
// checkpoint. Different entities may be used by different goroutines; one entity has one user.
type Store struct {
	dir string
	fs  files
}

// Open makes the directory (by custom checkpoints in the data directory) and removes what a killed process left
// unfinished.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir, fs: osFiles{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	unfinished, err := filepath.Glob(filepath.Join(dir, "*", "*"+tempSuffix))
	if err != nil {
		return nil, fmt.Errorf("open checkpoints %s: %w", dir, err)
	}
	for _, f := range unfinished {
		if err := os.Remove(f); err != nil {
			return nil, fmt.Errorf("open checkpoints: remove an unfinished one: %w", err)
		}
	}
	return s, nil
}

// ErrNone says that an entity has no checkpoint. It is then rebuilt from the log.
var ErrNone = errors.New("no checkpoint")

// DamagedError says that a checkpoint cannot be read. It is never loaded; the one before it is.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("checkpoint %s is damaged: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

const (
	suffix     = ".ckpt"
	tempSuffix = ".tmp"
)

// Info describes a stored checkpoint.
type Info struct {
	Entity string
	Number uint64 // grows with each checkpoint of the entity
	Path   string
	Bytes  int64
}

// Save stores a checkpoint durably: when it returns, the file is complete on the disk under its name, or it is not
// there at all. It returns what was stored. The entity is any name.
func (s *Store) Save(entity string, m Meta, state []byte) (Info, error) {
	have, err := s.List(entity)
	if err != nil {
		return Info{}, err
	}
	n := uint64(1)
	if len(have) > 0 {
		n = have[0].Number + 1
	}
	path := s.path(entity, n)
	size, err := s.write(path, entity, m, state)
	if err != nil {
		return Info{}, fmt.Errorf("save checkpoint of %s: %w", entity, err)
	}
	return Info{Entity: entity, Number: n, Path: path, Bytes: size}, nil
}

func (s *Store) write(path, entity string, m Meta, state []byte) (int64, error) {
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return 0, err
		}
		if err := s.fs.syncDir(s.dir); err != nil {
			return 0, err
		}
	}
	head, sum, err := encode(entity, m, state)
	if err != nil {
		return 0, err
	}
	temp := path + tempSuffix
	if err := s.fs.writeSync(temp, head, state, sum); err != nil {
		return 0, errors.Join(err, remove(temp))
	}
	if err := s.fs.rename(temp, path); err != nil {
		return 0, errors.Join(err, remove(temp))
	}
	return int64(len(head) + len(state) + len(sum)), s.fs.syncDir(folder)
}

// Load reads the newest checkpoint that is readable and fits: accept, when it is not nil, may refuse one by its
// description (another version of the query, positions that the log does not have any more), and the one before is
// tried. damaged lists what was skipped and why. ErrNone says that nothing is left.
func (s *Store) Load(entity string, accept func(Meta) error) (m Meta, state []byte, skipped []error, err error) {
	all, err := s.List(entity)
	if err != nil {
		return Meta{}, nil, nil, err
	}
	for _, in := range all {
		m, state, err := s.Read(in)
		if err == nil && accept != nil {
			err = accept(m)
		}
		if err == nil {
			return m, state, skipped, nil
		}
		skipped = append(skipped, err)
	}
	return Meta{}, nil, skipped, fmt.Errorf("load checkpoint of %s: %w", entity, ErrNone)
}

// Read reads one checkpoint. A [*DamagedError] says that the file is torn, changed, or of another entity.
func (s *Store) Read(in Info) (Meta, []byte, error) {
	b, err := os.ReadFile(in.Path)
	if err != nil {
		return Meta{}, nil, fmt.Errorf("read checkpoint: %w", err)
	}
	entity, m, state, err := decode(b)
	if err == nil && entity != in.Entity {
		err = fmt.Errorf("it is of %q", entity)
	}
	if err != nil {
		return Meta{}, nil, &DamagedError{Path: in.Path, Err: err}
	}
	return m, state, nil
}

// List gives the checkpoints of an entity, the newest first.
func (s *Store) List(entity string) ([]Info, error) {
	folder := filepath.Join(s.dir, encodeName(entity))
	items, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list checkpoints of %s: %w", entity, err)
	}
	var all []Info
	for _, it := range items {
		digits, ok := strings.CutSuffix(it.Name(), suffix)
		n, err := strconv.ParseUint(digits, 10, 64)
		if !ok || err != nil {
			continue
		}
		in := Info{Entity: entity, Number: n, Path: filepath.Join(folder, it.Name())}
		if fi, err := it.Info(); err == nil {
			in.Bytes = fi.Size()
		}
		all = append(all, in)
	}
	slices.SortFunc(all, func(a, b Info) int { return int(int64(b.Number) - int64(a.Number)) })
	return all, nil
}

// Entities lists the entities that have a folder, for a sweep of those that are gone.
func (s *Store) Entities() ([]string, error) {
	items, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	var names []string
	for _, it := range items {
		if name, err := decodeName(it.Name()); err == nil && it.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// Prune keeps the newest checkpoints of an entity, at least one.
func (s *Store) Prune(entity string, keep int) error {
	all, err := s.List(entity)
	if err != nil {
		return err
	}
	for _, in := range all[min(len(all), max(keep, 1)):] {
		if err := remove(in.Path); err != nil {
			return fmt.Errorf("prune checkpoints of %s: %w", entity, err)
		}
	}
	return nil
}

// Remove deletes every checkpoint of an entity.
func (s *Store) Remove(entity string) error {
	if err := os.RemoveAll(filepath.Join(s.dir, encodeName(entity))); err != nil {
		return fmt.Errorf("remove checkpoints of %s: %w", entity, err)
	}
	return s.fs.syncDir(s.dir)
}

func (s *Store) path(entity string, n uint64) string {
	return filepath.Join(s.dir, encodeName(entity), fmt.Sprintf("%020d%s", n, suffix))
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/streamsforge/streamsforge/server/view"
)

// Open reads the catalog. Entries that cannot be read are an error: starting without a definition would stop what it
// runs.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{opt: o, waiters: map[chan struct{}]struct{}{}, touched: map[string]keyUse{}}
	if err := s.reload(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// reload replaces the snapshot by what is stored now. Facts of queries are computed again: the engine that runs is
// the one that decides what they mean.
func (s *Store) reload(ctx context.Context) error {
	entries, err := s.opt.Bucket.All(ctx)
	if err != nil {
		return fmt.Errorf("read the catalog: %w", err)
	}
	sn := newSnapshot(DefaultEnvironment)
	for _, e := range entries {
		if e.Key == counterKey {
			var c counter
			if err := json.Unmarshal(e.Value, &c); err != nil {
				return fmt.Errorf("catalog entry %s: %w", counterKey, err)
			}
			sn.Version, sn.counter = c.Revision, e.Revision
			continue
		}
		if err := sn.put(e); err != nil {
			return err
		}
	}
	if old := s.current.Load(); old != nil && old.Version >= sn.Version {
		sn.Version = old.Version + 1
	}
	sn.index()
	s.compileAll(sn)
	s.current.Store(sn)
	return nil
}

// counter is the value of counter.revision: how many writes the catalog has seen.
type counter struct {
	Revision uint64 `json:"revision"`
}

// change is what one operation stores: values to put, keys to delete, and the events to publish once it is stored.
// Every put names the record whose Stored revision it replaces (0: it must not exist).
type change struct {
	sources       []*SourceRecord
	pipelines     []*PipelineRecord
	tables        []*TableRecord
	dropSource    *SourceRecord
	dropPipeline  *PipelineRecord
	dropTable     *TableRecord
	events        []view.LifecycleEvent
	reshaped      []string // relations whose shape or existence changed: dependents are compiled again
	onlyBookmarks bool     // nothing a worker follows: nobody is woken
}

// mutate runs one operation: plan decides on a snapshot what to store, mutate stores it with compare-and-set. When
// another process was faster, the catalog is read again and plan decides again.
func (s *Store) mutate(ctx context.Context, env string, plan func(sn *Snapshot) (*change, error)) error {
	if _, err := s.Snapshot(env); err != nil {
		return err
	}
	const attempts = 5 // a busy catalog of several processes settles in one or two
	s.write.Lock()
	defer s.write.Unlock()
	for range attempts {
		c, err := plan(s.current.Load())
		if err != nil || c == nil {
			return err
		}
		err = s.store(ctx, c)
		if errors.Is(err, ErrRevision) {
			if err := s.reload(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("store the definition: %w", err)
		}
		return nil
	}
	return ErrRevision
}

// store writes a change, replaces the snapshot, refreshes dependents, wakes the runtime and publishes the events. A
// change of several entities is not one transaction: the first is the one that was asked for, the others follow from
// it and are made up for at the next open.
func (s *Store) store(ctx context.Context, c *change) error {
	next := s.current.Load().clone()
	if err := s.put(ctx, next, c); err != nil {
		return err
	}
	next.Version++
	s.count(ctx, next)
	next.index()
	if len(c.reshaped) > 0 {
		s.refresh(ctx, next, c.reshaped)
	}
	s.current.Store(next)
	if !c.onlyBookmarks {
		s.wake()
	}
	if s.opt.Publish != nil {
		for _, e := range c.events {
			e.TimestampMs = s.opt.Now().UnixMilli()
			s.opt.Publish(next.Env, e)
		}
	}
	return nil
}

func (s *Store) put(ctx context.Context, sn *Snapshot, c *change) error {
	for _, r := range c.sources {
		rev, err := s.save(ctx, sourcePrefix+encodeKey(r.Name), r.encode(), r.Stored)
		if err != nil {
			return err
		}
		r.Stored = rev
		sn.sources[r.Name] = r
	}
	for _, r := range c.pipelines {
		rev, err := s.save(ctx, pipelinePrefix+r.ID, r.encode(), r.Stored)
		if err != nil {
			return err
		}
		r.Stored = rev
		sn.pipelines[r.ID] = r
	}
	for _, r := range c.tables {
		rev, err := s.save(ctx, tablePrefix+r.ID, r.encode(), r.Stored)
		if err != nil {
			return err
		}
		r.Stored = rev
		sn.tables[r.ID] = r
	}
	if r := c.dropSource; r != nil {
		if err := s.opt.Bucket.Delete(ctx, sourcePrefix+encodeKey(r.Name), r.Stored); err != nil {
			return err
		}
		delete(sn.sources, r.Name)
	}
	if r := c.dropPipeline; r != nil {
		if err := s.opt.Bucket.Delete(ctx, pipelinePrefix+r.ID, r.Stored); err != nil {
			return err
		}
		delete(sn.pipelines, r.ID)
	}
	if r := c.dropTable; r != nil {
		if err := s.opt.Bucket.Delete(ctx, tablePrefix+r.ID, r.Stored); err != nil {
			return err
		}
		delete(sn.tables, r.ID)
	}
	return nil
}

// maxDefinition bounds one stored definition, well below what one message of the store may hold.
const maxDefinition = 1 << 20

func (s *Store) save(ctx context.Context, key string, value []byte, expect uint64) (uint64, error) {
	if len(value) > maxDefinition {
		return 0, view.Errorf(view.TooLarge, "the definition has %d bytes: at most %d are stored", len(value), maxDefinition)
	}
	if expect == 0 {
		return s.opt.Bucket.Create(ctx, key, value)
	}
	return s.opt.Bucket.Update(ctx, key, value, expect)
}

// count stores the catalog's version. It is a bookmark: losing a race means that another process has counted.
func (s *Store) count(ctx context.Context, sn *Snapshot) {
	value, _ := json.Marshal(counter{Revision: sn.Version})
	rev, err := s.save(ctx, counterKey, value, sn.counter)
	if err != nil {
		s.opt.Logger.Warn("the catalog's version was not stored", "env", sn.Env, "version", sn.Version, "error", err)
		return
	}
	sn.counter = rev
}

func (sn *Snapshot) clone() *Snapshot {
	return &Snapshot{
		Env: sn.Env, Version: sn.Version, counter: sn.counter,
		sources: maps.Clone(sn.sources), pipelines: maps.Clone(sn.pipelines), tables: maps.Clone(sn.tables),
	}
}

// owner says who has a relation name, "" when it is free. Of two owners (catalogs from before the rule) any is named.
func (sn *Snapshot) owner(name string) InputKind {
	switch {
	case sn.sources[name] != nil:
		return InputSource
	case len(sn.tableNames[name]) > 0:
		return InputTable
	case len(sn.pipelineNames[name]) > 0:
		return InputPipeline
	}
	return ""
}

// free refuses a name that another entity has. Rule 1: one namespace of relation names.
func (sn *Snapshot) free(name string, kind InputKind) error {
	owner := sn.owner(name)
	switch owner {
	case "":
		return nil
	case kind:
		return view.Errorf(view.Conflict, "Name '%s' is already used by another %s", name, owner)
	}
	return view.Errorf(view.Conflict, "Name '%s' is already used by a %s", name, owner)
}

const hexDigits = "0123456789ABCDEF"

// encodeKey writes a name as one token of a KV key: every byte outside A-Z, a-z, 0-9, '_' and '-' becomes =XX, as in
// subjects and stream names.
func encodeKey(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			b.WriteByte(c)
		default:
			b.WriteByte('=')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/streams/checkpoint"
)

var update = flag.Bool("update", false, "write the golden file anew")

func open(t testing.TB, dir string) *checkpoint.Store {
	t.Helper()
	s, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func save(t testing.TB, s *checkpoint.Store, entity string, epoch uint64, state string) checkpoint.Info {
	t.Helper()
	in, err := s.Save(entity, checkpoint.Meta{Epoch: epoch}, []byte(state))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

var full = checkpoint.Meta{
	Epoch: 4711, TimeMs: 1_700_000_000_000, Term: 3, Generation: 2, Plan: "9f3c2a", Inputs: map[string]uint64{"trades#x": 815, "quotes#y": 0},
	Journal: 99, JournalIncarnation: "z", SavedMs: 1_700_000_000_123, Extra: json.RawMessage(`{"rows":7}`),
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, state := range [][]byte{nil, []byte("state"), bytes.Repeat([]byte{0, 255}, 1<<20)} {
		if _, err := s.Save("table/a b", full, state); err != nil {
			t.Fatal(err)
		}
		m, got, skipped, err := open(t, dir).Load("table/a b", nil)
		if err != nil || len(skipped) > 0 || !reflect.DeepEqual(m, full) || !bytes.Equal(got, state) {
			t.Fatalf("loaded %+v with %d bytes, %v, %v", m, len(got), skipped, err)
		}
	}
}

func TestTheNewestIsLoadedAndOldOnesArePruned(t *testing.T) {
	s := open(t, t.TempDir())
	if _, _, _, err := s.Load("a", nil); !errors.Is(err, checkpoint.ErrNone) {
		t.Fatalf("without any: %v, want ErrNone", err)
	}
	for e := range uint64(12) {
		save(t, s, "a", e, "x")
	}
	save(t, s, "b", 77, "y") // Another entity.
	if err := s.Prune("a", 2); err != nil {
		t.Fatal(err)
	}
	all, err := s.List("a")
	if err != nil || len(all) != 2 || all[0].Number != 12 || all[1].Number != 11 {
		t.Fatalf("kept %+v, %v", all, err)
	}
	if m, _, _, err := s.Load("a", nil); err != nil || m.Epoch != 11 {
		t.Fatalf("loaded epoch %d, %v", m.Epoch, err)
	}
	if in := save(t, s, "a", 12, "x"); in.Number != 13 {
		t.Fatalf("number %d after pruning", in.Number)
	}
	if err := s.Prune("a", 0); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.List("a"); len(all) != 1 {
		t.Fatal("the last one was pruned")
	}
	if names, err := s.Entities(); err != nil || strings.Join(names, " ") != "a b" {
		t.Fatalf("entities %q, %v", names, err)
	}
	if err := s.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.Load("a", nil); !errors.Is(err, checkpoint.ErrNone) {
		t.Fatalf("after removal: %v", err)
	}
}

// Whatever happens to a file is found, said with its path, and the checkpoint before is loaded.
func TestADamagedFileIsSkipped(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"empty":                 func(b []byte) []byte { return nil },
		"torn in the head":      func(b []byte) []byte { return b[:7] },
		"torn in the meta":      func(b []byte) []byte { return b[:30] },
		"torn in the state":     func(b []byte) []byte { return b[:len(b)-40] },
		"torn in the checksum":  func(b []byte) []byte { return b[:len(b)-1] },
		"one byte more":         func(b []byte) []byte { return append(b, 0) },
		"a bit in the meta":     func(b []byte) []byte { b[20] ^= 1; return b },
		"a bit in the state":    func(b []byte) []byte { b[len(b)-35] ^= 64; return b },
		"a bit in the checksum": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"another program":       func(b []byte) []byte { b[0] = 'X'; return b },
		"another version":       func(b []byte) []byte { b[4] = 9; return b },
		"zeros":                 func(b []byte) []byte { return make([]byte, len(b)) },
		"a huge length":         func(b []byte) []byte { b[6], b[7], b[8], b[9] = 255, 255, 255, 255; return b },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			save(t, s, "a", 1, "the state of epoch one")
			bad := save(t, s, "a", 2, "the state of epoch two")
			b, err := os.ReadFile(bad.Path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(bad.Path, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			m, state, skipped, err := s.Load("a", nil)
			if err != nil || m.Epoch != 1 || string(state) != "the state of epoch one" {
				t.Fatalf("loaded epoch %d, %q, %v", m.Epoch, state, err)
			}
			var damaged *checkpoint.DamagedError
			if len(skipped) != 1 || !errors.As(skipped[0], &damaged) || damaged.Path != bad.Path || !strings.Contains(skipped[0].Error(), bad.Path) {
				t.Fatalf("skipped %v, want one that names %s", skipped, bad.Path)
			}
		})
	}
}

func TestAFileOfAnotherEntityIsSkipped(t *testing.T) {
	s := open(t, t.TempDir())
	a, b := save(t, s, "a", 1, "a"), save(t, s, "b", 2, "b")
	if err := os.Rename(b.Path, a.Path); err != nil {
		t.Fatal(err)
	}
	if _, _, skipped, err := s.Load("a", nil); !errors.Is(err, checkpoint.ErrNone) || len(skipped) != 1 || !strings.Contains(skipped[0].Error(), `"b"`) {
		t.Fatalf("loaded the file of another entity: %v, %v", skipped, err)
	}
}

func TestTheOwnerMayRefuseACheckpoint(t *testing.T) {
	s := open(t, t.TempDir())
	for e := range uint64(4) {
		save(t, s, "a", e, "x")
	}
	ahead := errors.New("the journal ends before it")
	m, _, skipped, err := s.Load("a", func(m checkpoint.Meta) error {
		if m.Epoch > 1 {
			return ahead
		}
		return nil
	})
	if err != nil || m.Epoch != 1 || len(skipped) != 2 || !errors.Is(skipped[0], ahead) {
		t.Fatalf("loaded epoch %d, skipped %v, %v", m.Epoch, skipped, err)
	}
}

func TestOpenRemovesWhatIsUnfinished(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	in := save(t, s, "a", 1, "x")
	temp := filepath.Join(filepath.Dir(in.Path), "00000000000000000002.ckpt.tmp")
	other := filepath.Join(filepath.Dir(in.Path), "notes.txt")
	for _, f := range []string{temp, other} {
		if err := os.WriteFile(f, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir)
	if _, err := os.Stat(temp); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the unfinished file is still there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file of somebody else was touched: %v", err)
	}
	if m, _, skipped, err := s.Load("a", nil); err != nil || m.Epoch != 1 || len(skipped) > 0 {
		t.Fatalf("loaded %+v, %v, %v", m, skipped, err)
	}
}

func TestANameIsNeverAPath(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "checkpoints"))
	save(t, s, "../../evil", 1, "x")
	items, err := os.ReadDir(dir)
	if err != nil || len(items) != 1 {
		t.Fatalf("beside the store: %v, %v", items, err)
	}
}

// Invariant 8: what an older version has written is read.
func TestGoldenFile(t *testing.T) {
	golden := filepath.Join("testdata", "v1.ckpt")
	s := open(t, t.TempDir())
	in, err := s.Save("table/positions", full, []byte("state"))
	if err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(in.Path)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(now, want) {
		t.Errorf("this version writes other bytes than the one before")
	}
	if err := os.WriteFile(in.Path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	if m, state, _, err := s.Load("table/positions", nil); err != nil || !reflect.DeepEqual(m, full) || string(state) != "state" {
		t.Fatalf("read %+v, %q, %v", m, state, err)
	}
}

func FuzzRead(f *testing.F) {
	b, err := os.ReadFile(filepath.Join("testdata", "v1.ckpt"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte("SFCK"))
	s := open(f, f.TempDir())
	in := save(f, s, "table/positions", 1, "x")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(in.Path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		m, state, err := s.Read(in)
		var damaged *checkpoint.DamagedError
		if err != nil && !errors.As(err, &damaged) {
			t.Fatalf("%v is no DamagedError", err)
		}
		if err == nil {
			again, err := s.Save(in.Entity, m, state)
			if err != nil {
				t.Fatal(err)
			}
			if m2, state2, err := s.Read(again); err != nil || !bytes.Equal(state, state2) || m2.Epoch != m.Epoch {
				t.Fatalf("what was read is not written again: %v", err)
			}
			_ = s.Prune(in.Entity, 1)
		}
	})
}

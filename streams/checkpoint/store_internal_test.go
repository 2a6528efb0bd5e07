package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// crashing is a disk on which one step fails, and nothing after it happens.
type crashing struct {
	osFiles
	at, step int
	half     bool // the step that fails leaves half of its work behind
}

var errCrash = errors.New("crash")

func (c *crashing) dies() bool {
	c.step++
	return c.step >= c.at
}

func (c *crashing) writeSync(path string, parts ...[]byte) error {
	if c.dies() {
		if c.half {
			_ = os.WriteFile(path, parts[0][:len(parts[0])/2], 0o600)
		}
		return errCrash
	}
	return c.osFiles.writeSync(path, parts...)
}

func (c *crashing) rename(from, to string) error {
	if c.dies() {
		return errCrash
	}
	return c.osFiles.rename(from, to)
}

func (c *crashing) syncDir(dir string) error {
	if c.dies() {
		return errCrash
	}
	return c.osFiles.syncDir(dir)
}

// A crash at any step leaves the checkpoint before it, or the new one, whole.
func TestACrashAtAnyStep(t *testing.T) {
	for _, half := range []bool{false, true} {
		for at := 1; at <= 4; at++ {
			dir := t.TempDir()
			s, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Save("a", Meta{Epoch: 1}, []byte("one")); err != nil {
				t.Fatal(err)
			}
			s.fs = &crashing{at: at, half: half}
			_, err = s.Save("a", Meta{Epoch: 2}, []byte("two"))
			if saved := at > 3; saved != (err == nil) {
				t.Fatalf("step %d: %v", at, err)
			}
			s, err = Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			m, state, skipped, err := s.Load("a", nil)
			if err != nil || len(skipped) > 0 {
				t.Fatalf("step %d: %v, skipped %v", at, err, skipped)
			}
			if want := map[uint64]string{1: "one", 2: "two"}[m.Epoch]; string(state) != want || at > 3 && m.Epoch != 2 || at < 3 && m.Epoch != 1 {
				t.Fatalf("step %d: epoch %d with %q", at, m.Epoch, state)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*", "*.tmp")); len(left) > 0 {
				t.Fatalf("step %d: %v is left", at, left)
			}
		}
	}
}

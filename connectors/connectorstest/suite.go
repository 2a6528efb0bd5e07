package connectorstest

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/connectors"
)

// Case is one source of a kind that the acceptance suite can run: its outside is there and has rows.
type Case struct {
	Definition connectors.Definition
	// Invalid are definitions that the kind must refuse, each with a text that one of the problems contains.
	Invalid map[string]connectors.Definition
	// MinRows is how many rows the source brings at least before the suite is satisfied; 0 means 1.
	MinRows int
	// Silent says that the source has no rows of its own: Read only waits.
	Silent bool
}

// Run is the acceptance suite of a source kind. The kind must be registered.
func Run(t *testing.T, c Case) {
	t.Helper()
	kind, err := connectors.Lookup(c.Definition.Kind)
	if err != nil {
		t.Fatal(err)
	}
	env := func() connectors.Env {
		clock := NewClock()
		clock.Auto = true
		return connectors.Env{Clock: clock, Rand: rand.NewPCG(1, 2), MaxMessageBytes: 1 << 20}
	}
	newSource := func(t *testing.T) connectors.Source {
		t.Helper()
		s, err := kind.New(c.Definition, env())
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		return s
	}

	t.Run("a valid definition has no problems", func(t *testing.T) {
		if p := connectors.Validate(c.Definition); len(p) > 0 {
			t.Errorf("problems: %q", p)
		}
	})
	for text, d := range c.Invalid {
		t.Run("refuses "+text, func(t *testing.T) {
			p := connectors.Validate(d)
			if !strings.Contains(strings.Join(p, "\n"), text) {
				t.Errorf("problems are %q, want one with %q", p, text)
			}
		})
	}
	t.Run("a source that was never opened closes", func(t *testing.T) {
		if err := newSource(t).Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	t.Run("close is idempotent and open works again", func(t *testing.T) {
		s := newSource(t)
		for range 2 {
			if err := s.Open(t.Context(), ""); err != nil {
				t.Fatalf("Open: %v", err)
			}
			for range 2 {
				if err := s.Close(t.Context()); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
		}
	})
	t.Run("read ends with its context", func(t *testing.T) {
		s := newSource(t)
		if err := s.Open(t.Context(), ""); err != nil {
			t.Fatalf("Open: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			var err error
			for err == nil || errors.Is(err, connectors.ErrEndOfInput) {
				_, err = s.Read(ctx)
			}
			done <- err
		}()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Read returned %v, want the context's error", err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if c.Silent {
		return
	}
	t.Run("every message holds the rows it counts", func(t *testing.T) {
		s := newSource(t)
		if err := s.Open(t.Context(), ""); err != nil {
			t.Fatalf("Open: %v", err)
		}
		for rows := 0; rows < max(c.MinRows, 1); {
			r, err := s.Read(t.Context())
			if err != nil {
				t.Fatalf("Read after %d rows: %v", rows, err)
			}
			for _, m := range r.Messages {
				if n := CountRows(t, m); n != m.Rows {
					t.Fatalf("message says %d rows and holds %d: %.200s", m.Rows, n, m.Data)
				}
				rows += m.Rows
			}
			if r.Ack != nil {
				if err := r.Ack(t.Context()); err != nil {
					t.Fatalf("Ack: %v", err)
				}
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

// CountRows counts the JSON objects of a message, and fails the test when there is anything else in it.
func CountRows(t *testing.T, m connectors.Message) int {
	t.Helper()
	n := 0
	for _, line := range strings.Split(string(m.Data), "\n") {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("row %d is no JSON object: %v: %.200s", n, err, line)
		}
		n++
	}
	return n
}

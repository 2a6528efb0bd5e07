// Package catalogtest has a catalog without a server, for tests of what reads and writes definitions.
package catalogtest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamsforge/streamsforge/server/catalog"
)

// Memory is a bucket in memory with the compare-and-set rules of the real one.
type Memory struct {
	mu      sync.Mutex
	last    uint64
	entries map[string]catalog.Entry
	// Fail, when set, is asked before every write; its error is the write's.
	Fail func(op, key string) error
}

var _ catalog.Bucket = (*Memory)(nil)

// NewMemory makes an empty bucket.
func NewMemory() *Memory { return &Memory{entries: map[string]catalog.Entry{}} }

// All lists the entries by key.
func (m *Memory) All(context.Context) ([]catalog.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]catalog.Entry, 0, len(m.entries))
	for _, e := range m.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b catalog.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// Create stores a first value.
func (m *Memory) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return m.Update(ctx, key, value, 0)
}

// Update stores a value over the one at the expected revision.
func (m *Memory) Update(_ context.Context, key string, value []byte, expect uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Fail != nil {
		if err := m.Fail("put", key); err != nil {
			return 0, err
		}
	}
	if m.entries[key].Revision != expect {
		return 0, catalog.ErrRevision
	}
	m.last++
	m.entries[key] = catalog.Entry{Key: key, Value: slices.Clone(value), Revision: m.last}
	return m.last, nil
}

// Delete removes the value at the expected revision.
func (m *Memory) Delete(_ context.Context, key string, expect uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Fail != nil {
		if err := m.Fail("delete", key); err != nil {
			return err
		}
	}
	if e, ok := m.entries[key]; !ok || e.Revision != expect {
		return catalog.ErrRevision
	}
	delete(m.entries, key)
	return nil
}

// Open opens a catalog over a bucket and ends the test when that fails.
func Open(t testing.TB, b catalog.Bucket, edit ...func(*catalog.Options)) *catalog.Store {
	t.Helper()
	o := catalog.Options{Bucket: b}
	for _, e := range edit {
		e(&o)
	}
	s, err := catalog.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open the catalog: %v", err)
	}
	return s
}

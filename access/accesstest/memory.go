// Package accesstest has logins and an access document without a server, for tests of what asks for permission.
package accesstest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/streamsforge/streamsforge/access"
)

// Memory is a typed bucket in memory with the compare-and-set rules of the real one. Values are copied in and out.
type Memory[T any] struct {
	mu      sync.Mutex
	last    uint64
	entries map[string]entry
	// Err, when set, is the answer to every call.
	Err error
}

type entry struct {
	value    []byte
	revision uint64
}

var _ access.Bucket[access.Document] = (*Memory[access.Document])(nil)

// NewMemory makes an empty bucket.
func NewMemory[T any]() *Memory[T] { return &Memory[T]{entries: map[string]entry{}} }

// Clone copies the bucket, so that a test can begin with logins that another has made (hashing takes time).
func (m *Memory[T]) Clone() *Memory[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory[T]{last: m.last, entries: maps.Clone(m.entries)}
}

// Get reads a value.
func (m *Memory[T]) Get(_ context.Context, key string) (value T, revision uint64, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Err != nil {
		return value, 0, false, m.Err
	}
	e, ok := m.entries[key]
	if !ok {
		return value, 0, false, nil
	}
	err = json.Unmarshal(e.value, &value)
	return value, e.revision, true, err
}

// Put stores a value over the one at the expected revision.
func (m *Memory[T]) Put(_ context.Context, key string, value T, expect uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Err != nil {
		return 0, m.Err
	}
	if m.entries[key].revision != expect {
		return 0, access.ErrRevision
	}
	b, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	m.last++
	m.entries[key] = entry{value: b, revision: m.last}
	return m.last, nil
}

// Delete removes the value at the expected revision.
func (m *Memory[T]) Delete(_ context.Context, key string, expect uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Err != nil {
		return m.Err
	}
	if e, ok := m.entries[key]; !ok || e.revision != expect {
		return access.ErrRevision
	}
	delete(m.entries, key)
	return nil
}

// Keys lists the keys.
func (m *Memory[T]) Keys(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Err != nil {
		return nil, m.Err
	}
	var out []string
	for k := range m.entries {
		out = append(out, k)
	}
	slices.Sort(out)
	return out, nil
}

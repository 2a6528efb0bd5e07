package catalog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsforge/streamsforge/server/view"
)

// DefaultEnvironment is the environment of a request that names none.
const DefaultEnvironment = "default"

// Observer tells what the runtime sees of a pipeline or table.
type Observer interface {
	Observed(env string, kind InputKind, id string) view.EntityStatus
}

// Options configure a Store.
type Options struct {
	// Bucket is the definitions' bucket of the default environment (SF_default_catalog).
	Bucket Bucket
	// Compile defaults are those of the server: idle and lateness of pipelines.
	IdleMs, LatenessMs int64
	// StrictNotIn compiles IN and NOT IN over a subquery as the standard has them, NULLs included.
	StrictNotIn bool
	// Publish, when set, is called after each accepted write with its lifecycle event: created, updated, deleted,
	// table-created, ..., source-started, source-stopped, source-deleted. Started, stopped and failed of pipelines
	// and tables are the runtime's to publish.
	Publish func(env string, e view.LifecycleEvent)
	Now     func() time.Time
	NewID   func() string // 32 hex digits
	Logger  *slog.Logger
}

// Store is the catalog of a server. It is safe for concurrent use.
type Store struct {
	opt Options

	write    sync.Mutex // one writer at a time: checks across entities see what they will be stored beside
	current  atomic.Pointer[Snapshot]
	observer atomic.Pointer[Observer]

	mu      sync.Mutex
	waiters map[chan struct{}]struct{}
	touched map[string]keyUse // newest uses of ingest keys, by source/key id
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// Observe sets where Running is read from when a write depends on it (a start needs running inputs, a stop needs no
// running dependents). Without an observer the desired state counts.
func (s *Store) Observe(o Observer) { s.observer.Store(&o) }

// Environments lists the environments, the default one first.
func (s *Store) Environments() []view.Environment {
	sn := s.current.Load()
	return []view.Environment{{
		Name: DefaultEnvironment, Description: "The environment of every request that names none.",
		EntityCount: len(sn.sources) + len(sn.pipelines) + len(sn.tables),
	}}
}

// Snapshot returns the newest definitions of an environment. The error is a view.Missing that names an unknown one.
func (s *Store) Snapshot(env string) (*Snapshot, error) {
	if env != "" && env != DefaultEnvironment {
		return nil, view.Errorf(view.Missing, "environment '%s' does not exist", env)
	}
	return s.current.Load(), nil
}

// Changes returns a channel that receives after one or more writes (a write during a pending wake-up adds nothing:
// read Snapshot again), and a function that ends the subscription. It is ready once at the start.
func (s *Store) Changes() (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	ch <- struct{}{}
	s.mu.Lock()
	s.waiters[ch] = struct{}{}
	s.mu.Unlock()
	return ch, func() {
		s.mu.Lock()
		delete(s.waiters, ch)
		s.mu.Unlock()
	}
}

func (s *Store) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ch := range s.waiters {
		select {
		case ch <- struct{}{}:
		default: // a wake-up is pending already
		}
	}
}

// Bucket is the part of a KV bucket that the catalog needs. Update and Delete fail with ErrRevision when the entry
// is not at the expected revision; Create when the key exists.
type Bucket interface {
	All(ctx context.Context) ([]Entry, error)
	Create(ctx context.Context, key string, value []byte) (uint64, error)
	Update(ctx context.Context, key string, value []byte, expect uint64) (uint64, error)
	Delete(ctx context.Context, key string, expect uint64) error
}

// Entry is one stored value.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
}

// ErrRevision says that a compare-and-set met another revision than the one it expected.
var ErrRevision = view.Errorf(view.Conflict, "the definition was changed by someone else at the same time; read it again and repeat the change")

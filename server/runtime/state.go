package runtime

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/streams"
)

// store is the small state of an environment that is no fold over one stream: the books of sources, and what the
// journal of each entity holds.
type store struct {
	books    *kv.Bucket[books]
	entities *kv.Bucket[record]
}

// record says what the journal of a table or pipeline was made by. It is written before the first entry of a
// generation.
type record struct {
	Plan       string `json:"plan"`
	Generation uint64 `json:"generation"`
	// Joined is the epoch at which the generation joined the clock.
	Joined uint64 `json:"joined"`
	// Joining is set while the entity asks to join: an epoch before the one at which it does. A process that ends in
	// between looks for the epoch in the log.
	Joining uint64 `json:"joining,omitempty"`
	// Built is the epoch at which the build ended and the recorded epochs began to count, and BuiltAt where the sources
	// stood there: a pipeline that has to be computed again takes the same epochs.
	Built   uint64            `json:"built,omitempty"`
	BuiltAt map[string]uint64 `json:"builtAt,omitempty"`
	// Starts are, by <input>#<incarnation>, the positions after which the build began.
	Starts map[string]uint64 `json:"starts,omitempty"`
	// Output is the columns of the journal's batches; the last Hidden of them are not shown.
	Output []catalog.Field `json:"output"`
	Hidden int             `json:"hidden,omitempty"`
	Key    []int           `json:"key,omitempty"`
	// Before is the generation that this one replaces, until its swap is in the journal.
	Before *record `json:"before,omitempty"`
}

// shape is the columns of a journal's batches.
type shape struct {
	output types.Schema
	hidden int
	key    []int
}

func (r *record) shape() shape {
	return shape{output: catalog.Schema(r.Output), hidden: r.Hidden, key: r.Key}
}

// schema is all columns, the hidden ones too.
func (s shape) schema() types.Schema { return s.output }

// visible is the columns that readers see.
func (s shape) visible() types.Schema { return s.output[:len(s.output)-s.hidden] }

func openStore(ctx context.Context, js jetstream.JetStream, env string, memory bool) (*store, error) {
	b, err := kv.Open[books](ctx, js, streams.EnvBucket(env, "books"), kv.Options{Memory: memory})
	if err != nil {
		return nil, err
	}
	e, err := kv.Open[record](ctx, js, streams.EnvBucket(env, "runtime"), kv.Options{Memory: memory})
	if err != nil {
		return nil, err
	}
	return &store{books: b, entities: e}, nil
}

func (s *store) loadBooks(ctx context.Context, source string) (books, error) {
	e, err := s.books.Get(ctx, streams.Key(source))
	if errors.Is(err, kv.ErrNotFound) {
		return books{}, nil
	}
	return e.Value, err
}

func (s *store) saveBooks(ctx context.Context, source string, b books) error {
	_, err := s.books.Put(ctx, streams.Key(source), b)
	return err
}

// load returns the record of an entity; nil when it never ran.
func (s *store) load(ctx context.Context, kind, id string) (*record, error) {
	e, err := s.entities.Get(ctx, streams.Key(kind, id))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &e.Value, nil
}

func (s *store) save(ctx context.Context, kind, id string, r *record) error {
	_, err := s.entities.Put(ctx, streams.Key(kind, id), *r)
	return err
}

func (s *store) forget(ctx context.Context, kind, id string) error {
	if err := s.entities.Delete(ctx, streams.Key(kind, id), 0); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	return nil
}

func (s *store) forgetBooks(ctx context.Context, source string) error {
	if err := s.books.Delete(ctx, streams.Key(source), 0); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	return nil
}

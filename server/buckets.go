package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/streams"
)

// keptRevisions is how many revisions of definitions and of the access document stay readable.
const keptRevisions = 16

// Buckets of the platform, not of an environment.
const (
	usersBucket  = "SF_users"
	accessBucket = "SF_access"
)

// buckets are the key-value buckets that the server itself owns.
type buckets struct {
	definitions *kv.Bucket[json.RawMessage]
	users       *kv.Bucket[access.UserRecord]
	document    *kv.Bucket[access.Document]
}

func openBuckets(ctx context.Context, log *streams.Server) (*buckets, error) {
	plain := kv.Options{Memory: log.Storage() == streams.StorageMemory}
	kept := plain
	kept.History = keptRevisions
	var b buckets
	var err error
	if b.definitions, err = kv.Open[json.RawMessage](ctx, log.JetStream(), streams.EnvBucket(catalog.DefaultEnvironment, "catalog"), kept); err != nil {
		return nil, err
	}
	if b.users, err = kv.Open[access.UserRecord](ctx, log.JetStream(), usersBucket, plain); err != nil {
		return nil, err
	}
	if b.document, err = kv.Open[access.Document](ctx, log.JetStream(), accessBucket, kept); err != nil {
		return nil, err
	}
	return &b, nil
}

// records is a bucket as access wants it.
type records[T any] struct{ b *kv.Bucket[T] }

var _ access.Bucket[access.UserRecord] = records[access.UserRecord]{}

func (r records[T]) Get(ctx context.Context, key string) (value T, revision uint64, ok bool, err error) {
	e, err := r.b.Get(ctx, key)
	if errors.Is(err, kv.ErrNotFound) {
		return value, 0, false, nil
	}
	return e.Value, e.Revision, err == nil, err
}

func (r records[T]) Put(ctx context.Context, key string, value T, expect uint64) (uint64, error) {
	rev, err := r.b.Update(ctx, key, value, expect)
	return rev, lostRace(err)
}

func (r records[T]) Delete(ctx context.Context, key string, expect uint64) error {
	return lostRace(r.b.Delete(ctx, key, expect))
}

func (r records[T]) Keys(ctx context.Context) ([]string, error) { return r.b.Keys(ctx, "") }

// lostRace says a lost compare-and-set in the words of access.
func lostRace(err error) error {
	if errors.Is(err, kv.ErrConflict) {
		return access.ErrRevision
	}
	return err
}

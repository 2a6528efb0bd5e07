package catalog

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/streamsforge/streamsforge/kv"
)

// KV makes a Bucket of the key-value store's bucket SF_<ENV>_catalog.
func KV(b *kv.Bucket[json.RawMessage]) Bucket { return kvBucket{b} }

type kvBucket struct{ b *kv.Bucket[json.RawMessage] }

func (k kvBucket) All(ctx context.Context) ([]Entry, error) {
	entries, err := k.b.All(ctx, "")
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(entries))
	for i, e := range entries {
		out[i] = Entry{Key: e.Key, Value: e.Value, Revision: e.Revision}
	}
	return out, nil
}

func (k kvBucket) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	rev, err := k.b.Create(ctx, key, value)
	return rev, lost(err)
}

func (k kvBucket) Update(ctx context.Context, key string, value []byte, expect uint64) (uint64, error) {
	rev, err := k.b.Update(ctx, key, value, expect)
	return rev, lost(err)
}

func (k kvBucket) Delete(ctx context.Context, key string, expect uint64) error {
	return lost(k.b.Delete(ctx, key, expect))
}

// lost turns the store's word for a lost race into the catalog's.
func lost(err error) error {
	if errors.Is(err, kv.ErrConflict) {
		return ErrRevision
	}
	return err
}

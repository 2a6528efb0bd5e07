package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Options of a bucket. They apply when the bucket is made; History, MaxBytes and TTL of an existing one are brought up
// to date.
type Options struct {
	// History is how many revisions of each key are kept, from 1 (also when 0) to 64.
	History int
	// TTL removes values that were not written for so long; 0 means never.
	TTL time.Duration
	// MaxBytes bounds the bucket; a write beyond it fails. 0 means no limit.
	MaxBytes int64
	// Memory keeps the bucket in memory: it ends with the process.
	Memory bool
	// Replicas in a cluster; 0 means 1.
	Replicas int
}

// Entry is a value at a revision.
type Entry[T any] struct {
	Key      string
	Value    T
	Revision uint64
	Time     time.Time
}

// Bucket holds values of one type. It is safe for use by several goroutines.
type Bucket[T any] struct {
	name   string
	kv     jetstream.KeyValue
	stream jetstream.Stream // below the bucket
	codec  codec[T]
}

// Open makes the bucket unless it exists.
func Open[T any](ctx context.Context, js jetstream.JetStream, name string, o Options) (*Bucket[T], error) {
	kv, err := open(ctx, js, jetstream.KeyValueConfig{
		Bucket: name, History: uint8(max(o.History, 1)), TTL: o.TTL, MaxBytes: o.MaxBytes, Replicas: o.Replicas, Storage: storage(o.Memory),
	})
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, "KV_"+name)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", name, err)
	}
	return &Bucket[T]{name: name, kv: kv, stream: stream, codec: codecOf[T]()}, nil
}

func open(ctx context.Context, js jetstream.JetStream, c jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	kv, err := js.CreateKeyValue(ctx, c)
	if errors.Is(err, jetstream.ErrBucketExists) {
		kv, err = js.UpdateKeyValue(ctx, c)
		if err != nil {
			// Storage cannot be changed; the existing bucket is as good.
			var api *jetstream.APIError
			if errors.As(err, &api) {
				kv, err = js.KeyValue(ctx, c.Bucket)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", c.Bucket, err)
	}
	return kv, nil
}

func storage(memory bool) jetstream.StorageType {
	if memory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

// Remove deletes a bucket with everything in it. A missing bucket is no error.
func Remove(ctx context.Context, js jetstream.JetStream, name string) error {
	if err := js.DeleteKeyValue(ctx, name); err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return fmt.Errorf("remove bucket %s: %w", name, err)
	}
	return nil
}

// Names lists the buckets whose names begin with the prefix.
func Names(ctx context.Context, js jetstream.JetStream, prefix string) ([]string, error) {
	l := js.KeyValueStoreNames(ctx)
	var names []string
	for n := range l.Name() {
		if strings.HasPrefix(n, prefix) {
			names = append(names, n)
		}
	}
	if err := l.Error(); err != nil {
		return nil, fmt.Errorf("list buckets: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Name is the name of the bucket.
func (b *Bucket[T]) Name() string { return b.name }

// Get reads a value. ErrNotFound says that the key has none.
func (b *Bucket[T]) Get(ctx context.Context, key string) (Entry[T], error) {
	e, err := b.kv.Get(ctx, key)
	if err != nil {
		return Entry[T]{}, b.error("get", key, err)
	}
	return b.entry(e)
}

// GetRevision reads the value that a key had at a revision, while the history holds it.
func (b *Bucket[T]) GetRevision(ctx context.Context, key string, revision uint64) (Entry[T], error) {
	e, err := b.kv.GetRevision(ctx, key, revision)
	if err != nil {
		return Entry[T]{}, b.error("get", key, err)
	}
	return b.entry(e)
}

// Create writes the first value of a key. ErrExists says that it has one.
func (b *Bucket[T]) Create(ctx context.Context, key string, v T) (revision uint64, err error) {
	data, err := b.codec.encode(v)
	if err != nil {
		return 0, b.error("create", key, err)
	}
	revision, err = b.kv.Create(ctx, key, data)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return 0, b.error("create", key, ErrExists)
	}
	if err != nil {
		return 0, b.error("create", key, err)
	}
	return revision, nil
}

// Update writes a new value over the one with the given revision. ErrConflict says that this is not the present one,
// also when the key was deleted. Revision 0 means that there is no value yet, as for Create.
func (b *Bucket[T]) Update(ctx context.Context, key string, v T, revision uint64) (uint64, error) {
	if revision == 0 {
		return b.Create(ctx, key, v)
	}
	data, err := b.codec.encode(v)
	if err != nil {
		return 0, b.error("update", key, err)
	}
	next, err := b.kv.Update(ctx, key, data, revision)
	if err != nil {
		return 0, b.error("update", key, err)
	}
	return next, nil
}

// Put writes a value whatever is there. It is for values with one writer.
func (b *Bucket[T]) Put(ctx context.Context, key string, v T) (revision uint64, err error) {
	data, err := b.codec.encode(v)
	if err != nil {
		return 0, b.error("put", key, err)
	}
	revision, err = b.kv.Put(ctx, key, data)
	if err != nil {
		return 0, b.error("put", key, err)
	}
	return revision, nil
}

// Delete removes the value with the given revision; 0 means whatever is there. ErrConflict says that another value is
// there. A missing key is ErrConflict with a revision, and no error without.
func (b *Bucket[T]) Delete(ctx context.Context, key string, revision uint64) error {
	var opts []jetstream.KVDeleteOpt
	if revision > 0 {
		opts = append(opts, jetstream.LastRevision(revision))
	} else if _, err := b.kv.Get(ctx, key); errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil // No marker for what was never there.
	}
	if err := b.kv.Delete(ctx, key, opts...); err != nil {
		return b.error("delete", key, err)
	}
	return nil
}

// Purge removes a key with its history, and leaves a marker behind. It is for keys that do not come back.
func (b *Bucket[T]) Purge(ctx context.Context, key string) error {
	if err := b.kv.Purge(ctx, key); err != nil {
		return b.error("purge", key, err)
	}
	return nil
}

// Keys lists the keys with a value that match a pattern: a key in which * stands for one part and > for all further
// parts; empty means all. They are sorted.
func (b *Bucket[T]) Keys(ctx context.Context, pattern string) ([]string, error) {
	all, err := b.All(ctx, pattern)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(all))
	for i := range all {
		keys[i] = all[i].Key
	}
	return keys, nil
}

// written lists the keys that match a pattern and were ever written and not purged, as they are at one moment.
func (b *Bucket[T]) written(ctx context.Context, pattern string) ([]string, error) {
	prefix := "$KV." + b.name + "."
	info, err := b.stream.Info(ctx, jetstream.WithSubjectFilter(prefix+or(pattern)))
	if err != nil {
		return nil, b.error("list", pattern, err)
	}
	keys := make([]string, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		keys = append(keys, strings.TrimPrefix(subject, prefix))
	}
	slices.Sort(keys)
	return keys, nil
}

// All reads every value whose key matches a pattern (see Keys), sorted by key. A key that has a value from the call to
// the answer is in it, however often it is overwritten meanwhile.
func (b *Bucket[T]) All(ctx context.Context, pattern string) ([]Entry[T], error) {
	keys, err := b.written(ctx, pattern)
	if err != nil {
		return nil, err
	}
	last, err := b.scan(ctx, pattern)
	if err != nil {
		return nil, err
	}
	// The scan delivers what each key held when it began. A revision that was overwritten before its turn is gone by
	// then, and the new one comes after the end of the scan: such a key is asked for by itself.
	for _, k := range keys {
		if _, seen := last[k]; seen {
			continue
		}
		e, err := b.Get(ctx, k)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		last[k] = scanned[T]{entry: e}
	}
	all := make([]Entry[T], 0, len(last))
	for _, s := range last {
		if !s.deleted {
			all = append(all, s.entry)
		}
	}
	slices.SortFunc(all, func(x, y Entry[T]) int { return strings.Compare(x.Key, y.Key) })
	return all, nil
}

// scanned is what a scan says of a key.
type scanned[T any] struct {
	entry   Entry[T]
	deleted bool
}

// scan reads what the keys hold now, in one pass.
func (b *Bucket[T]) scan(ctx context.Context, pattern string) (map[string]scanned[T], error) {
	w, err := b.Watch(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	last := map[string]scanned[T]{}
	for {
		ev, err := w.Next(ctx)
		if err != nil {
			return nil, err
		}
		switch ev.Op {
		case Put:
			last[ev.Key] = scanned[T]{entry: ev.Entry}
		case Deleted:
			last[ev.Key] = scanned[T]{deleted: true}
		case Current:
			return last, nil
		}
	}
}

// History reads the revisions of a key that are kept, the oldest first, without deletions.
func (b *Bucket[T]) History(ctx context.Context, key string) ([]Entry[T], error) {
	revs, err := b.kv.History(ctx, key)
	if err != nil {
		return nil, b.error("history", key, err)
	}
	var all []Entry[T]
	for _, r := range revs {
		if r.Operation() != jetstream.KeyValuePut {
			continue
		}
		e, err := b.entry(r)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (b *Bucket[T]) entry(e jetstream.KeyValueEntry) (Entry[T], error) {
	v, err := b.codec.decode(e.Value())
	if err != nil {
		return Entry[T]{}, fmt.Errorf("bucket %s: key %q at revision %d: %w", b.name, e.Key(), e.Revision(), err)
	}
	return Entry[T]{Key: e.Key(), Value: v, Revision: e.Revision(), Time: e.Created()}, nil
}

// error gives the answers of the server that callers branch on their meaning.
func (b *Bucket[T]) error(op, key string, err error) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		err = ErrNotFound
	case errors.As(err, &api) && isWrongRevision(api):
		err = ErrConflict
	}
	return fmt.Errorf("bucket %s: %s %q: %w", b.name, op, key, err)
}

// isWrongRevision knows both codes: a cluster answers with another one while a write is in flight.
func isWrongRevision(e *jetstream.APIError) bool {
	return e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

func or(pattern string) string {
	if pattern == "" {
		return ">"
	}
	return pattern
}

// codec turns values into bytes and back.
type codec[T any] struct {
	encode func(T) ([]byte, error)
	decode func([]byte) (T, error)
}

func codecOf[T any]() codec[T] {
	var zero T
	switch any(zero).(type) {
	case []byte:
		return codec[T]{
			encode: func(v T) ([]byte, error) { return any(v).([]byte), nil },
			decode: func(b []byte) (T, error) { return any(b).(T), nil },
		}
	case json.RawMessage:
		return codec[T]{
			encode: func(v T) ([]byte, error) {
				raw := any(v).(json.RawMessage)
				if !json.Valid(raw) {
					return nil, errors.New("the value is not JSON")
				}
				return raw, nil
			},
			decode: func(b []byte) (T, error) { return any(json.RawMessage(b)).(T), nil },
		}
	}
	return codec[T]{
		encode: func(v T) ([]byte, error) { return json.Marshal(v) },
		decode: func(b []byte) (v T, err error) {
			err = json.Unmarshal(b, &v)
			return v, err
		},
	}
}

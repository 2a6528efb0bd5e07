// Package kvtest holds the suite that the buckets must pass on every kind of storage.
package kvtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/kv"
)

// Value is what the suite stores.
type Value struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Run checks what buckets and leases promise. open gives the JetStream of a server, which may be the same for all tests;
// memory says which storage the buckets ask for.
func Run(t *testing.T, memory bool, open func(t *testing.T) jetstream.JetStream) {
	o := kv.Options{Memory: memory, History: 5}
	for _, c := range []struct {
		name string
		test func(*testing.T, jetstream.JetStream, kv.Options)
	}{
		{"values and revisions", values},
		{"one of many writers wins", race},
		{"keys and patterns", keys},
		{"history", history},
		{"a watcher sees everything once", watch},
		{"a listing is whole while keys change", listing},
		{"raw values", raw},
		{"a value that cannot be read", unreadable},
		{"buckets", buckets},
		{"leases", leases},
		{"a lease ends without its owner", expiry},
		{"a lease is kept", keep},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t), o) })
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

func bucket[T any](t *testing.T, js jetstream.JetStream, o kv.Options) *kv.Bucket[T] {
	t.Helper()
	name := fmt.Sprintf("B%d", time.Now().UnixNano())
	b, err := kv.Open[T](t.Context(), js, name, o)
	check(t, err)
	t.Cleanup(func() {
		if err := kv.Remove(context.Background(), js, name); err != nil {
			t.Error(err)
		}
	})
	return b
}

func values(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx := t.Context()
	b := bucket[Value](t, js, o)
	_, err := b.Get(ctx, "a")
	wants(t, err, kv.ErrNotFound)
	_, err = b.Update(ctx, "a", Value{}, 7)
	wants(t, err, kv.ErrConflict)
	wants(t, b.Delete(ctx, "a", 7), kv.ErrConflict)
	check(t, b.Delete(ctx, "a", 0))

	first, err := b.Create(ctx, "a", Value{"one", 1})
	check(t, err)
	_, err = b.Create(ctx, "a", Value{})
	wants(t, err, kv.ErrExists)
	wants(t, err, kv.ErrConflict)
	_, err = b.Update(ctx, "a", Value{}, 0)
	wants(t, err, kv.ErrExists)
	second, err := b.Update(ctx, "a", Value{"two", 2}, first)
	check(t, err)
	if second <= first {
		t.Fatalf("revision %d after %d", second, first)
	}
	_, err = b.Update(ctx, "a", Value{"old", 0}, first)
	wants(t, err, kv.ErrConflict)
	e, err := b.Get(ctx, "a")
	check(t, err)
	if e.Key != "a" || e.Value != (Value{"two", 2}) || e.Revision != second || e.Time.IsZero() {
		t.Fatalf("entry %+v", e)
	}
	wants(t, b.Delete(ctx, "a", first), kv.ErrConflict)
	check(t, b.Delete(ctx, "a", second))
	_, err = b.Get(ctx, "a")
	wants(t, err, kv.ErrNotFound)
	_, err = b.Update(ctx, "a", Value{}, second)
	wants(t, err, kv.ErrConflict)
	again, err := b.Create(ctx, "a", Value{"three", 3})
	check(t, err)
	if again <= second {
		t.Fatalf("revision %d after %d", again, second)
	}
	put, err := b.Put(ctx, "a", Value{"four", 4})
	check(t, err)
	if e, err := b.Get(ctx, "a"); err != nil || e.Revision != put || e.Value.N != 4 {
		t.Fatalf("after a put: %+v, %v", e, err)
	}
}

// race: many goroutines add one by compare and set; nothing is lost.
func race(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx := t.Context()
	b := bucket[Value](t, js, o)
	_, err := b.Create(ctx, "n", Value{})
	check(t, err)
	var wg sync.WaitGroup
	const writers, each = 4, 10
	for range writers {
		wg.Go(func() {
			for range each {
				for {
					e, err := b.Get(ctx, "n")
					if err != nil {
						t.Error(err)
						return
					}
					e.Value.N++
					if _, err = b.Update(ctx, "n", e.Value, e.Revision); err == nil {
						break
					}
					if !errors.Is(err, kv.ErrConflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if e, err := b.Get(ctx, "n"); err != nil || e.Value.N != writers*each {
		t.Fatalf("counted to %d, %v, want %d", e.Value.N, err, writers*each)
	}
}

func keys(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx := t.Context()
	b := bucket[Value](t, js, o)
	if k, err := b.Keys(ctx, ""); err != nil || len(k) != 0 {
		t.Fatalf("keys of an empty bucket: %q, %v", k, err)
	}
	for i, k := range []string{"source.b", "table.x", "source.a", "source.gone", "source.a=20b"} {
		_, err := b.Create(ctx, k, Value{k, i})
		check(t, err)
	}
	check(t, b.Delete(ctx, "source.gone", 0))
	for pattern, want := range map[string][]string{
		"": {"source.a", "source.a=20b", "source.b", "table.x"}, "source.*": {"source.a", "source.a=20b", "source.b"}, "source.a": {"source.a"}, "none.>": nil,
	} {
		if k, err := b.Keys(ctx, pattern); err != nil || !slices.Equal(k, want) {
			t.Errorf("keys of %q: %q, %v, want %q", pattern, k, err, want)
		}
		all, err := b.All(ctx, pattern)
		check(t, err)
		var got []string
		for _, e := range all {
			if got = append(got, e.Key); e.Value.Name != e.Key || e.Revision == 0 {
				t.Errorf("entry %+v", e)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("values of %q: %q, want %q", pattern, got, want)
		}
	}
}

func history(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx := t.Context()
	b := bucket[Value](t, js, o)
	var revs []uint64
	for i := range 8 {
		rev, err := b.Put(ctx, "a", Value{"", i})
		check(t, err)
		revs = append(revs, rev)
	}
	all, err := b.History(ctx, "a")
	check(t, err)
	if len(all) != 5 || all[0].Value.N != 3 || all[4].Value.N != 7 {
		t.Fatalf("history %+v", all)
	}
	if e, err := b.GetRevision(ctx, "a", revs[4]); err != nil || e.Value.N != 4 {
		t.Fatalf("revision %d: %+v, %v", revs[4], e, err)
	}
	_, err = b.GetRevision(ctx, "a", revs[0])
	wants(t, err, kv.ErrNotFound)
	check(t, b.Purge(ctx, "a"))
	if all, err = b.History(ctx, "a"); err != nil || len(all) != 0 {
		t.Fatalf("history after a purge: %+v, %v", all, err)
	}
}

func watch(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := bucket[Value](t, js, o)
	for i, k := range []string{"s.a", "s.b", "t.c"} {
		_, err := b.Create(ctx, k, Value{k, i})
		check(t, err)
	}
	w, err := b.Watch(ctx, "s.*")
	check(t, err)
	defer w.Stop()
	next := func(op kv.Op, key string) {
		t.Helper()
		e, err := w.Next(ctx)
		check(t, err)
		if e.Op != op || e.Key != key || e.Err != nil || op != kv.Current && e.Revision == 0 || op == kv.Put && e.Value.Name != key {
			t.Fatalf("event %+v, want %d of %q", e, op, key)
		}
	}
	next(kv.Put, "s.a")
	next(kv.Put, "s.b")
	next(kv.Current, "")
	_, err = b.Put(ctx, "t.c", Value{"t.c", 9}) // Not asked for.
	check(t, err)
	_, err = b.Put(ctx, "s.a", Value{"s.a", 9})
	check(t, err)
	check(t, b.Delete(ctx, "s.b", 0))
	next(kv.Put, "s.a")
	next(kv.Deleted, "s.b")
	short, stop := context.WithTimeout(ctx, 10*time.Millisecond)
	defer stop()
	_, err = w.Next(short)
	wants(t, err, context.DeadlineExceeded)
	w.Stop()
	w.Stop()
	_, err = w.Next(ctx)
	wants(t, err, kv.ErrClosed)
}

func raw(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx := t.Context()
	bytes := bucket[[]byte](t, js, o)
	_, err := bytes.Put(ctx, "a", []byte{0, 255, '{'})
	check(t, err)
	if e, err := bytes.Get(ctx, "a"); err != nil || !slices.Equal(e.Value, []byte{0, 255, '{'}) {
		t.Fatalf("got %q, %v", e.Value, err)
	}
	text := bucket[json.RawMessage](t, js, o)
	_, err = text.Put(ctx, "a", json.RawMessage(`{"b" : 1,  "a":2}`))
	check(t, err)
	if e, err := text.Get(ctx, "a"); err != nil || string(e.Value) != `{"b" : 1,  "a":2}` {
		t.Fatalf("got %q, %v", e.Value, err)
	}
	if _, err := text.Put(ctx, "a", json.RawMessage(`{`)); err == nil {
		t.Error("half of a JSON text was stored")
	}
}

// unreadable: one bad value is said with its key, and does not hide the others.
func unreadable(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := bucket[Value](t, js, o)
	_, err := js.Publish(ctx, "$KV."+b.Name()+".bad", []byte("not JSON"))
	check(t, err)
	_, err = b.Create(ctx, "good", Value{"good", 1})
	check(t, err)
	if _, err := b.Get(ctx, "bad"); err == nil || errors.Is(err, kv.ErrNotFound) {
		t.Fatalf("the bad value is read: %v", err)
	}
	w, err := b.Watch(ctx, "")
	check(t, err)
	defer w.Stop()
	if e, err := w.Next(ctx); err != nil || e.Err == nil || e.Key != "bad" || e.Revision != 1 {
		t.Fatalf("event %+v, %v", e, err)
	}
	if e, err := w.Next(ctx); err != nil || e.Err != nil || e.Value.Name != "good" {
		t.Fatalf("event %+v, %v", e, err)
	}
}

func buckets(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx := t.Context()
	for _, n := range []string{"SF_x_one", "SF_x_two", "SF_y_one"} {
		_, err := kv.Open[Value](ctx, js, n, o)
		check(t, err)
	}
	changed := o
	changed.History = 9
	b, err := kv.Open[Value](ctx, js, "SF_x_one", changed)
	check(t, err)
	_, err = b.Put(ctx, "a", Value{})
	check(t, err)
	changed.Memory = !o.Memory // Cannot be changed, and is not an error.
	b, err = kv.Open[Value](ctx, js, "SF_x_one", changed)
	check(t, err)
	if _, err = b.Get(ctx, "a"); err != nil {
		t.Fatalf("the bucket lost its value: %v", err)
	}
	names, err := kv.Names(ctx, js, "SF_x_")
	check(t, err)
	if !slices.Equal(names, []string{"SF_x_one", "SF_x_two"}) {
		t.Fatalf("names %q", names)
	}
	for _, n := range []string{"SF_x_one", "SF_x_two", "SF_y_one", "SF_none"} {
		check(t, kv.Remove(ctx, js, n))
	}
}

func openLeases(t *testing.T, js jetstream.JetStream, o kv.Options, ttl time.Duration) *kv.Leases {
	t.Helper()
	name := fmt.Sprintf("L%d", time.Now().UnixNano())
	ls, err := kv.OpenLeases(t.Context(), js, name, ttl, o)
	check(t, err)
	t.Cleanup(func() {
		if err := kv.Remove(context.Background(), js, name); err != nil {
			t.Error(err)
		}
	})
	return ls
}

func leases(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx := t.Context()
	ls := openLeases(t, js, o, time.Minute)
	_, _, err := ls.Holder(ctx, "k")
	wants(t, err, kv.ErrNotFound)
	a, err := ls.Acquire(ctx, "k", "a")
	check(t, err)
	for range 3 {
		check(t, a.Renew(ctx))
	}
	var held *kv.HeldError
	if _, err := ls.Acquire(ctx, "k", "b"); !errors.As(err, &held) || held.Owner != "a" || held.Token != a.Token {
		t.Fatalf("a held lease: %v", err)
	}
	if owner, token, err := ls.Holder(ctx, "k"); err != nil || owner != "a" || token != a.Token {
		t.Fatalf("held by %q with %d, %v", owner, token, err)
	}
	b, err := ls.Seize(ctx, "k", "b")
	check(t, err)
	if b.Token <= a.Token {
		t.Fatalf("token %d after %d", b.Token, a.Token)
	}
	for range 2 {
		wants(t, a.Renew(ctx), kv.ErrLost)
	}
	check(t, a.Release(ctx)) // Not its own any more: nothing happens.
	check(t, b.Renew(ctx))
	check(t, b.Release(ctx))
	c, err := ls.Acquire(ctx, "k", "c")
	check(t, err)
	if c.Token <= b.Token {
		t.Fatalf("token %d after %d", c.Token, b.Token)
	}
	if _, err := ls.Seize(ctx, "other", "d"); err != nil {
		t.Fatalf("seizing a free lease: %v", err)
	}
}

// expiry: a renewed lease outlives its first time to live, and one that is not renewed ends.
func expiry(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ls := openLeases(t, js, o, kv.MinLease)
	a, err := ls.Acquire(ctx, "k", "a")
	check(t, err)
	lost := make(chan error, 1)
	keeping, stop := context.WithCancel(ctx)
	go func() { lost <- a.Keep(keeping) }()
	w := time.NewTimer(2 * kv.MinLease)
	defer w.Stop()
	<-w.C
	var held *kv.HeldError
	if _, err := ls.Acquire(ctx, "k", "b"); !errors.As(err, &held) {
		t.Fatalf("a kept lease: %v", err)
	}
	stop()
	wants(t, <-lost, context.Canceled)
	for again := time.NewTicker(20 * time.Millisecond); ; <-again.C {
		b, err := ls.Acquire(ctx, "k", "b")
		if err == nil {
			if b.Token <= a.Token {
				t.Fatalf("token %d after %d", b.Token, a.Token)
			}
			break
		}
		if !errors.As(err, &held) {
			t.Fatal(err)
		}
	}
	wants(t, a.Renew(ctx), kv.ErrLost)
}

func keep(t *testing.T, js jetstream.JetStream, o kv.Options) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ls := openLeases(t, js, o, kv.MinLease)
	a, err := ls.Acquire(ctx, "k", "a")
	check(t, err)
	lost := make(chan error, 1)
	go func() { lost <- a.Keep(ctx) }()
	_, err = ls.Seize(ctx, "k", "b")
	check(t, err)
	wants(t, <-lost, kv.ErrLost)
	if _, err := kv.OpenLeases(ctx, js, "short", time.Millisecond, o); err == nil {
		t.Error("a time to live that the server cannot keep was accepted")
	}
}

// listing: a key that is overwritten all the while stands in every listing, with a revision no older than the one
// before the listing began.
func listing(t *testing.T, js jetstream.JetStream, o kv.Options) {
	o.History = 1
	b, err := kv.Open[Value](t.Context(), js, "listing", o)
	check(t, err)
	const busy = 8
	for i := range busy {
		_, err := b.Create(t.Context(), fmt.Sprintf("k%d", i), Value{N: i})
		check(t, err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := b.Put(context.WithoutCancel(t.Context()), fmt.Sprintf("k%d", i%busy), Value{N: i}); err != nil {
				t.Errorf("put: %v", err)
				return
			}
		}
	})
	for range 100 {
		all, err := b.All(t.Context(), ">")
		if err != nil || len(all) != busy {
			t.Errorf("a listing has %d of %d keys: %v", len(all), busy, err)
			break
		}
	}
	close(stop)
	wg.Wait()
}

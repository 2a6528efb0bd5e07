package kv

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Op says what an event means.
type Op uint8

const (
	// Put is a value: one that was there when the watch began, or a new one.
	Put Op = iota
	// Deleted says that the key has no value any more. The event has the key and the revision.
	Deleted
	// Current says that every value which was there when the watch began was passed. It comes once.
	Current
)

// Event is something that a watcher saw.
type Event[T any] struct {
	Entry[T]
	Op Op
	// Err says that the value could not be decoded; the rest of the event is valid.
	Err error
}

// Watcher follows a bucket. Events of one key come in the order of their revisions. It is used by one goroutine,
// except for Stop.
type Watcher[T any] struct {
	b      *Bucket[T]
	w      jetstream.KeyWatcher
	cancel context.CancelFunc
}

// Watch begins with every value whose key matches the pattern (see [Bucket.Keys]), then says that it is up to date,
// then passes every change. The watcher is replaced on the server by itself when it is lost. Stop frees it.
func (b *Bucket[T]) Watch(ctx context.Context, pattern string) (*Watcher[T], error) {
	// The watcher lives until Stop; the context of its start says nothing about that.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w, err := b.kv.Watch(life, or(pattern))
	if err != nil {
		cancel()
		return nil, b.error("watch", pattern, err)
	}
	return &Watcher[T]{b: b, w: w, cancel: cancel}, nil
}

// Next waits for the next event. ErrClosed says that the watcher was stopped or the connection closed.
func (w *Watcher[T]) Next(ctx context.Context) (Event[T], error) {
	select {
	case e, open := <-w.w.Updates():
		switch {
		case !open:
			w.cancel()
			return Event[T]{}, fmt.Errorf("watch bucket %s: %w", w.b.name, ErrClosed)
		case e == nil:
			return Event[T]{Op: Current}, nil
		case e.Operation() != jetstream.KeyValuePut:
			return Event[T]{Op: Deleted, Entry: Entry[T]{Key: e.Key(), Revision: e.Revision(), Time: e.Created()}}, nil
		}
		v, err := w.b.entry(e)
		if err != nil {
			v = Entry[T]{Key: e.Key(), Revision: e.Revision(), Time: e.Created()}
		}
		return Event[T]{Op: Put, Entry: v, Err: err}, nil
	case <-ctx.Done():
		return Event[T]{}, ctx.Err()
	}
}

// Stop ends the watcher. It may be called more than once.
func (w *Watcher[T]) Stop() {
	_ = w.w.Stop() // The connection may be closed already.
	w.cancel()
	// The client library hands an update over by a channel with a bound, and closes it when the last hand-over has
	// returned. Without a taker a watcher of a busy bucket would hang in it for ever.
	for range w.w.Updates() {
	}
}

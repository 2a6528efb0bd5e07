package kv_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/kv/kvtest"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFile(t *testing.T) {
	js := streamstest.Open(t).JetStream()
	kvtest.Run(t, false, func(*testing.T) jetstream.JetStream { return js })
}

func TestMemory(t *testing.T) {
	js := streamstest.Open(t).JetStream()
	kvtest.Run(t, true, func(*testing.T) jetstream.JetStream { return js })
}

// What a bucket holds survives a restart, with its revisions, and a watcher ends when the server does.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	var revision uint64
	for range 2 {
		s := streamstest.OpenDir(t, dir)
		b, err := kv.Open[string](t.Context(), s.JetStream(), "SF_default_catalog", kv.Options{History: 3})
		if err != nil {
			t.Fatal(err)
		}
		if revision == 0 {
			if revision, err = b.Create(t.Context(), "a", "value"); err != nil {
				t.Fatal(err)
			}
		}
		e, err := b.Get(t.Context(), "a")
		if err != nil || e.Value != "value" || e.Revision != revision {
			t.Fatalf("entry %+v, %v", e, err)
		}
		w, err := b.Watch(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		streamstest.Close(t, s)
		for {
			if _, err := w.Next(t.Context()); err != nil {
				break
			}
		}
	}
}

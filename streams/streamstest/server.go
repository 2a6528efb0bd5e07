// Package streamstest starts embedded logs for tests, and holds the suite that every kind of storage must pass.
package streamstest

import (
	"context"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/streams"
)

// closeTimeout bounds the shutdown of a test server.
const closeTimeout = 20 * time.Second

// Open starts a server in a directory of the test's own and closes it at the end of the test. It has no listener;
// change may set one (127.0.0.1:0 for a free port) and everything else.
func Open(t testing.TB, change ...func(*streams.Options)) *streams.Server {
	t.Helper()
	o := streams.Options{DataDir: t.TempDir()}
	for _, c := range change {
		c(&o)
	}
	s, err := streams.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open the log: %v", err)
	}
	t.Cleanup(func() { Close(t, s) })
	return s
}

// OpenDir is Open on a directory that outlives the server.
func OpenDir(t testing.TB, dir string, change ...func(*streams.Options)) *streams.Server {
	t.Helper()
	return Open(t, append([]func(*streams.Options){func(o *streams.Options) { o.DataDir = dir }}, change...)...)
}

// Close closes a server now; closing it again at the end of the test does nothing.
func Close(t testing.TB, s *streams.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("close the log: %v", err)
	}
}

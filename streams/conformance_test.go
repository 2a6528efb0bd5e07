package streams_test

import (
	"testing"

	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

func TestFileStorage(t *testing.T) {
	streamstest.Run(t, func(t *testing.T) *streams.Server {
		return streamstest.Open(t, func(o *streams.Options) { o.MaxPayload = 1 << 20 })
	})
}

func TestMemoryStorage(t *testing.T) {
	streamstest.Run(t, func(t *testing.T) *streams.Server {
		return streamstest.Open(t, func(o *streams.Options) { o.Storage, o.DataDir, o.MaxPayload = streams.StorageMemory, "", 1<<20 })
	})
}

func TestSyncAlways(t *testing.T) {
	streamstest.Run(t, func(t *testing.T) *streams.Server {
		return streamstest.Open(t, func(o *streams.Options) { o.Sync, o.MaxPayload = streams.SyncAlways, 1<<20 })
	})
}

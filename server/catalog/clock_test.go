package catalog_test

import (
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/server/catalog/catalogtest"
)

type clockTime = time.Time

func clockAt(ms int64) func() time.Time { return func() time.Time { return time.UnixMilli(ms) } }

// bucketText is everything that is stored.
func bucketText(t testing.TB, b *catalogtest.Memory) []byte {
	t.Helper()
	entries, err := b.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, e := range entries {
		out = append(out, e.Value...)
	}
	return out
}

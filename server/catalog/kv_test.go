package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/catalog/catalogtest"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

func bucketOf(t *testing.T, s *streams.Server) catalog.Bucket {
	t.Helper()
	b, err := kv.Open[json.RawMessage](t.Context(), s.JetStream(), "SF_default_catalog", kv.Options{History: 5})
	if err != nil {
		t.Fatal(err)
	}
	return catalog.KV(b)
}

// TestTheRealStore runs the catalog on the embedded log: what was written is there after a restart, names that need an
// encoding are keys, and two catalogs over one bucket lose no write.
func TestTheRealStore(t *testing.T) {
	dir := t.TempDir()
	in := func(o *streams.Options) { o.DataDir = dir }
	first := streamstest.Open(t, in)
	s := &store{Store: catalogtest.Open(t, bucketOf(t, first)), t: t}
	s.source(trades)
	s.source(strings.Replace(trades, `"trades"`, `"ä/b c=*>"`, 1))
	tb := s.table("t", "SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol")
	if _, err := s.StartTable(t.Context(), env, tb.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.UpdateSource(t.Context(), env, "bob", "trades", source(t, strings.Replace(trades, `]}`, `,{"name":"v","type":"String"}]}`, 1)), true); err != nil {
		t.Fatal(err)
	}
	gone := s.pipeline("gone", "SELECT symbol FROM trades")
	if err := s.DeletePipeline(t.Context(), env, gone.ID); err != nil {
		t.Fatal(err)
	}
	want := s.snapshot()
	streamstest.Close(t, first)

	second := streamstest.Open(t, in)
	b := bucketOf(t, second)
	again := &store{Store: catalogtest.Open(t, b), t: t}
	got := again.snapshot()
	if got.Version < want.Version {
		t.Errorf("version %d after a restart, %d before", got.Version, want.Version)
	}
	if a, b := asJSON(t, want.Sources()), asJSON(t, got.Sources()); a != b {
		t.Errorf("sources differ\nbefore %s\nafter  %s", a, b)
	}
	if a, b := asJSON(t, want.Tables()), asJSON(t, got.Tables()); a != b {
		t.Errorf("tables differ\nbefore %s\nafter  %s", a, b)
	}
	if len(got.Pipelines()) != 0 {
		t.Error("a deleted pipeline is back")
	}

	other := catalogtest.Open(t, b)
	if _, err := other.CreateSource(t.Context(), env, "x", source(t, strings.Replace(trades, `"trades"`, `"fresh"`, 1))); err != nil {
		t.Fatal(err)
	}
	_, err := again.CreateSource(t.Context(), env, "y", source(t, strings.Replace(trades, `"trades"`, `"fresh"`, 1)))
	refused(t, err, view.Invalid, "source name already exists")
	const each = 10
	var wg sync.WaitGroup
	for i, st := range []*catalog.Store{again.Store, other} {
		wg.Go(func() {
			for k := range each {
				d := source(t, trades)
				d.Metadata = map[string]string{"w": string(rune('0' + i)), "n": string(rune('0' + k))}
				if _, err := st.UpdateSource(t.Context(), env, "w", "fresh", d, true); err != nil && !errors.Is(err, catalog.ErrRevision) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	sn, _ := catalogtest.Open(t, b).Snapshot(env)
	if r, ok := sn.Source("fresh"); !ok || r.Revision < each || r.Revision > 2*each+1 {
		t.Errorf("fresh: %v %+v", ok, r)
	}
}

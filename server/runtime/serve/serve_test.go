package serve_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/serve"
)

var schema = types.Schema{{Name: "k", Kind: types.String}, {Name: "v", Kind: types.Long}}

type change struct {
	k  string
	v  int64
	ts int64
	w  int64
}

// delta builds a batch with the hidden event time behind the visible columns.
func delta(cs ...change) *zset.Batch {
	b := zset.NewBuilder([]types.Kind{types.String, types.Long, types.Long})
	for _, c := range cs {
		b.Text(0, []byte(c.k))
		b.Long(1, c.v)
		b.Long(2, c.ts)
		b.EndRow(c.w)
	}
	return zset.Consolidate(b.Build())
}

func rows(v *serve.View) map[string]int64 {
	out := map[string]int64{}
	v.Each(0, v.Len(), func(rec []byte, w int64) { out[string(v.AppendJSON(nil, rec))] += w })
	return out
}

func text(k string, v int64) string { return fmt.Sprintf(`{"k":%q,"v":%d}`, k, v) }

func positive(m map[string]int64) map[string]int64 {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(_ string, w int64) bool { return w <= 0 })
	return out
}

// TestViewsEqualAModel applies random deltas, keeps views of many moments, and compares each with a map, at its own
// epoch and at earlier ones, also after a restore from a snapshot.
func TestViewsEqualAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var key []int
		if rapid.Bool().Draw(t, "keyed") {
			key = []int{0}
		}
		s := serve.New(serve.Options{Schema: schema, Key: key})
		model := map[string]int64{}
		moments := map[uint64]map[string]int64{0: {}}
		views := map[uint64]*serve.View{0: s.View()}
		epoch := uint64(0)
		for range rapid.IntRange(1, 25).Draw(t, "deltas") {
			prev := epoch
			epoch += rapid.Uint64Range(1, 3).Draw(t, "epochs")
			var cs []change
			for range rapid.IntRange(1, 12).Draw(t, "rows") {
				c := change{
					k: rapid.SampledFrom([]string{"a", "b", "c", "d-e", ""}).Draw(t, "k"), v: rapid.Int64Range(0, 3).Draw(t, "v"),
					ts: rapid.Int64Range(0, 2).Draw(t, "ts"), w: rapid.SampledFrom([]int64{-2, -1, 1, 1, 2}).Draw(t, "w"),
				}
				cs = append(cs, c)
				model[text(c.k, c.v)] += c.w
			}
			s.Apply(serve.Change{Prev: prev, Epoch: epoch, Seq: int64(len(moments)), Position: epoch, Batch: delta(cs...)})
			moments[epoch] = positive(model)
			if rapid.Bool().Draw(t, "look") {
				views[epoch] = s.View()
			}
		}
		views[epoch] = s.View()
		for e, v := range views {
			if got := rows(v); !maps.Equal(got, moments[e]) || v.Len() != len(got) {
				t.Fatalf("view of epoch %d: %v (Len %d), want %v", e, got, v.Len(), moments[e])
			}
			for at, want := range moments {
				old, ok := v.At(at)
				if at > e {
					continue
				}
				if !ok {
					t.Fatalf("epoch %d cannot be read at %d", at, e)
				}
				if got := rows(old); !maps.Equal(got, want) || old.Len() != len(want) {
					t.Fatalf("epoch %d read at %d: %v, want %v", at, e, got, want)
				}
				if v.Has(at-1) && moments[at-1] == nil && at > 0 && spans(moments, at-1) {
					t.Fatalf("epoch %d lies inside a delta but can be read", at-1)
				}
			}
		}
		back := serve.New(serve.Options{Schema: schema, Key: key})
		v := views[epoch]
		if err := back.Restore(v.AppendSnapshot(nil), v.State); err != nil {
			t.Fatal(err)
		}
		if got := rows(back.View()); !maps.Equal(got, moments[epoch]) {
			t.Fatalf("restored: %v, want %v", got, moments[epoch])
		}
		back.Apply(serve.Change{Prev: epoch, Epoch: epoch + 1, Batch: delta(change{"z", 9, 0, 1})})
		if got := rows(back.View())[text("z", 9)]; got != 1 {
			t.Fatalf("a row after a restore has weight %d", got)
		}
	})
}

func spans(moments map[uint64]map[string]int64, e uint64) bool {
	_, border := moments[e]
	return !border
}

func TestAnUpdatedRowKeepsItsPlace(t *testing.T) {
	s := serve.New(serve.Options{Schema: schema, Key: []int{0}})
	s.Apply(serve.Change{Epoch: 1, Batch: delta(change{"a", 1, 0, 1}, change{"b", 1, 0, 1}, change{"c", 1, 0, 1})})
	for i := int64(1); i < 50; i++ {
		s.Apply(serve.Change{Epoch: uint64(i) + 1, Batch: delta(
			change{"a", i, 0, -1}, change{"a", i + 1, 0, 1}, change{"c", i, 0, -1}, change{"c", i + 1, 0, 1})})
	}
	var got []string
	v := s.View()
	v.Each(0, 9, func(rec []byte, _ int64) { got = append(got, string(v.AppendJSON(nil, rec))) })
	want := []string{text("a", 50), text("b", 1), text("c", 50)}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("rows moved: %v, want %v", got, want)
	}
	var page []string
	v.Each(1, 1, func(rec []byte, _ int64) { page = append(page, string(v.AppendJSON(nil, rec))) })
	if fmt.Sprint(page) != fmt.Sprint(want[1:2]) {
		t.Fatalf("second page of one row: %v", page)
	}
}

func TestChurnDoesNotGrowMemory(t *testing.T) {
	s := serve.New(serve.Options{Schema: schema, Key: []int{0}})
	long := string(make([]byte, 4000))
	add := func(epoch uint64, v, w int64) {
		var cs []change
		for k := range int64(100) {
			if v > 0 {
				cs = append(cs, change{fmt.Sprint(k) + long, v - 1, 0, -1})
			}
			cs = append(cs, change{fmt.Sprint(k) + long, v, 0, w})
		}
		s.Apply(serve.Change{Prev: epoch - 1, Epoch: epoch, Batch: delta(cs...)})
	}
	for i := range int64(400) {
		add(uint64(i)+1, i, 1)
	}
	if got := s.Bytes(); got > 16<<20 {
		t.Fatalf("100 rows of 4 kB take %d bytes after 400 updates", got)
	}
	if s.Len() != 100 {
		t.Fatalf("%d rows, want 100", s.Len())
	}
}

func TestSubscriptionHasNoGap(t *testing.T) {
	s := serve.New(serve.Options{Schema: schema})
	s.Apply(serve.Change{Epoch: 1, Batch: delta(change{"a", 0, 0, 1})})
	sub := s.Subscribe()
	defer sub.Close()
	sum := rows(sub.View)
	go func() {
		for e := uint64(2); e <= 100; e++ {
			s.Apply(serve.Change{Prev: e - 1, Epoch: e, Batch: delta(change{"a", int64(e), 0, 1})})
		}
	}()
	for e := uint64(2); e <= 100; e++ {
		c, err := sub.Next(t.Context())
		if err != nil || c.Epoch != e {
			t.Fatalf("delta of epoch %d (%v), want %d", c.Epoch, err, e)
		}
		sum[text("a", int64(e))]++
	}
	if got := rows(s.View()); !maps.Equal(got, sum) {
		t.Fatalf("snapshot and deltas give %v, the store has %v", sum, got)
	}
}

func TestSlowSubscriberIsDroppedAndCounted(t *testing.T) {
	s := serve.New(serve.Options{Schema: schema})
	sub := s.Subscribe()
	for e := uint64(1); e <= 3000; e++ {
		s.Apply(serve.Change{Prev: e - 1, Epoch: e, Batch: delta(change{"a", 0, 0, 1})})
	}
	var last uint64
	for {
		c, err := sub.Next(t.Context())
		if err != nil {
			if !errors.Is(err, serve.ErrSlow) {
				t.Fatalf("ended with %v", err)
			}
			break
		}
		if c.Epoch != last+1 {
			t.Fatalf("epoch %d after %d: a gap before the end", c.Epoch, last)
		}
		last = c.Epoch
	}
	if s.Dropped() != 1 {
		t.Fatalf("%d drops counted", s.Dropped())
	}
	sub = s.Subscribe()
	s.End(serve.ErrReplaced)
	if _, err := sub.Next(t.Context()); !errors.Is(err, serve.ErrReplaced) {
		t.Fatalf("after a replacement: %v", err)
	}
	sub = s.Subscribe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sub.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	sub.Close()
	sub.Close()
}

func FuzzRestore(f *testing.F) {
	s := serve.New(serve.Options{Schema: schema})
	s.Apply(serve.Change{Epoch: 1, Batch: delta(change{"a", 1, 0, 1}, change{"b", 2, 0, -3})})
	f.Add(s.View().AppendSnapshot(nil))
	f.Add([]byte{})
	f.Add([]byte{1, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := serve.New(serve.Options{Schema: schema})
		if err := s.Restore(b, serve.State{Epoch: 3}); err != nil {
			return
		}
		v := s.View()
		again := serve.New(serve.Options{Schema: schema})
		if err := again.Restore(v.AppendSnapshot(nil), v.State); err != nil {
			t.Fatalf("what was restored does not restore: %v", err)
		}
	})
}

var update = flag.Bool("update", false, "write the golden snapshot")

// TestGoldenSnapshot reads rows that an earlier version has stored.
func TestGoldenSnapshot(t *testing.T) {
	name := filepath.Join("testdata", "rows.golden")
	if *update {
		s := serve.New(serve.Options{Schema: schema, Key: []int{0}})
		s.Apply(serve.Change{Epoch: 1, Batch: delta(change{"a", 1, 0, 1}, change{"b", -300, 0, 2}, change{"", 7, 0, -1})})
		if err := os.WriteFile(name, s.View().AppendSnapshot(nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := serve.New(serve.Options{Schema: schema, Key: []int{0}})
	if err := s.Restore(b, serve.State{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	if got, want := rows(s.View()), (map[string]int64{text("a", 1): 1, text("b", -300): 2}); !maps.Equal(got, want) {
		t.Fatalf("the golden snapshot holds %v, want %v", got, want)
	}
	if again := s.View().AppendSnapshot(nil); string(again) != string(b) {
		t.Fatal("the snapshot is written differently now: give it a new version")
	}
}

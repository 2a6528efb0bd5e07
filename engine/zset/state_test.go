package zset_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// keyGen draws from few keys, so that they meet again, of very different sizes.
var keyGen = rapid.Custom(func(t *rapid.T) string {
	n := rapid.IntRange(0, 40).Draw(t, "key")
	size := rapid.SampledFrom([]int{1, 3, 8, 17, 40, 200, 700}).Draw(t, "size")
	return fmt.Sprintf("%d%s", n, bytes.Repeat([]byte{'k'}, size))
})

func TestKeyTableAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := zset.NewKeyTable()
		model := map[string]uint32{}
		used := map[uint32]bool{}
		steps := rapid.IntRange(1, 300).Draw(t, "steps")
		for range steps {
			key := keyGen.Draw(t, "k")
			id, ok := table.Find([]byte(key))
			want, there := model[key]
			if ok != there || ok && id != want {
				t.Fatalf("Find(%q) = %d, %v; want %d, %v", key, id, ok, want, there)
			}
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0:
				if there {
					table.Remove(want)
					delete(model, key)
					delete(used, want)
				}
			case 1:
				restored := zset.NewKeyTable()
				if err := restored.Restore(table.AppendSnapshot(nil)); err != nil {
					t.Fatal(err)
				}
				table = restored
			default:
				id, added := table.Insert([]byte(key))
				if added == there || there && id != want || !there && used[id] {
					t.Fatalf("Insert(%q) = %d, %v; there before: %v (%d)", key, id, added, there, want)
				}
				model[key], used[id] = id, true
			}
			if table.Len() != len(model) {
				t.Fatalf("Len = %d, want %d", table.Len(), len(model))
			}
		}
		for key, id := range model {
			if string(table.Key(id)) != key {
				t.Fatalf("Key(%d) = %q, want %q", id, table.Key(id), key)
			}
		}
		n := 0
		table.Each(func(id uint32, key []byte) bool {
			if model[string(key)] != id {
				t.Fatalf("Each gives %q the id %d", key, id)
			}
			n++
			return true
		})
		if n != len(model) {
			t.Fatalf("Each gave %d keys of %d", n, len(model))
		}
	})
}

func TestMultisetAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := zset.NewMultiset()
		model := map[string]int64{}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			rec := keyGen.Draw(t, "rec")
			if rapid.IntRange(0, 20).Draw(t, "op") == 0 {
				before := list(set)
				restored := zset.NewMultiset()
				if err := restored.Restore(set.AppendSnapshot(nil)); err != nil {
					t.Fatal(err)
				}
				if got := list(restored); got != before {
					t.Fatalf("restored order:\n%s\nwant:\n%s", got, before)
				}
				set = restored
			}
			w := rapid.Int64Range(-2, 2).Draw(t, "w")
			old, now := set.Add([]byte(rec), w)
			if old != model[rec] || now != old+w {
				t.Fatalf("Add(%q, %d) = %d, %d; want %d", rec, w, old, now, model[rec])
			}
			if model[rec] = now; now == 0 {
				delete(model, rec)
			}
			if set.Len() != len(model) || set.Weight([]byte(rec)) != now {
				t.Fatalf("Len = %d, want %d; weight %d, want %d", set.Len(), len(model), set.Weight([]byte(rec)), now)
			}
		}
		set.Each(func(rec []byte, w int64) bool {
			if model[string(rec)] != w {
				t.Fatalf("Each gives %q the weight %d, want %d", rec, w, model[string(rec)])
			}
			delete(model, string(rec))
			return true
		})
		if len(model) != 0 {
			t.Fatalf("Each forgot %v", model)
		}
	})
}

func list(m *zset.Multiset) string {
	var b bytes.Buffer
	m.Each(func(rec []byte, w int64) bool {
		fmt.Fprintf(&b, "%s %d\n", rec, w)
		return true
	})
	return b.String()
}

// arrangementModel is a map of ordered lists.
type arrangementModel map[string][]weighted

type weighted struct {
	rec string
	w   int64
}

func (m arrangementModel) add(key, rec string, w int64) (before, after int64) {
	for i, r := range m[key] {
		if r.rec != rec {
			continue
		}
		if m[key][i].w += w; m[key][i].w == 0 {
			m[key] = append(m[key][:i:i], m[key][i+1:]...)
			if len(m[key]) == 0 {
				delete(m, key)
			}
		}
		return r.w, r.w + w
	}
	if w != 0 {
		m[key] = append(m[key], weighted{rec, w})
	}
	return 0, w
}

func (m arrangementModel) rows() (n int) {
	for _, l := range m {
		n += len(l)
	}
	return n
}

func TestArrangementAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arr := zset.NewArrangement()
		model := arrangementModel{}
		keys := rapid.IntRange(1, 12).Draw(t, "keys")
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			key := fmt.Sprintf("key%02d", rapid.IntRange(1, keys).Draw(t, "key"))
			rec := fmt.Sprint("rec", rapid.IntRange(0, 30).Draw(t, "rec"))
			switch rapid.IntRange(0, 2).Draw(t, "where") {
			case 0:
				rec = key + rec
			case 1:
				rec += key
			}
			w := rapid.SampledFrom([]int64{-1, -1, 0, 1, 1, 1, 5_000_000_000, -5_000_000_000, -1 << 31, 1 << 31}).Draw(t, "w")
			before, after := arr.Add([]byte(key), []byte(rec), w)
			wantBefore, wantAfter := model.add(key, rec, w)
			if before != wantBefore || after != wantAfter {
				t.Fatalf("Add(%s, %s, %d) = %d, %d; want %d, %d", key, rec, w, before, after, wantBefore, wantAfter)
			}
			if rapid.IntRange(0, 30).Draw(t, "restart") == 0 {
				restored := zset.NewArrangement()
				if err := restored.Restore(arr.AppendSnapshot(nil)); err != nil {
					t.Fatal(err)
				}
				arr = restored
			}
			if arr.Len() != model.rows() || arr.Keys() != len(model) || arr.Count([]byte(key)) != len(model[key]) {
				t.Fatalf("%d records, %d keys, %d of the key; want %d, %d, %d",
					arr.Len(), arr.Keys(), arr.Count([]byte(key)), model.rows(), len(model), len(model[key]))
			}
			checkMatches(t, arr, key, model[key])
		}
		for key, want := range model {
			checkMatches(t, arr, key, want)
		}
		n := 0
		arr.Each(func(key, rec []byte, w int64) bool {
			n++
			for _, r := range model[string(key)] {
				if r.rec == string(rec) && r.w == w {
					return true
				}
			}
			t.Fatalf("Each gives %s %s %d", key, rec, w)
			return false
		})
		if n != model.rows() {
			t.Fatalf("Each gave %d records of %d", n, model.rows())
		}
	})
}

func checkMatches(t *rapid.T, arr *zset.Arrangement, key string, want []weighted) {
	t.Helper()
	var got []weighted
	arr.Match([]byte(key), func(rec []byte, w int64) { got = append(got, weighted{string(rec), w}) })
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("Match(%s) = %v, want %v", key, got, want)
	}
}

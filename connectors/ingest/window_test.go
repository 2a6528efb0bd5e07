package ingest_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/engine/types"
)

func key(n int) (k ingest.Key) {
	binary.BigEndian.PutUint64(k[:], uint64(n))
	return k
}

func TestKeysOfKindsDiffer(t *testing.T) {
	seen := map[ingest.Key]types.Value{}
	for _, v := range []types.Value{
		types.LongOf(1), types.DoubleOf(1), types.StringOf("1"), types.BoolOf(true), types.TimestampOf(1), types.JsonOf("1"),
		types.StringOf(""), types.StringOf("NULL"), types.LongOf(-1), types.DoubleOf(1.5),
	} {
		k := ingest.KeyOf("f", v)
		if other, ok := seen[k]; ok {
			t.Errorf("%v and %v have one key", v, other)
		}
		seen[k] = v
		if k != ingest.KeyOf("f", v) || k == ingest.KeyOf("g", v) {
			t.Errorf("%v has two keys", v)
		}
	}
}

// TestWindowAgainstAList compares with the obvious window, and saves and restores it at every step that rapid picks.
func TestWindowAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 7, 999, 1000, 1001, 2500}).Draw(t, "size")
		w := ingest.NewWindow(size)
		stored := map[int64][]byte{}
		saved := int64(0)
		var list []int
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			for range rapid.IntRange(0, 1500).Draw(t, "adds") {
				n := rapid.IntRange(0, size*3).Draw(t, "key")
				if w.Has(key(n)) != slices.Contains(list, n) {
					t.Fatalf("Has(%d) = %v", n, w.Has(key(n)))
				}
				w.Add(key(n))
				if !slices.Contains(list, n) {
					list = append(list, n)
					list = list[max(0, len(list)-size):]
				}
			}
			changed, oldest := w.Chunks(saved)
			for _, c := range changed {
				stored[c] = w.AppendChunk(nil, c)
			}
			saved = w.Next()
			var chunks [][]byte
			for c := oldest; ; c++ {
				b, ok := stored[c]
				if !ok {
					break
				}
				chunks = append(chunks, b)
			}
			if rapid.Bool().Draw(t, "restart") {
				var err error
				if w, err = ingest.RestoreWindow(size, chunks); err != nil {
					t.Fatal(err)
				}
			}
			if w.Len() != len(list) || w.Next() != saved {
				t.Fatalf("%d keys up to %d, want %d up to %d", w.Len(), w.Next(), len(list), saved)
			}
			for _, n := range list {
				if !w.Has(key(n)) {
					t.Fatalf("key %d is forgotten", n)
				}
			}
		}
	})
}

func TestRestoreWindowOfAnotherSize(t *testing.T) {
	w := ingest.NewWindow(3000)
	for n := range 5500 {
		w.Add(key(n))
	}
	var chunks [][]byte
	changed, oldest := w.Chunks(0)
	for _, c := range changed {
		chunks = append(chunks, w.AppendChunk(nil, c))
	}
	if oldest != 2 || len(chunks) != 4 {
		t.Errorf("oldest %d, %d chunks", oldest, len(chunks))
	}
	for _, size := range []int{10, 3000, 10_000} {
		r, err := ingest.RestoreWindow(size, chunks)
		if err != nil {
			t.Fatal(err)
		}
		if want := min(size, 3000); r.Len() != want || !r.Has(key(5499)) || r.Has(key(2499)) {
			t.Errorf("size %d: %d keys", size, r.Len())
		}
	}
	// A lost chunk: what is before the gap is forgotten, what is after it stays.
	r, err := ingest.RestoreWindow(10_000, slices.Delete(slices.Clone(chunks), 1, 2))
	if err != nil || r.Has(key(2600)) || !r.Has(key(4000)) || r.Next() != 5500 {
		t.Errorf("after a gap: %d keys up to %d, %v", r.Len(), r.Next(), err)
	}
}

func FuzzRestoreWindow(f *testing.F) {
	w := ingest.NewWindow(50)
	for n := range 70 {
		w.Add(key(n))
	}
	f.Add(w.AppendChunk(nil, 0))
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := ingest.RestoreWindow(50, [][]byte{b})
		if err != nil {
			return
		}
		if w.Len() > 50 || int64(w.Len()) > w.Next() {
			t.Fatalf("%d keys up to %d", w.Len(), w.Next())
		}
	})
}

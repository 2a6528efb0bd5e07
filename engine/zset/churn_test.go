package zset_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// rng is a small generator with a fixed seed, so that the long tests are the same on every run.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// sized makes a key of the number whose length depends on it: 8 to about 600 bytes.
func sized(buf []byte, i uint64) []byte {
	buf = binary.BigEndian.AppendUint64(buf[:0], i)
	for range i * 2654435761 % 600 {
		buf = append(buf, byte(i))
	}
	return buf
}

// TestChurnKeepsMemoryBounded: a table whose live part stays the same does not grow, although all of it is replaced
// again and again by keys of other sizes.
func TestChurnKeepsMemoryBounded(t *testing.T) {
	const live = 8000
	set := zset.NewMultiset()
	var buf []byte
	most := int64(0)
	for i := range uint64(15 * live) {
		set.Add(sized(buf, i), 1)
		if i >= live {
			if before, after := set.Add(sized(buf, i-live), -1); before != 1 || after != 0 {
				t.Fatalf("record %d had weight %d, has %d", i-live, before, after)
			}
		}
		if i == 2*live {
			most = set.StateBytes() * 3 / 2
		}
		if most != 0 && set.StateBytes() > most {
			t.Fatalf("after %d records the state takes %d bytes, more than %d", i, set.StateBytes(), most)
		}
	}
	if set.Len() != live {
		t.Fatalf("%d records, want %d", set.Len(), live)
	}
	for i := range uint64(live) {
		if set.Weight(sized(buf, 14*live+i)) != 1 {
			t.Fatalf("record %d is gone", 14*live+i)
		}
	}
}

// TestShrink: space that is not needed any more is given back.
func TestShrink(t *testing.T) {
	table := zset.NewKeyTable()
	var buf []byte
	const n = 40000
	for i := range uint64(n) {
		table.Insert(sized(buf, i))
	}
	full := table.Bytes()
	for id := range uint32(n) {
		if id%50 != 0 {
			table.Remove(id)
		}
	}
	if table.Bytes() > full/3 {
		t.Errorf("%d bytes with %d keys, %d with %d", full, n, table.Bytes(), table.Len())
	}
	for id := uint32(0); id < n; id += 50 {
		if got, ok := table.Find(sized(buf, uint64(id))); !ok || got != id {
			t.Fatalf("key %d has id %d, %v", id, got, ok)
		}
	}
}

// TestLargeRecords: blocks above a chunk have memory of their own, which goes with them.
func TestLargeRecords(t *testing.T) {
	arr := zset.NewArrangement()
	big := make([]byte, 3<<20)
	for i := range 4 {
		big[0] = byte(i)
		arr.Add([]byte("key"), big, 1)
		arr.Add([]byte("key"), fmt.Append(nil, "small", i), 1)
	}
	full := arr.StateBytes()
	n := 0
	arr.Match([]byte("key"), func(rec []byte, w int64) {
		if len(rec) == len(big) {
			n += 1 + int(rec[0])
		}
	})
	if n != 1+2+3+4 {
		t.Errorf("matches add up to %d", n)
	}
	restored := zset.NewArrangement()
	if err := restored.Restore(arr.AppendSnapshot(nil)); err != nil || restored.Len() != 8 {
		t.Errorf("restored %d records: %v", restored.Len(), err)
	}
	for i := range 4 {
		big[0] = byte(i)
		if before, _ := arr.Add([]byte("key"), big, -1); before != 1 {
			t.Fatalf("record %d had weight %d", i, before)
		}
	}
	if got := arr.StateBytes(); got > full-11<<20 {
		t.Errorf("%d bytes with the large records, %d without", full, got)
	}
	if arr.Count([]byte("key")) != 4 {
		t.Errorf("%d records left", arr.Count([]byte("key")))
	}
}

// TestManyKeys passes the size at which the index splits its segments.
func TestManyKeys(t *testing.T) {
	const n = 150000
	table := zset.NewKeyTable()
	var keys zset.KeyBatch
	ids := make([]uint32, 1000)
	for from := 0; from < n; from += 1000 {
		keys.Reset()
		for i := range 1000 {
			keys.Append(fmt.Append(nil, "key-", from+i))
		}
		if added := table.InsertBatch(&keys, ids); added != 1000 || ids[999] != uint32(from+999) {
			t.Fatalf("from %d: %d added, last id %d", from, added, ids[999])
		}
	}
	for i := 0; i < n; i += 3 {
		table.Remove(uint32(i))
	}
	keys.Reset()
	for i := range 1000 {
		keys.Append(fmt.Append(nil, "key-", i))
	}
	table.FindBatch(&keys, ids)
	for i, id := range ids {
		if want := uint32(i); i%3 == 0 && id != zset.NoID || i%3 != 0 && id != want {
			t.Fatalf("key %d has id %d", i, id)
		}
	}
	restored := zset.NewKeyTable()
	if err := restored.Restore(table.AppendSnapshot(nil)); err != nil {
		t.Fatal(err)
	}
	// What comes next gets the same ids in both.
	for i := range 1000 {
		key := fmt.Append(nil, "new-", i)
		a, _ := table.Insert(key)
		b, _ := restored.Insert(key)
		if a != b {
			t.Fatalf("new key %d: id %d, restored %d", i, a, b)
		}
	}
}

// TestHotKey: a key with very many records stays as fast as many keys; with a list that is searched this test would
// take minutes.
func TestHotKey(t *testing.T) {
	arr := zset.NewArrangement()
	const n = 100000
	var buf []byte
	for i := range uint64(n) {
		buf = binary.BigEndian.AppendUint64(append(buf[:0], "hot"...), i)
		arr.Add([]byte("hot"), buf, 1)
	}
	if arr.Count([]byte("hot")) != n || arr.Keys() != 1 {
		t.Fatalf("%d records, %d keys", arr.Count([]byte("hot")), arr.Keys())
	}
	r := rng(1)
	for range n / 2 {
		i := r.next() % n
		buf = binary.BigEndian.AppendUint64(append(buf[:0], "hot"...), i)
		if before, after := arr.Add([]byte("hot"), buf, -1); before == 0 && after != -1 || before != 0 && after != before-1 {
			t.Fatalf("weights %d, %d", before, after)
		}
	}
	last := int64(-1)
	arr.Match([]byte("hot"), func(rec []byte, w int64) {
		if i := int64(binary.BigEndian.Uint64(rec[3:])); w == 1 {
			if i <= last {
				t.Fatalf("record %d after %d", i, last)
			}
			last = i
		}
	})
}

// TestHash fixes the hash: partitions and snapshots of other processes depend on it.
func TestHash(t *testing.T) {
	for key, want := range map[string]uint64{
		"": 0x34d2fe82daccaea6, "a": 0xeef96dff12ca17da, "abcd": 0xee2f0cb93cb3fbc, "12345678": 0xec0a08ba4c1c80c0,
		"0123456789abcdef": 0x595ab0014bab06b, "0123456789abcdef0": 0xe43784700b65a70d,
	} {
		if got := zset.Hash([]byte(key)); got != want {
			t.Errorf("Hash(%q) = %#x, want %#x", key, got, want)
		}
	}
	if got := zset.HashUint64(7); got != 0xcefbf8c39ca83e6c {
		t.Errorf("HashUint64(7) = %#x", got)
	}
}

package zset_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// state is what the three structures share.
type state interface {
	AppendSnapshot(dst []byte) []byte
	Restore(b []byte) error
	StateBytes() int64
	Len() int
}

var (
	_ state = (*zset.KeyTable)(nil)
	_ state = (*zset.Multiset)(nil)
	_ state = (*zset.Arrangement)(nil)
)

// states returns one of each with some history: free slots, debts, long lists, keys inside and outside of records.
func states() map[string]state {
	table, set, arr := zset.NewKeyTable(), zset.NewMultiset(), zset.NewArrangement()
	for i := range 20 {
		key := fmt.Append(nil, "key", i)
		id, _ := table.Insert(key)
		set.Add(key, int64(i%5-2))
		if i%7 == 3 {
			table.Remove(id)
			set.Add(key, -int64(i%5-2))
		}
		arr.Add([]byte("hot"), key, int64(i+1))
		arr.Add(key[:4], append(slices.Clone(key), "/row"...), 1<<40)
		if i%4 == 2 {
			arr.Add([]byte("hot"), key, -int64(i+1))
		}
	}
	return map[string]state{"keytable": table, "multiset": set, "arrangement": arr}
}

func empty(name string) state {
	switch name {
	case "keytable":
		return zset.NewKeyTable()
	case "multiset":
		return zset.NewMultiset()
	}
	return zset.NewArrangement()
}

var update = flag.Bool("update", false, "write the golden snapshots")

// TestGoldenSnapshots: what an older program wrote must be read, and this one writes the same.
func TestGoldenSnapshots(t *testing.T) {
	for name, s := range states() {
		path := filepath.Join("testdata", name+"-v1.hex")
		snap := s.AppendSnapshot(nil)
		if *update {
			if err := os.WriteFile(path, []byte(hex.Dump(snap)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.Dump(snap); got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		restored := empty(name)
		if err := restored.Restore(snap); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again := restored.AppendSnapshot([]byte("x")); !bytes.Equal(again[1:], snap) || restored.Len() != s.Len() {
			t.Errorf("%s: the restored one is another", name)
		}
	}
}

func TestSnapshotDamage(t *testing.T) {
	for name, s := range states() {
		snap := s.AppendSnapshot(nil)
		other := empty(name)
		for i := range snap {
			bad := slices.Clone(snap)
			bad[i] ^= 0x41
			if err := other.Restore(bad); !errors.Is(err, zset.ErrSnapshot) || other.Len() != 0 {
				t.Fatalf("%s, byte %d changed: %v, %d left", name, i, err, other.Len())
			}
			if err := other.Restore(snap[:i]); !errors.Is(err, zset.ErrSnapshot) {
				t.Fatalf("%s, cut off at %d: %v", name, i, err)
			}
		}
		for wrong, w := range states() {
			if wrong == name {
				continue
			}
			if err := other.Restore(w.AppendSnapshot(nil)); !errors.Is(err, zset.ErrSnapshot) {
				t.Fatalf("%s from the snapshot of a %s: %v", name, wrong, err)
			}
		}
		// A failed restore leaves a structure that works.
		if err := other.Restore(snap); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzRestore: no bytes make Restore panic, and what it takes works and comes back the same. The checksum is put
// right, so that the fuzzer gets behind it.
func FuzzRestore(f *testing.F) {
	for _, s := range states() {
		f.Add(s.AppendSnapshot(nil))
	}
	for _, name := range []string{"keytable", "multiset", "arrangement"} {
		f.Add(empty(name).AppendSnapshot(nil))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) < 8 {
			return
		}
		end := len(p) - 4
		p = binary.LittleEndian.AppendUint32(slices.Clone(p[:end]), crc32.Checksum(p[:end], crc32.MakeTable(crc32.Castagnoli)))
		for _, name := range []string{"keytable", "multiset", "arrangement"} {
			s := empty(name)
			if s.Restore(p) != nil {
				continue
			}
			again := s.AppendSnapshot(nil)
			other := empty(name)
			if err := other.Restore(again); err != nil {
				t.Fatalf("%s: its own snapshot: %v", name, err)
			}
			if !bytes.Equal(other.AppendSnapshot(nil), again) {
				t.Fatalf("%s: the snapshot changed", name)
			}
			use(s)
		}
	})
}

// use changes a restored structure in every way and empties it.
func use(s state) {
	switch s := s.(type) {
	case *zset.KeyTable:
		s.Insert([]byte("new"))
		var ids []uint32
		s.Each(func(id uint32, _ []byte) bool { ids = append(ids, id); return true })
		for _, id := range ids {
			s.Remove(id)
		}
	case *zset.Multiset:
		var recs [][]byte
		var ws []int64
		s.Each(func(rec []byte, w int64) bool {
			recs, ws = append(recs, bytes.Clone(rec)), append(ws, w)
			return true
		})
		for i, rec := range recs {
			s.Add(rec, -ws[i])
		}
	case *zset.Arrangement:
		var keys, recs [][]byte
		var ws []int64
		s.Each(func(key, rec []byte, w int64) bool {
			keys, recs, ws = append(keys, bytes.Clone(key)), append(recs, bytes.Clone(rec)), append(ws, w)
			return true
		})
		for i := range keys {
			s.Match(keys[i], func([]byte, int64) {})
			s.Add(keys[i], recs[i], -ws[i])
		}
	}
	if s.Len() > 1 {
		panic(fmt.Sprintf("%T: %d are left", s, s.Len()))
	}
}

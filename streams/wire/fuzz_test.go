package wire_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// FuzzDecode: no input makes Decode panic or allocate without bound, and what it takes is a batch that encodes.
// The checksum is put right, so that the fuzzer gets behind it.
func FuzzDecode(f *testing.F) {
	for _, b := range []*zset.Batch{goldenBatch(0), goldenBatch(3), goldenBatch(20), goldenBatch(100), tradeBatch(40)} {
		f.Add(wire.Encode(nil, b.Kinds(), b))
		f.Add(wire.EncodeMarked(nil, b.Kinds(), b, make([]bool, b.N)))
	}
	f.Add([]byte("SB\x01\x01\xff\xff\xff\x07\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) > 8 {
			end := len(p) - 4
			p = binary.LittleEndian.AppendUint32(bytes.Clone(p[:end]), crc32.Checksum(p[:end], crc32.MakeTable(crc32.Castagnoli)))
		}
		kinds, b, marks, err := wire.DecodeMarked(p)
		if err != nil {
			return
		}
		for i := range b.N {
			b.Row(i)
			b.W(i)
		}
		zset.Consolidate(b)
		_, again, markedAgain, err := wire.DecodeMarked(wire.EncodeMarked(nil, kinds, b, marks))
		if err != nil || text(again) != text(b) || !slices.Equal(markedAgain, marks) {
			t.Fatalf("again: %v\n%s\nwant:\n%s", err, got2(again), text(b))
		}
	})
}

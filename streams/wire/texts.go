package wire

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// Texts begin with a mark. Plain (0): the lengths as integers, then the bytes of all. Dictionary (1): the number
// of entries (uvarint, at least 1), the lengths of the entries as integers, their bytes, and a code a row as
// integers, each below the number of entries.
const (
	textsPlain = 0
	textsDict  = 1
)

// maxTextBytes is what the 32-bit offsets of a column can address.
const maxTextBytes = math.MaxUint32

func appendTexts(dst []byte, col *zset.Column, n, minWidth int) []byte {
	dst = append(dst, textsPlain)
	dst = appendLengths(dst, col.Offs[:n+1], minWidth)
	return append(dst, col.Bytes[col.Offs[0]:col.Offs[n]]...)
}

func appendLengths(dst []byte, offs []uint32, minWidth int) []byte {
	lens := make([]int64, len(offs)-1)
	for i := range lens {
		lens[i] = int64(offs[i+1] - offs[i])
	}
	return appendInts(dst, lens, minWidth)
}

// appendCoded writes the entries that are used, in order of first use, so that a block stands for itself.
func appendCoded(dst []byte, col *zset.Column, n, minWidth int) []byte {
	remap := make([]uint32, col.Dict.Len()) // new code + 1
	codes := make([]int64, n)
	offs := make([]uint32, 1, 64)
	var text []byte
	for i, code := range col.Codes[:n] {
		if remap[code] == 0 {
			text = append(text, col.Dict.At(code)...)
			offs = append(offs, uint32(len(text)))
			remap[code] = uint32(len(offs) - 1)
		}
		codes[i] = int64(remap[code] - 1)
	}
	dst = binary.AppendUvarint(append(dst, textsDict), uint64(len(offs)-1))
	dst = appendLengths(dst, offs, 0)
	return appendInts(append(dst, text...), codes, minWidth)
}

func (r *reader) texts(col *zset.Column, n int) {
	switch r.byte() {
	case textsPlain:
		col.Offs, col.Bytes = r.plain(n)
	case textsDict:
		entries := r.uvarint()
		if entries == 0 || entries > uint64(n) {
			r.bad("a dictionary has no entries, or more than rows")
			return
		}
		offs, text := r.plain(int(entries))
		codes := r.ints(n)
		if r.fail != "" {
			return
		}
		col.Dict = &zset.Dict{Offs: offs, Bytes: text}
		col.Codes = make([]uint32, n)
		for i, c := range codes {
			if uint64(c) >= entries {
				r.bad("a code is beyond its dictionary")
				return
			}
			col.Codes[i] = uint32(c)
		}
	default:
		r.bad("texts have an unknown encoding")
	}
}

// plain reads lengths and bytes of n texts.
func (r *reader) plain(n int) (offs []uint32, text []byte) {
	lens := r.ints(n)
	if r.fail != "" {
		return nil, nil
	}
	offs = make([]uint32, n+1)
	total := uint64(0)
	for i, l := range lens {
		if total += uint64(l); uint64(l) > maxTextBytes || total > maxTextBytes {
			r.bad("texts are longer than a column can be")
			return nil, nil
		}
		offs[i+1] = uint32(total)
	}
	return offs, slices.Clone(r.take(total))
}

package zset

import (
	"encoding/binary"

	"github.com/streamsforge/streamsforge/engine/types"
)

// rankColumn gives every row a key such that cells in canonical order have keys in order. NULL has key 0, which
// others may have too.
func rankColumn(c *Column, rows []ranked) {
	switch {
	case c.Dict != nil && c.Dict.Len() <= len(rows):
		keys := make([]uint64, c.Dict.Len())
		rankTexts(keys, func(i int) []byte { return c.Dict.At(uint32(i)) }, nil)
		for i := range rows {
			rows[i].key = keys[c.Codes[i]]
		}
	case c.Kind.IsText():
		keys := make([]uint64, len(rows))
		rankTexts(keys, c.Text, c)
		for i := range rows {
			rows[i].key = keys[i]
		}
	case c.Kind == types.Double:
		for i := range rows {
			rows[i].key = orderedBits(c.F64[i])
		}
	default:
		for i := range rows {
			rows[i].key = uint64(c.I64[i]) ^ 1<<63
		}
	}
	if c.Valid != nil {
		for i := range rows {
			if c.IsNull(i) {
				rows[i].key = 0
			}
		}
	}
}

// rankTexts takes the eight bytes behind what all texts begin with, those of NULLs in c left out.
func rankTexts(keys []uint64, at func(i int) []byte, c *Column) {
	from := 0
	for from < len(keys) && c != nil && c.IsNull(from) {
		from++
	}
	if from == len(keys) {
		return
	}
	first := at(from)
	common := len(first)
	for i := from + 1; i < len(keys) && common > 0; i++ {
		if c != nil && c.IsNull(i) {
			continue
		}
		t := at(i)
		common = min(common, len(t))
		for k := 0; k < common; k++ {
			if t[k] != first[k] {
				common = k
			}
		}
	}
	for i := range keys {
		if c != nil && c.IsNull(i) {
			continue
		}
		t := at(i)[common:]
		if len(t) >= 8 {
			keys[i] = binary.BigEndian.Uint64(t)
			continue
		}
		k := uint64(0)
		for j, x := range t {
			k |= uint64(x) << (56 - 8*j)
		}
		keys[i] = k
	}
}

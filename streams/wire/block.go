package wire

import (
	"encoding/binary"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// The block form: the weights, then the columns. The weights are one byte, 0 for none or 1, and then integers. A
// column is its validity (0: no NULL; 1: then one bit a row, least significant first) and its values for all rows;
// below a NULL stands any value.

func appendBlock(dst []byte, b *zset.Batch) []byte {
	minWidth := 0
	if cells(b.N, len(b.Cols)) > freeCells {
		minWidth = 1
	}
	if b.Weight == nil {
		dst = append(dst, 0)
	} else {
		dst = appendInts(append(dst, 1), b.Weight[:b.N], minWidth)
	}
	for c := range b.Cols {
		col := &b.Cols[c]
		dst = appendValidity(dst, col, b.N)
		switch {
		case col.Kind.IsText() && col.Dict != nil:
			dst = appendCoded(dst, col, b.N, minWidth)
		case col.Kind.IsText():
			dst = appendTexts(dst, col, b.N, minWidth)
		case col.Kind == types.Double:
			dst = appendDoubles(dst, col.F64[:b.N], minWidth)
		case col.Kind == types.Bool:
			dst = appendBools(dst, col.I64[:b.N])
		default:
			dst = appendInts(dst, col.I64[:b.N], minWidth)
		}
	}
	return dst
}

// freeCells is the number of cells up to which a batch may be any number of times smaller than what it stands for
// (a column of one value has no bytes a row). Above it a cell has at least a bit, so that the memory a decoder
// needs is bounded by the bytes it was given.
const freeCells = 1 << 22

// cells counts the cells of a batch, its weights included.
func cells(rows, columns int) int { return rows * (columns + 1) }

func appendValidity(dst []byte, col *zset.Column, n int) []byte {
	if col.Valid == nil {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	at := len(dst)
	for _, w := range col.Valid[:(n+63)/64] {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst[:at+(n+7)/8]
}

func (r *reader) block(kinds []types.Kind, n int) *zset.Batch {
	if n < blockFrom {
		r.bad("it has fewer rows than a block has")
		return nil
	}
	if n := cells(n, len(kinds)); n > freeCells && n > 16*len(r.p) {
		r.bad("it says that it has more rows than its bytes can hold")
		return nil
	}
	b := &zset.Batch{N: n, Cols: make([]zset.Column, len(kinds))}
	switch r.byte() {
	case 0:
	case 1:
		b.Weight = r.ints(n)
	default:
		r.bad("the mark of the weights is neither 0 nor 1")
	}
	for c, k := range kinds {
		if r.fail != "" {
			return nil
		}
		col := &b.Cols[c]
		col.Kind = k
		col.Valid = r.validity(n)
		switch {
		case k.IsText():
			r.texts(col, n)
		case k == types.Double:
			col.F64 = r.doubles(n)
		case k == types.Bool:
			col.I64 = r.bools(n)
		default:
			col.I64 = r.ints(n)
		}
	}
	return b
}

func (r *reader) validity(n int) []uint64 {
	switch r.byte() {
	case 0:
		return nil
	case 1:
	default:
		r.bad("the mark of the validity is neither 0 nor 1")
		return nil
	}
	p := r.take(uint64(n+7) / 8)
	if p == nil {
		return nil
	}
	v := make([]uint64, (n+63)/64)
	for i := range v {
		if len(p) >= 8 {
			v[i] = binary.LittleEndian.Uint64(p)
			p = p[8:]
			continue
		}
		for k, x := range p {
			v[i] |= uint64(x) << (8 * k)
		}
	}
	if rest := uint(n) & 63; rest != 0 {
		v[len(v)-1] &= 1<<rest - 1
	}
	return v
}

package wire

import (
	"encoding/binary"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// The row form: one byte that says whether there are weights, the weights (a varint a row) when there are, then
// the canonical records of the rows one after the other (see zset.AppendRecord). A record ends by itself as long
// as nothing but another record follows.

func appendRows(dst []byte, b *zset.Batch) []byte {
	if b.Weight == nil {
		dst = append(dst, 0)
	} else {
		dst = append(dst, 1)
		for _, w := range b.Weight[:b.N] {
			dst = binary.AppendVarint(dst, w)
		}
	}
	for i := range b.N {
		dst = zset.AppendRecord(dst, b, i, nil)
	}
	return dst
}

func (r *reader) rows(kinds []types.Kind, n int) *zset.Batch {
	if n >= blockFrom {
		r.bad("it has more rows than the row form holds")
		return nil
	}
	b := &zset.Batch{N: n}
	switch r.byte() {
	case 0:
	case 1:
		b.Weight = make([]int64, n)
		for i := range b.Weight {
			b.Weight[i] = r.varint()
		}
	default:
		r.bad("the mark of the weights is neither 0 nor 1")
	}
	// A cell takes a byte at least.
	if r.fail == "" && n*len(kinds) > len(r.p) {
		r.bad("it is cut off")
	}
	if r.fail != "" {
		return nil
	}
	b.Cols = newColumns(kinds, n)
	text, ok := r.cells(b, nil)
	if ok && text > 0 {
		// Now that the lengths are known the texts of each column get their place, and are read again.
		r.cells(b, placeTexts(b, text))
	}
	if ok {
		r.p = nil
	}
	return b
}

// newColumns makes columns of n rows from one allocation a type.
func newColumns(kinds []types.Kind, n int) []zset.Column {
	var doubles, ints, texts int
	for _, k := range kinds {
		switch {
		case k.IsText():
			texts++
		case k == types.Double:
			doubles++
		default:
			ints++
		}
	}
	f64, i64, offs := make([]float64, doubles*n), make([]int64, ints*n), make([]uint32, texts*(n+1))
	cols := make([]zset.Column, len(kinds))
	for c, k := range kinds {
		col := &cols[c]
		col.Kind = k
		switch {
		case k.IsText():
			col.Offs, offs = offs[:n+1:n+1], offs[n+1:]
		case k == types.Double:
			col.F64, f64 = f64[:n:n], f64[n:]
		default:
			col.I64, i64 = i64[:n:n], i64[n:]
		}
	}
	return cols
}

// cells reads all records. Without text it sets the values and, in Offs, the lengths of the texts, and returns
// their sum; with text, whose columns have their place, it copies the texts.
func (r *reader) cells(b *zset.Batch, text []byte) (total int, ok bool) {
	p := r.p
	for i := range b.N {
		for c := range b.Cols {
			col := &b.Cols[c]
			cell, rest, err := zset.ReadCell(p)
			if err != nil || !fits(cell.Kind, col.Kind) {
				r.bad("a row does not have the cells of its columns")
				return 0, false
			}
			p = rest
			switch {
			case text != nil:
				if col.Kind.IsText() && cell.Kind != types.Unknown {
					copy(text[col.Offs[i]:col.Offs[i+1]], cell.Text)
				}
			case cell.Kind == types.Unknown:
				if col.Valid == nil {
					col.Valid = []uint64{1<<b.N - 1}
				}
				col.Valid[0] &^= 1 << i
			case col.Kind.IsText():
				col.Offs[i+1] = uint32(len(cell.Text))
				total += len(cell.Text)
			case col.Kind == types.Double:
				col.F64[i] = types.CanonicalDouble(cell.F)
			default:
				col.I64[i] = cell.I
			}
		}
	}
	if len(p) > 0 {
		r.bad("bytes are left over")
		return 0, false
	}
	return total, true
}

// placeTexts turns the lengths in Offs into offsets into one buffer for all columns.
func placeTexts(b *zset.Batch, total int) []byte {
	text := make([]byte, total)
	at := uint32(0)
	for c := range b.Cols {
		col := &b.Cols[c]
		if !col.Kind.IsText() {
			continue
		}
		for i := range col.Offs {
			at += col.Offs[i]
			col.Offs[i] = at
		}
		col.Bytes = text
	}
	return text
}

// fits reports whether a cell can stand in a column: a NULL has no kind, and a Timestamp is written as a Long.
func fits(cell, column types.Kind) bool {
	return cell == types.Unknown || cell == column || cell == types.Long && column == types.Timestamp
}

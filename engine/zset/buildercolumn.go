package zset

import (
	"slices"

	"github.com/streamsforge/streamsforge/engine/types"
)

// rows returns the number of cells set so far, the unfinished row's included.
func (col *builderColumn) rows() int {
	switch {
	case col.coded:
		return len(col.codes)
	case col.kind.IsText():
		return len(col.offs) - 1
	case col.kind == types.Double:
		return len(col.f64)
	default:
		return len(col.i64)
	}
}

// zero appends the value that stands below a NULL.
func (col *builderColumn) zero() {
	switch {
	case col.coded:
		col.codes = append(col.codes, 0)
	case col.kind.IsText():
		col.offs = append(col.offs, uint32(len(col.bytes)))
	case col.kind == types.Double:
		col.f64 = append(col.f64, 0)
	default:
		col.i64 = append(col.i64, 0)
	}
}

func (col *builderColumn) truncate(n int) {
	switch {
	case col.coded:
		col.codes = col.codes[:min(n, len(col.codes))]
	case col.kind.IsText():
		if len(col.offs) > n+1 {
			col.offs = col.offs[:n+1]
			col.bytes = col.bytes[:col.offs[n]]
		}
	case col.kind == types.Double:
		col.f64 = col.f64[:min(n, len(col.f64))]
	default:
		col.i64 = col.i64[:min(n, len(col.i64))]
	}
	for len(col.nulls) > 0 && int(col.nulls[len(col.nulls)-1]) >= n {
		col.nulls = col.nulls[:len(col.nulls)-1]
	}
}

// borrow reports whether the codes of a dictionary can be appended to the column as they are, and makes it so
// when the column is still empty.
func (col *builderColumn) borrow(d *Dict) bool {
	switch {
	case col.intern != nil:
		return false
	case col.coded:
		if col.dict == d || col.dict.Extends(d) {
			return true
		}
		if d.Extends(col.dict) {
			col.dict = d
			return true
		}
		return false
	case len(col.offs) == 1:
		col.coded, col.dict, col.codes = true, d, col.codes[:0]
		return true
	}
	return false
}

// codedText appends a text to a column of codes. A borrowed dictionary is left for plain text; an own one grows
// until it does not pay.
func (col *builderColumn) codedText(v []byte) {
	if col.intern == nil {
		col.decode(col.dict)
		col.dict = nil
	} else {
		before := col.intern.Len()
		code := col.intern.Code(v)
		if col.intern.Len() == before || col.intern.Worth() {
			col.codes = append(col.codes, code)
			return
		}
		col.decode(col.intern.Dict())
		col.intern, col.retry = nil, internRetry
	}
	col.bytes = append(col.bytes, v...)
	col.offs = append(col.offs, uint32(len(col.bytes)))
}

// decode turns a column of codes into plain text.
func (col *builderColumn) decode(d *Dict) {
	null := col.nulls
	col.offs = append(col.offs[:0], 0)
	for i, code := range col.codes {
		if len(null) > 0 && int(null[0]) == i {
			null = null[1:]
		} else {
			col.bytes = append(col.bytes, d.At(code)...)
		}
		col.offs = append(col.offs, uint32(len(col.bytes)))
	}
	col.coded, col.codes = false, nil
}

// reserve makes room for n rows, and for as many bytes of text as the last batch had.
func (col *builderColumn) reserve(n int) {
	switch {
	case col.coded:
		col.codes = slices.Grow(col.codes, n)
	case col.kind.IsText():
		col.offs = slices.Grow(col.offs, n)
		col.bytes = slices.Grow(col.bytes, col.lastBytes)
	case col.kind == types.Double:
		col.f64 = slices.Grow(col.f64, n)
	default:
		col.i64 = slices.Grow(col.i64, n)
	}
}

// build hands the memory of the column to a batch.
func (col *builderColumn) build(n int) Column {
	out := Column{Kind: col.kind, Valid: bitmapOf(col.nulls, n)}
	col.nulls = col.nulls[:0]
	switch {
	case col.coded:
		out.Codes = col.codes
		if col.intern != nil {
			out.Dict = col.intern.Dict()
		} else {
			// Borrowed codes end with the batch; the next one may come from elsewhere.
			out.Dict, col.dict, col.coded = col.dict, nil, false
		}
		col.codes = nil
		if out.Dict.Len() == 0 {
			out.Dict = emptyDict
		}
	case col.kind.IsText():
		out.Offs, out.Bytes = col.offs, col.bytes
		col.lastBytes = len(out.Bytes) + len(out.Bytes)/8
		col.offs, col.bytes = []uint32{0}, nil
		if col.retry > 0 {
			if col.retry -= n; col.retry <= 0 {
				col.intern, col.coded = NewInterner(), true
			}
		}
	case col.kind == types.Double:
		out.F64 = col.f64
		col.f64 = nil
	default:
		out.I64 = col.i64
		col.i64 = nil
	}
	return out
}

// bitmapOf makes a validity bitmap from ascending NULL positions; nil when there are none. Bits past n are zero.
func bitmapOf(nulls []uint32, n int) []uint64 {
	if len(nulls) == 0 {
		return nil
	}
	v := onesBitmap(n)
	for _, i := range nulls {
		v[i>>6] &^= 1 << (i & 63)
	}
	return v
}

// onesBitmap returns a bitmap with the first n bits set.
func onesBitmap(n int) []uint64 {
	v := make([]uint64, (n+63)>>6)
	for i := range v {
		v[i] = ^uint64(0)
	}
	if r := uint(n) & 63; r != 0 {
		v[len(v)-1] = 1<<r - 1
	}
	return v
}

package expr

import (
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// grow returns a slice of n elements with unspecified content, reusing the memory.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

func words(n int) int { return (n + 63) >> 6 }

func selLen(sel []int32, n int) int {
	if sel == nil {
		return n
	}
	return len(sel)
}

func allRows(sel, out []int32, n int) []int32 {
	if sel != nil {
		out = out[:len(sel)]
		copy(out, sel)
		return out
	}
	out = out[:n]
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func isValid(valid []uint64, i int32) bool {
	return valid == nil || valid[i>>6]&(1<<(uint(i)&63)) != 0
}

func setNull(valid []uint64, i int32) { valid[i>>6] &^= 1 << (uint(i) & 63) }

func setValid(valid []uint64, i int32) { valid[i>>6] |= 1 << (uint(i) & 63) }

// both is the validity of an operation that is NULL when either side is. It may return one of its arguments.
func both(buf *[]uint64, a, b []uint64, n int) []uint64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	w := words(n)
	*buf = grow(*buf, w)
	out := *buf
	a, b = a[:w], b[:w]
	for i := range out {
		out[i] = a[i] & b[i]
	}
	return out
}

// own copies a validity into buf, so that bits can be cleared; nil becomes all ones.
func own(buf *[]uint64, valid []uint64, n int) []uint64 {
	w := words(n)
	*buf = grow(*buf, w)
	out := *buf
	if valid == nil {
		for i := range out {
			out[i] = ^uint64(0)
		}
	} else if w > 0 && &out[0] != &valid[0] {
		copy(out, valid[:w])
	}
	return out
}

// none returns a validity with every row NULL.
func none(buf *[]uint64, n int) []uint64 {
	*buf = grow(*buf, words(n))
	clear(*buf)
	return *buf
}

// nullNode is NULL for every row.
type nullNode struct{ literalNode }

func newNull(k types.Kind) node { return &nullNode{literalNode{v: types.Null(k)}} }

// filterColumn keeps the rows where a Bool column is TRUE.
func filterColumn(c *zset.Column, sel, out []int32, n int) []int32 {
	if c.Kind != types.Bool {
		return out[:0]
	}
	v := c.I64
	k := 0
	if sel == nil {
		out = out[:n]
		v = v[:n]
		for i := range v {
			out[k] = int32(i)
			k += int(v[i] & 1)
		}
	} else {
		out = out[:len(sel)]
		for _, i := range sel {
			out[k] = i
			k += int(v[i] & 1)
		}
	}
	return dropNulls(c.Valid, out[:k])
}

// dropNulls removes positions that are NULL, in place.
func dropNulls(valid []uint64, sel []int32) []int32 {
	if valid == nil {
		return sel
	}
	k := 0
	for _, i := range sel {
		sel[k] = i
		k += int(valid[i>>6] >> (uint(i) & 63) & 1)
	}
	return sel[:k]
}

// without returns the positions of sel that are not in hit; both ascend and hit is part of sel. out may be the
// memory of sel but not of hit.
func without(sel, hit, out []int32, n int) []int32 {
	k, h := 0, 0
	if sel == nil {
		out = out[:n]
		for i := range int32(n) {
			if h < len(hit) && hit[h] == i {
				h++
				continue
			}
			out[k] = i
			k++
		}
		return out[:k]
	}
	out = out[:len(sel)]
	for _, i := range sel {
		if h < len(hit) && hit[h] == i {
			h++
			continue
		}
		out[k] = i
		k++
	}
	return out[:k]
}

// merge joins two disjoint ascending lists into out, which shares memory with neither.
func merge(a, b, out []int32) []int32 {
	out = out[:len(a)+len(b)]
	i, j := 0, 0
	for k := range out {
		if j == len(b) || i < len(a) && a[i] < b[j] {
			out[k] = a[i]
			i++
		} else {
			out[k] = b[j]
			j++
		}
	}
	return out
}

// compact gathers the selected rows of an aligned column into dst. NULLs get zero values.
func compact(dst, c *zset.Column, sel []int32, n int) {
	m := selLen(sel, n)
	valid, f64, i64, codes := dst.Valid, dst.F64, dst.I64, dst.Codes
	offs, bytes := dst.Offs, dst.Bytes
	*dst = zset.Column{Kind: c.Kind}
	if c.Valid != nil {
		valid = grow(valid, words(m))
		clear(valid)
		all := true
		for k := range int32(m) {
			if isValid(c.Valid, at(sel, k)) {
				setValid(valid, k)
			} else {
				all = false
			}
		}
		if !all {
			dst.Valid = valid
		}
	}
	switch {
	case c.Kind == types.Double:
		dst.F64 = compactWords(grow(f64, m), c.F64, sel)
		zeroNulls(dst.F64, dst.Valid)
	case !c.Kind.IsText() && c.Kind != types.Unknown:
		dst.I64 = compactWords(grow(i64, m), c.I64, sel)
		zeroNulls(dst.I64, dst.Valid)
	case c.Dict != nil:
		dst.Dict = c.Dict
		dst.Codes = compactWords(grow(codes, m), c.Codes, sel)
		zeroNulls(dst.Codes, dst.Valid)
	default:
		offs, bytes = grow(offs, m+1), bytes[:0]
		offs[0] = 0
		for k := range int32(m) {
			i := at(sel, k)
			if isValid(c.Valid, i) {
				bytes = append(bytes, c.Bytes[c.Offs[i]:c.Offs[i+1]]...)
			}
			offs[k+1] = uint32(len(bytes))
		}
		dst.Offs, dst.Bytes = offs, bytes
	}
}

func at(sel []int32, k int32) int32 {
	if sel == nil {
		return k
	}
	return sel[k]
}

func compactWords[T any](dst, src []T, sel []int32) []T {
	if sel == nil {
		copy(dst, src)
		return dst
	}
	for k, i := range sel {
		dst[k] = src[i]
	}
	return dst
}

func zeroNulls[T float64 | int64 | uint32](v []T, valid []uint64) {
	if valid == nil {
		return
	}
	for i := range v {
		if !isValid(valid, int32(i)) {
			v[i] = 0
		}
	}
}

// textOut builds a text column row by row, in ascending order of position.
type textOut struct {
	col   zset.Column
	valid []uint64
	next  int32
}

// start prepares n rows, all NULL.
func (t *textOut) start(k types.Kind, n int) {
	t.col.Kind = k
	t.col.Offs = grow(t.col.Offs, n+1)
	t.col.Offs[0] = 0
	t.col.Bytes = t.col.Bytes[:0]
	t.col.Valid = none(&t.valid, n)
	t.next = 0
}

// skip fills the rows before i with NULL. The text of row i is what is appended to col.Bytes before end(i).
func (t *textOut) skip(i int32) {
	at := uint32(len(t.col.Bytes))
	for ; t.next < i; t.next++ {
		t.col.Offs[t.next+1] = at
	}
}

// end finishes row i, which is not NULL.
func (t *textOut) end(i int32) {
	t.col.Offs[i+1] = uint32(len(t.col.Bytes))
	setValid(t.col.Valid, i)
	t.next = i + 1
}

// put appends a row.
func (t *textOut) put(i int32, text []byte) {
	t.skip(i)
	t.col.Bytes = append(t.col.Bytes, text...)
	t.end(i)
}

func (t *textOut) done(n int) *zset.Column {
	t.skip(int32(n))
	return &t.col
}

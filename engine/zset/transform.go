package zset

import (
	"github.com/streamsforge/streamsforge/engine/types"
)

// Slice returns rows from (inclusive) to to (exclusive). The values are shared with b, not copied.
func Slice(b *Batch, from, to int) *Batch {
	if from == 0 && to == b.N {
		return b
	}
	out := &Batch{N: to - from, Cols: make([]Column, len(b.Cols))}
	if b.Weight != nil {
		out.Weight = b.Weight[from:to:to]
	}
	for c := range b.Cols {
		in := &b.Cols[c]
		o := &out.Cols[c]
		o.Kind, o.Dict = in.Kind, in.Dict
		o.Valid = sliceBitmap(in.Valid, from, to)
		switch {
		case in.Dict != nil:
			o.Codes = in.Codes[from:to:to]
		case in.Kind.IsText():
			o.Offs, o.Bytes = in.Offs[from:to+1:to+1], in.Bytes
		case in.Kind == types.Double:
			o.F64 = in.F64[from:to:to]
		default:
			o.I64 = in.I64[from:to:to]
		}
	}
	return out
}

// sliceBitmap returns bits from..to as a bitmap of its own, nil when they are all set.
func sliceBitmap(v []uint64, from, to int) []uint64 {
	if v == nil {
		return nil
	}
	n := to - from
	out := make([]uint64, (n+63)>>6)
	shift := uint(from) & 63
	for i := range out {
		w := v[from>>6+i] >> shift
		if next := from>>6 + i + 1; shift != 0 && next < len(v) {
			w |= v[next] << (64 - shift)
		}
		out[i] = w
	}
	if r := uint(n) & 63; r != 0 {
		out[len(out)-1] &= 1<<r - 1
	}
	if fullBitmap(out, n) {
		return nil
	}
	return out
}

// fullBitmap reports whether the first n bits are set; the bits past n are zero.
func fullBitmap(v []uint64, n int) bool {
	for i := range n >> 6 {
		if v[i] != ^uint64(0) {
			return false
		}
	}
	r := uint(n) & 63
	return r == 0 || v[n>>6] == 1<<r-1
}

// Gather returns the chosen rows in the order of sel. A dictionary column keeps its dictionary.
func Gather(b *Batch, sel []int32) *Batch {
	out := &Batch{N: len(sel), Cols: make([]Column, len(b.Cols))}
	for c := range b.Cols {
		out.Cols[c] = GatherColumn(&b.Cols[c], sel)
	}
	if b.Weight != nil {
		out.Weight = gather(b.Weight, sel)
	}
	return out
}

// GatherColumn returns the chosen cells of one column.
func GatherColumn(in *Column, sel []int32) Column {
	out := Column{Kind: in.Kind, Dict: in.Dict, Valid: gatherBitmap(in.Valid, sel)}
	switch {
	case in.Dict != nil:
		out.Codes = gather(in.Codes, sel)
	case in.Kind.IsText():
		total := 0
		for _, i := range sel {
			total += int(in.Offs[i+1] - in.Offs[i])
		}
		out.Offs = make([]uint32, len(sel)+1)
		out.Bytes = make([]byte, 0, total)
		for j, i := range sel {
			out.Bytes = append(out.Bytes, in.Bytes[in.Offs[i]:in.Offs[i+1]]...)
			out.Offs[j+1] = uint32(len(out.Bytes))
		}
	case in.Kind == types.Double:
		out.F64 = gather(in.F64, sel)
	default:
		out.I64 = gather(in.I64, sel)
	}
	return out
}

func gather[T any](in []T, sel []int32) []T {
	out := make([]T, len(sel))
	for j, i := range sel {
		out[j] = in[i]
	}
	return out
}

func gatherBitmap(v []uint64, sel []int32) []uint64 {
	if v == nil {
		return nil
	}
	out := make([]uint64, (len(sel)+63)>>6)
	for j, i := range sel {
		out[j>>6] |= v[i>>6] >> (uint(i) & 63) & 1 << (uint(j) & 63)
	}
	if fullBitmap(out, len(sel)) {
		return nil
	}
	return out
}

// Negate returns the batch with every weight's sign turned. The columns are shared.
func Negate(b *Batch) *Batch {
	w := make([]int64, b.N)
	for i := range w {
		w[i] = -b.W(i)
	}
	return &Batch{N: b.N, Cols: b.Cols, Weight: w}
}

// Concat returns the rows of all batches, in order. The batches have the same kinds; nil and empty ones are
// skipped. No batch at all gives nil.
func Concat(bs ...*Batch) *Batch {
	var first *Batch
	var parts []*Batch
	n := 0
	weighted := false
	for _, b := range bs {
		if b == nil {
			continue
		}
		if first == nil {
			first = b
		}
		if b.N > 0 {
			parts = append(parts, b)
			n += b.N
			weighted = weighted || b.Weight != nil
		}
	}
	switch len(parts) {
	case 0:
		return first
	case 1:
		return parts[0]
	}
	out := &Batch{N: n, Cols: make([]Column, len(first.Cols))}
	for c := range out.Cols {
		out.Cols[c] = concatColumn(parts, c, n)
	}
	if weighted {
		out.Weight = make([]int64, 0, n)
		for _, b := range parts {
			for i := range b.N {
				out.Weight = append(out.Weight, b.W(i))
			}
		}
	}
	return out
}

func concatColumn(parts []*Batch, c, n int) Column {
	out := Column{Kind: parts[0].Cols[c].Kind, Valid: concatBitmap(parts, c, n)}
	switch {
	case out.Kind.IsText():
		concatText(&out, parts, c, n)
	case out.Kind == types.Double:
		out.F64 = make([]float64, 0, n)
		for _, b := range parts {
			out.F64 = append(out.F64, b.Cols[c].F64[:b.N]...)
		}
	default:
		out.I64 = make([]int64, 0, n)
		for _, b := range parts {
			out.I64 = append(out.I64, b.Cols[c].I64[:b.N]...)
		}
	}
	return out
}

func concatBitmap(parts []*Batch, c, n int) []uint64 {
	var v []uint64
	at := 0
	for _, b := range parts {
		if col := &b.Cols[c]; col.Valid != nil {
			if v == nil {
				v = onesBitmap(n)
			}
			for i := range b.N {
				if col.IsNull(i) {
					v[(at+i)>>6] &^= 1 << (uint(at+i) & 63)
				}
			}
		}
		at += b.N
	}
	return v
}

// concatText keeps codes where it can: when one dictionary extends all others the codes are copied; when all
// columns have dictionaries that are small beside their rows, the dictionaries are merged; else the result is
// plain text.
func concatText(out *Column, parts []*Batch, c, n int) {
	dict := parts[0].Cols[c].Dict
	entries, one := 0, dict != nil
	allCoded := true
	for _, b := range parts {
		d := b.Cols[c].Dict
		if d == nil {
			allCoded, one = false, false
			break
		}
		entries += d.Len()
		if one && !dict.Extends(d) {
			one = d.Extends(dict)
			dict = d
		}
	}
	switch {
	case one:
		out.Dict = dict
		out.Codes = make([]uint32, 0, n)
		for _, b := range parts {
			out.Codes = append(out.Codes, b.Cols[c].Codes[:b.N]...)
		}
		return
	case allCoded && entries <= max(n, 64):
		mergeDicts(out, parts, c, n)
		return
	}
	total := 0
	for _, b := range parts {
		col := &b.Cols[c]
		for i := range b.N {
			total += len(col.Text(i))
		}
	}
	out.Offs = append(make([]uint32, 0, n+1), 0)
	out.Bytes = make([]byte, 0, total)
	for _, b := range parts {
		col := &b.Cols[c]
		for i := range b.N {
			if !col.IsNull(i) {
				out.Bytes = append(out.Bytes, col.Text(i)...)
			}
			out.Offs = append(out.Offs, uint32(len(out.Bytes)))
		}
	}
}

func mergeDicts(out *Column, parts []*Batch, c, n int) {
	in := NewInterner()
	out.Codes = make([]uint32, 0, n)
	var remap []uint32
	var last *Dict
	for _, b := range parts {
		col := &b.Cols[c]
		if col.Dict != last {
			last, remap = col.Dict, remap[:0]
			for code := range uint32(last.Len()) {
				remap = append(remap, in.Code(last.At(code)))
			}
		}
		for _, code := range col.Codes[:b.N] {
			out.Codes = append(out.Codes, remap[code])
		}
	}
	out.Dict = in.Dict()
}

package wire

import (
	"encoding/binary"
	"slices"
)

// Integers are a frame of reference: the width of an offset in bytes (0, 1, 2, 4 or 8), the smallest value
// (varint), and for each value its offset from it. Width 0 means that all values are the smallest; very large
// batches do not use it, see freeCells.

// word is what integers are packed from and unpacked to.
type word interface{ int64 | uint32 }

func appendInts[T word](dst []byte, v []T, minWidth int) []byte {
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	width := max(minWidth, widthOf(uint64(hi)-uint64(lo)))
	dst, out := appendFrame(dst, width, int64(lo), len(v))
	switch width {
	case 1:
		for i, x := range v {
			out[i] = byte(x - lo)
		}
	case 2:
		for i, x := range v {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(x-lo))
		}
	case 4:
		for i, x := range v {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(x-lo))
		}
	case 8:
		for i, x := range v {
			binary.LittleEndian.PutUint64(out[8*i:], uint64(x-lo))
		}
	}
	return dst
}

// appendFrame appends the head of n integers and room for their offsets.
func appendFrame(dst []byte, width int, lo int64, n int) (all, out []byte) {
	dst = binary.AppendVarint(append(dst, byte(width)), lo)
	at := len(dst)
	dst = slices.Grow(dst, width*n)[:at+width*n]
	return dst, dst[at:]
}

func widthOf(span uint64) int {
	switch {
	case span == 0:
		return 0
	case span < 1<<8:
		return 1
	case span < 1<<16:
		return 2
	case span < 1<<32:
		return 4
	}
	return 8
}

// frame is the head of integers and their offsets.
type frame struct {
	width byte
	lo    int64
	p     []byte
}

func (r *reader) frame(n int) (f frame) {
	f.width, f.lo = r.byte(), r.varint()
	switch f.width {
	case 0, 1, 2, 4, 8:
		f.p = r.take(uint64(f.width) * uint64(n))
	default:
		r.bad("integers have a width that is not 0, 1, 2, 4 or 8")
	}
	return f
}

func (r *reader) ints(n int) []int64 {
	f := r.frame(n)
	if r.fail != "" {
		return nil
	}
	v := make([]int64, n)
	unpack(v, f)
	return v
}

// unpack fills v; the frame has an offset for each.
func unpack[T word](v []T, f frame) {
	lo := T(f.lo)
	p := f.p
	switch f.width {
	case 0:
		for i := range v {
			v[i] = lo
		}
	case 1:
		p = p[:len(v)]
		for i, x := range p {
			v[i] = lo + T(x)
		}
	case 2:
		for i := range v {
			v[i] = lo + T(binary.LittleEndian.Uint16(p[:2]))
			p = p[2:]
		}
	case 4:
		for i := range v {
			v[i] = lo + T(binary.LittleEndian.Uint32(p[:4]))
			p = p[4:]
		}
	case 8:
		for i := range v {
			v[i] = lo + T(binary.LittleEndian.Uint64(p[:8]))
			p = p[8:]
		}
	}
}

// Bools are one bit a row, least significant first.

func appendBools(dst []byte, v []int64) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, (len(v)+7)/8)...)
	for i, x := range v {
		if x != 0 {
			dst[at+i>>3] |= 1 << (i & 7)
		}
	}
	return dst
}

func (r *reader) bools(n int) []int64 {
	p := r.take(uint64(n+7) / 8)
	if r.fail != "" {
		return nil
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(p[i>>3] >> (i & 7) & 1)
	}
	return v
}

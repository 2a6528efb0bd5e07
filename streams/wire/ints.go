package wire

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Integers are a frame of reference: the width of an offset in bytes (0, 1, 2, 4 or 8), the smallest value
// (varint), and for each value its offset from it. Width 0 means that all values are the smallest.

// minWidth is 1 in very large batches, see freeCells.

func appendInts(dst []byte, v []int64, minWidth int) []byte {
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	width := max(minWidth, widthOf(uint64(hi)-uint64(lo)))
	dst = binary.AppendVarint(append(dst, byte(width)), lo)
	at := len(dst)
	dst = slices.Grow(dst, width*len(v))[:at+width*len(v)]
	out := dst[at:]
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

func (r *reader) ints(n int) []int64 {
	width := r.byte()
	lo := r.varint()
	switch width {
	case 0, 1, 2, 4, 8:
	default:
		r.bad("integers have a width that is not 0, 1, 2, 4 or 8")
	}
	p := r.take(uint64(width) * uint64(n))
	if r.fail != "" {
		return nil
	}
	v := make([]int64, n)
	switch width {
	case 0:
		for i := range v {
			v[i] = lo
		}
	case 1:
		for i, x := range p[:len(v)] {
			v[i] = lo + int64(x)
		}
	case 2:
		for i := range v {
			v[i] = lo + int64(binary.LittleEndian.Uint16(p[2*i:]))
		}
	case 4:
		for i := range v {
			v[i] = lo + int64(binary.LittleEndian.Uint32(p[4*i:]))
		}
	case 8:
		for i := range v {
			v[i] = lo + int64(binary.LittleEndian.Uint64(p[8*i:]))
		}
	}
	return v
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

// Doubles are integers when they are whole numbers or have two decimals, as prices have: a mark (1 or 2) and the
// integers of the doubles times 1 or 100. Else the mark is 0 and eight bytes a value follow.
const (
	doublesRaw     = 0
	doublesWhole   = 1
	doublesHundred = 2
)

func appendDoubles(dst []byte, v []float64, minWidth int) []byte {
	for mark, scale := range [...]float64{doublesWhole: 1, doublesHundred: 100} {
		if mark == doublesRaw || !scales(v[len(v)/2], scale) {
			continue
		}
		if out, ok := appendScaled(append(dst, byte(mark)), v, scale, minWidth); ok {
			return out
		}
	}
	dst = append(dst, doublesRaw)
	for _, f := range v {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
	}
	return dst
}

// scales reports whether f is exactly an integer below 2^52 divided by scale. A NaN, an infinity and -0 are not.
func scales(f, scale float64) bool {
	x := math.RoundToEven(f * scale)
	return x/scale == f && x < 1<<52 && x > -1<<52 && !(x == 0 && math.Signbit(f))
}

func appendScaled(dst []byte, v []float64, scale float64, minWidth int) ([]byte, bool) {
	ints := make([]int64, len(v))
	for i, f := range v {
		if !scales(f, scale) {
			return nil, false
		}
		ints[i] = int64(math.RoundToEven(f * scale))
	}
	return appendInts(dst, ints, minWidth), true
}

func (r *reader) doubles(n int) []float64 {
	mark := r.byte()
	switch mark {
	case doublesWhole, doublesHundred:
		scale := 1.0
		if mark == doublesHundred {
			scale = 100
		}
		ints := r.ints(n)
		v := make([]float64, len(ints))
		for i, x := range ints {
			v[i] = float64(x) / scale
		}
		return v
	case doublesRaw:
		p := r.take(8 * uint64(n))
		if r.fail != "" {
			return nil
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = types.CanonicalDouble(math.Float64frombits(binary.LittleEndian.Uint64(p[8*i:])))
		}
		return v
	}
	r.bad("doubles have an unknown encoding")
	return nil
}

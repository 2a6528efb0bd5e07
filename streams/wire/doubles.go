package wire

import (
	"encoding/binary"
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Doubles are integers when they are whole numbers or have two decimals, as prices have: a mark (1 or 2) and the
// integers of the doubles times 1 or 100. Else the mark is 0 and eight bytes a value follow.
const (
	doublesRaw     = 0
	doublesWhole   = 1
	doublesHundred = 2
)

func appendDoubles(dst []byte, v []float64, minWidth int) []byte {
	if lo, hi, ok := scaled(v, 1); ok {
		return appendScaled(append(dst, doublesWhole), v, 1, lo, hi, minWidth)
	}
	if lo, hi, ok := scaled(v, 100); ok {
		return appendScaled(append(dst, doublesHundred), v, 100, lo, hi, minWidth)
	}
	dst = append(dst, doublesRaw)
	for _, f := range v {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
	}
	return dst
}

// scaleLimit bounds the integers: below it a double holds them and their hundredth exactly enough to come back.
const scaleLimit = 1 << 52

// scaled reports whether every double is exactly an integer divided by scale, and the smallest and largest of the
// integers. A NaN and an infinity are not. Most columns of other doubles fail at the first value.
func scaled(v []float64, scale float64) (lo, hi int64, ok bool) {
	lo, hi = math.MaxInt64, math.MinInt64
	for _, f := range v {
		x := math.RoundToEven(f * scale)
		if !(x < scaleLimit && x > -scaleLimit) || x/scale != f {
			return 0, 0, false
		}
		lo, hi = min(lo, int64(x)), max(hi, int64(x))
	}
	return lo, hi, true
}

func appendScaled(dst []byte, v []float64, scale float64, lo, hi int64, minWidth int) []byte {
	width := max(minWidth, widthOf(uint64(hi)-uint64(lo)))
	dst, out := appendFrame(dst, width, lo, len(v))
	for i, f := range v {
		x := int64(math.RoundToEven(f*scale)) - lo
		switch width {
		case 1:
			out[i] = byte(x)
		case 2:
			binary.LittleEndian.PutUint16(out[2*i:], uint16(x))
		case 4:
			binary.LittleEndian.PutUint32(out[4*i:], uint32(x))
		case 8:
			binary.LittleEndian.PutUint64(out[8*i:], uint64(x))
		}
	}
	return dst
}

func (r *reader) doubles(n int) []float64 {
	switch mark := r.byte(); mark {
	case doublesWhole, doublesHundred:
		f := r.frame(n)
		if r.fail != "" {
			return nil
		}
		scale := 1.0
		if mark == doublesHundred {
			scale = 100
		}
		v := make([]float64, n)
		unpackScaled(v, f, scale)
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

func unpackScaled(v []float64, f frame, scale float64) {
	p := f.p
	switch f.width {
	case 0:
		for i := range v {
			v[i] = float64(f.lo) / scale
		}
	case 1:
		for i, x := range p[:len(v)] {
			v[i] = float64(f.lo+int64(x)) / scale
		}
	case 2:
		for i := range v {
			v[i] = float64(f.lo+int64(binary.LittleEndian.Uint16(p[:2]))) / scale
			p = p[2:]
		}
	case 4:
		for i := range v {
			v[i] = float64(f.lo+int64(binary.LittleEndian.Uint32(p[:4]))) / scale
			p = p[4:]
		}
	case 8:
		for i := range v {
			v[i] = float64(f.lo+int64(binary.LittleEndian.Uint64(p[:8]))) / scale
			p = p[8:]
		}
	}
}

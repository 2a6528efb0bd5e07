package agg

import (
	"math"
	"math/bits"
)

// An exact sum of doubles is the integer 2^-e times the sum, in 128 bits: every double is a 53-bit integer times a
// power of two, and e is chosen with the first value so that values of about the same size fit. A value or a sum
// that does not fit moves the group to a wide sum, a fixed-point number that holds every double there is. Either
// form is exact, so the result, rounded once when it is read, does not depend on order, batches or form.
//
// State of a group, three words: high and low half of the integer, and meta:
//
//	meta = 0                      nothing was added, or everything was taken back
//	meta = e + exactBias          the compact form
//	meta = exactWide | index      the wide form; high and low are unused
const (
	exactWords = 3
	exactBias  = 1 << 15
	exactWide  = 1 << 63
	// exactRoom is how many bits below the first value's last bit the compact form keeps for smaller values.
	exactRoom = 32
)

// split returns the integer and the exponent of a finite double: |x| = mant * 2^exp.
func split(x float64) (mant uint64, exp int) {
	b := math.Float64bits(x)
	exp = int(b >> 52 & 0x7ff)
	mant = b & (1<<52 - 1)
	if exp == 0 {
		return mant, -1074
	}
	return mant | 1<<52, exp - 1075
}

// exactAdd adds w times x to a compact state. It returns false, with the state unchanged, when the wide form is
// needed.
func exactAdd(st []uint64, x float64, w int64) bool {
	st = st[:exactWords:exactWords]
	mant, exp := split(x)
	if mant == 0 {
		return true
	}
	meta := st[2]
	e := int(meta) - exactBias
	if meta == 0 {
		e = exp - exactRoom
	}
	shift := exp - e
	if shift < 0 {
		if bits.TrailingZeros64(mant) < -shift {
			return false
		}
		mant >>= uint(-shift)
		shift = 0
	}
	negative := math.Float64bits(x)>>63 != 0
	var hi, lo uint64
	switch w {
	case 1:
		lo = mant
	case -1:
		lo = mant
		negative = !negative
	default:
		u := uint64(w)
		if w < 0 {
			u = -u
			negative = !negative
		}
		hi, lo = bits.Mul64(mant, u)
	}
	if hi == 0 && shift <= 74 {
		// mant has 53 bits (or 64 after the product): below 2^127 after the shift when it has at most 53.
		if bits.Len64(lo)+shift > 126 {
			return false
		}
		if shift >= 64 {
			hi, lo = lo<<uint(shift-64), 0
		} else {
			hi, lo = lo>>1>>uint(63-shift), lo<<uint(shift)
		}
	} else if hi != 0 && 64+bits.Len64(hi)+shift <= 126 {
		hi, lo = hi<<uint(shift)|lo>>1>>uint(63-shift), lo<<uint(shift)
	} else {
		return false
	}
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	sumLo, carry := bits.Add64(st[1], lo, 0)
	sumHi, _ := bits.Add64(st[0], hi, carry)
	if (st[0]^sumHi)&(hi^sumHi)>>63 != 0 {
		return false
	}
	st[0], st[1] = sumHi, sumLo
	if sumHi|sumLo == 0 {
		st[2] = 0
		return true
	}
	st[2] = uint64(e + exactBias)
	return true
}

// exactParts returns the compact sum as f * 2^exp, with f rounded to a double once.
func exactParts(st []uint64) (f float64, exp int) {
	if st[2] == 0 {
		return 0, 0
	}
	f, exp = round128(st[0], st[1])
	return f, exp + int(st[2]) - exactBias
}

// round128 returns a signed 128-bit integer as f * 2^exp, f rounded half to even.
func round128(hi, lo uint64) (f float64, exp int) {
	negative := hi>>63 != 0
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	if hi != 0 {
		// The upper 64 bits decide; what is below them only breaks a tie, which the lowest bit stands for.
		exp = 64 - bits.LeadingZeros64(hi)
		rest := lo << uint(64-exp)
		lo = hi<<uint(64-exp) | lo>>uint(exp)
		if rest != 0 {
			lo |= 1
		}
	}
	f = float64(lo)
	if negative {
		f = -f
	}
	return f, exp
}

// wideWords covers 2^-1074 up to 2^1023 with 64 bits for the weights and 37 for the number of additions.
const wideWords = 34

// wide is the wide form: a two's complement integer of 2^-1074, lowest word first, and the net number of infinities.
type wide struct {
	sum      [wideWords]uint64
	inf      int64
	minusInf int64
}

// add adds w times x.
func (s *wide) add(x float64, w int64) {
	if math.IsInf(x, 0) {
		if x > 0 {
			s.inf += w
		} else {
			s.minusInf += w
		}
		return
	}
	mant, exp := split(x)
	negative := math.Float64bits(x)>>63 != 0
	u := uint64(w)
	if w < 0 {
		u = -u
		negative = !negative
	}
	hi, lo := bits.Mul64(mant, u)
	s.addShifted(hi, lo, exp+1074, negative)
}

// addShifted adds the 128-bit integer shifted left by bits.
func (s *wide) addShifted(hi, lo uint64, shift int, negative bool) {
	at, by := shift>>6, uint(shift)&63
	w := [3]uint64{lo << by, hi<<by | lo>>1>>(63-by), hi >> 1 >> (63 - by)}
	var carry uint64
	for i := at; i < wideWords; i++ {
		var v uint64
		if i-at < len(w) {
			v = w[i-at]
		} else if carry == 0 {
			return
		}
		if negative {
			s.sum[i], carry = bits.Sub64(s.sum[i], v, carry)
		} else {
			s.sum[i], carry = bits.Add64(s.sum[i], v, carry)
		}
	}
}

// take moves a compact sum in.
func (s *wide) take(st []uint64) {
	hi, lo := st[0], st[1]
	if st[2] == 0 {
		return
	}
	negative := hi>>63 != 0
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	shift := int(st[2]) - exactBias + 1074
	for ; shift < 0; shift++ {
		// Every summand is a multiple of 2^-1074, so only zeros are shifted out.
		lo = lo>>1 | hi<<63
		hi >>= 1
	}
	s.addShifted(hi, lo, shift, negative)
}

func (s *wide) isZero() bool { return *s == wide{} }

// parts returns the sum as f * 2^exp, f rounded once.
func (s *wide) parts() (f float64, exp int) {
	switch {
	case s.inf > 0 && s.minusInf > 0:
		return math.NaN(), 0
	case s.inf > 0:
		return math.Inf(1), 0
	case s.minusInf > 0:
		return math.Inf(-1), 0
	}
	v := s.sum
	negative := v[wideWords-1]>>63 != 0
	if negative {
		var borrow uint64
		for i := range v {
			v[i], borrow = bits.Sub64(0, v[i], borrow)
		}
	}
	top := wideWords - 1
	for top > 0 && v[top] == 0 {
		top--
	}
	if v[top] == 0 {
		return 0, 0
	}
	if top == 0 {
		f = float64(v[0])
		exp = -1074
	} else {
		n := uint(bits.LeadingZeros64(v[top]))
		w := v[top]<<n | v[top-1]>>1>>(63-n)
		rest := v[top-1] << n
		for _, x := range v[:top-1] {
			rest |= x
		}
		if rest != 0 {
			w |= 1
		}
		f = float64(w)
		exp = top*64 - int(n) - 1074
	}
	if negative {
		f = -f
	}
	return f, exp
}

// scale returns f * 2^exp.
func scale(f float64, exp int) float64 {
	if uint(exp+1022) <= 2045 {
		return f * math.Float64frombits(uint64(exp+1023)<<52) // the factor is exact, so this rounds at most once
	}
	return math.Ldexp(f, exp)
}

// mean returns f * 2^exp / n without overflow in between.
func mean(f float64, exp int, n int64) float64 { return scale(f/float64(n), exp) }

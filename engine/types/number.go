package types

import (
	"math"
	"strconv"
	"unsafe"
)

// pow10 are the powers of ten that a double holds exactly.
var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// number is a scanned decimal number: neg, the digits of the whole part and of the fraction, and the exponent.
type number struct {
	neg         bool
	whole, frac []byte
	exp         int // saturates at +-maxExponent
}

const maxExponent = 1 << 20

// scanNumber splits "[sign] digits [. digits] [e [sign] digits]". lenient allows a plus sign, leading zeros, and
// ".5" and "5."; without it the grammar is that of JSON.
func scanNumber(s []byte, lenient bool) (n number, ok bool) {
	i := 0
	if i < len(s) && (s[i] == '-' || lenient && s[i] == '+') {
		n.neg = s[i] == '-'
		i++
	}
	from := i
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	n.whole = s[from:i]
	if !lenient && (len(n.whole) == 0 || len(n.whole) > 1 && n.whole[0] == '0') {
		return n, false
	}
	if i < len(s) && s[i] == '.' {
		i++
		from = i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		n.frac = s[from:i]
		if !lenient && len(n.frac) == 0 {
			return n, false
		}
	}
	if len(n.whole)+len(n.frac) == 0 {
		return n, false
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		neg := false
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			neg = s[i] == '-'
			i++
		}
		from = i
		for ; i < len(s) && s[i]-'0' <= 9; i++ {
			if n.exp < maxExponent {
				n.exp = n.exp*10 + int(s[i]-'0')
			}
		}
		if i == from {
			return n, false
		}
		if neg {
			n.exp = -n.exp
		}
	}
	return n, i == len(s)
}

// long returns the number without its fraction, exactly; ok is false outside of int64.
func (n number) long() (v int64, ok bool) {
	digits := len(n.whole) + n.exp // digits before the point once the exponent is applied
	var m uint64
	for i := 0; i < digits; i++ {
		d := byte('0')
		switch {
		case i < len(n.whole):
			d = n.whole[i]
		case i-len(n.whole) < len(n.frac):
			d = n.frac[i-len(n.whole)]
		case m == 0:
			return 0, true // only zeros can follow
		}
		if m > (math.MaxUint64-9)/10 {
			return 0, false
		}
		m = m*10 + uint64(d-'0')
	}
	if n.neg {
		return -int64(m), m <= 1<<63
	}
	return int64(m), m <= math.MaxInt64
}

// NumberToLong converts the text of a JSON number: whole numbers exactly, a fraction is cut off. ok is false
// outside of int64 and for text that is not a JSON number.
func NumberToLong(text []byte) (v int64, ok bool) {
	n, ok := scanNumber(text, false)
	if !ok {
		return 0, false
	}
	return n.long()
}

// NumberToDouble converts the text of a JSON number to the nearest double. ok is false when the number is beyond
// the largest double and for text that is not a JSON number.
func NumberToDouble(text []byte) (f float64, ok bool) {
	if _, ok := scanNumber(text, false); !ok {
		return 0, false
	}
	return nearest(text)
}

// nearest parses text whose grammar has been checked.
func nearest(text []byte) (float64, bool) {
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	return CanonicalDouble(f), err == nil
}

// Decimal returns mantissa / 10^scale as the nearest double; it is exact as long as the mantissa is below 2^53 and
// the scale at most MaxDecimalScale, and the caller sees to both.
func Decimal(mantissa uint64, scale int) float64 { return float64(mantissa) / pow10[scale] }

// MaxDecimalScale and MaxDecimalMantissa bound what Decimal takes.
const (
	MaxDecimalScale    = 22
	MaxDecimalMantissa = 1 << 53
)

// DoubleToLong cuts off the fraction; ok is false for NaN and outside of int64.
func DoubleToLong(f float64) (v int64, ok bool) {
	if f >= -1<<63 && f < 1<<63 {
		return int64(f), true
	}
	return 0, false
}

// TextToLong converts integer text: a sign and digits, with spaces around them.
func TextToLong(text []byte) (v int64, ok bool) {
	text = trimSpace(text)
	n, ok := scanNumber(text, true)
	if !ok || n.frac != nil || len(n.whole) == 0 || text[len(text)-1]-'0' > 9 || hasExponent(text) {
		return 0, false
	}
	return n.long()
}

func hasExponent(text []byte) bool {
	for _, c := range text {
		if c|0x20 == 'e' {
			return true
		}
	}
	return false
}

// TextToDouble converts numeric text: a sign, digits with or without commas between the thousands, a fraction, an
// exponent, with spaces around them. ok is false beyond the largest double.
func TextToDouble(text []byte) (f float64, ok bool) {
	text = trimSpace(text)
	var buf [64]byte
	text, ok = withoutThousands(buf[:0], text)
	if !ok {
		return 0, false
	}
	if _, ok := scanNumber(text, true); !ok {
		return 0, false
	}
	return nearest(text)
}

// withoutThousands removes commas that stand where thousands end: one to three digits, then groups of three.
func withoutThousands(buf, text []byte) ([]byte, bool) {
	first := -1
	for i, c := range text {
		if c == ',' {
			first = i
			break
		}
	}
	if first < 0 {
		return text, true
	}
	i := 0
	if text[0] == '-' || text[0] == '+' {
		i++
	}
	if first-i < 1 || first-i > 3 {
		return nil, false
	}
	buf = append(buf, text[:first]...)
	i = first
	for i < len(text) && text[i] == ',' {
		if len(text) < i+4 {
			return nil, false
		}
		for _, c := range text[i+1 : i+4] {
			if c-'0' > 9 {
				return nil, false
			}
		}
		buf = append(buf, text[i+1:i+4]...)
		i += 4
	}
	if i < len(text) && text[i]-'0' <= 9 {
		return nil, false
	}
	return append(buf, text[i:]...), true
}

func trimSpace(s []byte) []byte {
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func isSpace(c byte) bool { return c == ' ' || c-'\t' <= '\r'-'\t' }

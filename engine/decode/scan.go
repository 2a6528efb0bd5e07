package decode

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is how deep a row may nest; the row itself is the first level.
const maxDepth = 64

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// skipSpace returns the position of the first byte from i on that is not JSON white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// plainString returns the end of a string whose characters begin at i: the position of its closing quote. plain is
// false when it stopped at an escape, a control character, a byte that is not ASCII, or the end of the text.
//
// Eight bytes are looked at together: subtracting 1 from a byte borrows into its top bit only when the byte is 0,
// so that x^pattern finds the pattern. The lowest hit is exact, and only it is used.
func plainString(b []byte, i int) (end int, plain bool) {
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		q := w ^ lowBits*'"'
		s := w ^ lowBits*'\\'
		m := ((q-lowBits)&^q | (s-lowBits)&^s | (w - lowBits*0x20) | w) & highBits
		if m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			return i, b[i] == '"'
		}
		i += 8
	}
	for ; i < len(b); i++ {
		c := b[i]
		if c == '"' {
			return i, true
		}
		if c == '\\' || c < 0x20 || c >= 0x80 {
			return i, false
		}
	}
	return i, false
}

// scanString returns the end of any string whose characters begin at i. ok is false for what JSON does not allow:
// control characters, bytes that are not UTF-8, unknown escapes, halves of surrogate pairs, no end.
func scanString(b []byte, i int) (end int, escaped, ok bool) {
	for {
		var plain bool
		if i, plain = plainString(b, i); plain {
			return i, escaped, true
		}
		if i >= len(b) || b[i] < 0x20 {
			return i, escaped, false
		}
		if b[i] == '\\' {
			escaped = true
			n := escapeLen(b[i:])
			if n == 0 {
				return i, escaped, false
			}
			i += n
			continue
		}
		for i < len(b) && b[i] >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return i, escaped, false
			}
			i += n
		}
	}
}

// escapeLen returns the length of the escape at the start of b, 0 when it is not one.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		hi, ok := hex4(b[2:])
		switch {
		case !ok || hi&0xFC00 == 0xDC00:
			return 0
		case hi&0xFC00 != 0xD800:
			return 6
		}
		if len(b) < 12 || b[6] != '\\' || b[7] != 'u' {
			return 0
		}
		if lo, ok := hex4(b[8:]); !ok || lo&0xFC00 != 0xDC00 {
			return 0
		}
		return 12
	}
	return 0
}

func hex4(b []byte) (v uint32, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		v = v<<4 | uint32(c)
	}
	return v, true
}

// scanNumber reads a JSON number: end is i when there is none. simple says that mantissa / 10^frac is the number,
// exactly: no exponent and at most 18 digits.
func scanNumber(b []byte, i int) (end int, mantissa uint64, frac int, neg, simple bool) {
	from := i
	if i < len(b) && b[i] == '-' {
		neg = true
		i++
	}
	first := i
	for i < len(b) && b[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		i++
	}
	digits := i - first
	if digits == 0 || digits > 1 && b[first] == '0' {
		return from, 0, 0, false, false
	}
	if i < len(b) && b[i] == '.' {
		i++
		point := i
		for i < len(b) && b[i]-'0' <= 9 {
			mantissa = mantissa*10 + uint64(b[i]-'0')
			i++
		}
		if frac = i - point; frac == 0 {
			return from, 0, 0, false, false
		}
		digits += frac
	}
	simple = digits <= 18
	if i < len(b) && b[i]|0x20 == 'e' {
		simple = false
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		exp := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		if i == exp {
			return from, 0, 0, false, false
		}
	}
	return i, mantissa, frac, neg, simple
}

func hasLiteral(b []byte, i int, word string) bool {
	return len(b)-i >= len(word) && string(b[i:i+len(word)]) == word
}

// span is a piece of the text.
type span struct{ from, to int }

// maxNames bounds how many names of one object are compared with each other; larger objects are left to compact.
const maxNames = 48

// scanValue returns the end of the JSON value at i, which is nested in a row. clean says that its text is compact
// already: no white space, no escapes, no name twice in an object.
func (d *Decoder) scanValue(b []byte, i int) (end int, clean, ok bool) {
	var objects uint64 // a bit a level: 1 is an object, 0 an array
	var firstName [maxDepth]int
	level := 0
	names := d.names[:0]
	clean = true
	for {
		// A value begins at i.
		if i >= len(b) {
			return i, false, false
		}
		opened := false
		switch c := b[i]; c {
		case '{', '[':
			if level == maxDepth-1 {
				return i, false, false
			}
			level++
			objects <<= 1
			if c == '{' {
				objects |= 1
				firstName[level] = len(names)
			}
			opened = true
			i++
		case '"':
			e, escaped, ok := scanString(b, i+1)
			if !ok {
				return i, false, false
			}
			clean = clean && !escaped
			i = e + 1
		case 't':
			if !hasLiteral(b, i, "true") {
				return i, false, false
			}
			i += 4
		case 'f':
			if !hasLiteral(b, i, "false") {
				return i, false, false
			}
			i += 5
		case 'n':
			if !hasLiteral(b, i, "null") {
				return i, false, false
			}
			i += 4
		default:
			e, _, _, _, _ := scanNumber(b, i)
			if e == i {
				return i, false, false
			}
			i = e
		}
		// A value or an opening bracket ended: close what closes, then go to the next value.
		for {
			if level == 0 {
				d.names = names
				return i, clean, true
			}
			if i < len(b) && b[i] <= ' ' {
				clean = false
				i = skipSpace(b, i)
			}
			if i >= len(b) {
				return i, false, false
			}
			object := objects&1 == 1
			if c := b[i]; object && c == '}' || !object && c == ']' {
				if object {
					names = names[:firstName[level]]
				}
				level--
				objects >>= 1
				opened = false
				i++
				continue
			}
			if !opened {
				if b[i] != ',' {
					return i, false, false
				}
				i++
				if i < len(b) && b[i] <= ' ' {
					clean = false
					i = skipSpace(b, i)
				}
			}
			if !object {
				break
			}
			if i >= len(b) || b[i] != '"' {
				return i, false, false
			}
			e, escaped, ok := scanString(b, i+1)
			if !ok {
				return i, false, false
			}
			if escaped || len(names)-firstName[level] >= maxNames {
				clean = false
			}
			if clean {
				for _, n := range names[firstName[level]:] {
					if string(b[n.from:n.to]) == string(b[i+1:e]) {
						clean = false
						break
					}
				}
				names = append(names, span{i + 1, e})
			}
			i = e + 1
			if i < len(b) && b[i] <= ' ' {
				clean = false
				i = skipSpace(b, i)
			}
			if i >= len(b) || b[i] != ':' {
				return i, false, false
			}
			i++
			break
		}
		if i < len(b) && b[i] <= ' ' {
			clean = false
			i = skipSpace(b, i)
		}
	}
}

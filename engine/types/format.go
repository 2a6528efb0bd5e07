package types

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendDouble appends the text of a double as TO_STRING and JSON answers show it: the shortest digits that read
// back as the same number, 15 and not 15.0, an exponent only below 1e-6 and from 1e21 on. NaN and the infinities
// are NaN, Infinity and -Infinity; a JSON writer replaces them before.
func AppendDouble(dst []byte, f float64) []byte {
	switch {
	case f != f:
		return append(dst, "NaN"...)
	case f > math.MaxFloat64:
		return append(dst, "Infinity"...)
	case f < -math.MaxFloat64:
		return append(dst, "-Infinity"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		// 1e-09 becomes 1e-9.
		if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
		return dst
	}
	return strconv.AppendFloat(dst, CanonicalDouble(f), 'f', -1, 64)
}

const hexDigits = "0123456789abcdef"

// AppendJSONString appends a text as a JSON string with the fewest escapes: the quote, the backslash and control
// characters only. Bytes that are not UTF-8 become U+FFFD, so that the result is always JSON.
func AppendJSONString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

const (
	msPerDay = 24 * 60 * 60 * 1000
	// Years 0001 to 9999 are the ones that ISO-8601 text of four digits can say.
	minTimeMs = -62135596800000
	maxTimeMs = 253402300799999
)

// AppendTime appends a time as ISO-8601 text in UTC with three decimals: 2026-11-30T20:50:00.000Z. Outside the
// years 0001 to 9999 there is no such text; ok is false.
func AppendTime(dst []byte, ms int64) (out []byte, ok bool) {
	if ms < minTimeMs || ms > maxTimeMs {
		return dst, false
	}
	day, rest := ms/msPerDay, ms%msPerDay
	if rest < 0 {
		day, rest = day-1, rest+msPerDay
	}
	y, m, d := civil(day)
	dst = appendDigits(dst, y, 4)
	dst = appendDigits(append(dst, '-'), m, 2)
	dst = appendDigits(append(dst, '-'), d, 2)
	dst = appendDigits(append(dst, 'T'), int(rest/3600000), 2)
	dst = appendDigits(append(dst, ':'), int(rest/60000%60), 2)
	dst = appendDigits(append(dst, ':'), int(rest/1000%60), 2)
	dst = appendDigits(append(dst, '.'), int(rest%1000), 3)
	return append(dst, 'Z'), true
}

func appendDigits(dst []byte, v, n int) []byte {
	at := len(dst)
	dst = append(dst, "0000"[:n]...)
	for i := at + n - 1; i >= at; i-- {
		dst[i] = byte('0' + v%10)
		v /= 10
	}
	return dst
}

// civil returns the date of a day number (0 is 1970-01-01) in the proleptic Gregorian calendar. Years are counted
// in 400-year eras that begin on 1 March, so that the leap day is the last day of a year.
func civil(day int64) (y, m, d int) {
	z := day + 719468
	era := z / 146097
	if z < 0 {
		era = (z - 146096) / 146097
	}
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = int(doy - (153*mp+2)/5 + 1)
	m = int(mp + 3)
	if m > 12 {
		m -= 12
	}
	y = int(yoe + era*400)
	if m <= 2 {
		y++
	}
	return y, m, d
}

// daysFromCivil is the inverse of civil.
func daysFromCivil(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int64(era)*146097 + int64(doe) - 719468
}

// AppendLong appends the digits of a Long.
func AppendLong(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

// AppendBool appends true or false.
func AppendBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

package expr

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"github.com/streamsforge/streamsforge/engine/types"
)

// stringFunctions work on texts. Positions and lengths count characters, from 1, as in PostgreSQL.
var stringFunctions = []scalar{
	{name: "CONCAT", sign: "CONCAT(a, ...)", doc: "All arguments as text, one after the other; NULLs are left out.", example: "CONCAT('a', 1, NULL) = 'a1'",
		params: kinds(text), min: 1, max: -1, result: text, lenient: true, row: func(r *rowArgs) bool {
			for k := range r.count() {
				if !r.null(k) {
					r.out = append(r.out, r.text(k)...)
				}
			}
			return true
		}},
	{name: "CONTAINS", sign: "CONTAINS(s, part)", doc: "True when part occurs in s.", example: "CONTAINS('stream', 'rea') = TRUE",
		params: kinds(text), min: 2, max: 2, result: types.Bool, row: func(r *rowArgs) bool { return r.truth(bytes.Contains(r.text(0), r.text(1))) }},
	{name: "ENDS_WITH", sign: "ENDS_WITH(s, suffix)", doc: "True when s ends with the suffix.", example: "ENDS_WITH('stream', 'am') = TRUE",
		params: kinds(text), min: 2, max: 2, result: types.Bool, row: func(r *rowArgs) bool { return r.truth(bytes.HasSuffix(r.text(0), r.text(1))) }},
	{name: "LEFT", sign: "LEFT(s, n)", doc: "The first n characters; with a negative n all but the last -n.", example: "LEFT('stream', 3) = 'str'",
		params: kinds(text, long), min: 2, max: 2, result: text, row: func(r *rowArgs) bool {
			s, n := r.text(0), r.long(1)
			if n < 0 {
				n = max(0, characters(s)+n)
			}
			return r.give(s[:offset(s, n)])
		}},
	{name: "LENGTH", aliases: []string{"CHAR_LENGTH", "LEN"}, sign: "LENGTH(s)", doc: "Number of characters.", example: "LENGTH('über') = 4",
		params: kinds(text), min: 1, max: 1, result: long, row: func(r *rowArgs) bool { r.n = characters(r.text(0)); return true }},
	{name: "LPAD", sign: "LPAD(s, n [, fill])", doc: "Fills s on the left to n characters, with spaces by default; a longer s is cut.", example: "LPAD('7', 3, '0') = '007'",
		params: kinds(text, long, text), min: 2, max: 3, result: text, row: func(r *rowArgs) bool { return pad(r, true) }},
	{name: "LTRIM", sign: "LTRIM(s [, chars])", doc: "Removes leading spaces, or any of the characters.", example: "LTRIM('  a ') = 'a '",
		params: kinds(text), min: 1, max: 2, result: text, row: func(r *rowArgs) bool { return r.give(bytes.TrimLeft(r.text(0), trimSet(r))) }},
	{name: "MD5", sign: "MD5(s)", doc: "MD5 of the text in hexadecimal digits.", example: "MD5('') = 'd41d8cd98f00b204e9800998ecf8427e'",
		params: kinds(text), min: 1, max: 1, result: text, row: func(r *rowArgs) bool {
			sum := md5.Sum(r.text(0))
			r.out = hex.AppendEncode(r.out, sum[:])
			return true
		}},
	{name: "POSITION", sign: "POSITION(part IN s)", doc: "Place of the first occurrence of part in s, from 1; 0 when there is none.", example: "POSITION('r' IN 'stream') = 3",
		params: kinds(text), min: 2, max: 2, result: long, row: func(r *rowArgs) bool { return r.place(r.text(1), r.text(0)) }},
	{name: "REPEAT", sign: "REPEAT(s, n)", doc: "The text n times; NULL when that is longer than 1 MiB.", example: "REPEAT('ab', 2) = 'abab'",
		params: kinds(text, long), min: 2, max: 2, result: text, row: func(r *rowArgs) bool {
			s, n := r.text(0), max(0, r.long(1))
			if len(s) == 0 {
				return true
			}
			if n > maxText/int64(len(s)) {
				return false
			}
			return r.give(bytes.Repeat(s, int(n)))
		}},
	{name: "REPLACE", sign: "REPLACE(s, from, to)", doc: "Every occurrence of from replaced by to; an empty from changes nothing.", example: "REPLACE('a-b', '-', '+') = 'a+b'",
		params: kinds(text), min: 3, max: 3, result: text, row: func(r *rowArgs) bool {
			if len(r.text(1)) == 0 {
				return r.give(r.text(0))
			}
			if n := bytes.Count(r.text(0), r.text(1)); n > 0 && len(r.text(2)) > maxText/n {
				return false
			}
			return r.give(bytes.ReplaceAll(r.text(0), r.text(1), r.text(2)))
		}},
	{name: "REVERSE", sign: "REVERSE(s)", doc: "The characters in reverse order.", example: "REVERSE('abc') = 'cba'",
		params: kinds(text), min: 1, max: 1, result: text, row: func(r *rowArgs) bool {
			for s := r.text(0); len(s) > 0; {
				_, size := utf8.DecodeLastRune(s)
				r.out = append(r.out, s[len(s)-size:]...)
				s = s[:len(s)-size]
			}
			return true
		}},
	{name: "RIGHT", sign: "RIGHT(s, n)", doc: "The last n characters; with a negative n all but the first -n.", example: "RIGHT('stream', 2) = 'am'",
		params: kinds(text, long), min: 2, max: 2, result: text, row: func(r *rowArgs) bool {
			s, n := r.text(0), r.long(1)
			from := -n
			if n >= 0 {
				from = max(0, characters(s)-n)
			}
			return r.give(s[offset(s, from):])
		}},
	{name: "RPAD", sign: "RPAD(s, n [, fill])", doc: "Fills s on the right to n characters, with spaces by default; a longer s is cut.", example: "RPAD('a', 3, '.') = 'a..'",
		params: kinds(text, long, text), min: 2, max: 3, result: text, row: func(r *rowArgs) bool { return pad(r, false) }},
	{name: "RTRIM", sign: "RTRIM(s [, chars])", doc: "Removes trailing spaces, or any of the characters.", example: "RTRIM('a..', '.') = 'a'",
		params: kinds(text), min: 1, max: 2, result: text, row: func(r *rowArgs) bool { return r.give(bytes.TrimRight(r.text(0), trimSet(r))) }},
	{name: "SHA256", sign: "SHA256(s)", doc: "SHA-256 of the text in hexadecimal digits.", example: "LEFT(SHA256(''), 8) = 'e3b0c442'",
		params: kinds(text), min: 1, max: 1, result: text, row: func(r *rowArgs) bool {
			sum := sha256.Sum256(r.text(0))
			r.out = hex.AppendEncode(r.out, sum[:])
			return true
		}},
	{name: "SPLIT_PART", sign: "SPLIT_PART(s, separator, n)", doc: "The n-th part of s between separators, from 1, from the end with a negative n; empty when there is none.", example: "SPLIT_PART('a/b', '/', 2) = 'b'",
		params: kinds(text, text, long), min: 3, max: 3, result: text, row: splitPart},
	{name: "STARTS_WITH", sign: "STARTS_WITH(s, prefix)", doc: "True when s starts with the prefix.", example: "STARTS_WITH('stream', 'st') = TRUE",
		params: kinds(text), min: 2, max: 2, result: types.Bool, row: func(r *rowArgs) bool { return r.truth(bytes.HasPrefix(r.text(0), r.text(1))) }},
	{name: "STRPOS", sign: "STRPOS(s, part)", doc: "Place of the first occurrence of part in s, from 1; 0 when there is none.", example: "STRPOS('stream', 'r') = 3",
		params: kinds(text), min: 2, max: 2, result: long, row: func(r *rowArgs) bool { return r.place(r.text(0), r.text(1)) }},
	{name: "SUBSTRING", aliases: []string{"SUBSTR"}, sign: "SUBSTRING(s, from [, n])", doc: "n characters from a place on, counted from 1; NULL for a negative n.", example: "SUBSTRING('stream', 2, 3) = 'tre'",
		params: kinds(text, long), min: 2, max: 3, result: text, row: substring},
	{name: "TRIM", aliases: []string{"BTRIM"}, sign: "TRIM(s [, chars])", doc: "Removes leading and trailing spaces, or any of the characters.", example: "TRIM('  a ') = 'a'",
		params: kinds(text), min: 1, max: 2, result: text, row: func(r *rowArgs) bool { return r.give(bytes.Trim(r.text(0), trimSet(r))) }},
}

func (r *rowArgs) truth(b bool) bool {
	r.n = int64(b2i(b))
	return true
}

func (r *rowArgs) place(s, part []byte) bool {
	r.n = 0
	if i := bytes.Index(s, part); i >= 0 {
		r.n = characters(s[:i]) + 1
	}
	return true
}

func characters(s []byte) int64 { return int64(utf8.RuneCount(s)) }

// offset is the byte where the n-th character starts; the length when there are fewer.
func offset(s []byte, n int64) int {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	return at
}

func trimSet(r *rowArgs) string {
	if r.count() > 1 {
		return string(r.text(1))
	}
	return " "
}

func substring(r *rowArgs) bool {
	s, from := r.text(0), r.long(1)
	if r.count() == 2 {
		return r.give(s[offset(s, max(from, 1)-1):])
	}
	n := r.long(2)
	if n < 0 {
		return false
	}
	end := from + n // one behind the last character
	if end < from {
		end = 1 << 62
	}
	start := max(from, 1)
	if end <= start {
		return true
	}
	s = s[offset(s, start-1):]
	return r.give(s[:offset(s, end-start)])
}

func pad(r *rowArgs, left bool) bool {
	s, n := r.text(0), r.long(1)
	if n > maxText {
		return false
	}
	fill := []byte(" ")
	if r.count() == 3 {
		fill = r.text(2)
	}
	missing := max(n, 0) - characters(s)
	if missing <= 0 || len(fill) == 0 {
		return r.give(s[:offset(s, max(n, 0))])
	}
	if !left {
		r.out = append(r.out, s...)
	}
	rest := fill
	for ; missing > 0; missing-- {
		if len(rest) == 0 {
			rest = fill
		}
		_, size := utf8.DecodeRune(rest)
		r.out = append(r.out, rest[:size]...)
		rest = rest[size:]
	}
	if left {
		r.out = append(r.out, s...)
	}
	return true
}

func splitPart(r *rowArgs) bool {
	s, sep, n := r.text(0), r.text(1), r.long(2)
	if n == 0 {
		return false
	}
	parts := [][]byte{s}
	if len(sep) > 0 {
		parts = bytes.Split(s, sep)
	}
	if n < 0 {
		n += int64(len(parts)) + 1
	}
	if n >= 1 && n <= int64(len(parts)) {
		r.out = append(r.out, parts[n-1]...)
	}
	return true
}

package types

import (
	"bytes"
	"unicode/utf8"
)

// A Json value is the text of one JSON value, compact, with the members of objects in their order and no name
// twice in one object; the row decoder makes it so. A JSON null inside of it is NULL to SQL. The functions below
// work on that text without allocating. They never fail on damaged text: what cannot be read is not there.

// JsonField returns the text of a member: x -> 'key'. ok is false when x is not an object, has no such member, or
// the member is null. The result shares doc's memory.
func JsonField(doc []byte, key []byte) (node []byte, ok bool) {
	i := skipSpace(doc, 0)
	if i >= len(doc) || doc[i] != '{' {
		return nil, false
	}
	i = skipSpace(doc, i+1)
	for i < len(doc) && doc[i] == '"' {
		end := stringEnd(doc, i)
		if end < 0 {
			return nil, false
		}
		match := jsonNameIs(doc[i+1:end-1], key)
		i = skipSpace(doc, end)
		if i >= len(doc) || doc[i] != ':' {
			return nil, false
		}
		i = skipSpace(doc, i+1)
		end = valueEnd(doc, i)
		if end < 0 {
			return nil, false
		}
		if match {
			return notNull(doc[i:end:end])
		}
		i = skipSpace(doc, end)
		if i >= len(doc) || doc[i] != ',' {
			return nil, false
		}
		i = skipSpace(doc, i+1)
	}
	return nil, false
}

// JsonIndex returns the text of an array element, counted from 0: x -> n. ok is false when x is not an array, is
// shorter, or the element is null.
func JsonIndex(doc []byte, n int) (node []byte, ok bool) {
	if n < 0 {
		return nil, false
	}
	JsonElements(doc, func(e []byte) bool {
		if n == 0 {
			node = e
			return false
		}
		n--
		return true
	})
	if node == nil {
		return nil, false
	}
	return notNull(node)
}

// JsonElements calls f for every element of an array in order, null included, until f returns false. What is not
// an array has no elements.
func JsonElements(doc []byte, f func(node []byte) bool) {
	i := skipSpace(doc, 0)
	if i >= len(doc) || doc[i] != '[' {
		return
	}
	i = skipSpace(doc, i+1)
	for i < len(doc) && doc[i] != ']' {
		end := valueEnd(doc, i)
		if end < 0 || !f(doc[i:end:end]) {
			return
		}
		i = skipSpace(doc, end)
		if i >= len(doc) || doc[i] != ',' {
			return
		}
		i = skipSpace(doc, i+1)
	}
}

// JsonMembers calls f with the name (a JSON string) and the value of every member of an object, in order, until f
// returns false. A document that is no object has none.
func JsonMembers(doc []byte, f func(name, value []byte) bool) {
	i := skipSpace(doc, 0)
	if i >= len(doc) || doc[i] != '{' {
		return
	}
	i = skipSpace(doc, i+1)
	for i < len(doc) && doc[i] == '"' {
		end := stringEnd(doc, i)
		if end < 0 {
			return
		}
		name := doc[i:end:end]
		i = skipSpace(doc, end)
		if i >= len(doc) || doc[i] != ':' {
			return
		}
		i = skipSpace(doc, i+1)
		end = valueEnd(doc, i)
		if end < 0 || !f(name, doc[i:end:end]) {
			return
		}
		i = skipSpace(doc, end)
		if i >= len(doc) || doc[i] != ',' {
			return
		}
		i = skipSpace(doc, i+1)
	}
}

func notNull(node []byte) ([]byte, bool) {
	if len(node) == 0 || node[0] == 'n' {
		return nil, false
	}
	return node, true
}

// JsonIsNull reports whether the text is a JSON null, which SQL reads as NULL.
func JsonIsNull(node []byte) bool {
	node = trimSpace(node)
	return len(node) == 0 || node[0] == 'n'
}

// JsonText returns the text of a node: x ->> 'key', TO_STRING. A string is its characters, anything else its
// compact JSON; ok is false for null. The result shares node's memory, or scratch's when the string has escapes.
func JsonText(node, scratch []byte) (text []byte, ok bool) {
	node = trimSpace(node)
	if len(node) == 0 || node[0] == 'n' {
		return nil, false
	}
	if node[0] != '"' {
		return node, true
	}
	if len(node) < 2 {
		return nil, false
	}
	raw := node[1 : len(node)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	return AppendUnescaped(scratch[:0], raw)
}

// AppendJsonText appends what JsonText returns.
func AppendJsonText(dst, node []byte) (out []byte, ok bool) {
	node = trimSpace(node)
	if len(node) >= 2 && node[0] == '"' {
		return AppendUnescaped(dst, node[1:len(node)-1])
	}
	text, ok := JsonText(node, nil)
	return append(dst, text...), ok
}

// JsonToLong is TO_LONG of a node: a number without its fraction, integer text, 1 and 0 for true and false.
func JsonToLong(node []byte) (v int64, ok bool) {
	switch k, text := jsonScalar(node); k {
	case '0':
		return NumberToLong(text)
	case '"':
		return TextToLong(text)
	case 't':
		return 1, true
	case 'f':
		return 0, true
	}
	return 0, false
}

// JsonToDouble is TO_DOUBLE of a node: a number, numeric text, 1 and 0 for true and false.
func JsonToDouble(node []byte) (f float64, ok bool) {
	switch k, text := jsonScalar(node); k {
	case '0':
		return NumberToDouble(text)
	case '"':
		return TextToDouble(text)
	case 't':
		return 1, true
	case 'f':
		return 0, true
	}
	return 0, false
}

// JsonToBool is TO_BOOL of a node: a number is true unless it is 0, text as TextToBool.
func JsonToBool(node []byte) (b, ok bool) {
	switch k, text := jsonScalar(node); k {
	case '0':
		return numberIsTrue(text)
	case '"':
		return TextToBool(text), true
	case 't':
		return true, true
	case 'f':
		return false, true
	}
	return false, false
}

// numberIsTrue reports whether a JSON number has a digit other than 0 before its exponent: 1e-400 is not 0.
func numberIsTrue(text []byte) (b, ok bool) {
	n, ok := scanNumber(text, false)
	if !ok {
		return false, false
	}
	return len(bytes.TrimLeft(n.whole, "0"))+len(bytes.TrimLeft(n.frac, "0")) > 0, true
}

// JsonToTimestamp is TO_TIMESTAMP of a node: a number is milliseconds, text as TextToTimestamp.
func JsonToTimestamp(node []byte) (ms int64, ok bool) {
	switch k, text := jsonScalar(node); k {
	case '0':
		return NumberToLong(text)
	case '"':
		return TextToTimestamp(text)
	}
	return 0, false
}

// jsonScalar returns '0' and the text of a number, '"' and the characters of a string, 't', 'f', or 0 for all
// else.
func jsonScalar(node []byte) (kind byte, text []byte) {
	node = trimSpace(node)
	if len(node) == 0 {
		return 0, nil
	}
	switch c := node[0]; {
	case c == '"':
		text, ok := JsonText(node, nil)
		if !ok {
			return 0, nil
		}
		return '"', text
	case c == '-' || c-'0' <= 9:
		return '0', node
	case c == 't' || c == 'f':
		return c, nil
	}
	return 0, nil
}

// jsonNameIs compares a member name as it stands in the text with a key.
func jsonNameIs(raw, key []byte) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == string(key)
	}
	if len(raw) < len(key) {
		return false
	}
	name, ok := AppendUnescaped(nil, raw)
	return ok && string(name) == string(key)
}

func skipSpace(doc []byte, i int) int {
	for i < len(doc) && doc[i] <= ' ' {
		i++
	}
	return i
}

// stringEnd returns the position after the string that begins at i, -1 when it has no end.
func stringEnd(doc []byte, i int) int {
	for i++; i < len(doc); {
		n := bytes.IndexByte(doc[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		back := 0
		for doc[i-1-back] == '\\' {
			back++
		}
		i++
		if back&1 == 0 {
			return i
		}
	}
	return -1
}

// valueEnd returns the position after the value that begins at i, -1 when it has no end. It does not recurse.
func valueEnd(doc []byte, i int) int {
	depth := 0
	for i < len(doc) {
		switch c := doc[i]; c {
		case '"':
			if i = stringEnd(doc, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth < 0 {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':':
			if depth == 0 {
				return -1
			}
		default:
			if depth > 0 {
				break
			}
			from := i
			for i < len(doc) && doc[i] > ' ' && doc[i] != ',' && doc[i] != '}' && doc[i] != ']' {
				i++
			}
			if i == from {
				return -1
			}
			return i
		}
		i++
	}
	return -1
}

// AppendUnescaped appends the characters of a JSON string whose quotes are cut off. ok is false for an escape that
// JSON does not have and for half of a surrogate pair.
func AppendUnescaped(dst, raw []byte) (out []byte, ok bool) {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...), true
		}
		dst = append(dst, raw[:i]...)
		raw = raw[i+1:]
		if len(raw) == 0 {
			return dst, false
		}
		c := raw[0]
		raw = raw[1:]
		switch c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, ok := hex4(raw)
			if !ok || r>>10 == 0xDC00>>10 {
				return dst, false
			}
			raw = raw[4:]
			if r>>10 == 0xD800>>10 {
				if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
					return dst, false
				}
				low, ok := hex4(raw[2:])
				if !ok || low>>10 != 0xDC00>>10 {
					return dst, false
				}
				r = (r-0xD800)<<10 | (low - 0xDC00) + 0x10000
				raw = raw[6:]
			}
			dst = utf8.AppendRune(dst, r)
		default:
			return dst, false
		}
	}
}

func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

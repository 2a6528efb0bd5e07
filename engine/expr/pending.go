package expr

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

func parseLong(b []byte) (int64, bool) {
	v, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return v, err == nil
}

func parseDouble(b []byte) (float64, bool) {
	s := strings.ReplaceAll(strings.TrimSpace(string(b)), ",", "")
	for _, c := range s {
		if (c < '0' || c > '9') && !strings.ContainsRune("+-.eE", c) {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

func parseBool(b []byte) bool {
	s := strings.ToLower(strings.TrimSpace(string(b)))
	return s != "" && s != "0" && s != "false"
}

func parseTimestamp(b []byte) (int64, bool) {
	if v, ok := parseLong(b); ok {
		return v, true
	}
	for _, l := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02"} {
		if t, err := time.Parse(l, strings.TrimSpace(string(b))); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}

// jsonValueEnd returns the end of the JSON value at the start of doc; doc is valid JSON.
func jsonValueEnd(doc []byte) int {
	switch doc[0] {
	case '"':
		for i := 1; i < len(doc); i++ {
			switch doc[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(doc)
	case '{', '[':
		depth := 0
		for i := 0; i < len(doc); i++ {
			switch doc[i] {
			case '"':
				i += jsonValueEnd(doc[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(doc)
	default:
		for i, c := range doc {
			if c == ',' || c == '}' || c == ']' {
				return i
			}
		}
		return len(doc)
	}
}

func jsonElements(doc []byte, yield func([]byte) bool) bool {
	if len(doc) < 2 || doc[0] != '[' {
		return false
	}
	for i := 1; i < len(doc) && doc[i] != ']'; {
		e := i + jsonValueEnd(doc[i:])
		if !yield(doc[i:e:e]) {
			return true
		}
		if i = e; doc[i] == ',' {
			i++
		}
	}
	return true
}

func jsonElement(doc []byte, n int64) (out []byte, ok bool) {
	jsonElements(doc, func(raw []byte) bool {
		if n == 0 {
			out, ok = raw, true
		}
		n--
		return !ok
	})
	return out, ok
}

func jsonMember(doc []byte, key string) (out []byte, ok bool) {
	if len(doc) < 2 || doc[0] != '{' {
		return nil, false
	}
	for i := 1; i < len(doc) && doc[i] != '}'; {
		k := i + jsonValueEnd(doc[i:])
		v := k + 1 + jsonValueEnd(doc[k+1:])
		name, _ := appendJSONText(nil, doc[i:k])
		if string(name) == key {
			out, ok = doc[k+1:v:v], true
		}
		if i = v; doc[i] == ',' {
			i++
		}
	}
	return out, ok
}

func jsonNumberOf(raw []byte) (float64, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	return v, err == nil
}

func appendJSONText(dst, raw []byte) ([]byte, bool) {
	if len(raw) == 0 || raw[0] == 'n' {
		return dst, false
	}
	if raw[0] != '"' {
		return append(dst, raw...), true
	}
	raw = raw[1 : len(raw)-1]
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			continue
		}
		i++
		switch raw[i] {
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
			u, _ := strconv.ParseUint(string(raw[i+1:i+5]), 16, 32)
			r := rune(u)
			i += 4
			if utf16.IsSurrogate(r) && i+6 < len(raw)+0 && raw[i+1] == '\\' && raw[i+2] == 'u' {
				l, _ := strconv.ParseUint(string(raw[i+3:i+7]), 16, 32)
				r = utf16.DecodeRune(r, rune(l))
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, raw[i])
		}
	}
	return dst, true
}

package decode

import (
	"bytes"

	"github.com/streamsforge/streamsforge/engine/types"
)

// compactor writes the canonical text of JSON values: no white space, strings with the fewest escapes, and of
// members with the same name only the last, at its place. Numbers stay as they are written.
//
// It walks text that scanValue or jsontext has checked; it recurses at most maxDepth deep.
type compactor struct {
	b       []byte
	i       int
	members []memberSpan // of the open objects
	text    []byte       // of a string with escapes
}

// memberSpan is a member in the text that was written: it begins with its name.
type memberSpan struct{ from, nameTo, to int }

// append appends the canonical text of a valid JSON value.
func (c *compactor) append(dst, b []byte) []byte {
	c.b, c.i = b, 0
	dst = c.value(dst)
	c.b = nil
	return dst
}

func (c *compactor) next() byte {
	c.i = skipSpace(c.b, c.i)
	return c.b[c.i]
}

func (c *compactor) value(dst []byte) []byte {
	switch c.next() {
	case '{':
		return c.object(dst)
	case '[':
		c.i++
		dst = append(dst, '[')
		for n := 0; ; n++ {
			switch c.next() {
			case ']':
				c.i++
				return append(dst, ']')
			case ',':
				c.i++
				dst = append(dst, ',')
			}
			if c.next() != ']' {
				dst = c.value(dst)
			}
		}
	case '"':
		return c.str(dst)
	}
	from := c.i
	for c.i < len(c.b) && !isSpace(c.b[c.i]) && c.b[c.i] != ',' && c.b[c.i] != ']' && c.b[c.i] != '}' {
		c.i++
	}
	return append(dst, c.b[from:c.i]...)
}

func (c *compactor) str(dst []byte) []byte {
	end, escaped, _ := scanString(c.b, c.i+1)
	raw := c.b[c.i+1 : end]
	c.i = end + 1
	if !escaped {
		return append(append(append(dst, '"'), raw...), '"')
	}
	c.text, _ = types.AppendUnescaped(c.text[:0], raw)
	return types.AppendJSONString(dst, c.text)
}

func (c *compactor) object(dst []byte) []byte {
	c.i++
	start, first := len(dst), len(c.members)
	dst = append(dst, '{')
	for c.next() != '}' {
		if c.b[c.i] == ',' {
			c.i++
			c.next()
			dst = append(dst, ',')
		}
		m := memberSpan{from: len(dst)}
		dst = c.str(dst)
		m.nameTo = len(dst)
		c.next() // the colon
		c.i++
		dst = c.value(append(dst, ':'))
		m.to = len(dst)
		c.members = append(c.members, m)
	}
	c.i++
	members := c.members[first:]
	c.members = c.members[:first]
	last := lastOf(dst, members)
	if last == nil {
		return append(dst, '}')
	}
	kept := []byte{'{'}
	for i, m := range members {
		if !last[i] {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, dst[m.from:m.to]...)
	}
	return append(append(dst[:start], kept...), '}')
}

// lastOf marks the members whose name does not come again; nil when all names are different.
func lastOf(b []byte, members []memberSpan) []bool {
	name := func(m memberSpan) []byte { return b[m.from:m.nameTo] }
	if len(members) <= maxNames && !repeats(members, name) {
		return nil
	}
	at := make(map[string]int, len(members))
	for i, m := range members {
		at[string(name(m))] = i
	}
	if len(at) == len(members) {
		return nil
	}
	last := make([]bool, len(members))
	for i, m := range members {
		last[i] = at[string(name(m))] == i
	}
	return last
}

func repeats(members []memberSpan, name func(memberSpan) []byte) bool {
	for i, m := range members {
		for _, before := range members[:i] {
			if bytes.Equal(name(before), name(m)) {
				return true
			}
		}
	}
	return false
}

package decode

import (
	"bytes"

	"github.com/streamsforge/streamsforge/engine/types"
)

// appendCompact appends the canonical text of a valid JSON value: no white space, strings with the fewest escapes,
// and of members with the same name only the last, at its place. Numbers stay as they are written.
func appendCompact(dst, b []byte) []byte {
	c := compactor{b: b}
	return c.value(dst)
}

// compactor walks text that scanValue or jsontext has checked; it recurses at most maxDepth deep.
type compactor struct {
	b []byte
	i int
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
	text, _ := types.AppendUnescaped(nil, raw)
	return types.AppendJSONString(dst, text)
}

func (c *compactor) object(dst []byte) []byte {
	c.i++
	start := len(dst)
	dst = append(dst, '{')
	var names, members []span // in dst
	for c.next() != '}' {
		if c.b[c.i] == ',' {
			c.i++
			c.next()
			dst = append(dst, ',')
		}
		from := len(dst)
		dst = c.str(dst)
		names = append(names, span{from, len(dst)})
		c.next() // the colon
		c.i++
		dst = c.value(append(dst, ':'))
		members = append(members, span{from, len(dst)})
	}
	c.i++
	last := lastOf(dst, names)
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

// lastOf marks the names that do not come again; nil when all are different.
func lastOf(b []byte, names []span) []bool {
	twice := false
	if len(names) <= maxNames {
		for i := 1; i < len(names) && !twice; i++ {
			for _, n := range names[:i] {
				if bytes.Equal(b[n.from:n.to], b[names[i].from:names[i].to]) {
					twice = true
					break
				}
			}
		}
		if !twice {
			return nil
		}
	}
	at := make(map[string]int, len(names))
	for i, n := range names {
		at[string(b[n.from:n.to])] = i
	}
	if len(at) == len(names) {
		return nil
	}
	last := make([]bool, len(names))
	for i, n := range names {
		last[i] = at[string(b[n.from:n.to])] == i
	}
	return last
}

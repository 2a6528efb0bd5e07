package editor

import (
	"reflect"

	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// placeholder stands for the word that is being written, so that the rest of the statement parses around it.
const placeholder = "zz_"

// cursor is a place in a statement where something is about to be written.
type cursor struct {
	*text
	cat  analyze.Catalog
	mode analyze.Mode
	// from and to are the word at the cursor in the original text, prefix its letters before the cursor.
	from, to int
	prefix   string
	// word is the placeholder's token; prev is the token before it, -1 at the start.
	word, prev int
	// open are the parentheses around the cursor, outermost first; closes are the closing ones of all.
	open   []int
	closes map[int]int

	selects map[int]*syntax.Select
	queries map[int]*syntax.Query
	memo    map[*syntax.Query][]column
}

// place reads a text with the cursor at an offset. ok is false inside of strings, comments and numbers, where nothing
// is to be offered.
func place(src string, offset int, cat analyze.Catalog, mode analyze.Mode) (c *cursor, ok bool) {
	offset = clamp(src, offset)
	if len(src) > syntax.MaxText {
		return nil, false
	}
	t := &text{src: src}
	t.tokens, _ = syntax.Scan(src)
	t.findComments()
	if t.inComment(offset) || t.inString(offset) {
		return nil, false
	}
	c = &cursor{cat: cat, mode: mode, from: offset, to: offset}
	if i := t.at(offset); i >= 0 {
		switch tok := t.tokens[i]; tok.Kind {
		case syntax.Word:
			if offset > tok.Pos.Offset {
				c.from, c.to = tok.Pos.Offset, tok.Pos.End
			}
		case syntax.Number:
			return nil, false
		}
	}
	c.prefix = src[c.from:max(c.from, offset)]
	c.text = read(src[:c.from] + " " + placeholder + " " + src[c.to:])
	for i, tok := range c.tokens {
		if tok.Pos.Offset == c.from+1 {
			c.word, c.prev = i, i-1
		}
	}
	return c, c.index()
}

// maxNesting bounds the parentheses around a cursor: the parser refuses more, and work grows with them.
const maxNesting = 200

// index finds the parentheses around the cursor and the queries of the tree; false when they are too many.
func (c *cursor) index() bool {
	c.closes = map[int]int{}
	var open []int
	for i, t := range c.tokens {
		if i == c.prev+1 {
			c.open = append([]int(nil), open...)
		}
		switch {
		case t.IsSymbol("("):
			open = append(open, i)
		case t.IsSymbol(")") && len(open) > 0:
			c.closes[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	if len(c.open) > maxNesting {
		return false
	}
	c.selects, c.queries = map[int]*syntax.Select{}, map[int]*syntax.Query{}
	c.memo = map[*syntax.Query][]column{}
	c.collect(reflect.ValueOf(c.query))
	return true
}

// collect finds the queries of the tree by where they start.
func (c *cursor) collect(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		switch n := v.Interface().(type) {
		case *syntax.Select:
			c.selects[n.Pos.Offset] = n
		case *syntax.Query:
			if _, outer := c.queries[n.Pos.Offset]; !outer {
				c.queries[n.Pos.Offset] = n
			}
		}
		c.collect(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			c.collect(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[syntax.Pos]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.collect(v.Field(i))
			}
		}
	}
}

// frame is one query around the cursor as a range of tokens: its first token, the parenthesis before it (-1 for the
// statement) and its end.
type frame struct{ open, start, end int }

// frames are the queries around the cursor, innermost first.
func (c *cursor) frames() []frame {
	var out []frame
	for n := len(c.open) - 1; n >= 0; n-- {
		if o := c.open[n]; c.opensQuery(o) {
			out = append(out, frame{open: o, start: o + 1, end: c.closing(o)})
		}
	}
	start := 0
	if c.tok(0).Is("INSERT") && c.tok(1).Is("INTO") {
		start = min(3, len(c.tokens)-1)
	}
	return append(out, frame{open: -1, start: start, end: len(c.tokens) - 1})
}

// opensQuery reports whether the parenthesis holds a query.
func (c *cursor) opensQuery(i int) bool {
	for c.tok(i + 1).IsSymbol("(") {
		i++
	}
	return c.anyKeyword(i+1, "SELECT", "WITH")
}

// closing is the token that closes a parenthesis, or the end of the text.
func (c *cursor) closing(open int) int {
	if end, closed := c.closes[open]; closed {
		return end
	}
	return len(c.tokens) - 1
}

// outside are the tokens of a frame before the given one that are in no parentheses of their own, last first.
func (c *cursor) outside(f frame, before int) []int {
	var out []int
	depth := 0
	for i := before - 1; i >= f.start; i-- {
		switch t := c.tok(i); {
		case t.IsSymbol(")"):
			depth++
		case t.IsSymbol("("):
			if depth > 0 {
				depth--
			}
		case depth == 0:
			out = append(out, i)
		}
	}
	return out
}

// clause is the keyword of the clause of a frame that a token stands in, "" when there is none, and its position.
func (c *cursor) clause(f frame, before int) (name string, at int) {
	for _, i := range c.outside(f, before) {
		switch {
		case c.anyKeyword(i, "SELECT", "WHERE", "HAVING", "WINDOW", "EMIT", "UNION", "INTERSECT", "EXCEPT", "LIMIT", "OFFSET", "WITH", "QUALIFY"):
			return upper(c.tok(i)), i
		case c.keyword(i, "FROM") && !(c.keyword(i-1, "DISTINCT") && c.anyKeyword(i-2, "IS", "NOT")):
			return "FROM", i
		case c.anyKeyword(i, "GROUP", "LATEST", "ORDER") && c.keyword(i+1, "BY"):
			return upper(c.tok(i)), i
		case c.keyword(i, "ALLOWED") && c.keyword(i+1, "LATENESS"):
			return "ALLOWED", i
		case c.keyword(i, "ON") && !c.keyword(i-1, "DISTINCT"):
			return "ON", i
		case c.keyword(i, "JOIN"):
			return "FROM", i
		}
	}
	return "", -1
}

// branch is the SELECT of a frame that a token stands in, or that begins behind it when there is none before.
func (c *cursor) branch(f frame, before int) *syntax.Select {
	for _, i := range c.outside(f, before) {
		if s := c.selects[c.tok(i).Pos.Offset]; s != nil && c.keyword(i, "SELECT") {
			return s
		}
	}
	return nil
}

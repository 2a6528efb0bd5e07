package editor

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// comment is a comment in the gap before a token.
type comment struct {
	at, end int
	text    string
	// before is the token that follows; own says that nothing but space stands before the comment in its line.
	before int
	own    bool
}

// text is a statement as tokens, with what the tree knows of them.
type text struct {
	src      string
	tokens   []syntax.Token // the last one is EOF
	comments []comment
	query    *syntax.Query
	problems []syntax.Diagnostic
	// names are the offsets of words that the parser reads as names: no keywords, whatever they look like.
	names map[int]bool
	// calls and kinds are the offsets of the names of functions and of the kinds in CAST.
	calls, kinds map[int]bool
}

// read scans and parses a text. INSERT INTO before a query is no part of the query; its words are tokens all the same.
func read(src string) *text {
	t := &text{src: src, names: map[int]bool{}, calls: map[int]bool{}, kinds: map[int]bool{}}
	t.tokens, _ = syntax.Scan(src)
	t.findComments()
	body := src
	if _, rest, found, problem := syntax.SplitInsert(src); found && problem == nil {
		body = blank(src[:len(src)-len(rest)]) + rest
		t.names[t.tokens[2].Pos.Offset] = true // the sink
	}
	t.query, t.problems = syntax.Parse(body)
	t.visit(reflect.ValueOf(t.query))
	return t
}

// blank replaces everything but line ends by spaces, byte for byte.
func blank(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
	return string(b)
}

// visit notes the names below a part of the tree. It goes by the types of the fields, so that a new kind of node needs
// nothing here.
func (t *text) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			t.visit(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			t.visit(v.Index(i))
		}
	case reflect.Struct:
		switch n := v.Interface().(type) {
		case syntax.Ident:
			t.names[n.Offset] = true
			return
		case syntax.Pos:
			return
		case syntax.Call:
			t.calls[n.Name.Offset] = true
		case syntax.Cast:
			t.kinds[n.Type.Offset] = true
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				t.visit(v.Field(i))
			}
		}
	}
}

// findComments reads the gaps between the tokens.
func (t *text) findComments() {
	from := 0
	for i, tok := range t.tokens {
		line := from == 0 // nothing stands before in the line
		for at := from; at < tok.Pos.Offset; {
			switch {
			case t.src[at] == '\n':
				line = true
				at++
			case strings.HasPrefix(t.src[at:], "--"):
				end := tok.Pos.Offset
				if n := strings.IndexByte(t.src[at:end], '\n'); n >= 0 {
					end = at + n
				}
				t.comments = append(t.comments, comment{at: at, end: end, text: strings.TrimSpace(t.src[at:end]), before: i, own: line})
				at = end
			default:
				at++
			}
		}
		from = tok.Pos.End
	}
}

// clamp moves an offset to the nearest border of a rune at or before it, within the text.
func clamp(src string, offset int) int {
	offset = max(0, min(offset, len(src)))
	for offset > 0 && offset < len(src) && !utf8.RuneStart(src[offset]) {
		offset--
	}
	return offset
}

// inComment reports whether a cursor at the offset writes into a comment. A comment ends with its line: a cursor
// behind its last letter still writes into it.
func (t *text) inComment(offset int) bool {
	for _, c := range t.comments {
		if offset > c.at+1 && offset <= c.end {
			return true
		}
	}
	return false
}

// inString reports whether a cursor at the offset is inside a string, also one without an end.
func (t *text) inString(offset int) bool {
	for _, tok := range t.tokens {
		if tok.Kind == syntax.Text && offset > tok.Pos.Offset && (offset < tok.Pos.End || offset == tok.Pos.End && !t.closed(tok)) {
			return true
		}
	}
	return false
}

// closed reports whether a string has its closing quote: an even number of quotes.
func (t *text) closed(tok syntax.Token) bool {
	return strings.Count(t.src[tok.Pos.Offset:tok.Pos.End], "'")%2 == 0
}

// at is the position of the token that holds the offset or ends there, -1 when there is none. Of two that touch, the
// word wins.
func (t *text) at(offset int) int {
	found := -1
	for i, tok := range t.tokens {
		if tok.Kind == syntax.EOF || tok.Pos.Offset > offset {
			break
		}
		if offset <= tok.Pos.End && (found < 0 || tok.Kind == syntax.Word || t.tokens[found].Kind != syntax.Word) {
			found = i
		}
	}
	return found
}

// tok is the i-th token; outside of the text it is EOF.
func (t *text) tok(i int) syntax.Token {
	if i < 0 || i >= len(t.tokens) {
		return syntax.Token{Kind: syntax.EOF}
	}
	return t.tokens[i]
}

// keyword reports whether the i-th token is the keyword w and no name of that spelling.
func (t *text) keyword(i int, w string) bool {
	tok := t.tok(i)
	return tok.Is(w) && !t.names[tok.Pos.Offset]
}

// anyKeyword reports whether the i-th token is one of the keywords.
func (t *text) anyKeyword(i int, ws ...string) bool {
	for _, w := range ws {
		if t.keyword(i, w) {
			return true
		}
	}
	return false
}

// known reports whether a name is that of a function or an aggregate.
func known(name string) bool {
	if f, ok := expr.Lookup(name); ok && !f.Operator {
		return true
	}
	if _, ok := agg.Lookup(name); ok {
		return true
	}
	_, _, _, ok := windowSignature(name)
	return ok
}

package editor

import (
	"strings"
	"unicode/utf8"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// lineWidth is where lines are broken, as far as there is a place to break them.
const lineWidth = 100

// Format lays a statement out: one clause a line, keywords and functions in upper case, subqueries indented, long
// lists one entry a line. Only white space and the case of keywords change, and every comment stays: the result parses
// to an equal tree, and formatting it again changes nothing. A text with errors is refused with its diagnostics.
func Format(sql string) (string, []syntax.Diagnostic) {
	t := read(sql)
	if syntax.HasErrors(t.problems) {
		return "", t.problems
	}
	f := &formatter{text: t, atStart: true, prev: -1}
	f.prepare()
	n := len(t.tokens) - 1
	start := 0
	if t.tok(0).Is("INSERT") && !t.names[t.tok(0).Pos.Offset] {
		f.flat(0, 3)
		f.newline()
		start = 3
	}
	f.queryBody(start, n)
	f.comments(f.lead[n])
	return f.out.String(), nil
}

// formatter prints tokens. Layout is decided by ranges of tokens: whether one fits into the line, and where it breaks
// when it does not.
type formatter struct {
	*text
	out    strings.Builder
	col    int
	indent int
	// atStart says that nothing is written in the line yet, owing that the next token begins a new one (a comment ends
	// its line), prev the token that was written last.
	atStart, owing bool
	prev           int

	match       []int // of an opening parenthesis: the closing one
	width       []int // width[j]-width[i] is the width of tokens i to j in one line
	breaks      []int // breaks[j]-breaks[i] is the number of subqueries and comments in front of tokens i to j
	ends        []int // ends[j]-ends[i] is the number of comments behind tokens i to j
	lead, trail [][]comment
}

// prepare computes what the layout asks of ranges.
func (f *formatter) prepare() {
	n := len(f.tokens)
	f.match, f.width, f.breaks, f.ends = make([]int, n), make([]int, n+1), make([]int, n+1), make([]int, n+1)
	f.lead, f.trail = make([][]comment, n), make([][]comment, n)
	for _, c := range f.text.comments {
		// A comment before a comma moves behind it, so that commas end lines.
		switch at := c.before; {
		case f.tok(at).IsSymbol(",") && c.own:
			f.lead[at+1] = append(f.lead[at+1], c)
		case f.tok(at).IsSymbol(","):
			f.trail[at] = append(f.trail[at], c)
		case c.own:
			f.lead[at] = append(f.lead[at], c)
		default:
			f.trail[at-1] = append(f.trail[at-1], c)
		}
	}
	var open []int
	for i, t := range f.tokens {
		switch {
		case t.IsSymbol("("):
			open = append(open, i)
		case t.IsSymbol(")") && len(open) > 0:
			f.match[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	for i := range f.tokens {
		w := utf8.RuneCountInString(f.shown(i))
		if i > 0 && f.spaced(i-1, i) {
			w++
		}
		f.width[i+1] = f.width[i] + w
		f.ends[i+1] = f.ends[i] + len(f.trail[i])
		f.breaks[i+1] = f.breaks[i] + len(f.lead[i])
		if f.isQuery(i) {
			f.breaks[i+1]++
		}
	}
}

// isQuery reports whether the i-th token opens a query in parentheses.
func (f *formatter) isQuery(i int) bool {
	if !f.tok(i).IsSymbol("(") {
		return false
	}
	if f.anyKeyword(i+1, "SELECT", "WITH") {
		return true
	}
	return f.isQuery(i+1) && f.anyKeyword(f.match[i+1]+1, "UNION", "INTERSECT", "EXCEPT")
}

// shown is the text of the i-th token.
func (f *formatter) shown(i int) string {
	t := f.tokens[i]
	written := f.src[t.Pos.Offset:t.Pos.End]
	if t.Kind != syntax.Word {
		return written
	}
	at := t.Pos.Offset
	switch {
	case f.isRef(i):
		return "ref"
	case f.kinds[at], f.calls[at] && known(t.Text):
		return strings.ToUpper(written)
	case f.names[at]:
		return written
	case isKeyword(t.Text), f.tok(i+1).IsSymbol("(") && known(t.Text):
		return strings.ToUpper(written)
	}
	return written
}

// spaced reports whether a space stands between two tokens of one line.
func (f *formatter) spaced(i, j int) bool {
	a, b := f.tok(i), f.tok(j)
	switch {
	case i < 0 || b.Kind == syntax.EOF:
		return false
	case b.IsSymbol(","), b.IsSymbol(")"), b.IsSymbol("."), b.IsSymbol(";"), a.IsSymbol("("), a.IsSymbol("."):
		return false
	case b.IsSymbol("("):
		return !f.tightCall(i)
	case (a.IsSymbol("-") || a.IsSymbol("+")) && f.isSign(i):
		return b.IsSymbol("-") // two minus signs would start a comment
	}
	return true
}

// tightWords are the keywords that are written like functions.
var tightWords = words("CAST UNNEST TUMBLING HOPPING SESSION ROLLUP CUBE")

// tightCall reports whether the i-th token, which stands before a parenthesis, is written without a space.
func (f *formatter) tightCall(i int) bool {
	t := f.tok(i)
	if t.Kind != syntax.Word {
		return false
	}
	if f.calls[t.Pos.Offset] || f.isRef(i) {
		return true
	}
	return !f.names[t.Pos.Offset] && (tightWords[strings.ToUpper(t.Text)] || !isKeyword(t.Text) && known(t.Text))
}

// isRef reports whether the i-th token is the word of ref('model').
func (f *formatter) isRef(i int) bool {
	t := f.tok(i)
	return t.Kind == syntax.Word && strings.EqualFold(t.Text, "ref") && !f.calls[t.Pos.Offset] &&
		f.tok(i+1).IsSymbol("(") && f.tok(i+2).Kind == syntax.Text && f.tok(i+3).IsSymbol(")")
}

// isSign reports whether a minus or plus belongs to the operand behind it.
func (f *formatter) isSign(i int) bool {
	t := f.tok(i - 1)
	switch t.Kind {
	case syntax.Number, syntax.Text:
		return false
	case syntax.Symbol:
		return t.Text != ")"
	case syntax.Word:
		return !f.names[t.Pos.Offset] && !f.anyKeyword(i-1, "NULL", "TRUE", "FALSE", "END")
	}
	return true
}

// fits reports whether tokens i to j, and what must follow them directly, go into the line.
func (f *formatter) fits(i, j int) bool {
	if i >= j {
		return true
	}
	if f.broken(i, j) {
		return false
	}
	col := f.col
	if f.atStart || f.owing {
		col = 2 * f.indent
	}
	w := f.width[j] - f.width[i]
	for ; f.tok(j).IsSymbol(",") || f.tok(j).IsSymbol(")") || f.tok(j).IsSymbol(";"); j++ {
		w++
	}
	return col+w <= lineWidth
}

// broken reports whether tokens i to j cannot stand in one line. Comments before the first and behind the last are
// outside.
func (f *formatter) broken(i, j int) bool {
	return f.breaks[j]-f.breaks[i]-len(f.lead[i])+f.ends[j-1]-f.ends[i] > 0
}

// newline ends the line, unless it is empty.
func (f *formatter) newline() {
	f.owing = false
	if f.atStart {
		return
	}
	f.out.WriteByte('\n')
	f.atStart, f.col = true, 0
}

// write adds text to the line.
func (f *formatter) write(s string) {
	if f.owing {
		f.newline()
	}
	if f.atStart {
		f.out.WriteString(strings.Repeat("  ", f.indent))
		f.atStart, f.col = false, 2*f.indent
	}
	f.out.WriteString(s)
	f.col += utf8.RuneCountInString(s)
}

// comments writes comments in lines of their own.
func (f *formatter) comments(cs []comment) {
	for _, c := range cs {
		f.newline()
		f.write(c.text)
		f.owing = true
	}
}

// token writes the i-th token with its comments.
func (f *formatter) token(i int) {
	f.comments(f.lead[i])
	if !f.atStart && !f.owing && f.spaced(f.prev, i) {
		f.write(" ")
	}
	f.write(f.shown(i))
	f.prev = i
	for n, c := range f.trail[i] {
		if n > 0 {
			f.newline()
		} else {
			f.write(" ")
		}
		f.write(c.text)
		f.owing = true
	}
}

// flat writes tokens i to j into the line.
func (f *formatter) flat(i, j int) {
	for ; i < j; i++ {
		f.token(i)
	}
}

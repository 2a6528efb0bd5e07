package syntax

import (
	"fmt"
	"strings"
)

// maxDepth bounds the nesting of expressions and queries, so that no statement can exhaust the stack.
const maxDepth = 200

// maxChain bounds a chain of operators without parentheses, which becomes a tree of that depth.
const maxChain = 2000

// maxProblems bounds what is reported of one statement.
const maxProblems = 100

// parser turns tokens into a tree.
//
// After a problem the parser is skipping: every look at the current token sees one that matches nothing, so that
// all the functions on the way up return at once and report nothing more. A clause border ends the skipping
// (recover), and parsing goes on with the next clause.
type parser struct {
	tokens      []Token
	at          int
	skipping    bool
	lost        bool // something was skipped
	depth       int
	open        int // parentheses
	diagnostics []Diagnostic
	refs        []*TableName
	// unreadable are the offsets at which the lexer has reported a problem.
	unreadable map[int]bool
}

// Parse reads one statement. The query is never nil; it is incomplete when one of the diagnostics is an Error.
func Parse(src string) (*Query, []Diagnostic) {
	tokens, problems := lex(src)
	p := &parser{tokens: tokens, diagnostics: problems, unreadable: map[int]bool{}}
	for _, d := range problems {
		p.unreadable[d.Pos.Offset] = true
		if d.Code == "unterminated-string" { // it has swallowed the rest
			p.unreadable[len(src)] = true
		}
	}
	q := p.query(true)
	q.Refs = p.refs
	q.broken = p.lost
	return q, Sort(p.diagnostics)
}

// peek is the current token.
func (p *parser) peek() Token {
	if p.skipping {
		return Token{Kind: bad, Pos: p.tokens[p.at].Pos}
	}
	return p.tokens[p.at]
}

// peekAt is the token n places ahead.
func (p *parser) peekAt(n int) Token {
	if p.skipping {
		return Token{Kind: bad}
	}
	return p.tokens[min(p.at+n, len(p.tokens)-1)]
}

// take consumes the current token.
func (p *parser) take() Token {
	t := p.peek()
	if !p.skipping && t.Kind != EOF {
		p.at++
	}
	return t
}

// word consumes the word w when it is next.
func (p *parser) word(w string) bool {
	if p.peek().is(w) {
		p.take()
		return true
	}
	return false
}

// words consumes a sequence of words when all of them are next.
func (p *parser) words(ws ...string) bool {
	for i, w := range ws {
		if !p.peekAt(i).is(w) {
			return false
		}
	}
	for range ws {
		p.take()
	}
	return true
}

// symbol consumes the symbol s when it is next.
func (p *parser) symbol(s string) bool {
	if p.peek().symbol(s) {
		p.take()
		return true
	}
	return false
}

// expectWord consumes w or reports that it is missing.
func (p *parser) expectWord(w string) {
	if !p.word(w) && !(p.meant(w) && p.word(w)) {
		p.expected(w)
	}
}

// expectSymbol consumes s or reports that it is missing.
func (p *parser) expectSymbol(s string) {
	if !p.symbol(s) {
		p.expected(quote(s))
	}
}

// expected reports that what was found is not what the grammar wants, and starts skipping.
func (p *parser) expected(what string) {
	t := p.peek()
	p.fail(t.Pos, "syntax", fmt.Sprintf("expected %s, found %s", what, t.describe()), "")
}

// fail reports a problem and starts skipping. While skipping nothing is reported: it would follow from the first.
func (p *parser) fail(pos Pos, code, message, hint string) {
	if p.skipping {
		return
	}
	// What the lexer has reported at this place is the cause, and so is what was expected there before.
	if n := len(p.diagnostics); !p.unreadable[pos.Offset] && (n == 0 || code != "syntax" || p.diagnostics[n-1].Code != code || p.diagnostics[n-1].Pos.Offset != pos.Offset) {
		p.report(pos, code, message, hint)
	}
	p.skipping, p.lost = true, true
}

// report adds a problem without skipping.
func (p *parser) report(pos Pos, code, message, hint string) {
	if len(p.diagnostics) < maxProblems {
		p.diagnostics = append(p.diagnostics, Diagnostic{Pos: pos, Code: code, Message: message, Hint: hint})
	}
}

// recover ends skipping at the next token at which stop is true, outside of any parentheses that opened on the way.
// A closing parenthesis that opened before, and the end of the text, always stop.
func (p *parser) recover(stop func() bool) {
	if !p.skipping {
		return
	}
	p.skipping = false
	depth := 0
	for {
		t := p.tokens[p.at]
		switch {
		case t.Kind == EOF:
			return
		case t.symbol("("):
			depth++
		case t.symbol(")"):
			if depth == 0 {
				return
			}
			depth--
		case depth == 0 && stop():
			return
		}
		p.at++
	}
}

// atClause reports whether a clause starts at the current token.
func (p *parser) atClause() bool {
	t := p.tokens[p.at]
	if t.Kind != Word {
		return false
	}
	w := strings.ToUpper(t.Text)
	next := p.peekAt(1)
	switch w {
	case "ALLOWED":
		return p.peekAt(1).is("LATENESS")
	case "GROUP", "LATEST", "ORDER":
		return next.is("BY")
	case "ASOF":
		return next.is("JOIN") || next.is("LEFT") || next.is("INNER")
	case "LEFT", "RIGHT", "FULL":
		return next.is("JOIN") || next.is("OUTER")
	}
	return clauseStarts[w]
}

// span is the text from start to the last consumed token.
func (p *parser) span(start Pos) Pos {
	last := start
	if p.at > 0 && p.tokens[p.at-1].Pos.End > start.Offset {
		last = p.tokens[p.at-1].Pos
	}
	return join(start, last)
}

// nest enters one level of nesting; the caller must leave it again when it returns true.
func (p *parser) nest() bool {
	if p.depth >= maxDepth {
		p.fail(p.peek().Pos, "too-deep", fmt.Sprintf("more than %d levels of nesting", maxDepth), "")
		return false
	}
	p.depth++
	return true
}

func (p *parser) leave() { p.depth-- }

// ident consumes a name, or reports that what is missing.
func (p *parser) ident(what string) Ident {
	t := p.peek()
	if t.Kind != Word {
		p.expected(what)
		return Ident{Pos: t.Pos}
	}
	p.take()
	return Ident{Pos: t.Pos, Name: t.Text}
}

// alias reads [AS] name; without AS a clause word is none.
func (p *parser) alias() *Ident {
	if p.word("AS") {
		if id := p.textAlias(); id != nil {
			return id
		}
		if t := p.peek(); t.is("FROM") && p.peekAt(1).Kind == Word && !p.peekAt(1).is("FROM") {
			as := p.tokens[p.at-1]
			p.reportFix(t.Pos, "syntax", `expected an alias after AS, found "`+t.Text+`"`, "name the column, or remove AS", Remove("AS", as.Pos))
			return nil
		}
		id := p.ident("an alias after AS")
		return &id
	}
	t := p.peek()
	if t.Kind != Word || aliasEnds[strings.ToUpper(t.Text)] || t.is("ALLOWED") && p.peekAt(1).is("LATENESS") || p.aliasMeant() || p.foreign() != nil {
		return nil
	}
	p.take()
	return &Ident{Pos: t.Pos, Name: t.Text}
}

// parenthesized reads ( content ). A problem inside is contained: parsing goes on behind the closing parenthesis, or at
// a clause that comes before it.
func (p *parser) parenthesized(content func()) {
	open := p.peek()
	p.expectSymbol("(")
	if p.skipping {
		return
	}
	p.open++
	content()
	p.open--
	p.recover(p.atClause)
	switch {
	case p.symbol(")"):
	case p.peek().Kind == EOF:
		p.fail(open.Pos, "syntax", "the parenthesis that opens here is not closed", "")
	case p.atClause() && len(p.diagnostics) > 0 && p.diagnostics[len(p.diagnostics)-1].Pos.Offset >= open.Pos.Offset:
		// The problem inside was reported; the clause goes on without the parenthesis.
	default:
		p.expected(quote(")"))
		p.recover(p.atClause)
		p.symbol(")")
	}
}

// join is the stretch from the start of a to the end of b.
func join(a, b Pos) Pos {
	if b.End <= a.End {
		return a
	}
	out := a
	out.End = b.End
	out.Length = b.rune + b.Length - a.rune
	out.endLine, out.endColumn = b.endLine, b.endColumn
	return out
}

// skipParentheses consumes a parenthesis with everything in it.
func (p *parser) skipParentheses() {
	open, depth := p.peek(), 0
	for {
		t := p.take()
		switch {
		case t.symbol("("):
			depth++
		case t.symbol(")"):
			depth--
		case t.Kind == EOF:
			p.fail(open.Pos, "syntax", "the parenthesis that opens here is not closed", "")
			return
		}
		if depth == 0 {
			return
		}
	}
}

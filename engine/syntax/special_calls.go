package syntax

import "strings"

// Calls with words between their arguments are read as plain calls: EXTRACT(hour FROM t) is EXTRACT('hour', t),
// POSITION(a IN b) is POSITION(a, b), SUBSTRING(s FROM a FOR n) is SUBSTRING(s, a, n), TRIM(LEADING c FROM s) is
// LTRIM(s, c) and INTERVAL '1 day' is INTERVAL('1 day').

// callArguments reads the arguments of a call. The name changes where another function is meant.
func (p *parser) callArguments(name *Ident) []Expr {
	switch strings.ToUpper(name.Name) {
	case "EXTRACT", "DATE_PART":
		if t := p.peek(); t.Kind == Word && p.peekAt(1).is("FROM") {
			p.take()
			p.take()
			field := &Literal{Pos: t.Pos, Kind: StringLiteral, Text: strings.ToLower(t.Text)}
			return append([]Expr{field}, p.exprList()...)
		}
	case "POSITION":
		part := p.additive()
		if p.word("IN") {
			return []Expr{part, p.expr()}
		}
		return p.further(part)
	case "SUBSTRING", "SUBSTR":
		s := p.expr()
		if p.word("FROM") {
			out := []Expr{s, p.expr()}
			if p.word("FOR") {
				out = append(out, p.expr())
			}
			return out
		}
		return p.further(s)
	case "TRIM":
		return p.trimArguments(name)
	}
	return p.exprList()
}

// trimArguments reads TRIM([BOTH | LEADING | TRAILING] [characters] FROM s), and the plain TRIM(s, characters). The
// words are names of columns too: they are the side only when an argument or FROM follows.
func (p *parser) trimArguments(name *Ident) []Expr {
	for _, side := range [...]struct{ word, function string }{{"BOTH", "TRIM"}, {"LEADING", "LTRIM"}, {"TRAILING", "RTRIM"}} {
		if next := p.peekAt(1); p.peek().is(side.word) && (next.Kind == Text || next.Kind == Word) && !next.is("IS") {
			p.take()
			name.Name = side.function
			break
		}
	}
	if p.peek().is("FROM") {
		p.take()
		return []Expr{p.expr()}
	}
	first := p.expr()
	if p.word("FROM") {
		return []Expr{p.expr(), first}
	}
	return p.further(first)
}

// further reads the arguments after the first.
func (p *parser) further(first Expr) []Expr {
	if !p.symbol(",") {
		return []Expr{first}
	}
	return append([]Expr{first}, p.exprList()...)
}

// interval reads INTERVAL 'text'.
func (p *parser) interval() Expr {
	name := p.ident("INTERVAL")
	t := p.take()
	return &Call{Pos: join(name.Pos, t.Pos), Name: name, Args: []Expr{&Literal{Pos: t.Pos, Kind: StringLiteral, Text: t.Text}}}
}

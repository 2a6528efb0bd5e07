package syntax

import "strings"

// Calls with words between their arguments are read as plain calls: EXTRACT(hour FROM t) is EXTRACT('hour', t),
// POSITION(a IN b) is POSITION(a, b), SUBSTRING(s FROM a FOR n) is SUBSTRING(s, a, n) and INTERVAL '1 day' is
// INTERVAL('1 day').

// callArguments reads the arguments of a call.
func (p *parser) callArguments(name Ident) []Expr {
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
	}
	return p.exprList()
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

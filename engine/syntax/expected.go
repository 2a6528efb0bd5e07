package syntax

import "strings"

// expectedExpr reports that an expression is missing, and what to do about it where that is clear.
func (p *parser) expectedExpr() {
	if p.skipping {
		return
	}
	n := len(p.diagnostics)
	p.expected("an expression")
	if len(p.diagnostics) == n || p.at == 0 {
		return
	}
	d := &p.diagnostics[n]
	d.Hint, d.Fix = missing(p.tokens[p.at-1], p.tokens[p.at])
}

// missing says what to do when no expression stands between two tokens.
func missing(before, found Token) (hint string, fix *Fix) {
	switch {
	case before.symbol(",") && found.symbol(","):
		return "remove one comma", Remove("one comma", before.Pos)
	case before.symbol(","):
		return "remove the comma before it", Remove("the comma", before.Pos)
	case before.is("SELECT") && found.is("FROM"):
		return "name columns, or write *", InsertAfter(before.Pos, " *")
	case before.is("SELECT") && found.symbol(","):
		return "remove the comma", Remove("the comma", found.Pos)
	case before.is("WHERE") && (found.is("AND") || found.is("OR")):
		return "remove " + strings.ToUpper(found.Text), Remove(found.Text, found.Pos)
	case wordIn(before, []string{"WHERE", "HAVING", "ON", "WHEN", "AND", "OR", "NOT"}):
		return "write a condition behind " + strings.ToUpper(before.Text), nil
	case before.is("BY"):
		return "name columns behind BY", nil
	case before.is("LIMIT"), before.is("OFFSET"):
		return "write a number behind " + strings.ToUpper(before.Text), nil
	case wordIn(before, []string{"THEN", "ELSE", "LIKE", "ILIKE", "ESCAPE", "BETWEEN"}):
		return "write a value behind " + strings.ToUpper(before.Text), nil
	case before.Kind == Symbol && found.Kind == Symbol && before.Text == found.Text && before.Text != "(":
		return "write it once", Remove("one of them", found.Pos)
	case before.symbol("(") && found.symbol(")"):
		return "write something inside the parentheses", nil
	case found.is("UNNEST"):
		return "UNNEST stands in FROM: write FROM source s, UNNEST(s.column) AS element", nil
	case found.is("SELECT"):
		return "a query inside of another stands in parentheses", nil
	case found.is("EXISTS"):
		return "write EXISTS (SELECT ...)", nil
	}
	return "", nil
}

// expectedRelation reports that the name of a relation is missing.
func (p *parser) expectedRelation() {
	n := len(p.diagnostics)
	p.expected("the name of a source, table or pipeline")
	if len(p.diagnostics) == n || p.at == 0 {
		return
	}
	d := &p.diagnostics[n]
	switch before, found := p.tokens[p.at-1], p.tokens[p.at]; {
	case before.symbol(","):
		d.Hint, d.Fix = "remove the comma before it", Remove("the comma", before.Pos)
	case found.is("SELECT") || found.is("WITH"):
		d.Hint = "write FROM (SELECT ...) name"
	case found.Kind == Text:
		d.Hint = "names stand without quotes"
	}
}

// expectWordFor consumes w or reports that it is missing, with how the whole is written.
func (p *parser) expectWordFor(w, hint string) {
	n := len(p.diagnostics)
	p.expectWord(w)
	if len(p.diagnostics) > n && p.diagnostics[n].Hint == "" {
		p.diagnostics[n].Hint = hint
	}
}

// caseValue reads a condition or value of CASE; a word that goes on with CASE is none.
func (p *parser) caseValue() Expr {
	t, next := p.peek(), p.peekAt(1)
	if wordIn(t, []string{"END", "WHEN", "THEN", "ELSE"}) && !wordIn(next, []string{"END", "WHEN", "THEN", "ELSE"}) && !(next.Kind == Symbol && comparisons[next.Text]) && !next.symbol(".") {
		p.expectedExpr()
		return p.broken()
	}
	return p.expr()
}

package syntax

import "strings"

// castOperator reads x::type.
func (p *parser) castOperator(start Pos, x Expr) Expr {
	t := p.take()
	name := p.ident("a type name")
	c := &Cast{Pos: join(start, name.Pos), X: x, Type: Ident{Pos: name.Pos, Name: strings.ToUpper(name.Name)}}
	if p.skipping {
		return c
	}
	p.reportFix(t.Pos, codeDialect, ":: is not in the language", "write CAST(x AS "+c.Type.Name+")", &Fix{Title: "write CAST(x AS " + c.Type.Name + ")", Edits: []Edit{
		{start.start(), "CAST("}, {t.Pos, " AS "}, {name.Pos.end(), ")"}}})
	p.typeLength()
	return c
}

// bareFilter reads FILTER WHERE condition without its parentheses.
func (p *parser) bareFilter(c *Call) {
	if !p.peek().is("FILTER") || !p.peekAt(1).is("WHERE") {
		return
	}
	p.take()
	where := p.take()
	c.Filter = p.expr()
	if !p.skipping {
		p.reportFix(where.Pos, "syntax", `expected "(", found "WHERE"`, "write FILTER (WHERE condition)",
			&Fix{Title: "add the parentheses", Edits: []Edit{{where.Pos.start(), "("}, {p.span(where.Pos).end(), ")"}}})
	}
}

// wordOperator reads a MOD b and a DIV b; "" for everything else.
func (p *parser) wordOperator(t Token) string {
	if !(t.is("MOD") || t.is("DIV")) || !startsExpr(p.peekAt(1)) || p.peekAt(1).symbol("-") {
		return ""
	}
	if t.is("MOD") {
		p.reportFix(t.Pos, codeDialect, "MOD is no operator", "write a % b or MOD(a, b)", Replace(t.Pos, t.Text, "%"))
		return "%"
	}
	p.report(t.Pos, codeDialect, "DIV is no operator", "write TRUNC(a / b)")
	return "/"
}

// castArguments reports whether AS stands in the parenthesis behind the current word.
func (p *parser) castArguments() bool {
	for i, depth := 1, 0; ; i++ {
		switch t := p.peekAt(i); {
		case t.symbol("("):
			depth++
		case t.symbol(")"):
			depth--
		case t.is("AS") && depth == 1:
			return true
		case t.Kind == EOF || t.Kind == bad:
			return false
		}
		if depth == 0 {
			return false
		}
	}
}

// subscript reads x[key].
func (p *parser) subscript(x Expr) Expr {
	open := p.take()
	key := p.expr()
	end := p.peek()
	if !end.symbol("]") {
		p.expected(quote("]"))
		return x
	}
	p.take()
	fix := &Fix{Title: "write x -> key", Edits: []Edit{{open.Pos, " -> "}, {end.Pos, ""}}}
	p.reportFix(open.Pos, codeDialect, "members and elements are not written in brackets", "write x -> 'key' or x -> 0", fix)
	return &Access{Pos: join(x.Position(), end.Pos), OpPos: open.Pos, X: x, Key: key}
}

// prefixes are the words that other dialects write before a string.
var stringPrefixes = wordSet("E", "N", "B", "X", "R", "U")

// typedText reads DATE '2024-01-01', INTERVAL '5' DAY, INTERVAL 5 DAY and strings with a prefix.
func (p *parser) typedText() (Expr, bool) {
	t, next := p.peek(), p.peekAt(1)
	switch {
	case (t.is("DATE") || t.is("TIMESTAMP") || t.is("DATETIME") || t.is("TIMESTAMPTZ")) && next.Kind == Text:
		p.take()
		p.take()
		value := next.Pos
		text := "TO_TIMESTAMP(" + quoteText(next.Text) + ")"
		p.reportFix(t.Pos, codeDialect, strings.ToUpper(t.Text)+" before a string is not in the language", "write "+clip(text),
			&Fix{Title: "write TO_TIMESTAMP", Edits: []Edit{{join(t.Pos, value), text}}})
		return &Call{Pos: join(t.Pos, value), Name: Ident{Pos: t.Pos, Name: "TO_TIMESTAMP"}, Args: []Expr{&Literal{Pos: value, Kind: StringLiteral, Text: next.Text}}}, true
	case t.is("INTERVAL") && next.Kind == Number && p.peekAt(2).Kind == Word && !aliasEnds[strings.ToUpper(p.peekAt(2).Text)]:
		unit := p.peekAt(2)
		return p.intervalUnit(t, next.Text, unit, 3), true
	case t.is("INTERVAL") && next.Kind == Text && intervalUnits[strings.ToUpper(p.peekAt(2).Text)] && isNumeric(next.Text):
		return p.intervalUnit(t, next.Text, p.peekAt(2), 3), true
	case stringPrefixes[strings.ToUpper(t.Text)] && next.Kind == Text && t.Pos.End == next.Pos.Offset:
		p.take()
		p.take()
		p.reportFix(t.Pos, codeDialect, "strings have no prefix", "remove "+quote(t.Text), Remove(quote(t.Text), t.Pos))
		return &Literal{Pos: next.Pos, Kind: StringLiteral, Text: next.Text}, true
	}
	return nil, false
}

var intervalUnits = wordSet("MILLISECOND", "MILLISECONDS", "SECOND", "SECONDS", "MINUTE", "MINUTES", "HOUR", "HOURS", "DAY", "DAYS",
	"WEEK", "WEEKS", "MONTH", "MONTHS", "YEAR", "YEARS")

func isNumeric(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !isDigit(r) && r != '.' && r != '-' }) < 0
}

func (p *parser) intervalUnit(t Token, n string, unit Token, count int) Expr {
	for range count {
		p.take()
	}
	value := n + " " + strings.ToLower(unit.Text)
	text := "INTERVAL " + quoteText(value)
	pos := join(t.Pos, unit.Pos)
	p.reportFix(pos, codeDialect, "the unit of an interval stands inside the quotes", "write "+text, &Fix{Title: "write " + text, Edits: []Edit{{pos, text}}})
	return &Call{Pos: pos, Name: Ident{Pos: t.Pos, Name: "INTERVAL"}, Args: []Expr{&Literal{Pos: pos, Kind: StringLiteral, Text: value}}}
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// clip shortens what is quoted in a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}

// quantified reports x = ANY (...) and its kin behind an operator; true when there is one.
func (p *parser) quantified(op string) bool {
	t := p.peek()
	if !(t.is("ANY") || t.is("ALL") || t.is("SOME")) || !p.peekAt(1).symbol("(") {
		return false
	}
	hint := "compare with (SELECT MAX(...) ...) or (SELECT MIN(...) ...)"
	switch {
	case op == "LIKE" || op == "ILIKE":
		hint = "write one " + op + " for each pattern, joined with OR or AND"
	case op == "=" && !t.is("ALL"):
		hint = "write x IN (SELECT ...) or x IN (a, b)"
	case op == "<>" && t.is("ALL"):
		hint = "write x NOT IN (SELECT ...) or x NOT IN (a, b)"
	}
	p.report(t.Pos, codeDialect, op+" "+strings.ToUpper(t.Text)+" is not in the language", hint)
	p.take()
	p.skipParentheses()
	p.lost = true
	return true
}

// regexOperators are words and symbols that match a pattern elsewhere.
var regexOperators = wordSet("RLIKE", "REGEXP", "GLOB", "MATCHES", "~", "~*", "!~")

// foreignPredicate reads predicates of other dialects behind an operand.
func (p *parser) foreignPredicate(start Pos, x Expr) (e Expr, ok bool) {
	t, next := p.peek(), p.peekAt(1)
	not := ""
	switch {
	case t.is("ISNULL") || t.is("NOTNULL") || t.is("NOT") && next.is("NULL"):
		p.take()
		e := &Is{X: x, What: "NULL", Not: !t.is("ISNULL")}
		if t.is("NOT") {
			p.take()
		}
		e.Pos = p.span(x.Position())
		text := "IS NOT NULL"
		if !e.Not {
			text = "IS NULL"
		}
		pos := p.span(t.Pos)
		p.reportFix(pos, codeDialect, "a test for NULL is written with IS", "write "+text, &Fix{Title: "write " + text, Edits: []Edit{{pos, text}}})
		return e, true
	case t.is("SIMILAR") && next.is("TO"):
		p.report(t.Pos, codeDialect, "SIMILAR TO is not in the language", "write LIKE, or REGEXP_LIKE(x, 'pattern')")
		p.take()
		p.take()
		p.additive()
		p.lost = true
		return &Literal{Pos: p.span(x.Position()), Kind: NullLiteral}, true
	case (t.Kind == Word || t.Kind == Symbol) && regexOperators[strings.ToUpper(t.Text)] && startsExpr(next):
		if t.Text == "!~" {
			not = "NOT "
		}
		p.take()
		y := p.additive()
		call := &Call{Pos: p.span(x.Position()), Name: Ident{Pos: t.Pos, Name: "REGEXP_LIKE"}, Args: []Expr{x, y}}
		fix := &Fix{Title: "write " + not + "REGEXP_LIKE", Edits: []Edit{
			{start.start(), not + "REGEXP_LIKE("}, {t.Pos, ","}, {p.span(start).end(), ")"}}}
		p.reportFix(t.Pos, codeDialect, strings.ToUpper(t.Text)+" is not in the language", "write "+not+"REGEXP_LIKE(x, 'pattern')", fix)
		return call, true
	}
	return x, false
}

// withinGroup reads WITHIN GROUP (ORDER BY x) behind an ordered-set aggregate.
func (p *parser) withinGroup(c *Call) {
	t := p.peek()
	if !t.is("WITHIN") || !p.peekAt(1).is("GROUP") || !p.peekAt(2).symbol("(") {
		return
	}
	p.take()
	p.take()
	var keys []*OrderItem
	p.parenthesized(func() {
		if p.words("ORDER", "BY") {
			keys = p.orderItems()
		}
	})
	pos := p.span(t.Pos)
	if len(keys) != 1 || len(c.Args) != 1 {
		p.report(t.Pos, codeDialect, "WITHIN GROUP is not in the language", "write the aggregated value as an argument")
		return
	}
	x := Format(keys[0].Expr)
	p.reportFix(t.Pos, codeDialect, "WITHIN GROUP is not in the language", "write "+clip(strings.ToUpper(c.Name.Name)+"("+Format(c.Args[0])+", "+x+")"),
		&Fix{Title: "write the value as an argument", Edits: []Edit{{c.Args[0].Position().end(), ", " + x}, {pos, ""}}})
	c.Args = append(c.Args, keys[0].Expr)
}

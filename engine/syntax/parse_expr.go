package syntax

import (
	"fmt"
	"strings"
)

// exprList reads expressions separated by commas.
func (p *parser) exprList() []Expr {
	list := []Expr{p.expr()}
	for p.symbol(",") {
		list = append(list, p.expr())
	}
	return list
}

// expr reads an expression. It never returns nil: what is broken is a NULL literal.
func (p *parser) expr() Expr {
	if !p.nest() {
		return p.broken()
	}
	defer p.leave()
	return p.or()
}

func (p *parser) broken() Expr { return &Literal{Pos: p.peek().Pos, Kind: NullLiteral} }

// chain reads operands joined by operators of one level, left to right.
func (p *parser) chain(operand func() Expr, operator func(Token) (string, bool)) Expr {
	left := operand()
	for n := 0; ; n++ {
		t := p.peek()
		op, ok := operator(t)
		if !ok {
			return left
		}
		if n == maxChain {
			p.fail(t.Pos, "too-deep", fmt.Sprintf("more than %d operators in a row", maxChain), "")
			return left
		}
		p.take()
		right := operand()
		left = &Binary{Pos: join(left.Position(), right.Position()), Op: op, OpPos: t.Pos, L: left, R: right}
	}
}

func (p *parser) or() Expr {
	return p.chain(p.and, func(t Token) (string, bool) { return "OR", t.is("OR") || p.operatorMeant("OR") })
}

func (p *parser) and() Expr {
	return p.chain(p.not, func(t Token) (string, bool) { return "AND", t.is("AND") || p.operatorMeant("AND") })
}

func (p *parser) not() Expr {
	t := p.peek()
	if !t.is("NOT") || p.columnLike() {
		return p.comparison()
	}
	if !p.nest() {
		return p.broken()
	}
	defer p.leave()
	p.take()
	x := p.not()
	return &Unary{Pos: join(t.Pos, x.Position()), Op: "NOT", X: x}
}

var comparisons = map[string]bool{"=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true}

// comparison reads one comparison or predicate; they cannot be chained.
func (p *parser) comparison() Expr {
	start := p.peek().Pos
	x := p.additive()
	p.predicateMeant()
	e, ok := p.predicate(x)
	if !ok {
		if e, ok = p.foreignPredicate(start, x); !ok {
			return e
		}
	}
	if t := p.peek(); t.Kind == Symbol && comparisons[t.Text] {
		p.fail(t.Pos, "syntax", "a comparison cannot be compared again", "join the comparisons with AND, or use parentheses")
	}
	return e
}

// predicate reads what may follow an operand; ok is false when nothing does.
func (p *parser) predicate(x Expr) (e Expr, ok bool) {
	t := p.peek()
	if t.Kind == Symbol && comparisons[t.Text] {
		p.take()
		if p.quantified(t.Text) {
			return &Literal{Pos: p.span(x.Position()), Kind: NullLiteral}, true
		}
		r := p.additive()
		return &Binary{Pos: join(x.Position(), r.Position()), Op: t.Text, OpPos: t.Pos, L: x, R: r}, true
	}
	if t.is("IS") {
		return p.is(x), true
	}
	not := t.is("NOT") && (p.peekAt(1).is("IN") || p.peekAt(1).is("BETWEEN") || p.peekAt(1).is("LIKE") || p.peekAt(1).is("ILIKE"))
	if not {
		p.take()
	}
	switch t := p.peek(); {
	case t.is("IN"):
		return p.in(x, not), true
	case t.is("BETWEEN"):
		p.take()
		lo := p.additive()
		p.expectWordFor("AND", "write x BETWEEN low AND high")
		hi := p.additive()
		return &Between{Pos: p.span(x.Position()), X: x, Lo: lo, Hi: hi, Not: not}, true
	case t.is("LIKE"), t.is("ILIKE"):
		p.take()
		if p.quantified(strings.ToUpper(t.Text)) {
			return &Literal{Pos: p.span(x.Position()), Kind: NullLiteral}, true
		}
		l := &Like{X: x, Not: not, FoldCase: t.is("ILIKE"), Pattern: p.additive()}
		if p.word("ESCAPE") {
			l.Escape = p.additive()
		}
		l.Pos = p.span(x.Position())
		return l, true
	}
	return x, false
}

func (p *parser) is(x Expr) Expr {
	start := p.take().Pos
	e := &Is{X: x}
	p.meant("NULL", "TRUE", "FALSE", "NOT", "DISTINCT")
	if p.peek().is("NOT") {
		p.take()
		p.meant("NULL", "TRUE", "FALSE", "DISTINCT")
		e.Not = true
	}
	switch {
	case p.word("NULL"):
		e.What = "NULL"
	case p.word("TRUE"):
		e.What = "TRUE"
	case p.word("FALSE"):
		e.What = "FALSE"
	case p.words("DISTINCT", "FROM"):
		e.What = "DISTINCT FROM"
		e.Y = p.additive()
	case startsExpr(p.peek()) && !p.skipping:
		t, op := p.peek(), "="
		if e.Not {
			op = "<>"
		}
		p.reportFix(t.Pos, "syntax", "expected NULL, TRUE, FALSE or DISTINCT FROM after IS, found "+t.describe(), "compare with "+op,
			&Fix{Title: "write " + op, Edits: []Edit{{start.until(t.Pos), op + " "}}})
		e.What, e.Y = "DISTINCT FROM", p.additive()
	default:
		p.expected("NULL, TRUE, FALSE or DISTINCT FROM after IS")
		e.What = "NULL"
	}
	e.Pos = p.span(x.Position())
	return e
}

func (p *parser) in(x Expr, not bool) Expr {
	p.take()
	var e Expr
	if t := p.peek(); !t.symbol("(") {
		p.fail(t.Pos, "syntax", `expected "(", found `+t.describe(), "write IN (a, b) or IN (SELECT ...)")
	}
	p.parenthesized(func() {
		if p.atQuery() {
			e = &InQuery{X: x, Not: not, Query: p.query(false)}
		} else {
			e = &InList{X: x, Not: not, List: p.exprList()}
		}
	})
	pos := p.span(x.Position())
	switch e := e.(type) {
	case *InQuery:
		e.Pos = pos
	case *InList:
		e.Pos = pos
	default:
		return p.broken()
	}
	return e
}

// atQuery reports whether a query starts at the current token.
func (p *parser) atQuery() bool {
	if n := p.peekAt(1); n.Kind == Word && startsExpr(n) && !p.peek().is("CAST") {
		p.meant("SELECT")
	}
	t := p.peek()
	return t.is("SELECT") && !p.columnLike() || t.is("WITH") && p.peekAt(1).Kind == Word
}

func (p *parser) additive() Expr {
	return p.chain(p.multiplicative, func(t Token) (string, bool) {
		return t.Text, t.symbol("+") || t.symbol("-") || t.symbol("||")
	})
}

func (p *parser) multiplicative() Expr {
	return p.chain(p.unary, func(t Token) (string, bool) {
		if op := p.wordOperator(t); op != "" {
			return op, true
		}
		return t.Text, t.symbol("*") || t.symbol("/") || t.symbol("%")
	})
}

func (p *parser) unary() Expr {
	t := p.peek()
	if !t.symbol("-") && !t.symbol("+") {
		return p.postfix()
	}
	if !p.nest() {
		return p.broken()
	}
	defer p.leave()
	p.take()
	x := p.unary()
	if t.Text == "+" {
		return x
	}
	return &Unary{Pos: join(t.Pos, x.Position()), Op: "-", X: x}
}

// postfix reads -> and ->> behind an operand.
func (p *parser) postfix() Expr {
	start := p.peek().Pos
	x := p.primary()
	for n := 0; ; n++ {
		switch {
		case p.peek().symbol("::") && n < maxDepth:
			x = p.castOperator(start, x)
			continue
		case p.peek().symbol("[") && n < maxDepth:
			x = p.subscript(x)
			continue
		case !p.peek().symbol("->") && !p.peek().symbol("->>"):
			return x
		}
		if n == maxDepth {
			p.fail(p.peek().Pos, "too-deep", fmt.Sprintf("more than %d JSON steps", maxDepth), "")
			return x
		}
		t := p.take()
		key := p.unaryKey()
		x = &Access{Pos: join(x.Position(), key.Position()), OpPos: t.Pos, X: x, AsText: t.Text == "->>", Key: key}
	}
}

// unaryKey reads a JSON key: a primary, or a negative number for the analyzer to reject.
func (p *parser) unaryKey() Expr {
	if t := p.peek(); t.symbol("-") {
		p.take()
		x := p.primary()
		return &Unary{Pos: join(t.Pos, x.Position()), Op: "-", X: x}
	}
	return p.primary()
}

func (p *parser) primary() Expr {
	t := p.peek()
	switch t.Kind {
	case Number:
		p.take()
		k := LongLiteral
		if strings.Contains(t.Text, ".") {
			k = DoubleLiteral
		}
		return &Literal{Pos: t.Pos, Kind: k, Text: t.Text}
	case Text:
		p.take()
		return &Literal{Pos: t.Pos, Kind: StringLiteral, Text: t.Text}
	case Symbol:
		if t.Text == "(" {
			return p.group()
		}
	case Word:
		return p.wordExpr()
	}
	p.expectedExpr()
	return p.broken()
}

// group reads an expression or a query in parentheses.
func (p *parser) group() Expr {
	t := p.peek()
	if !p.nest() {
		return p.broken()
	}
	defer p.leave()
	var e Expr
	p.parenthesized(func() {
		if p.atQuery() {
			e = &Subquery{Query: p.query(false)}
		} else {
			e = p.expr()
			if c := p.peek(); c.symbol(",") {
				p.fail(c.Pos, codeDialect, "a list in parentheses is no value", "list values without parentheses; compare column by column, with AND")
				p.recover(func() bool { return false })
			}
		}
	})
	if s, ok := e.(*Subquery); ok {
		s.Pos = p.span(t.Pos)
	}
	if e == nil {
		return p.broken()
	}
	return e
}

// wordExpr reads an expression that starts with a word: a literal, CASE, CAST, EXISTS, a call or a column.
func (p *parser) wordExpr() Expr {
	t := p.peek()
	call := p.peekAt(1).symbol("(")
	if e, ok := p.typedText(); ok {
		return e
	}
	switch {
	case t.is("ARRAY") && p.peekAt(1).symbol("["):
		p.fail(t.Pos, codeDialect, "there are no array literals", "collect values with ARRAY_AGG, or write IN (a, b)")
		return p.broken()
	case p.peekAt(1).symbol("."):
		return p.column()
	case t.is("TRUE") && !call:
		p.take()
		return &Literal{Pos: t.Pos, Kind: TrueLiteral}
	case t.is("FALSE") && !call:
		p.take()
		return &Literal{Pos: t.Pos, Kind: FalseLiteral}
	case t.is("NULL") && !call:
		p.take()
		return &Literal{Pos: t.Pos, Kind: NullLiteral}
	case t.is("CASE"):
		return p.caseExpr()
	case t.is("INTERVAL") && p.peekAt(1).Kind == Text:
		return p.interval()
	case t.is("CAST") && call:
		return p.cast()
	case (t.is("TRY_CAST") || t.is("SAFE_CAST") || t.is("TRY_CONVERT")) && call && p.castArguments():
		p.reportFix(t.Pos, codeDialect, strings.ToUpper(t.Text)+" is not in the language", "write CAST, which gives NULL for what cannot be converted", Replace(t.Pos, t.Text, "CAST"))
		return p.cast()
	case t.is("EXISTS") && call:
		p.take()
		e := &Exists{}
		p.parenthesized(func() { e.Query = p.query(false) })
		e.Pos = p.span(t.Pos)
		if e.Query == nil {
			return p.broken()
		}
		return e
	case call && !notCalls[strings.ToUpper(t.Text)]:
		return p.call()
	case aliasEnds[strings.ToUpper(t.Text)] && !p.columnLike():
		p.expectedExpr()
		return p.broken()
	}
	return p.column()
}

// notCalls are the words before an opening parenthesis that are no function there.
var notCalls = wordSet("IN", "ON", "WHERE", "BY", "AND", "OR", "NOT", "FROM", "SELECT", "WHEN", "THEN", "ELSE", "UNNEST", "EXISTS", "USING", "HAVING", "UNION", "AS")

// columnLike reports whether a clause word at the current token can only be a column of that name, by what follows.
func (p *parser) columnLike() bool {
	n := p.peekAt(1)
	switch n.Kind {
	case EOF:
		return true
	case Symbol:
		// After a word that takes an expression these start one.
		starts := n.Text == "(" || n.Text == "-" || n.Text == "+" || n.Text == "*"
		return !starts || n.Text != "(" && !takesExpr[strings.ToUpper(p.peek().Text)]
	case Word:
		return n.is("AS") || n.is("FROM") && !p.peek().is("SELECT")
	}
	return false
}

// takesExpr are the words that an expression or a star can follow directly.
var takesExpr = wordSet("SELECT", "DISTINCT", "ALL", "NOT", "WHEN", "THEN", "ELSE", "AND", "OR", "WHERE", "HAVING", "ON")

func (p *parser) column() Expr {
	first := p.ident("a column")
	c := &ColumnRef{Pos: first.Pos, Name: first}
	if p.symbol(".") {
		q := first
		c.Qualifier = &q
		c.Name = p.ident("a column name after the point")
		c.Pos = join(first.Pos, c.Name.Pos)
	}
	return c
}

func (p *parser) call() Expr {
	name := p.ident("a function")
	c := &Call{Name: name}
	p.parenthesized(func() {
		switch {
		case p.peek().symbol(")"):
		case p.symbol("*"):
			c.Star = true
		default:
			if startsExpr(p.peekAt(1)) && !p.peekAt(1).symbol("-") && !p.peekAt(1).symbol("(") {
				p.meant("DISTINCT")
			}
			if p.peek().is("DISTINCT") && !p.columnLike() {
				p.take()
				c.Distinct = true
			}
			c.Args = p.callArguments(&c.Name)
			if t := p.peek(); t.is("SEPARATOR") && p.peekAt(1).Kind == Text {
				p.take()
				c.Args = append(c.Args, p.primary())
				p.report(t.Pos, codeDialect, "SEPARATOR is not in the language", "write STRING_AGG(x, ',')")
			}
			if p.words("ORDER", "BY") {
				c.OrderBy = p.orderItems()
			}
		}
	})
	p.withinGroup(c)
	if p.peekAt(1).symbol("(") && p.peekAt(2).is("WHERE") {
		p.meant("FILTER")
	}
	p.bareFilter(c)
	if p.peek().is("FILTER") && p.peekAt(1).symbol("(") {
		p.take()
		p.parenthesized(func() {
			if t := p.peek(); !t.is("WHERE") {
				p.fail(t.Pos, "syntax", "expected WHERE, found "+t.describe(), "write FILTER (WHERE condition)")
			}
			p.word("WHERE")
			c.Filter = p.expr()
		})
	}
	c.Over = p.over()
	c.Pos = p.span(name.Pos)
	return c
}

func (p *parser) cast() Expr {
	start := p.take().Pos
	c := &Cast{}
	p.parenthesized(func() {
		c.X = p.expr()
		p.expectWordFor("AS", "write CAST(x AS DOUBLE)")
		c.Type = p.ident("a type name")
		c.Type.Name = strings.ToUpper(c.Type.Name)
		if c.Type.Name == "DOUBLE" && p.peek().is("PRECISION") {
			p.take()
			c.Type.Name = "DOUBLE PRECISION"
			c.Type.Pos = p.span(c.Type.Pos)
		}
		p.typeLength()
	})
	c.Pos = p.span(start)
	if c.X == nil {
		return p.broken()
	}
	return c
}

func (p *parser) caseExpr() Expr {
	start := p.take().Pos
	c := &Case{}
	if startsExpr(p.peekAt(1)) {
		p.meant("WHEN")
	}
	if t := p.peek(); !t.is("WHEN") && !t.is("THEN") && !(t.is("END") && !p.peekAt(1).is("WHEN")) {
		c.Operand = p.expr()
	}
	for p.peek().is("WHEN") || startsExpr(p.peekAt(1)) && p.meant("WHEN") {
		w := &When{Pos: p.take().Pos}
		w.Cond = p.caseValue()
		p.expectWordFor("THEN", "write CASE WHEN condition THEN value ELSE value END")
		w.Then = p.caseValue()
		w.Pos = p.span(w.Pos)
		c.Whens = append(c.Whens, w)
	}
	if t := p.peek(); len(c.Whens) == 0 && !p.skipping {
		p.fail(t.Pos, "syntax", "expected WHEN, found "+t.describe(), "write CASE WHEN condition THEN value ELSE value END")
	}
	if startsExpr(p.peekAt(1)) {
		p.meant("ELSE")
	}
	if p.word("ELSE") {
		c.Else = p.expr()
	}
	p.expectWordFor("END", "CASE ends with END")
	c.Pos = p.span(start)
	return c
}

package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

// query reads a query: the whole statement when top is set, else up to a closing parenthesis.
//
//	[WITH name AS (query), ...] select [UNION|INTERSECT|EXCEPT [ALL|DISTINCT] select]... [ORDER BY ...] [LIMIT n] [OFFSET n]
func (p *parser) query(top bool) *Query {
	q := &Query{Pos: p.peek().Pos}
	if !p.nest() {
		q.Body = &Select{Pos: q.Pos}
		return q
	}
	defer p.leave()
	if top {
		p.statement()
	}
	if p.peekAt(2).is("AS") {
		p.meant("WITH")
	}
	if p.word("WITH") {
		q.With = p.withList(q)
	}
	q.Body = p.union()
	p.tail(q)
	for top || p.skipping {
		p.recover(p.atClause)
		if p.atEnd(top) {
			break
		}
		p.stray()
		p.tail(q)
		if !top && p.peek().symbol(")") {
			break
		}
	}
	q.Pos = p.span(q.Pos)
	return q
}

// atEnd reports whether the query is over; a closing semicolon of a statement is consumed.
func (p *parser) atEnd(top bool) bool {
	if !top {
		return p.peek().Kind == EOF || p.peek().symbol(")")
	}
	if p.peek().symbol(";") && p.peekAt(1).Kind == EOF {
		p.take()
	}
	return p.peek().Kind == EOF
}

// stray reports what follows a complete query although nothing may, reads it when it is a clause in the wrong place,
// and skips it.
func (p *parser) stray() {
	if p.repair() {
		return
	}
	t := p.peek()
	switch {
	case t.is("SELECT") || t.symbol(";"):
		if t.symbol(";") && p.onlySemicolons() {
			return
		}
		// Another statement, or the rest of a WITH list that could not be read.
		if len(p.diagnostics) == 0 {
			p.report(t.Pos, "syntax", "one statement is expected, found another after it", "keep one SELECT, or combine them with UNION ALL")
		}
		p.at = len(p.tokens) - 1
		return
	case (t.is("GROUP") || t.is("ORDER") || t.is("LATEST")) && !p.peekAt(1).is("BY"):
		p.at++
		p.expected("BY after " + strings.ToUpper(t.Text))
		p.recover(p.atClause)
		return
	case !p.atClause():
		n := len(p.diagnostics)
		p.expected("the end of the statement or another clause")
		if before := p.tokens[max(0, p.at-1)]; len(p.diagnostics) > n && wordIn(before, []string{"ROLLUP", "CUBE", "SETS"}) {
			p.diagnostics[n].Hint = "the keys of " + strings.ToUpper(before.Text) + " stand in parentheses"
		} else if len(p.diagnostics) > n {
			p.diagnostics[n].Hint = strayHint(t)
		}
		p.at++ // always moves on
		p.skipping = true
		p.recover(p.atClause)
		return
	}
	name := p.clauseName()
	p.report(t.Pos, "clause-order", name+" is not possible here", p.orderHint(name))
	p.lost = true
	for p.at++; joinWords[strings.ToUpper(p.tokens[p.at].Text)]; p.at++ {
	}
	p.skipping = true
	p.recover(p.atClause)
}

// joinWords are the words that a join can start with.
var joinWords = wordSet("ASOF", "NATURAL", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "JOIN")

// strayHint says what may be meant by a token that no clause starts with.
func strayHint(t Token) string {
	switch {
	case t.is("AND"), t.is("OR"):
		return "the first condition stands behind WHERE"
	case t.is("NOT"):
		return "write NOT before the whole condition"
	case t.symbol(","):
		return "join conditions with AND; columns stand before FROM"
	case startsExpr(t):
		return "an operator such as AND, or a comma, is missing before it"
	}
	return ""
}

// orderHint says where a clause belongs that stands behind a complete query.
func (p *parser) orderHint(name string) string {
	switch {
	case strings.HasSuffix(name, "JOIN"):
		return "joins stand behind FROM, before WHERE and what follows it"
	case name == "FROM":
		return "a SELECT has one FROM; combine relations with JOIN"
	case name == "ORDER BY":
		return "write ORDER BY before LIMIT and OFFSET"
	case name == "UNION" || name == "INTERSECT" || name == "EXCEPT":
		return "ORDER BY and LIMIT stand behind the last branch; a branch with its own is a query in FROM"
	}
	return "write " + name + " before ORDER BY, LIMIT and OFFSET"
}

// clauseName is the name of the clause that starts at the current token.
func (p *parser) clauseName() string {
	w := strings.ToUpper(p.peek().Text)
	switch w {
	case "ALLOWED":
		return w + " LATENESS"
	case "GROUP", "LATEST", "ORDER":
		return w + " BY"
	case "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "ASOF":
		return w + " JOIN"
	}
	return w
}

func (p *parser) withList(q *Query) []*CTE {
	if p.peekAt(1).Kind == Word && !p.peekAt(1).is("AS") {
		p.meant("RECURSIVE")
	}
	if p.peek().is("RECURSIVE") && !p.peekAt(1).is("AS") {
		p.take()
		q.Recursive = true
	}
	var list []*CTE
	for {
		c := &CTE{Pos: p.peek().Pos}
		c.Name = p.ident("the name of a CTE")
		if t := p.peek(); t.symbol("(") {
			p.skipParentheses()
			p.report(t.Pos, codeDialect, "a query of WITH has no list of columns", "name the columns in its SELECT with AS")
		}
		p.expectWordFor("AS", "write WITH name AS (SELECT ...)")
		if t := p.peek(); t.is("MATERIALIZED") || t.is("NOT") && p.peekAt(1).is("MATERIALIZED") {
			p.word("NOT")
			p.take()
			p.reportFix(t.Pos, codeDialect, "queries of WITH are not materialized by a word", "remove it", Remove("MATERIALIZED", p.span(t.Pos)))
		}
		p.parenthesized(func() { c.Query = p.query(false) })
		if p.peek().is("MAX") && p.peekAt(1).is("RECURSION") {
			p.words("MAX", "RECURSION")
			if t := p.peek(); t.Kind == Number {
				p.take()
				c.MaxRecursion = &Literal{Pos: t.Pos, Kind: LongLiteral, Text: t.Text}
			} else {
				p.expected("a number after MAX RECURSION")
			}
		}
		c.Pos = p.span(c.Pos)
		if c.Query != nil {
			list = append(list, c)
		}
		if p.skipping {
			p.recover(func() bool { return p.peek().symbol(",") || p.atClause() })
		}
		if t := p.peek(); t.Kind == Word && p.peekAt(1).is("AS") && p.peekAt(2).symbol("(") {
			p.reportFix(t.Pos, "syntax", `expected "," or SELECT, found `+t.describe(), "queries of WITH are separated by commas", InsertAfter(p.tokens[p.at-1].Pos, ","))
			continue
		}
		if !p.symbol(",") {
			return list
		}
	}
}

// union reads branches combined by UNION and EXCEPT, left to right.
func (p *parser) union() Body {
	left := p.intersect()
	for n := 0; ; n++ {
		kind := Union
		switch {
		case p.peek().is("UNION"):
		case p.peek().is("EXCEPT"):
			kind = Except
		default:
			return left
		}
		if n == maxDepth {
			p.fail(p.peek().Pos, "too-deep", fmt.Sprintf("more than %d set operations", maxDepth), "")
			return left
		}
		left = p.setOp(kind, left, p.intersect)
	}
}

func (p *parser) intersect() Body {
	left := p.branch()
	for n := 0; p.peek().is("INTERSECT") && n < maxDepth; n++ {
		left = p.setOp(Intersect, left, p.branch)
	}
	return left
}

func (p *parser) setOp(kind SetOpKind, left Body, right func() Body) Body {
	s := &SetOp{Kind: kind, Left: left, OpPos: p.take().Pos}
	if p.peekAt(1).is("SELECT") {
		p.meant("ALL", "DISTINCT")
	}
	if p.word("ALL") {
		s.All = true
	} else if p.word("DISTINCT") {
		s.Distinct = true
	}
	s.OpPos = p.span(s.OpPos)
	s.Right = right()
	s.Pos = join(left.Position(), s.Right.Position())
	return s
}

// branch is a SELECT, or a query body in parentheses.
func (p *parser) branch() Body {
	t := p.peek()
	if t.symbol("(") && (p.peekAt(1).is("SELECT") || p.peekAt(1).symbol("(")) && p.nest() {
		defer p.leave()
		var b Body
		p.parenthesized(func() { b = p.union() })
		if b != nil {
			return b
		}
		return &Select{Pos: t.Pos}
	}
	return p.selectClause()
}

// tail reads ORDER BY, LIMIT and OFFSET.
func (p *parser) tail(q *Query) {
	if p.words("ORDER", "BY") {
		q.OrderBy = p.orderItems()
		p.recover(p.atClause)
	}
	for p.peek().is("LIMIT") || p.peek().is("OFFSET") {
		t := p.take()
		e := p.expr()
		p.limitPair(t, e)
		if t.is("LIMIT") && q.Limit == nil {
			q.Limit = e
		} else if t.is("OFFSET") && q.Offset == nil {
			q.Offset = e
		} else {
			p.fail(t.Pos, "syntax", strings.ToUpper(t.Text)+" is written twice", "keep one of them")
		}
		p.recover(p.atClause)
	}
}

// duration reads N MILLISECONDS, SECONDS, MINUTES or HOURS; the singular counts too.
func (p *parser) duration() *Duration { return p.durationFrom(1) }

// durationFrom reads a duration of at least so many units.
func (p *parser) durationFrom(least int64) *Duration {
	t := p.peek()
	d := &Duration{Pos: t.Pos, Unit: Seconds}
	if t.Kind != Number {
		p.expected("a duration like 5 SECONDS")
		return d
	}
	p.take()
	if p.unreadable[t.Pos.Offset] {
		if u := p.peek(); u.Kind == Word && units[strings.TrimSuffix(strings.ToUpper(u.Text), "S")] != 0 {
			p.take()
		}
		return d // the number with its unit was reported
	}
	n, err := strconv.ParseInt(t.Text, 10, 64)
	if err != nil {
		p.fail(t.Pos, "bad-duration", "a duration counts whole units, found "+t.Text, "write it in a smaller unit, like 1500 MILLISECONDS")
		return d
	}
	d.N = n
	p.meant("MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "MILLISECOND", "SECOND", "MINUTE", "HOUR")
	u := p.peek()
	unit, ok := units[strings.TrimSuffix(strings.ToUpper(u.Text), "S")]
	if u.Kind != Word || !ok {
		if hours := dayUnits[strings.TrimSuffix(strings.ToUpper(u.Text), "S")]; hours > 0 && n > 0 && n < 1_000_000 {
			p.take()
			text := strconv.FormatInt(n*hours, 10) + " HOURS"
			p.reportFix(u.Pos, "bad-duration", "a duration is counted in MILLISECONDS, SECONDS, MINUTES or HOURS", "write "+text, &Fix{Title: "write " + text, Edits: []Edit{{p.span(t.Pos), text}}})
			return d
		}
		p.expected("MILLISECONDS, SECONDS, MINUTES or HOURS")
		return d
	}
	p.take()
	d.Unit = unit
	d.Pos = p.span(t.Pos)
	switch {
	case n < least:
		p.report(d.Pos, "bad-duration", "a duration is longer than zero", "")
	case n > maxDurationMs/int64(unit):
		p.report(d.Pos, "bad-duration", "the duration is longer than 100 years", "")
		d.N = maxDurationMs / int64(unit)
	}
	return d
}

const maxDurationMs = 100 * 366 * 24 * 3_600_000

var dayUnits = map[string]int64{"DAY": 24, "WEEK": 7 * 24}

var units = map[string]Unit{"MILLISECOND": Milliseconds, "SECOND": Seconds, "MINUTE": Minutes, "HOUR": Hours}

package syntax

import "strings"

// selectClause reads one SELECT with its clauses up to a set operation, ORDER BY or the end.
func (p *parser) selectClause() *Select {
	s := &Select{Pos: p.peek().Pos}
	if t := p.peek(); !t.is("SELECT") && !p.meant("SELECT") {
		if t.is("INSERT") {
			p.fail(t.Pos, "syntax", "INSERT INTO stands only before the whole statement", "name the sink where the definition is saved")
		}
		hint := "a query starts with SELECT or WITH"
		if t.is("FROM") {
			hint = "write SELECT and the columns before FROM"
		}
		p.fail(t.Pos, "syntax", "expected SELECT, found "+t.describe(), hint)
		p.recover(func() bool { return p.peek().is("SELECT") || t.is("FROM") })
		if !p.peek().is("SELECT") && !p.peek().is("FROM") {
			return s
		}
	}
	if p.word("SELECT") {
		p.selectList(s)
	}
	p.recover(p.atClause)
	for p.strayParenthesis() {
	}
	for p.peek().is("INTO") && p.foreignClause() {
	}
	if !p.peek().is("FROM") && !p.meant("FROM") {
		what := "FROM"
		if startsExpr(p.peek()) {
			what = "a comma or FROM"
		}
		p.expected(what)
		p.recover(p.atClause)
	}
	if p.word("FROM") {
		s.From = p.tableItem()
		p.recoverFrom()
		p.joins(s)
	}
	p.clauses(s)
	s.Pos = p.span(s.Pos)
	return s
}

// recoverFrom goes on at the next comma, join or clause after a broken relation.
func (p *parser) recoverFrom() {
	p.recover(func() bool { return p.peek().symbol(",") || p.atClause() })
}

func (p *parser) selectList(s *Select) {
	p.top()
	if t := p.peek(); t.is("DISTINCT") && !p.columnLike() {
		p.take()
		s.Distinct = &Distinct{Pos: t.Pos}
		if on := p.peek(); on.is("ON") && (p.peekAt(1).symbol("(") || p.peekAt(1).Kind == Word) {
			p.take()
			if n := p.peek(); !n.symbol("(") {
				p.fail(n.Pos, "syntax", `expected "(", found `+n.describe(), "write DISTINCT ON (key)")
			}
			p.parenthesized(func() { s.Distinct.On = p.exprList() })
			s.Distinct.Pos = p.span(t.Pos)
			if c := p.peek(); c.symbol(",") {
				p.reportFix(c.Pos, "syntax", "no comma stands behind DISTINCT ON (...)", "remove it", Remove("the comma", c.Pos))
				p.take()
			}
		}
	} else if t.is("ALL") && !p.columnLike() {
		p.take()
	}
	for {
		s.Items = append(s.Items, p.selectItem())
		p.recover(func() bool { return p.peek().symbol(",") || p.atClause() })
		if !p.symbol(",") {
			return
		}
	}
}

func (p *parser) selectItem() *SelectItem {
	t := p.peek()
	item := &SelectItem{Pos: t.Pos}
	switch {
	case t.symbol("*"):
		p.take()
		item.Star = true
		p.starExcept()
	case t.Kind == Word && p.peekAt(1).symbol(".") && p.peekAt(2).symbol("*"):
		p.take()
		p.take()
		p.take()
		item.Star = true
		item.Qualifier = &Ident{Pos: t.Pos, Name: t.Text}
	default:
		item.Expr = p.expr()
		item.Alias = p.alias()
	}
	item.Pos = p.span(t.Pos)
	return item
}

// joins reads what follows the first relation: commas and joins in order.
func (p *parser) joins(s *Select) {
	for {
		j := p.joinStart()
		if j == nil {
			if !p.atClause() && p.repair() {
				continue
			}
			return
		}
		j.Item = p.tableItem()
		p.joinConditions(j)
		j.Pos = p.span(j.KindPos)
		p.recoverFrom()
		if j.Item != nil {
			s.Joins = append(s.Joins, j)
		}
	}
}

// joinStart consumes the words or the comma that start a join, or returns nil.
func (p *parser) joinStart() *Join {
	t := p.peek()
	j := &Join{Pos: t.Pos, KindPos: t.Pos}
	if p.symbol(",") {
		j.Kind = JoinComma
		if p.peek().is("LATERAL") && p.peekAt(1).symbol("(") {
			j.Kind = JoinCross
		}
		return j
	}
	if t.is("NATURAL") {
		p.take()
		j.Natural = true
	}
	if p.atAsof() {
		p.take()
		j.Asof = true
	} else if w := p.peekAt(1); p.peek().is("ASOF") && wordIn(w, []string{"RIGHT", "FULL", "CROSS"}) && p.peekAt(2).is("JOIN") {
		p.take()
		j.Asof = true
		p.reportFix(w.Pos, "syntax", "ASOF "+strings.ToUpper(w.Text)+" JOIN does not exist", "write ASOF JOIN or ASOF LEFT JOIN", Replace(w.Pos, w.Text, "LEFT"))
		p.tokens[p.at].Text = "LEFT"
	}
	w := p.peek()
	switch {
	case w.is("JOIN"):
		j.Kind = JoinInner
	case w.is("INNER"):
		j.Kind = JoinInner
		p.take()
	case w.is("CROSS") && p.peekAt(1).is("APPLY"):
		p.foreignClause()
		return nil
	case w.is("CROSS") && !j.Asof:
		j.Kind = JoinCross
		p.take()
	case w.is("LEFT"), w.is("RIGHT"), w.is("FULL"):
		j.Kind = JoinKind(strings.ToUpper(w.Text) + " JOIN")
		p.take()
		p.word("OUTER")
		if n := p.peek(); n.is("ASOF") && p.peekAt(1).is("JOIN") && !j.Asof {
			p.report(p.span(w.Pos), "syntax", strings.ToUpper(w.Text)+" ASOF JOIN does not exist", "write ASOF JOIN or ASOF LEFT JOIN")
			p.take()
			j.Asof, j.Kind = true, JoinLeft
		}
		if n := p.peekAt(1); n.is("JOIN") && !p.peek().is("SEMI") && !p.peek().is("ANTI") {
			p.meant("OUTER")
			p.word("OUTER")
		} else if n.is("JOIN") {
			p.foreignSide(w)
		}
	default:
		if !j.Natural {
			return nil
		}
		j.Kind = JoinInner
	}
	if n := p.peek(); n.Kind == Word && !aliasEnds[strings.ToUpper(n.Text)] && nearKeyword(n.Text, []string{"JOIN"}) == "" && !p.skipping {
		before := p.tokens[p.at-1]
		p.reportFix(n.Pos, "syntax", "expected JOIN, found "+n.describe(), "", InsertAfter(before.Pos, " JOIN"))
	} else {
		p.expectWord("JOIN")
	}
	j.KindPos = p.span(t.Pos)
	return j
}

// atAsof reports whether ASOF JOIN or ASOF LEFT JOIN starts here.
func (p *parser) atAsof() bool {
	next := p.peekAt(1)
	return p.peek().is("ASOF") && (next.is("JOIN") || next.is("LEFT") || next.is("INNER"))
}

// joinConditions reads WITHIN, ON and USING; WITHIN and ON may come in either order.
func (p *parser) joinConditions(j *Join) {
	for {
		switch t := p.peek(); {
		case t.is("WITHIN") && j.Within == nil:
			p.take()
			j.Within = p.duration()
		case t.is("ON") && j.On == nil:
			p.take()
			j.On = p.expr()
		case t.is("USING") && j.Using == nil:
			p.take()
			if n := p.peek(); n.Kind == Word {
				p.reportFix(n.Pos, "syntax", `expected "(", found `+n.describe(), "write USING ("+n.Text+")",
					&Fix{Title: "add the parentheses", Edits: []Edit{{n.Pos, "(" + n.Text + ")"}}})
				j.Using = append(j.Using, p.ident("a column name"))
				continue
			}
			p.parenthesized(func() {
				j.Using = append(j.Using, p.ident("a column name"))
				for p.symbol(",") {
					j.Using = append(j.Using, p.ident("a column name"))
				}
			})
		default:
			if w := p.clauseMeant(); w == "ON" || w == "WITHIN" || w == "USING" {
				p.spell(0, w)
				continue
			}
			if j.On == nil && j.Using == nil && t.Kind == Word && p.peekAt(1).symbol(".") && !p.skipping && j.Kind != JoinCross && j.Kind != JoinComma {
				p.reportFix(t.Pos, "syntax", "expected ON, found "+t.describe(), "", Insert(t.Pos, "ON "))
				j.On = p.expr()
				continue
			}
			return
		}
	}
}

// tableItem reads one relation of FROM.
func (p *parser) tableItem() TableItem {
	t := p.peek()
	lateral := t.is("LATERAL") && p.peekAt(1).symbol("(")
	if lateral {
		p.take()
	}
	switch {
	case p.peek().symbol("("):
		d := &Derived{Lateral: lateral}
		p.parenthesized(func() { d.Query = p.query(false) })
		d.Alias = p.alias()
		d.Pos = p.span(t.Pos)
		if d.Query == nil {
			return nil
		}
		return d
	case t.is("UNNEST") && p.peekAt(1).symbol("("):
		p.take()
		u := &Unnest{}
		p.parenthesized(func() { u.Arg = p.expr() })
		u.Alias = p.alias()
		u.Pos = p.span(t.Pos)
		return u
	case t.is("UNNEST") && p.peekAt(1).Kind == Word && p.peekAt(2).symbol("."):
		p.fail(p.peekAt(1).Pos, "syntax", `expected "(", found `+p.peekAt(1).describe(), "write UNNEST(...) AS element")
		return nil
	case t.Kind == Word && p.atClause(), t.Kind != Word, t.is("ON") && p.peekAt(2).symbol("."):
		p.expectedRelation()
		return nil
	}
	n := &TableName{}
	if p.atRef() {
		n = p.ref()
	} else {
		n.Name = p.relationName()
	}
	if p.skipping {
		return nil
	}
	n.Alias = p.alias()
	p.behindRelation()
	n.Pos = p.span(t.Pos)
	return n
}

// clauses reads WHERE up to EMIT. A clause that comes too late or twice is reported, and read all the same.
func (p *parser) clauses(s *Select) {
	last := 0
	seen := map[int]string{}
	for {
		t := p.peek()
		rank, read := p.clause(s)
		if read == nil {
			if !p.skipping && !p.atClause() && p.repair() {
				continue
			}
			return
		}
		name := p.clauseName()
		switch {
		case seen[rank] != "":
			p.report(t.Pos, "clause-order", name+" is written twice", "keep one of them")
		case rank < last:
			behind := rank + 1
			for seen[behind] == "" {
				behind++
			}
			p.report(t.Pos, "clause-order", name+" comes too late", "write "+name+" before "+seen[behind])
		}
		seen[rank] = name
		last = max(last, rank)
		read()
		p.recover(p.atClause)
	}
}

// clause returns the rank of the clause at the current token and the function that reads it, nil when no clause of
// a SELECT starts here.
func (p *parser) clause(s *Select) (rank int, read func()) {
	t := p.peek()
	switch {
	case t.is("WHERE"):
		return 1, func() {
			p.take()
			e := p.expr()
			s.Where = &Where{Pos: p.span(t.Pos), Expr: e}
		}
	case t.is("LATEST") && p.peekAt(1).is("BY"):
		return 2, func() {
			p.words("LATEST", "BY")
			l := &LatestBy{}
			if n := p.peek(); n.Kind == Word && startsExpr(n) {
				l.Cols = p.exprList()
				l.Pos = p.span(t.Pos)
				s.Latest = l
				if !p.skipping {
					p.reportFix(n.Pos, "syntax", `expected "(", found `+n.describe(), "write LATEST BY ("+n.Text+")",
						&Fix{Title: "add the parentheses", Edits: []Edit{{n.Pos.start(), "("}, {p.span(n.Pos).end(), ")"}}})
				}
				return
			}
			p.parenthesized(func() { l.Cols = p.exprList() })
			l.Pos = p.span(t.Pos)
			s.Latest = l
		}
	case t.is("GROUP") && p.peekAt(1).is("BY"):
		return 3, func() { s.GroupBy = p.groupBy() }
	case t.is("HAVING"):
		return 4, func() {
			p.take()
			e := p.expr()
			s.Having = &Having{Pos: p.span(t.Pos), Expr: e}
		}
	case p.atNamedWindows():
		return 5, func() { s.Windows = p.namedWindows() }
	case t.is("WINDOW"):
		return 5, func() { s.Window = p.window() }
	case t.is("ALLOWED") && p.peekAt(1).is("LATENESS"):
		return 6, func() {
			p.words("ALLOWED", "LATENESS")
			d := p.durationFrom(0)
			then := LateKept
			switch {
			case p.word("DROP"):
				then = LateDropped
			case p.words("SIDE", "STREAM"):
				then = LateAside
			}
			s.Lateness = &Lateness{Pos: p.span(t.Pos), For: d, Then: then}
		}
	case t.is("EMIT"):
		return 7, func() {
			p.take()
			e := &Emit{}
			p.meant("CHANGES", "FINAL")
			p.emitOnClose()
			switch {
			case p.word("CHANGES"):
				e.Changes = true
			case !p.word("FINAL"):
				p.expected("FINAL or CHANGES after EMIT")
			}
			e.Pos = p.span(t.Pos)
			s.Emit = e
		}
	}
	return 0, nil
}

func (p *parser) groupBy() *GroupBy {
	start := p.peek().Pos
	p.words("GROUP", "BY")
	g := &GroupBy{}
	n := p.peekAt(1)
	if t := p.peek(); t.is("ALL") && (n.Kind != Symbol || n.Text == ")" || n.Text == ";") {
		p.take()
		g.All, g.AllPos = true, t.Pos
	} else {
		p.groupItems(g)
	}
	g.Pos = p.span(start)
	return g
}

func (p *parser) window() *Window {
	start := p.take().Pos
	w := &Window{}
	if p.peekAt(1).symbol("(") {
		p.meant("TUMBLING", "HOPPING", "SESSION")
	}
	defer p.windowHint(len(p.diagnostics), p.peek())
	t := p.peek()
	switch {
	case p.word("TUMBLING"):
		w.Kind = Tumbling
		p.parenthesized(func() {
			p.expectWord("SIZE")
			w.Size = p.duration()
		})
	case p.word("HOPPING"):
		w.Kind = Hopping
		p.parenthesized(func() {
			p.expectWord("SIZE")
			w.Size = p.duration()
			p.expectSymbol(",")
			p.expectWord("ADVANCE")
			p.expectWord("BY")
			w.Advance = p.duration()
		})
	case p.word("SESSION"):
		w.Kind = Session
		p.parenthesized(func() {
			p.expectWord("GAP")
			w.Size = p.duration()
		})
	default:
		p.fail(t.Pos, "syntax", "expected TUMBLING, HOPPING or SESSION, found "+t.describe(), "write WINDOW TUMBLING(SIZE 5 SECONDS)")
	}
	if w.Size == nil {
		w.Size = &Duration{Pos: t.Pos, N: 1, Unit: Seconds}
	}
	if w.Kind == Hopping && w.Advance == nil {
		w.Advance = w.Size
	}
	w.Pos = p.span(start)
	return w
}

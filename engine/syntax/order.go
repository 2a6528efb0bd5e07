package syntax

// orderItems reads the keys of ORDER BY: expr [ASC|DESC] [NULLS FIRST|LAST], ...
func (p *parser) orderItems() []*OrderItem {
	var list []*OrderItem
	for {
		o := &OrderItem{Pos: p.peek().Pos, Expr: p.expr()}
		if t := p.peek(); t.is("ASCENDING") || t.is("DESCENDING") {
			p.spell(0, map[bool]string{true: "ASC", false: "DESC"}[t.is("ASCENDING")])
		}
		p.meant("DESC", "ASC", "NULLS")
		if p.word("DESC") {
			o.Desc = true
		} else {
			p.word("ASC")
		}
		if p.word("NULLS") {
			p.meant("FIRST", "LAST")
			switch {
			case p.word("FIRST"):
				o.Nulls = "FIRST"
			case p.word("LAST"):
				o.Nulls = "LAST"
			default:
				p.expected("FIRST or LAST after NULLS")
			}
		}
		o.Pos = p.span(o.Pos)
		list = append(list, o)
		if !p.symbol(",") {
			return list
		}
	}
}

// orderBy writes " ORDER BY" and its keys; nothing when there are none.
func (p *printer) orderBy(keys []*OrderItem) {
	for i, o := range keys {
		p.add([]string{" ORDER BY ", ", "}[min(i, 1)])
		p.expr(o.Expr, 0)
		if o.Desc {
			p.add(" DESC")
		}
		if o.Nulls != "" {
			p.add(" NULLS ", o.Nulls)
		}
	}
}

// NullsFirst says where NULLs stand: as written, else last, and first with DESC.
func (o *OrderItem) NullsFirst() bool { return o.Nulls == "FIRST" || o.Nulls == "" && o.Desc }

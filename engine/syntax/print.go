package syntax

import (
	"strconv"
	"strings"
)

// printer writes canonical SQL: one line, keywords and functions in upper case, one space between words, only the
// parentheses that the grammar needs, every alias with AS.
type printer struct{ strings.Builder }

// String prints the query as canonical SQL. Parsing it gives an equal tree.
func (q *Query) String() string {
	var p printer
	p.query(q)
	return p.Builder.String()
}

// Format prints an expression as canonical SQL.
func Format(e Expr) string {
	var p printer
	p.expr(e, 0)
	return p.Builder.String()
}

func (p *printer) add(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

// list writes n things separated by ", ".
func (p *printer) list(n int, one func(i int)) {
	for i := range n {
		if i > 0 {
			p.add(", ")
		}
		one(i)
	}
}

func (p *printer) query(q *Query) {
	if len(q.With) > 0 {
		p.add("WITH ")
		if q.Recursive {
			p.add("RECURSIVE ")
		}
		p.list(len(q.With), func(i int) {
			p.add(q.With[i].Name.Name, " AS (")
			p.query(q.With[i].Query)
			p.add(")")
			if m := q.With[i].MaxRecursion; m != nil {
				p.add(" MAX RECURSION ", m.Text)
			}
		})
		p.add(" ")
	}
	p.body(q.Body, 0)
	p.orderBy(q.OrderBy)
	if q.Limit != nil {
		p.add(" LIMIT ")
		p.expr(q.Limit, 0)
	}
	if q.Offset != nil {
		p.add(" OFFSET ")
		p.expr(q.Offset, 0)
	}
}

// body writes a query body; below minimum it needs parentheses. UNION and EXCEPT are 0, INTERSECT 1, SELECT 2.
func (p *printer) body(b Body, minimum int) {
	switch b := b.(type) {
	case *Select:
		p.selectClause(b)
	case *SetOp:
		prec := 0
		if b.Kind == Intersect {
			prec = 1
		}
		if prec < minimum {
			p.add("(")
			defer p.add(")")
		}
		p.body(b.Left, prec)
		p.add(" ", string(b.Kind))
		if b.All {
			p.add(" ALL")
		} else if b.Distinct {
			p.add(" DISTINCT")
		}
		p.add(" ")
		p.body(b.Right, prec+1)
	}
}

func (p *printer) selectClause(s *Select) {
	p.add("SELECT ")
	if s.Distinct != nil {
		p.add("DISTINCT ")
		if len(s.Distinct.On) > 0 {
			p.add("ON (")
			p.exprs(s.Distinct.On)
			p.add(") ")
		}
	}
	p.list(len(s.Items), func(i int) { p.item(s.Items[i]) })
	if s.From != nil {
		p.add(" FROM ")
		p.tableItem(s.From)
	}
	for _, j := range s.Joins {
		p.joinItem(j)
	}
	if s.Where != nil {
		p.add(" WHERE ")
		p.expr(s.Where.Expr, 0)
	}
	if s.Latest != nil {
		p.add(" LATEST BY (")
		p.exprs(s.Latest.Cols)
		p.add(")")
	}
	if g := s.GroupBy; g != nil {
		p.add(" GROUP BY ")
		if g.All {
			p.add("ALL")
		} else if g.Sets != nil {
			p.groupSets(g)
		} else {
			p.exprs(g.Items)
		}
	}
	if s.Having != nil {
		p.add(" HAVING ")
		p.expr(s.Having.Expr, 0)
	}
	p.namedWindows(s.Windows)
	if s.Window != nil {
		p.window(s.Window)
	}
	if s.Lateness != nil {
		p.add(" ALLOWED LATENESS ")
		p.duration(s.Lateness.For)
		p.add(lateRowsWords[s.Lateness.Then])
	}
	if s.Emit != nil {
		p.add(" EMIT ", []string{"FINAL", "CHANGES"}[boolInt(s.Emit.Changes)])
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *printer) item(it *SelectItem) {
	switch {
	case it.Star && it.Qualifier != nil:
		p.add(it.Qualifier.Name, ".*")
	case it.Star:
		p.add("*")
	default:
		p.expr(it.Expr, 0)
		p.alias(it.Alias)
	}
}

func (p *printer) alias(a *Ident) {
	if a != nil {
		p.add(" AS ", a.Name)
	}
}

func (p *printer) tableItem(t TableItem) {
	switch t := t.(type) {
	case *TableName:
		if t.Ref {
			p.ref(t)
		} else {
			p.add(t.Name.Name)
		}
		p.alias(t.Alias)
	case *Derived:
		if t.Lateral {
			p.add("LATERAL ")
		}
		p.add("(")
		p.query(t.Query)
		p.add(")")
		p.alias(t.Alias)
	case *Unnest:
		p.add("UNNEST(")
		p.expr(t.Arg, 0)
		p.add(")")
		p.alias(t.Alias)
	}
}

func (p *printer) joinItem(j *Join) {
	if j.Kind == JoinComma {
		p.add(", ")
	} else {
		p.add(" ")
		if j.Asof {
			p.add("ASOF ")
		}
		if j.Natural {
			p.add("NATURAL ")
		}
		p.add(string(j.Kind), " ")
	}
	p.tableItem(j.Item)
	if j.Within != nil {
		p.add(" WITHIN ")
		p.duration(j.Within)
	}
	if j.On != nil {
		p.add(" ON ")
		p.expr(j.On, 0)
	}
	if len(j.Using) > 0 {
		p.add(" USING (")
		p.list(len(j.Using), func(i int) { p.add(j.Using[i].Name) })
		p.add(")")
	}
}

func (p *printer) duration(d *Duration) { p.add(d.String()) }

// String prints the duration as SQL: "5 SECONDS", "1 MINUTE".
func (d *Duration) String() string {
	s := strconv.FormatInt(d.N, 10)
	name := map[Unit]string{Milliseconds: "MILLISECOND", Seconds: "SECOND", Minutes: "MINUTE", Hours: "HOUR"}[d.Unit]
	if d.N != 1 {
		name += "S"
	}
	return s + " " + name
}

func (p *printer) window(w *Window) {
	p.add(" WINDOW ", string(w.Kind), "(")
	if w.Kind == Session {
		p.add("GAP ")
	} else {
		p.add("SIZE ")
	}
	p.duration(w.Size)
	if w.Kind == Hopping {
		p.add(", ADVANCE BY ")
		p.duration(w.Advance)
	}
	p.add(")")
}

package analyze

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// subqueries collects the subqueries of the expressions of one clause. An expression reads each as a column that does
// not exist yet: a place holder with a negative position. apply joins them to the clause's input and says where the
// columns went.
type subqueries struct {
	list []*pending
}

// pending is one subquery that has to be joined.
type pending struct {
	column *expr.Column
	// reads are the expressions of the outer scope that the join needs.
	reads []expr.Expr
	// build joins the subquery to node and returns the position of its column. base is node without the subqueries of
	// the clause, for a domain that needs none of them.
	build func(base, node plan.Node, resolve func(expr.Expr) expr.Expr) (plan.Node, int)
}

// add makes a place holder; the same subquery twice is one.
func (s *subqueries) add(a *analyzer, text string, k types.Kind, p *pending) *expr.Column {
	for _, have := range s.list {
		if have.column.Name == text {
			return have.column
		}
	}
	a.holders++
	p.column = &expr.Column{Index: -a.holders, Name: text, K: k}
	s.list = append(s.list, p)
	return p.column
}

func identity(e expr.Expr) expr.Expr { return e }

// apply joins the subqueries to node. The result replaces place holders by the columns of the new node; place reads the
// other columns of the outer scope in node.
func (s *subqueries) apply(node plan.Node, place func(expr.Expr) expr.Expr) (plan.Node, func(expr.Expr) expr.Expr) {
	base := node
	at := map[int]int{}
	resolve := func(e expr.Expr) expr.Expr {
		return plan.Rewrite(e, func(c *expr.Column) expr.Expr {
			if i, ok := at[c.Index]; ok && c.Index < 0 {
				return &expr.Column{Index: i, Name: c.Name, K: c.K}
			}
			if c.Index < 0 {
				return c
			}
			return place(c)
		})
	}
	if s != nil {
		for _, p := range s.list {
			var i int
			node, i = p.build(base, node, resolve)
			at[p.column.Index] = i
		}
	}
	return node, resolve
}

// holds reports whether an expression reads a place holder.
func holds(e expr.Expr) bool {
	for _, c := range plan.Columns(e) {
		if c < 0 {
			return true
		}
	}
	return false
}

// domainOf is what the domain of a subquery is taken from: the clause's input, with its subqueries only when needed.
func domainOf(base, node plan.Node, reads []expr.Expr) plan.Node {
	for _, e := range reads {
		if holds(e) {
			return node
		}
	}
	return base
}

// subqueryScope checks that a subquery can stand where it is written and binds it.
func (b *binder) subqueryScope(at syntax.Node, q *syntax.Query, what string) *dependent {
	if b.mode == Pipeline {
		return b.rollingScope(at, q, what)
	}
	if b.subs == nil {
		b.report(at, CodeSubquery, "write it in WHERE, ON, HAVING or the select list", "%s cannot stand in %s", what, b.clause)
		return nil
	}
	return b.dependent(q, b.ctes, b)
}

// exists binds EXISTS (SELECT ...): whether the subquery has a row.
func (b *binder) exists(e *syntax.Exists) (expr.Expr, bool) {
	d := b.subqueryScope(e, e.Query, "EXISTS (SELECT ...)")
	if d == nil {
		return nil, false
	}
	if b.mode == Pipeline {
		return b.subs.add(b.analyzer, syntax.Format(e), types.Bool, b.rolling(d, plan.RollingExists, nil)), true
	}
	return b.subs.add(b.analyzer, syntax.Format(e), types.Bool, b.marked(e, d, nil, nil)), true
}

// marked joins a subquery for the sake of whether it has a row. where keeps the rows that count, given the position of
// the first visible column; x, when not nil, has to equal that column.
func (b *binder) marked(at syntax.Node, d *dependent, x expr.Expr, where func(first *expr.Column) expr.Expr) *pending {
	p := &pending{reads: d.corr.exprs}
	if x != nil {
		p.reads = append(p.reads[:len(p.reads):len(p.reads)], x)
	}
	p.build = func(base, node plan.Node, resolve func(expr.Expr) expr.Expr) (plan.Node, int) {
		r, keys := d.over(domainOf(base, node, d.corr.exprs), resolve)
		d.warnDomain(at, r)
		width := len(node.Schema())
		left, right := keys, domainColumns(r, keys)
		var inner = r.node
		var residual expr.Expr
		if where != nil {
			inner = &plan.Filter{In: inner, Pred: where(readColumn(inner, r.outer))}
		}
		if x != nil {
			l, y := resolve(x), readColumn(r.node, r.outer)
			left = append(left[:len(left):len(left)], l)
			var key expr.Expr = y
			if l.Kind() != y.K && isNumber(l.Kind()) && isNumber(y.K) {
				// Keys are typed; IN compares numbers. Equal numbers are equal as Doubles, and the rest is compared exactly.
				left[len(left)-1], key = expr.As(asDouble(l), types.Double), asDouble(y)
				eq, _ := expr.Lookup("=")
				residual, _ = eq.Bind([]expr.Expr{l, &expr.Column{Index: width + y.Index, Name: y.Name, K: y.K}})
			}
			right = append(right, key)
		}
		return plan.NewNullSafeJoin(node, inner, left, right, len(keys), residual, plan.Mark), width
	}
	return p
}

func isNumber(k types.Kind) bool {
	return k == types.Long || k == types.Double || k == types.Timestamp
}

func asDouble(e expr.Expr) expr.Expr {
	f, _ := expr.Cast(types.Double)
	out, err := f.Bind([]expr.Expr{e})
	if err != nil {
		panic("BUG: a number as a Double: " + err.Error())
	}
	return out
}

// inQuery binds x IN (SELECT ...). It is NULL when x is, else whether the subquery has the value; NULLs of the subquery
// are ignored. With Options.StrictNotIn it is three-valued as in the standard.
func (b *binder) inQuery(e *syntax.InQuery) (expr.Expr, bool) {
	x, ok := b.bind(e.X)
	d := b.subqueryScope(e, e.Query, "IN (SELECT ...)")
	if d == nil || !ok {
		return nil, false
	}
	if n := d.columns(); n != 1 {
		b.report(e.Query, CodeSubquery, "select one column", "the subquery of IN has exactly one column, found %d", n)
		return nil, false
	}
	if e.Not && b.opts.StrictNotIn && !neverNull(e.Query) {
		b.warn(e, CodeNotInNulls, "write NOT EXISTS, or add IS NOT NULL to the WHERE of the subquery", "one NULL of the subquery makes strict NOT IN never TRUE")
	}
	x = expr.As(x, stored(x))
	y := &expr.Column{Name: d.rel.fields[0].Name, K: d.rel.fields[0].Stored()}
	if _, ok := b.make(e, "=", nil, []expr.Expr{x, y}); !ok {
		return nil, false
	}
	if x.Kind() != y.K && !(isNumber(x.Kind()) && isNumber(y.K)) {
		b.warn(e, CodeJoinKeyKinds, "convert one side with CAST", "%s is %s and the subquery gives %s: they are never equal", x, x.Kind(), y.K)
	}
	text := syntax.Format(&syntax.InQuery{X: e.X, Query: e.Query})
	mark := b.marked(e, d, x, nil)
	switch {
	case b.mode == Pipeline && b.opts.StrictNotIn:
		return b.negate(e, e.Not)(b.subs.add(b.analyzer, text, types.Bool, b.rolling(d, plan.RollingStrictIn, x)), true)
	case b.mode == Pipeline:
		mark = b.rolling(d, plan.RollingIn, x)
	}
	in := b.subs.add(b.analyzer, text, types.Bool, mark)
	isNull := b.must("IS NULL", x)
	truth := func(v bool) expr.Expr { return &expr.Literal{V: types.BoolOf(v)} }
	unknown := &expr.Literal{V: types.Null(types.Bool)}
	whens, els := []expr.When{{Cond: isNull, Then: unknown}}, expr.Expr(in)
	if b.opts.StrictNotIn {
		some := b.subs.add(b.analyzer, text+" is not empty", types.Bool, b.marked(e, d, nil, nil))
		null := b.subs.add(b.analyzer, text+" has a NULL", types.Bool, b.marked(e, d, nil, func(first *expr.Column) expr.Expr { return b.must("IS NULL", first) }))
		whens = []expr.When{{Cond: in, Then: truth(true)}, {Cond: b.must("NOT", some), Then: truth(false)}, {Cond: b.must("OR", isNull, null), Then: unknown}}
		els = truth(false)
	}
	out, err := expr.BindCase(whens, els)
	if err != nil {
		panic("BUG: IN (SELECT ...): " + err.Error())
	}
	return b.negate(e, e.Not)(out, true)
}

// must applies an operator to arguments that fit it.
func (b *binder) must(name string, args ...expr.Expr) expr.Expr {
	f, _ := expr.Lookup(name)
	e, err := f.Bind(args)
	if err != nil {
		panic("BUG: " + name + ": " + err.Error())
	}
	return e
}

// scalar binds a query as a value: the one column of its one row, NULL without a row.
func (b *binder) scalar(e *syntax.Subquery) (expr.Expr, bool) {
	if b.group != nil && b.clause == selectList && b.mode == Table {
		b.report(e, CodeSubquery, "compute it in a query in FROM and join that", "a subquery as a value cannot stand in the select list of a grouped query")
		return nil, false
	}
	d := b.subqueryScope(e, e.Query, "a subquery as a value")
	if d == nil {
		return nil, false
	}
	if n := d.columns(); n != 1 {
		b.report(e.Query, CodeSubquery, "select one column", "a subquery as a value has exactly one column, found %d", n)
		return nil, false
	}
	if !oneRow(e.Query, d) {
		b.report(e.Query, CodeSubquery, "aggregate it, for example with MAX, and leave GROUP BY out", "a subquery as a value has one row: it needs an aggregate and no GROUP BY, or LIMIT 1")
		return nil, false
	}
	k := d.rel.fields[0].Stored()
	if b.mode == Pipeline {
		return b.subs.add(b.analyzer, syntax.Format(e), k, b.rolling(d, plan.RollingValue, nil)), true
	}
	p := &pending{reads: d.corr.exprs}
	p.build = func(base, node plan.Node, resolve func(expr.Expr) expr.Expr) (plan.Node, int) {
		r, keys := d.over(domainOf(base, node, d.corr.exprs), resolve)
		d.warnDomain(e, r)
		width := len(node.Schema())
		return plan.NewNullSafeJoin(node, r.node, keys, domainColumns(r, keys), len(keys), nil, plan.Left), width + r.outer
	}
	return b.subs.add(b.analyzer, syntax.Format(e), k, p), true
}

// oneRow reports whether a query has at most one row: an aggregate without GROUP BY, LIMIT 1, or a plan that proves it.
func oneRow(q *syntax.Query, d *dependent) bool {
	if s, ok := q.Body.(*syntax.Select); ok && s.GroupBy == nil {
		for _, it := range s.Items {
			if it.Expr != nil && firstAggregate(it.Expr) != nil {
				return true
			}
		}
	}
	if l, ok := q.Limit.(*syntax.Literal); ok && (l.Text == "1" || l.Text == "0") {
		return true
	}
	key := d.rel.node.Key()
	return len(d.corr.exprs) == 0 && key != nil && len(key) == 0
}

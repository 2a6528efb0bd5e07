package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// merged is a column of USING or NATURAL: one name for a column of both sides.
type merged struct {
	ref
	alias string // of the left side, for messages
	// hidden are the relations whose column of that name an unqualified name does not mean.
	hidden []*input
}

// mergedAs finds a merged column.
func (s *scope) mergedAs(name string) *merged {
	for _, m := range s.merged {
		if strings.EqualFold(m.field.Name, name) {
			return m
		}
	}
	return nil
}

// hides reports whether a column of a relation is part of a merged one.
func (s *scope) hides(in *input, name string) bool {
	m := s.mergedAs(name)
	if m == nil {
		return false
	}
	for _, h := range m.hidden {
		if h == in {
			return true
		}
	}
	return false
}

// joinKinds is what the words of a join mean in a table.
var joinKinds = map[syntax.JoinKind]plan.JoinKind{
	syntax.JoinInner: plan.Inner, syntax.JoinCross: plan.Inner,
	syntax.JoinLeft: plan.Left, syntax.JoinRight: plan.Right, syntax.JoinFull: plan.Full,
}

// tableJoin adds one relation to FROM of a table: a join over the current rows of both sides.
func (a *analyzer) tableJoin(j *syntax.Join, ctes *cteScope, f *from) {
	node, in := a.relation(j.Item, ctes, f)
	before := len(a.ds)
	a.joinRules(j)
	left := f.node
	width := 0
	if left != nil {
		width = len(left.Schema())
	}
	in.shift(width)
	keys := f.keys
	f.keys = nil
	var on expr.Expr
	bound := true
	var columns []usingColumn
	if j.Natural || len(j.Using) > 0 {
		columns = a.using(j, f.scope, in)
		on, bound = a.usingCondition(j, columns)
	}
	f.scope.inputs = append(f.scope.inputs, in)
	f.summary += joinSummary(j, in)
	subs := &subqueries{}
	if j.On != nil {
		b := &binder{analyzer: a, scope: f.scope, clause: "ON", subs: subs, ctes: ctes}
		on, bound = b.condition(j.On)
	}
	for _, c := range columns {
		f.scope.merge(j.Kind, c, in)
	}
	f.node = nil
	if len(keys) > 0 && (j.Kind == syntax.JoinRight || j.Kind == syntax.JoinFull) {
		a.report(j.KindPos, CodeLateral, "write LEFT JOIN or JOIN", "a query that reads the relations before it cannot stand behind %s", j.Kind)
	}
	if f.domainFirst && (j.Kind == syntax.JoinRight || j.Kind == syntax.JoinFull) {
		a.report(j.KindPos, CodeLateral, "read the outer query in WHERE", "%s is not possible in a FROM that reads the query around it", j.Kind)
	}
	if left == nil || node == nil || !bound || syntax.HasErrors(a.ds[before:]) {
		return
	}
	if j.Asof {
		var at syntax.Node = j.KindPos
		if j.On != nil {
			at = j.On
		}
		if len(subs.list) > 0 || len(keys) > 0 {
			a.report(at, CodeAsof, "write the subquery in a query in FROM", "%s takes no subquery", joinName(j))
			return
		}
		f.node = a.asof(j, f.scope, left, node, in, on, at)
	} else {
		a.warnJoinState(j, left, node, strings.Join(f.scope.aliases(), " and "))
		f.node = a.joined(j, left, node, in, on, subs, keys)
	}
	for _, other := range f.scope.inputs[:len(f.scope.inputs)-1] {
		other.padded = other.padded || j.Kind == syntax.JoinRight || j.Kind == syntax.JoinFull
	}
	in.padded = j.Kind == syntax.JoinLeft || j.Kind == syntax.JoinFull
}

// joined makes the join of two sides on a bound condition. dependsOn is what the first columns of the right side have to be
// equal to when it reads the left one.
func (a *analyzer) joined(j *syntax.Join, left, right plan.Node, in *input, on expr.Expr, subs *subqueries, dependsOn []expr.Expr) plan.Node {
	kind := joinKinds[j.Kind]
	width := len(left.Schema())
	var above expr.Expr
	if len(subs.list) > 0 {
		if kind == plan.Inner {
			// The pairs are made first, and filtered by what the subqueries say of them.
			on, above = apart(on)
		} else {
			var ok bool
			if left, right, on, ok = a.sideSubqueries(j, left, right, in, on, subs); !ok {
				return nil
			}
			width = len(left.Schema())
		}
	}
	leftKeys := dependsOn
	rightKeys := firstColumns(right, len(dependsOn))
	var residual expr.Expr
	if on != nil {
		l, r, rest := splitOn(expr.Fold(on), width)
		if t, is := rest.(*expr.Literal); is && !t.V.IsNull() && t.V.Bool() {
			rest = nil // ON TRUE
		}
		a.warnKeyKinds(j, l, r)
		if neverEqual(l, r) {
			rest = &expr.Literal{V: types.BoolOf(false)}
		}
		leftKeys, rightKeys, residual = append(leftKeys[:len(leftKeys):len(leftKeys)], l...), append(rightKeys, r...), rest
	}
	if len(leftKeys) == 0 {
		a.warnNestedLoop(j, left, right)
	}
	var node plan.Node = plan.NewNullSafeJoin(left, right, leftKeys, rightKeys, len(dependsOn), residual, kind)
	if above != nil {
		var resolve func(expr.Expr) expr.Expr
		node, resolve = subs.apply(node, identity)
		node = &plan.Filter{In: node, Pred: resolve(above)}
	}
	return node
}

// apart splits a condition into what reads no subquery and what does.
func apart(on expr.Expr) (without, with expr.Expr) {
	for _, c := range plan.Conjuncts(on) {
		if holds(c) {
			with = plan.And(with, c)
		} else {
			without = plan.And(without, c)
		}
	}
	return without, with
}

// sideSubqueries joins the subqueries in ON of an outer join to the side that each of them reads. The columns of the
// right side move behind what was added to the left one.
func (a *analyzer) sideSubqueries(j *syntax.Join, left, right plan.Node, in *input, on expr.Expr, subs *subqueries) (l, r plan.Node, out expr.Expr, ok bool) {
	width := len(left.Schema())
	lefts, rights := &subqueries{}, &subqueries{}
	ofLeft := map[int]bool{}
	for _, p := range subs.list {
		readsLeft, readsRight := false, false
		for _, e := range p.reads {
			for _, c := range plan.Columns(e) {
				readsLeft = readsLeft || c >= 0 && c < width || c < 0 && ofLeft[c]
				readsRight = readsRight || c >= width || c < 0 && !ofLeft[c]
			}
		}
		switch {
		case readsLeft && readsRight:
			a.report(j.On, CodeSubquery, "join in a query in FROM first, and write the subquery there", "a subquery in ON of %s reads both sides", j.Kind)
			return nil, nil, nil, false
		case readsLeft:
			ofLeft[p.column.Index] = true
			lefts.list = append(lefts.list, p)
		default:
			rights.list = append(rights.list, p)
		}
	}
	l, resolveLeft := lefts.apply(left, identity)
	r, resolveRight := rights.apply(right, func(e expr.Expr) expr.Expr { return plan.Shift(e, -width) })
	moved := len(l.Schema()) - width
	out = plan.Rewrite(on, func(c *expr.Column) expr.Expr {
		switch {
		case c.Index < 0 && ofLeft[c.Index]:
			return resolveLeft(c)
		case c.Index < 0:
			return plan.Shift(resolveRight(c), width+moved)
		case c.Index >= width:
			return plan.Shift(c, moved)
		}
		return c
	})
	in.shift(moved)
	return l, r, out, true
}

// warnNestedLoop says what a join without an equality costs, unless one side is a single row.
func (a *analyzer) warnNestedLoop(j *syntax.Join, left, right plan.Node) {
	for _, side := range []plan.Node{left, right} {
		if k := side.Key(); k != nil && len(k) == 0 {
			return
		}
	}
	if j.On != nil {
		a.warn(j.On, CodeJoinNoEquality, "add left.column = right.column when there is one", "ON has no equality between both sides: every row is compared with every row of the other side")
		return
	}
	a.crosses = append(a.crosses, j.KindPos)
}

// usingColumn is one column of USING on both sides.
type usingColumn struct {
	name        syntax.Ident
	left, right ref
	alias       string
}

// using finds the columns of USING or NATURAL on both sides.
func (a *analyzer) using(j *syntax.Join, s *scope, in *input) []usingColumn {
	names := j.Using
	if j.Natural {
		names = a.common(j, s, in)
	}
	var out []usingColumn
	for _, name := range names {
		l, ok := a.resolve(s, &syntax.ColumnRef{Pos: name.Pos, Name: name})
		if in.broken {
			continue
		}
		r, found := in.find(name.Name)
		if !found {
			a.reportName(name, name, CodeUnknownColumn, visible(in.names()), "columns", "no column %q in %s", name.Name, in.alias)
		}
		if ok && found {
			out = append(out, usingColumn{name: name, left: l, right: r, alias: s.inputs[0].alias})
		}
	}
	return out
}

// common lists the column names that both sides of a NATURAL JOIN have.
func (a *analyzer) common(j *syntax.Join, s *scope, in *input) []syntax.Ident {
	var out []syntax.Ident
	seen := map[string]bool{}
	for _, left := range s.inputs {
		for _, f := range left.columns {
			_, both := types.Schema(in.columns).Find(f.Name)
			if key := strings.ToLower(f.Name); both && !seen[key] {
				seen[key] = true
				out = append(out, syntax.Ident{Pos: j.KindPos, Name: f.Name})
			}
		}
	}
	if len(out) == 0 && !in.broken && !s.broken() {
		a.report(j.KindPos, CodeUsing, "write ON left.column = right.column", "both sides of NATURAL JOIN have no column name in common")
	}
	return out
}

// usingCondition is the equality of all columns.
func (a *analyzer) usingCondition(j *syntax.Join, columns []usingColumn) (on expr.Expr, ok bool) {
	b := &binder{analyzer: a, clause: "USING"}
	for _, c := range columns {
		eq, bound := b.make(c.name, "=", nil, []expr.Expr{c.left.expr, c.right.expr})
		if !bound {
			return nil, false
		}
		on = plan.And(on, eq)
	}
	return on, on != nil
}

// merge gives both columns one name: the value of the side whose rows are all there, or the one that is not NULL.
func (s *scope) merge(kind syntax.JoinKind, c usingColumn, in *input) {
	m := &merged{ref: c.left, alias: c.alias, hidden: []*input{in}}
	switch kind {
	case syntax.JoinRight:
		m.ref = c.right
	case syntax.JoinFull:
		coalesce, _ := expr.Lookup("COALESCE")
		if e, err := coalesce.Bind([]expr.Expr{c.left.expr, c.right.expr}); err == nil {
			m.expr = e
		}
	}
	m.field.Name = c.left.field.Name
	if old := s.mergedAs(c.name.Name); old != nil {
		m.hidden = append(m.hidden, old.hidden...)
		for i := range s.merged {
			if s.merged[i] == old {
				s.merged[i] = m
			}
		}
		return
	}
	for _, left := range s.inputs {
		if _, there := left.find(c.name.Name); there && left != in {
			m.hidden = append(m.hidden, left)
		}
	}
	s.merged = append(s.merged, m)
}

// warnCrosses says what a CROSS JOIN costs, unless WHERE makes a keyed join of it.
func (q *selecting) warnCrosses() {
	if len(q.crosses) == 0 || q.node == nil || !plan.HasNestedLoop(plan.Simplify(q.node)) {
		return
	}
	q.warn(q.crosses[0], CodeNestedLoop, "join with an equality when there is one", "CROSS JOIN keeps every pair of rows: its cost is the product of both sides")
}

package analyze

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// startDomain puts the domain of a correlated subquery before the first relation of a FROM that reads it.
func (a *analyzer) startDomain(s *syntax.Select, f *from) {
	if a.outer.width() == 0 || !a.readsInFrom[s] {
		return
	}
	f.node = a.outer.domain
	f.domainFirst = true
}

// afterDomain adds the first relation of FROM behind a domain that is already there.
func (a *analyzer) afterDomain(f *from, node plan.Node, in *input) plan.Node {
	domain, keys := f.node, f.keys
	f.keys = nil
	if domain == nil || node == nil {
		return node
	}
	in.shift(len(domain.Schema()))
	return plan.NewNullSafeJoin(domain, node, keys, firstColumns(node, len(keys)), len(keys), nil, plan.Inner)
}

func firstColumns(n plan.Node, count int) []expr.Expr {
	out := make([]expr.Expr, count)
	for i := range out {
		out[i] = readColumn(n, i)
	}
	return out
}

// derived binds a query in FROM. With LATERAL it can read the relations before it, and within a subquery the query
// around that; f.keys then says by what it is joined: its first columns.
func (a *analyzer) derived(t *syntax.Derived, ctes *cteScope, f *from) *relation {
	if !t.Lateral && a.outer == nil || a.mode == Pipeline {
		return a.query(t.Query, ctes)
	}
	around := &scope{outer: a.outer, sel: f.scope.sel, inFrom: true}
	if t.Lateral {
		around.inputs, around.merged = f.scope.inputs, f.scope.merged
	}
	d := a.dependent(t.Query, ctes, &binder{analyzer: a, scope: around, clause: "FROM", ctes: ctes})
	if d == nil {
		return nil
	}
	if len(d.corr.exprs) > 0 && f.node == nil && a.probing == 0 {
		return nil // a relation before it was reported
	}
	r, keys := d.over(f.node, identity)
	d.warnDomain(t, r)
	f.keys = keys
	return r
}

// withDomain adds the domain to a FROM that does not read it itself: its columns come first.
func (a *analyzer) withDomain(s *syntax.Select, f *from) {
	n := a.outer.width()
	if n == 0 || f.domainFirst || f.node == nil {
		return
	}
	f.node = plan.NewJoin(a.outer.domain, f.node, nil, nil, nil, plan.Inner)
	for _, in := range f.scope.inputs {
		in.shift(n)
	}
	for _, m := range f.scope.merged {
		m.expr = plan.Shift(m.expr, n)
	}
}

// firstUnnest is a FROM of a subquery that begins with an array of the query around it: the domain is its first relation.
func (a *analyzer) firstUnnest(s *syntax.Select, u *syntax.Unnest, f *from) {
	a.startDomain(s, f)
	if f.node == nil {
		f.node = plan.NewScan(0, "", "", nil, nil, true, []int{}) // stands for the domain, which is not known yet
	}
	a.unnest(&syntax.Join{Pos: u.Pos, Kind: syntax.JoinComma, KindPos: u.Pos, Item: u}, u, f)
}

// isTrue reports whether a condition is the literal TRUE.
func isTrue(e syntax.Expr) bool {
	l, ok := e.(*syntax.Literal)
	return ok && l.Kind == syntax.TrueLiteral
}

func firstN(n int) []int {
	var out []int
	for i := range n {
		out = append(out, i)
	}
	return out
}

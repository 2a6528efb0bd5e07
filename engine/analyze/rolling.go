package analyze

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// rollingScope binds a subquery of a pipeline. Its value is a rolling snapshot, replaced at each close of its window.
func (b *binder) rollingScope(at syntax.Node, q *syntax.Query, what string) *dependent {
	if b.subs == nil || b.clause != "WHERE" && (b.clause != selectList || b.group != nil) {
		b.report(at, CodeSubquery, "write it in WHERE", "%s of a pipeline stands in WHERE, or in the select list of a query without a window", what)
		return nil
	}
	b.timed++ // what a row was told is not taken back
	d := b.dependent(q, b.ctes, b)
	b.timed--
	if d == nil {
		return nil
	}
	w := plan.WindowBelow(d.rel.node)
	switch {
	case len(d.corr.exprs) > 0:
		b.report(at, CodeSubquery, "rewrite it as a JOIN ... WITHIN", "%s of a pipeline cannot read the query around it", what)
	case w == nil:
		b.report(at, CodeSubqueryWindow, "add WINDOW TUMBLING(SIZE 10 SECONDS) to it", "%s in a pipeline must be windowed: it reads what the newest closed window gave out", what)
	case w.Changes:
		b.report(at, CodeSubqueryWindow, "leave EMIT CHANGES out", "%s reads closed windows, which EMIT CHANGES mixes with running rows", what)
	default:
		return d
	}
	return nil
}

// columns is the number of columns that the select list of a subquery names; a window adds others.
func (d *dependent) columns() int {
	if s, ok := d.query.Body.(*syntax.Select); ok && s.Window != nil {
		return len(s.Items)
	}
	return len(d.rel.fields)
}

// rolling reads the first column of the snapshots of a subquery.
func (b *binder) rolling(d *dependent, kind plan.RollingKind, value expr.Expr) *pending {
	return &pending{build: func(_, node plan.Node, resolve func(expr.Expr) expr.Expr) (plan.Node, int) {
		x := value
		if x != nil {
			x = resolve(x)
		}
		return plan.NewRolling(node, d.rel.node, kind, x, 0), len(node.Schema())
	}}
}

// readsSubquery reports whether a SELECT has a subquery in WHERE or its select list.
func readsSubquery(s *syntax.Select) bool {
	found := false
	look := func(e syntax.Expr) {
		syntax.Walk(e, func(e syntax.Expr) bool {
			switch e.(type) {
			case *syntax.InQuery, *syntax.Exists, *syntax.Subquery:
				found = true
			}
			return !found
		})
	}
	if s.Where != nil {
		look(s.Where.Expr)
	}
	for _, it := range s.Items {
		look(it.Expr)
	}
	return found
}

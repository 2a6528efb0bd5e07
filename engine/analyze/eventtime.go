package analyze

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
)

// appendTs adds the computed event time of the input rows as a column; it is 0 for rows that have none.
func (q *selecting) appendTs(node plan.Node) (plan.Node, *expr.Column) {
	s := node.Schema()
	var exprs []expr.Expr
	var names []string
	for i, f := range s {
		exprs = append(exprs, &expr.Column{Index: i, Name: f.Name, K: f.Kind})
		names = append(names, f.Name)
	}
	exprs = append(exprs, expr.As(q.inputTs(), types.Long))
	names = append(names, types.TsColumn)
	return plan.NewProject(node, exprs, names), &expr.Column{Index: len(s), Name: types.TsColumn, K: types.Long}
}

// inputTs is the event time of a row of FROM: the later one of its parts.
func (q *selecting) inputTs() expr.Expr {
	if q.from.ts != nil {
		return q.from.ts
	}
	var out expr.Expr
	padded := false
	for _, in := range q.from.scope.inputs {
		if !in.hasTs || in.lookedUp {
			continue
		}
		if out == nil {
			out, padded = in.ts, in.padded
			continue
		}
		later, err := laterOf(out, in.ts, padded || in.padded)
		if err != nil {
			return out
		}
		out, padded = later, padded && in.padded
	}
	if out == nil {
		return &expr.Literal{V: types.LongOf(0)}
	}
	return out
}

// eventTime is the hidden event time of the output, nil when rows have none.
func (q *selecting) eventTime() expr.Expr {
	switch {
	case q.grouped && q.group.window != nil:
		return q.group.added[len(q.group.added)-1]
	case q.grouped:
		return nil
	}
	for _, in := range q.from.scope.inputs {
		if in.hasTs && !in.lookedUp {
			return expr.As(q.inputTs(), types.Long)
		}
	}
	if q.mode == Pipeline {
		return &expr.Literal{V: types.LongOf(0)}
	}
	return nil
}

// laterOf is the later of two times. With padded, one of them can be NULL, as in a row of an outer join without a match;
// then it is the other.
func laterOf(a, b expr.Expr, padded bool) (expr.Expr, error) {
	bind := func(name string, args ...expr.Expr) expr.Expr {
		f, _ := expr.Lookup(name)
		e, err := f.Bind(args)
		if err != nil {
			panic("BUG: " + name + " of times: " + err.Error())
		}
		return e
	}
	x, y := expr.As(a, types.Long), expr.As(b, types.Long)
	whens := []expr.When{{Cond: bind(">=", a, b), Then: x}}
	if padded {
		whens = append(whens, expr.When{Cond: bind("IS NULL", b), Then: x})
	}
	return expr.BindCase(whens, y)
}

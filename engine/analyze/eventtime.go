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
	var out expr.Expr
	for _, in := range q.from.scope.inputs {
		if !in.hasTs {
			continue
		}
		if out == nil {
			out = in.ts
			continue
		}
		ge, _ := expr.Lookup(">=")
		cond, err := ge.Bind([]expr.Expr{out, in.ts})
		if err != nil {
			return out
		}
		later, err := expr.BindCase([]expr.When{{Cond: cond, Then: expr.As(out, types.Long)}}, expr.As(in.ts, types.Long))
		if err != nil {
			return out
		}
		out = later
	}
	if out == nil {
		return &expr.Literal{V: types.LongOf(0)}
	}
	return out
}

// eventTime is the hidden event time of the output, nil when rows have none.
func (q *selecting) eventTime() expr.Expr {
	switch {
	case q.grouped && q.group.window:
		return &expr.Column{Index: q.group.borders[1].Index + 1, Name: types.TsColumn, K: types.Long}
	case q.grouped:
		return nil
	}
	for _, in := range q.from.scope.inputs {
		if in.hasTs {
			return expr.As(q.inputTs(), types.Long)
		}
	}
	if q.mode == Pipeline {
		return &expr.Literal{V: types.LongOf(0)}
	}
	return nil
}

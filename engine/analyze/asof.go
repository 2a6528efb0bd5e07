package analyze

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// asof makes an ASOF JOIN: each left row with the latest right row at or before its time. ON has equalities, conditions on
// the right side, and at most one inequality between the times; without one the event times are compared.
func (a *analyzer) asof(j *syntax.Join, s *scope, left, right plan.Node, in *input, on expr.Expr, at syntax.Node) plan.Node {
	width := len(left.Schema())
	leftKeys, rightKeys, rest := splitOn(on, width)
	a.warnKeyKinds(j, leftKeys, rightKeys)
	if neverEqual(leftKeys, rightKeys) {
		right = &plan.Filter{In: right, Pred: &expr.Literal{V: types.BoolOf(false)}}
	}
	var l, r *expr.Column
	strict := false
	if rest != nil {
		for _, c := range plan.Conjuncts(rest) {
			if x, y, before, ok := timeOrder(c, width); ok && l == nil {
				l, r, strict = x, y, before
				continue
			}
			if !onSide(c, width, false) {
				a.report(at, CodeAsof, "write ON left.key = right.key AND left.time >= right.time", "%s takes equalities, one inequality between two columns of time, and conditions on the right side; found %s", joinName(j), c)
				return nil
			}
			right = &plan.Filter{In: right, Pred: plan.Shift(c, -width)}
		}
	}
	if l == nil {
		l, r = latestTime(s, in), columnOf(in.ts)
		if l == nil || r == nil {
			a.report(at, CodeAsof, "write ON left.key = right.key AND left.time >= right.time", "%s needs an inequality between two columns of time: the event times of both sides do not say which", joinName(j))
			return nil
		}
	}
	for _, c := range []*expr.Column{l, r} {
		if c.K != types.Long && c.K != types.Timestamp {
			a.report(at, CodeAsof, "convert it in a query in FROM", "%s compares times, found %s, which is %s", joinName(j), c, c.K)
			return nil
		}
	}
	return plan.NewAsofJoin(left, right, leftKeys, rightKeys, l.Index, r.Index-width, strict, j.Kind == syntax.JoinLeft)
}

// timeOrder reads left >= right, or the other forms of it, between a column of each side.
func timeOrder(e expr.Expr, width int) (l, r *expr.Column, strict, ok bool) {
	c, is := e.(*expr.Call)
	if !is || len(c.Args) != 2 {
		return nil, nil, false, false
	}
	l, r = columnOf(c.Args[0]), columnOf(c.Args[1])
	if l == nil || r == nil {
		return nil, nil, false, false
	}
	switch c.Fn.Name {
	case ">=", ">":
	case "<=", "<":
		l, r = r, l
	default:
		return nil, nil, false, false
	}
	return l, r, c.Fn.Name == ">" || c.Fn.Name == "<", l.Index < width && r.Index >= width
}

func columnOf(e expr.Expr) *expr.Column {
	c, _ := e.(*expr.Column)
	return c
}

// latestTime is the event time of the left side: that of the only relation that has one.
func latestTime(s *scope, right *input) *expr.Column {
	var out *expr.Column
	for _, in := range s.inputs {
		if in == right || !in.hasTs {
			continue
		}
		if out != nil {
			return nil
		}
		out = columnOf(in.ts)
	}
	return out
}

package analyze

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// intervalJoin adds one relation to the FROM of a pipeline: rows match when their event times are near each other.
func (a *analyzer) intervalJoin(j *syntax.Join, ctes *cteScope, f *from) {
	before := len(a.ds)
	node, in := a.relation(j.Item, ctes, f)
	a.joinRules(j)
	left, leftTs := f.node, f.ts
	if leftTs == nil {
		leftTs = onlyTs(f.scope)
	}
	width := 0
	if left != nil {
		width = len(left.Schema())
	}
	rightTs, _ := in.ts.(*expr.Column)
	if node != nil && rightTs == nil {
		a.noEventTime(j.Item, in)
	}
	if left != nil && leftTs == nil {
		a.noEventTime(j.KindPos, f.scope.inputs[0])
	}
	in.shift(width)
	var columns []usingColumn
	var on expr.Expr
	bound := false
	if j.Natural || len(j.Using) > 0 {
		columns = a.using(j, f.scope, in)
		on, bound = a.usingCondition(j, columns)
	}
	f.scope.inputs = append(f.scope.inputs, in)
	f.summary += joinSummary(j, in)
	spec := plan.IntervalJoin{LatenessMs: a.lateness, DropLate: a.dropLate}
	switch j.Kind {
	case syntax.JoinLeft:
		spec.KeepLeft = true
	case syntax.JoinRight:
		spec.KeepRight = true
	case syntax.JoinFull:
		spec.KeepLeft, spec.KeepRight = true, true
	}
	if j.On != nil {
		b := &binder{analyzer: a, scope: f.scope, clause: "ON"}
		on, bound = b.condition(j.On)
	}
	for _, c := range columns {
		f.scope.merge(j.Kind, c, in)
	}
	if bound {
		spec.LeftKeys, spec.RightKeys, spec.Residual = splitOn(on, width)
	}
	if bound && j.On != nil && left != nil && node != nil && len(spec.LeftKeys) == 0 && j.Kind != syntax.JoinCross {
		a.report(j.On, CodeJoinNoEquality, "write ON left.column = right.column", "ON needs an equality between both sides of the join")
	}
	f.node = nil
	if left == nil || node == nil || !bound && j.Kind != syntax.JoinCross || syntax.HasErrors(a.ds[before:]) {
		return
	}
	spec.WithinMs = j.Within.Millis()
	spec.LeftTs, spec.RightTs = leftTs.Index, rightTs.Index
	joined := plan.NewIntervalJoin(left, node, spec)
	f.node = joined
	f.ts = &expr.Column{Index: len(joined.Schema()) - 1, Name: types.TsColumn, K: types.Long}
}

// onlyTs is the event time of the relations before the first join.
func onlyTs(s *scope) *expr.Column {
	for _, in := range s.inputs {
		if in.hasTs {
			c, _ := in.ts.(*expr.Column)
			return c
		}
	}
	return nil
}

func (a *analyzer) noEventTime(at syntax.Node, in *input) {
	if !in.broken {
		a.report(at, CodeEventTime, "declare _ts as Long or Timestamp, or leave it out",
			"a join needs the event time of %q, and its column _ts is no time", in.alias)
	}
}

package flow_test

import (
	"bytes"
	"slices"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

var joinKinds = []plan.JoinKind{plan.Inner, plan.Inner, plan.Left, plan.Right, plan.Full, plan.Semi, plan.Anti, plan.Mark}

// drawJoin makes a join of any kind: with one or two keys, or with none over plain inputs, with and without a residual
// condition, with keys in which NULL equals NULL and in which it does not.
func drawJoin(t *rapid.T, depth int) plan.Node {
	if rapid.IntRange(0, 4).Draw(t, "as of") == 0 {
		return drawAsof(t)
	}
	kind := rapid.SampledFrom(joinKinds).Draw(t, "join")
	l, r := drawPlan(t, depth-1), drawPlan(t, depth-1)
	var lks, rks []expr.Expr
	safe := 0
	if rapid.IntRange(0, 5).Draw(t, "keys") == 0 {
		l, r = drawScan(t), &plan.Filter{In: scanOf(2), Pred: call("IS NOT NULL", columnsOf(scanOf(2), types.Long)[0])}
	} else {
		k := rapid.SampledFrom([]types.Kind{types.String, types.Long}).Draw(t, "key kind")
		lk, rk := columnsOf(l, k), columnsOf(r, k)
		if len(lk) == 0 || len(rk) == 0 {
			return l
		}
		lks, rks = []expr.Expr{lk[0]}, []expr.Expr{rk[len(rk)-1]}
		if rapid.Bool().Draw(t, "two keys") {
			lks, rks = append(lks, call("IS NULL", anyColumn(t, l))), append(rks, call("IS NULL", anyColumn(t, r)))
		}
		safe = rapid.IntRange(0, len(lks)).Draw(t, "null safe")
	}
	var residual expr.Expr
	if rapid.Bool().Draw(t, "residual") {
		residual = drawPredicate(t, plan.NewJoin(l, r, lks, rks, nil, plan.Inner))
	}
	return plan.NewNullSafeJoin(l, r, lks, rks, safe, residual, kind)
}

// drawAsof makes an as-of join by the event time or another number.
func drawAsof(t *rapid.T) plan.Node {
	l, r := drawScan(t), drawScan(t)
	if rapid.Bool().Draw(t, "updating") {
		r = scanOf(2)
	}
	lt, rt := columnsOf(l, types.Long), columnsOf(r, types.Long)
	var lks, rks []expr.Expr
	if rapid.Bool().Draw(t, "key") {
		lks, rks = []expr.Expr{columnsOf(l, types.String)[0]}, []expr.Expr{columnsOf(r, types.String)[0]}
	}
	return plan.NewAsofJoin(l, r, lks, rks, rapid.SampledFrom(lt).Draw(t, "left time").Index, rapid.SampledFrom(rt).Draw(t, "right time").Index,
		rapid.Bool().Draw(t, "strict"), rapid.Bool().Draw(t, "left"))
}

// asof computes an as-of join from its whole inputs.
func asof(n *plan.AsofJoin, left, right relation, out relation) {
	on := plan.NewJoin(n.Left, n.Right, n.LeftKeys, n.RightKeys, nil, plan.Inner)
	record := func(row []types.Value) (b []byte) {
		for _, v := range row {
			b = zset.AppendValue(b, v)
		}
		return b
	}
	for _, l := range left {
		var best *weighted
		lt := l.row[n.LeftTime]
		for _, r := range right {
			rt := r.row[n.RightTime]
			if r.w <= 0 || lt.IsNull() || rt.IsNull() || !joinable(on, l.row, r.row, nil, nil) || rt.Int() > lt.Int() || n.Strict && rt.Int() == lt.Int() {
				continue
			}
			if best == nil || rt.Int() > best.row[n.RightTime].Int() ||
				rt.Int() == best.row[n.RightTime].Int() && bytes.Compare(record(r.row), record(best.row)) > 0 {
				best = r
			}
		}
		row := slices.Clone(l.row)
		switch {
		case best != nil:
			row = append(row, best.row...)
		case n.Outer:
			for _, f := range n.Right.Schema() {
				row = append(row, types.Null(f.Stored()))
			}
		default:
			continue
		}
		out.add(row, l.w)
	}
}

// join computes a join from its whole inputs, pair by pair.
func join(n *plan.Join, left, right relation, out relation) {
	both := append(n.Left.Schema().Clone(), n.Right.Schema()...)
	matchedRight := map[*weighted]bool{}
	pad := func(s types.Schema) []types.Value {
		row := make([]types.Value, len(s))
		for i, f := range s {
			row[i] = types.Null(f.Stored())
		}
		return row
	}
	for _, l := range left {
		matched := false
		for _, r := range right {
			row := append(slices.Clone(l.row), r.row...)
			if !joinable(n, l.row, r.row, row, both) {
				continue
			}
			matched = matched || r.w > 0
			if l.w > 0 {
				matchedRight[r] = true
			}
			if n.Kind.Pairs() {
				out.add(row, l.w*r.w)
			}
		}
		switch n.Kind {
		case plan.Left, plan.Full:
			if !matched {
				out.add(append(slices.Clone(l.row), pad(n.Right.Schema())...), l.w)
			}
		case plan.Semi:
			if matched {
				out.add(l.row, l.w)
			}
		case plan.Anti:
			if !matched {
				out.add(l.row, l.w)
			}
		case plan.Mark:
			out.add(append(slices.Clone(l.row), types.BoolOf(matched)), l.w)
		}
	}
	if n.Kind != plan.Right && n.Kind != plan.Full {
		return
	}
	for _, r := range right {
		if !matchedRight[r] {
			out.add(append(pad(n.Left.Schema()), r.row...), r.w)
		}
	}
}

func joinable(n *plan.Join, l, r, row []types.Value, both types.Schema) bool {
	lk, rk := values(n.LeftKeys, l, n.Left.Schema()), values(n.RightKeys, r, n.Right.Schema())
	for i := range lk {
		if lk[i].IsNull() != rk[i].IsNull() {
			return false
		}
		if lk[i].IsNull() {
			if i >= n.NullSafe {
				return false
			}
			continue
		}
		if keyOf(lk[i:i+1]) != keyOf(rk[i:i+1]) {
			return false
		}
	}
	if n.Residual == nil {
		return true
	}
	v := value(n.Residual, row, kindsOf(both))
	return !v.IsNull() && v.Bool()
}

package flow_test

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"pgregory.net/rapid"
)

// drawRecursive makes a recursion over edges (n, m) of a table: what can be reached, or, with UNION ALL, every way of
// at most a few steps.
func drawRecursive(t *rapid.T) plan.Node {
	number := func(input int) plan.Node {
		n := columnsOf(scanOf(input), types.Long)[0]
		return plan.NewProject(scanOf(input), []expr.Expr{n, call("%", call("+", n, &expr.Literal{V: types.LongOf(1)}), &expr.Literal{V: types.LongOf(3)})}, []string{"a", "b"})
	}
	base, edges := number(rapid.IntRange(0, 2).Draw(t, "base")), number(2)
	self := plan.Self(1, "r", "r", base.Schema())
	join := plan.NewJoin(self, edges, []expr.Expr{columnsOf(self, types.Long)[1]}, []expr.Expr{columnsOf(edges, types.Long)[0]}, nil, plan.Inner)
	longs := columnsOf(join, types.Long)
	step := plan.NewProject(join, []expr.Expr{longs[0], longs[3]}, []string{"a", "b"})
	all := rapid.Bool().Draw(t, "all")
	rounds := rapid.IntRange(1, 4).Draw(t, "rounds")
	if all {
		rounds = min(rounds, 2) // the number of ways multiplies
	}
	n, bad := plan.NewRecursive(1, "r", base, step, all, rounds)
	if bad != "" {
		panic(bad)
	}
	return n
}

// recursive computes a recursion round by round, each from the whole.
func recursive(n *plan.Recursive, epochs []epoch, out relation) {
	inputs := make([]relation, len(n.Inputs))
	for i, o := range n.Others {
		inputs[i+1] = relation{}
		for _, r := range evaluate(o, epochs) {
			inputs[i+1].add(r.row, max(r.w, 0))
		}
	}
	level := relation{}
	for _, r := range evaluate(n.Base, epochs) {
		if r.w > 0 {
			level.add(r.row, weightOf(n, r.w))
		}
	}
	for round := 0; ; round++ {
		for _, r := range level {
			out.add(r.row, r.w)
		}
		if len(level) == 0 || round == n.Max {
			return
		}
		inputs[0] = level
		if !n.All {
			inputs[0] = out
		}
		var e epoch
		for i, in := range inputs {
			for _, r := range in {
				e.events = append(e.events, event{i, r.row, r.w})
			}
		}
		level = relation{}
		for k, r := range evaluate(n.Step, []epoch{e}) {
			if r.w > 0 && (n.All || out[k] == nil) {
				level.add(r.row, weightOf(n, r.w))
			}
		}
	}
}

func weightOf(n *plan.Recursive, w int64) int64 {
	if n.All {
		return w
	}
	return 1
}

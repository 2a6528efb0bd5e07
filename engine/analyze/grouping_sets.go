package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// GROUPING SETS, ROLLUP and CUBE are one grouping for each set over the same rows, put together: a key outside of the
// set is NULL, and GROUPING tells it from a NULL of the rows.

// groupingCall is one call of GROUPING: the keys it asks for, and the column behind the grouping.
type groupingCall struct {
	keys   []int
	column *expr.Column
}

// sets are the grouping sets by positions of keys; common keys are in each.
func (q *selecting) groupingSets(positions []int, common int) {
	g := q.group
	if g.window != nil {
		q.report(q.s.GroupBy, CodeOrder, "group by the keys, and roll up in a table", "GROUPING SETS, ROLLUP and CUBE are not allowed with a window")
		q.node = nil
		return
	}
	for _, set := range q.s.GroupBy.Sets {
		in := make([]bool, 0, len(g.keys))
		for k := range g.keys {
			in = append(in, k < common)
		}
		for _, item := range set {
			if at := positions[item]; at >= 0 && at < len(in) {
				in[at] = true
			}
		}
		g.sets = append(g.sets, in)
	}
}

// union is the grouping of every set, each with the layout keys, aggregates, results of GROUPING.
func (g *grouping) union(node plan.Node, keys []expr.Expr, aggs []agg.Call) plan.Node {
	var ins []plan.Node
	for _, in := range g.sets {
		var own []expr.Expr
		for k, e := range keys {
			if in[k] {
				own = append(own, e)
			}
		}
		reduce := plan.NewReduce(node, own, aggs)
		schema := reduce.Schema()
		column := func(i int) expr.Expr { return &expr.Column{Index: i, Name: schema[i].Name, K: schema[i].Stored()} }
		var exprs []expr.Expr
		var names []string
		at := 0
		for k, e := range keys {
			if in[k] {
				exprs = append(exprs, column(at))
				at++
			} else {
				exprs = append(exprs, &expr.Literal{V: types.Null(e.Kind())})
			}
			names = append(names, e.String())
		}
		for i := range aggs {
			exprs = append(exprs, column(len(own)+i))
			names = append(names, aggs[i].String())
		}
		for _, c := range g.groupings {
			exprs = append(exprs, &expr.Literal{V: types.LongOf(c.value(in))})
			names = append(names, c.column.Name)
		}
		ins = append(ins, plan.NewProject(reduce, exprs, names))
	}
	if len(ins) == 1 {
		return ins[0]
	}
	return &plan.Union{Ins: ins}
}

// value has a bit for every key, the first one highest: 1 when the key is not in the set.
func (c groupingCall) value(in []bool) (v int64) {
	for _, k := range c.keys {
		v *= 2
		if !in[k] {
			v++
		}
	}
	return v
}

// grouping binds GROUPING(key, ...).
func (b *binder) grouping(e *syntax.Call) (expr.Expr, bool) {
	if b.group == nil {
		b.report(e, CodeAggregateHere, "it is known behind GROUP BY only", "GROUPING cannot stand in %s", b.clause)
		return nil, false
	}
	if len(e.Args) == 0 || len(e.Args) > 31 || e.Star || e.Distinct {
		b.report(e, expr.CodeArgumentCount, "write GROUPING(key, ...)", "GROUPING takes 1 to 31 keys of GROUP BY")
		return nil, false
	}
	c := groupingCall{column: &expr.Column{Name: strings.ToUpper(syntax.Format(e)), K: types.Long}}
	for _, a := range e.Args {
		x, ok := b.groupKey(a)
		key, is := x.(*expr.Column)
		if !ok || !is {
			b.report(a, CodeNotGrouped, "name a key", "GROUPING takes keys of GROUP BY, and %s is none", syntax.Format(a))
			return nil, false
		}
		c.keys = append(c.keys, key.Index)
	}
	if b.group.sets == nil {
		return &expr.Literal{V: types.LongOf(0)}, true
	}
	b.group.groupings = append(b.group.groupings, c)
	return c.column, true
}

package flow_test

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

// Every input of a random query has these columns. Input 0 and 1 are sources, input 2 is a table.
var inputColumns = types.Schema{
	{Name: "k", Kind: types.String}, {Name: "n", Kind: types.Long}, {Name: "x", Kind: types.Double},
	{Name: "j", Kind: types.Json}, {Name: "_ts", Kind: types.Long}, {Name: "_retract", Kind: types.Bool},
}

const inputs = 3

func appendOnly(input int) bool { return input < 2 }

func drawEpochs(t *rapid.T) []epoch {
	live := [inputs][][]types.Value{}
	var out []epoch
	now := int64(1000)
	for range rapid.IntRange(1, 8).Draw(t, "epochs") {
		e := epoch{}
		for range rapid.SampledFrom([]int{0, 1, 3, 8, 25}).Draw(t, "rows") {
			in := rapid.IntRange(0, inputs-1).Draw(t, "input")
			if !appendOnly(in) && len(live[in]) > 0 && rapid.Bool().Draw(t, "take back") {
				at := rapid.IntRange(0, len(live[in])-1).Draw(t, "which")
				e.events = append(e.events, event{in, live[in][at], -1})
				live[in] = append(live[in][:at:at], live[in][at+1:]...)
				continue
			}
			weight := int64(1)
			if !appendOnly(in) {
				weight = 2
			}
			row := drawRow(t, now)
			live[in] = append(live[in], row)
			e.events = append(e.events, event{in, row, rapid.SampledFrom([]int64{1, 1, 1, weight}).Draw(t, "weight")})
		}
		now += int64(rapid.IntRange(1, 4000).Draw(t, "elapsed"))
		e.time = now
		out = append(out, e)
	}
	return out
}

func drawRow(t *rapid.T, now int64) []types.Value {
	pick := func(vs ...types.Value) types.Value { return rapid.SampledFrom(vs).Draw(t, "value") }
	null := func(k types.Kind) types.Value { return types.Null(k) }
	return []types.Value{
		pick(types.StringOf("a"), types.StringOf("b"), types.StringOf(""), null(types.String)),
		pick(types.LongOf(1), types.LongOf(2), types.LongOf(-3), types.LongOf(1<<62), null(types.Long)),
		pick(types.DoubleOf(1), types.DoubleOf(0.1), types.DoubleOf(-2.5), types.DoubleOf(1e300), null(types.Double)),
		pick(types.JsonOf(`[1,"a",null]`), types.JsonOf(`[]`), types.JsonOf(`{"a":[2]}`), types.JsonOf(`[2.5]`), null(types.Json)),
		types.LongOf(now + int64(rapid.IntRange(-6000, 1500).Draw(t, "time"))),
		pick(types.BoolOf(false), types.BoolOf(false), types.BoolOf(true), null(types.Bool)),
	}
}

func batchOf(s types.Schema, events []event) *zset.Batch {
	b := zset.NewBuilder(kindsOf(s))
	for _, e := range events {
		for c, v := range e.row {
			b.Value(c, v)
		}
		b.EndRow(e.w)
	}
	return b.Build()
}

func scanOf(input int, cols ...int) plan.Node {
	if cols == nil {
		cols = []int{0, 1, 2, 3, 4, 5}
	}
	name := fmt.Sprintf("in%d", input)
	return plan.NewScan(input, name, name, inputColumns, cols, appendOnly(input), nil)
}

func drawScan(t *rapid.T) plan.Node {
	in := rapid.IntRange(0, inputs-1).Draw(t, "scan")
	if rapid.Bool().Draw(t, "some columns") {
		return scanOf(in, 4, 0, 2, 1)
	}
	return scanOf(in)
}

// columnsOf lists the columns of a node of one kind.
func columnsOf(n plan.Node, k types.Kind) []*expr.Column {
	var out []*expr.Column
	for i, f := range n.Schema() {
		if f.Stored() == k {
			out = append(out, &expr.Column{Index: i, Name: fmt.Sprintf("c%d", i), K: k})
		}
	}
	return out
}

func anyColumn(t *rapid.T, n plan.Node) expr.Expr {
	i := rapid.IntRange(0, len(n.Schema())-1).Draw(t, "column")
	return &expr.Column{Index: i, Name: fmt.Sprintf("c%d", i), K: n.Schema()[i].Stored()}
}

func call(name string, args ...expr.Expr) expr.Expr {
	f, ok := expr.Lookup(name)
	if !ok {
		panic("no function " + name)
	}
	e, err := f.Bind(args)
	if err != nil {
		panic(err)
	}
	return e
}

func long(v int64) expr.Expr { return &expr.Literal{V: types.LongOf(v)} }

func drawPredicate(t *rapid.T, n plan.Node) expr.Expr {
	if cols := columnsOf(n, types.Long); len(cols) > 0 && rapid.Bool().Draw(t, "by number") {
		return call(rapid.SampledFrom([]string{">", "<", "<>"}).Draw(t, "op"), rapid.SampledFrom(cols).Draw(t, "col"), long(1))
	}
	return call(rapid.SampledFrom([]string{"IS NULL", "IS NOT NULL"}).Draw(t, "test"), anyColumn(t, n))
}

func drawAggs(t *rapid.T, n plan.Node) []agg.Call {
	var out []agg.Call
	for range rapid.IntRange(1, 4).Draw(t, "aggregates") {
		a := rapid.SampledFrom(baseAggregates()).Draw(t, "aggregate")
		if a.Name == "COUNT" && rapid.Bool().Draw(t, "star") {
			c, err := a.Bind(nil, true, false)
			if err != nil {
				panic(err)
			}
			out = append(out, c)
			continue
		}
		c, err := a.Bind([]expr.Expr{anyColumn(t, n)}, false, a.Name == "COUNT" && rapid.Bool().Draw(t, "distinct"))
		if err != nil {
			panic(err)
		}
		out = append(out, c)
	}
	return out
}

func drawProject(t *rapid.T, n plan.Node, plainOnly bool) plan.Node {
	var es []expr.Expr
	var names []string
	for i := range rapid.IntRange(1, len(n.Schema())+1).Draw(t, "columns") {
		e := anyColumn(t, n)
		if e.Kind() == types.Long && !plainOnly && rapid.Bool().Draw(t, "compute") {
			e = call("*", e, long(3))
		}
		es = append(es, e)
		names = append(names, fmt.Sprintf("p%d", i))
	}
	return plan.NewProject(n, es, names)
}

// drawPlan draws a table query.
func drawPlan(t *rapid.T, depth int) plan.Node {
	if depth == 0 {
		return drawScan(t)
	}
	switch rapid.IntRange(0, 9).Draw(t, "node") {
	case 0:
		in := drawPlan(t, depth-1)
		return &plan.Filter{In: in, Pred: drawPredicate(t, in)}
	case 1:
		return drawProject(t, drawPlan(t, depth-1), false)
	case 2, 3:
		in := drawPlan(t, depth-1)
		var keys []expr.Expr
		for range rapid.IntRange(0, 2).Draw(t, "keys") {
			keys = append(keys, anyColumn(t, in))
		}
		r := plan.Node(plan.NewReduce(in, keys, drawAggs(t, in)))
		if rapid.Bool().Draw(t, "choose columns") {
			return drawProject(t, r, true)
		}
		return r
	case 4, 5:
		return drawJoin(t, depth)
	case 9:
		return drawRecursive(t)
	case 6:
		in := drawPlan(t, depth-1)
		if js := columnsOf(in, types.Json); len(js) > 0 {
			u := plan.NewUnnest(in, js[0], "el")
			u.Outer = rapid.Bool().Draw(t, "outer")
			return u
		}
		return in
	case 7:
		in := drawPlan(t, depth-1)
		if rapid.Bool().Draw(t, "set operation") {
			other := &plan.Union{Ins: []plan.Node{&plan.Filter{In: in, Pred: drawPredicate(t, in)}, &plan.Filter{In: in, Pred: drawPredicate(t, in)}}}
			return &plan.SetOp{Left: in, Right: other, Except: rapid.Bool().Draw(t, "except"), All: rapid.Bool().Draw(t, "all")}
		}
		return &plan.Union{Ins: []plan.Node{in, &plan.Filter{In: in, Pred: drawPredicate(t, in)}}}
	default:
		return drawLatest(t)
	}
}

func drawLatest(t *rapid.T) plan.Node {
	in := scanOf(rapid.IntRange(0, inputs-1).Draw(t, "scan"))
	if rapid.Bool().Draw(t, "filtered") {
		in = &plan.Filter{In: in, Pred: drawPredicate(t, in)}
	}
	l := &plan.LatestBy{In: in, Keys: []int{0}, Ts: 4, Retract: -1}
	if rapid.Bool().Draw(t, "two keys") {
		l.Keys = []int{1, 0}
	}
	if rapid.Bool().Draw(t, "retract") {
		l.Retract = 5
	}
	return l
}

func queryOf(root plan.Node, pipeline bool) *plan.Query {
	q := &plan.Query{Root: root, Pipeline: pipeline, Time: plan.Time{WatermarkLag: 1000, Idle: 3000}}
	for i := range inputs {
		k := plan.Source
		if !appendOnly(i) {
			k = plan.Table
		}
		q.Inputs = append(q.Inputs, plan.Input{Name: fmt.Sprintf("in%d", i), Kind: k, Columns: inputColumns})
	}
	return q
}

func drawCount() []agg.Call {
	a, _ := agg.Lookup("COUNT")
	c, err := a.Bind(nil, true, false)
	if err != nil {
		panic(err)
	}
	return []agg.Call{c}
}

// allAggregates applies every aggregate to one expression, COUNT with and without DISTINCT.
func allAggregates(e expr.Expr) []agg.Call {
	var out []agg.Call
	add := func(a *agg.Aggregate, distinct bool) {
		c, err := a.Bind([]expr.Expr{e}, false, distinct)
		if err != nil {
			panic(err)
		}
		out = append(out, c)
	}
	for _, a := range baseAggregates() {
		add(a, false)
		if a.Name == "COUNT" {
			add(a, true)
		}
	}
	return out
}

// baseAggregates are those that the reference of this package computes; package enginetest compares all of them.
func baseAggregates() []*agg.Aggregate {
	var out []*agg.Aggregate
	for _, name := range []string{"AVG", "COUNT", "MAX", "MIN", "SUM"} {
		a, ok := agg.Lookup(name)
		if !ok {
			panic("no aggregate " + name)
		}
		out = append(out, a)
	}
	return out
}

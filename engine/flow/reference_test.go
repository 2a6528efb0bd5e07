package flow_test

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// event is one input row.
type event struct {
	input int
	row   []types.Value
	w     int64
}

// epoch is the rows of all inputs in order of arrival, and the time at its end.
type epoch struct {
	events []event
	time   int64
}

// relation is a Z-set as boxed rows.
type relation map[string]*weighted

type weighted struct {
	row []types.Value
	w   int64
}

func keyOf(row []types.Value) string { return fmt.Sprint(row) }

func (r relation) add(row []types.Value, w int64) {
	k := keyOf(row)
	e := r[k]
	if e == nil {
		e = &weighted{row: row}
		r[k] = e
	}
	if e.w += w; e.w == 0 {
		delete(r, k)
	}
}

func (r relation) addBatch(b *zset.Batch) {
	if b == nil {
		return
	}
	for i := range b.N {
		r.add(b.Row(i), b.W(i))
	}
}

func (r relation) sorted() []string {
	var out []string
	for k, e := range r {
		out = append(out, fmt.Sprintf("%+d %s", e.w, k))
	}
	sort.Strings(out)
	return out
}

func (r relation) equal(o relation) bool { return slices.Equal(r.sorted(), o.sorted()) }

// value evaluates an expression for one row through a kernel of one row: kernels have their own reference.
func value(e expr.Expr, row []types.Value, kinds []types.Kind) types.Value {
	b := zset.NewBuilder(kinds)
	for c, v := range row {
		b.Value(c, v)
	}
	b.EndRow(1)
	col := expr.Compile(e).Eval(b.Build(), nil)
	return col.Value(0)
}

func kindsOf(s types.Schema) []types.Kind {
	var out []types.Kind
	for _, f := range s {
		out = append(out, f.Stored())
	}
	return out
}

// evaluate computes a table query over everything that has arrived, from scratch.
func evaluate(n plan.Node, epochs []epoch) relation {
	out := relation{}
	switch n := n.(type) {
	case *plan.Scan:
		for _, e := range epochs {
			for _, ev := range e.events {
				if ev.input == n.Input {
					out.add(pickColumns(ev.row, n.Cols), ev.w)
				}
			}
		}
	case *plan.Filter:
		for _, e := range evaluate(n.In, epochs) {
			if v := value(n.Pred, e.row, kindsOf(n.In.Schema())); !v.IsNull() && v.Bool() {
				out.add(e.row, e.w)
			}
		}
	case *plan.Project:
		for _, e := range evaluate(n.In, epochs) {
			out.add(values(n.Exprs, e.row, n.In.Schema()), e.w)
		}
	case *plan.Unnest:
		for _, e := range evaluate(n.In, epochs) {
			arr := value(n.Arg, e.row, kindsOf(n.In.Schema()))
			if n.Outer && elements(arr) == 0 {
				out.add(append(slices.Clone(e.row), types.Null(types.Json)), e.w)
			}
			if arr.IsNull() {
				continue
			}
			types.JsonElements([]byte(arr.Text()), func(node []byte) bool {
				v := types.Null(types.Json)
				if !types.JsonIsNull(node) {
					v = types.JsonOf(string(node))
				}
				out.add(append(slices.Clone(e.row), v), e.w)
				return true
			})
		}
	case *plan.Union:
		for _, in := range n.Ins {
			for _, e := range evaluate(in, epochs) {
				out.add(e.row, e.w)
			}
		}
	case *plan.Recursive:
		recursive(n, epochs, out)
	case *plan.AsofJoin:
		asof(n, evaluate(n.Left, epochs), evaluate(n.Right, epochs), out)
	case *plan.SetOp:
		left, right := evaluate(n.Left, epochs), evaluate(n.Right, epochs)
		for _, l := range left {
			has := int64(0)
			if r := right[keyOf(l.row)]; r != nil {
				has = max(r.w, 0)
			}
			w := max(l.w, 0)
			switch {
			case !n.Except:
				w = min(w, has)
			case n.All:
				w = max(w-has, 0)
			case has > 0:
				w = 0
			}
			if !n.All {
				w = min(w, 1)
			}
			out.add(l.row, w)
		}
	case *plan.Join:
		join(n, evaluate(n.Left, epochs), evaluate(n.Right, epochs), out)
	case *plan.Reduce:
		for _, g := range group(n.Keys, n.In.Schema(), evaluate(n.In, epochs)) {
			if g.rows > 0 {
				out.add(append(slices.Clone(g.key), results(n.Aggs, n.In.Schema(), g.members)...), 1)
			}
		}
	case *plan.LatestBy:
		latest(n, epochs, out)
	default:
		panic(fmt.Sprintf("no reference for %T", n))
	}
	return out
}

func elements(array types.Value) (n int) {
	if !array.IsNull() {
		types.JsonElements([]byte(array.Text()), func([]byte) bool {
			n++
			return true
		})
	}
	return n
}

func pickColumns(row []types.Value, cols []int) []types.Value {
	out := make([]types.Value, len(cols))
	for i, c := range cols {
		out[i] = row[c]
	}
	return out
}

func values(es []expr.Expr, row []types.Value, s types.Schema) []types.Value {
	out := make([]types.Value, len(es))
	for i, e := range es {
		out[i] = value(e, row, kindsOf(s))
	}
	return out
}

type grouped struct {
	key     []types.Value
	rows    int64
	members []*weighted
}

func group(keys []expr.Expr, s types.Schema, in relation) map[string]*grouped {
	out := map[string]*grouped{}
	for _, k := range in.sorted() {
		var e *weighted
		for key, cand := range in {
			if fmt.Sprintf("%+d %s", cand.w, key) == k {
				e = cand
			}
		}
		key := values(keys, e.row, s)
		g := out[keyOf(key)]
		if g == nil {
			g = &grouped{key: key}
			out[keyOf(key)] = g
		}
		g.rows += e.w
		g.members = append(g.members, e)
	}
	return out
}

// results aggregates through a table that sees each net row once: the table has its own reference.
func results(calls []agg.Call, s types.Schema, members []*weighted) []types.Value {
	b := zset.NewBuilder(kindsOf(s))
	for _, m := range members {
		for c, v := range m.row {
			b.Value(c, v)
		}
		b.EndRow(m.w)
	}
	t := agg.NewTable(calls, false)
	t.Grow(1)
	batch := b.Build()
	t.Add(batch, nil, make([]uint32, batch.N))
	res := t.NewResults()
	t.Read([]uint32{0}, res)
	out := make([]types.Value, len(calls))
	for c := range calls {
		col := agg.Column(c, [2]*agg.Results{res, res}, []agg.Pick{0})
		out[c] = col.Value(0)
	}
	return out
}

// latest replays the rows in order of arrival; the retractions of an epoch come first when the input updates.
func latest(n *plan.LatestBy, epochs []epoch, out relation) {
	kept := map[string][]types.Value{}
	time := func(row []types.Value) int64 {
		if v := row[n.Ts]; !v.IsNull() {
			return v.Int()
		}
		return math.MinInt64
	}
	for _, e := range epochs {
		rows := stream(n.In, e)
		if !n.In.AppendOnly() {
			slices.SortStableFunc(rows, func(a, b weighted) int { return sign(a.w) - sign(b.w) })
		}
		for _, r := range rows {
			k := keyOf(pickColumns(r.row, n.Keys))
			old, have := kept[k]
			removes := n.Retract >= 0 && !r.row[n.Retract].IsNull() && r.row[n.Retract].Bool()
			switch {
			case r.w < 0:
				if have && keyOf(old) == keyOf(r.row) {
					delete(kept, k)
				}
			case have && time(r.row) < time(old):
			case removes:
				delete(kept, k)
			default:
				kept[k] = r.row
			}
		}
	}
	for _, row := range kept {
		out.add(row, 1)
	}
}

func sign(w int64) int {
	if w < 0 {
		return -1
	}
	return 1
}

// stream is what a chain of filters and projections makes of an epoch, in order of arrival.
func stream(n plan.Node, e epoch) []weighted {
	var out []weighted
	switch n := n.(type) {
	case *plan.Scan:
		for _, ev := range e.events {
			if ev.input == n.Input {
				out = append(out, weighted{pickColumns(ev.row, n.Cols), ev.w})
			}
		}
	case *plan.Filter:
		for _, r := range stream(n.In, e) {
			if v := value(n.Pred, r.row, kindsOf(n.In.Schema())); !v.IsNull() && v.Bool() {
				out = append(out, r)
			}
		}
	case *plan.Project:
		for _, r := range stream(n.In, e) {
			out = append(out, weighted{values(n.Exprs, r.row, n.In.Schema()), r.w})
		}
	default:
		panic(fmt.Sprintf("no stream of %T", n))
	}
	return out
}

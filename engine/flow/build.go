package flow

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
)

// node is one operator of a flow, with where its output goes and the watermark it follows.
type node struct {
	op    op.Operator
	name  string
	out   op.Emit
	scope *scope
	meter *meter
}

// scan is one place where the query reads an input.
type scan struct {
	op    *op.Scan
	out   op.Emit
	scope *scope // of the window that the rows come to, nil without one
	path  int
}

// path counts the rows of a scan on their way to the first operator that keeps state.
type path struct {
	input   int
	rows    int64
	reached *int64 // rows that came to the end
	filters []*op.Filter
	late    *op.Lateness
	latest  *op.LatestBy
}

// builder turns a plan into nodes.
type builder struct {
	f *Flow
	// onClose is told of the closings of the next window that is built; see rolling.
	onClose func(end int64)
	// meters are those of the nodes that are being built, the innermost last.
	meters []*meter
}

func (b *builder) build() {
	f := b.f
	q := f.query
	for i := range q.Inputs {
		f.inputs = append(f.inputs, newInput(i, &q.Inputs[i]))
	}
	f.eager = q.Pipeline && eager(q.Root)
	all := b.newScope(q.Root, 0)
	at := b.node(q.Root, f.give, all, nil)
	b.end(at, nil)
	f.out.sorted = len(f.nodes) > 0 && isSorted(f.nodes[len(f.nodes)-1].op)
}

func isSorted(o op.Operator) bool {
	r, ok := o.(*op.Reduce)
	return ok && r.Sorted()
}

// newScope makes the watermark over the inputs below a node, for an operator that waits a while longer.
func (b *builder) newScope(n plan.Node, wait int64) *scope {
	s := newScope(b.f.query.Time, wait)
	var walk func(plan.Node)
	walk = func(n plan.Node) {
		if leaf, ok := n.(*plan.Scan); ok {
			s.add(b.f.inputs[leaf.Input])
		}
		if r, ok := n.(*plan.Rolling); ok {
			walk(r.In) // a snapshot holds nothing up
			return
		}
		if l, ok := n.(*plan.Lookup); ok {
			walk(l.Left) // a table holds nothing up
			return
		}
		for _, c := range n.Children() {
			walk(c)
		}
	}
	walk(n)
	b.f.scopes = append(b.f.scopes, s)
	return s
}

// node builds a node and everything below it; out takes its output. scope is the watermark of the nearest window
// above, or that of the whole query; marked is the former only. The result is the position of the path that comes
// out of it, -1 when the rows are no longer those of one scan.
func (b *builder) node(n plan.Node, out op.Emit, scope, marked *scope) int {
	b.open(n)
	defer b.close()
	switch n := n.(type) {
	case *plan.Scan:
		return b.scan(n, out, marked)
	case *plan.Filter:
		f := op.NewFilter(n.Pred)
		at := b.node(n.In, b.into(f, 0, out), scope, marked)
		b.add(n, f, out, scope)
		if at >= 0 {
			b.f.paths[at].filters = append(b.f.paths[at].filters, f)
		}
		return at
	case *plan.Project:
		if r, ok := n.In.(*plan.Reduce); ok {
			if cols, ok := plainColumns(n.Exprs); ok {
				return b.reduce(r, cols, out, scope, marked)
			}
		}
		p := op.NewProject(n.Exprs)
		at := b.node(n.In, b.into(p, 0, out), scope, marked)
		b.add(n, p, out, scope)
		return at
	case *plan.Unnest:
		u := op.NewUnnest(n.In.Schema(), n.Arg, n.Outer)
		b.child(n.In, u, 0, out, scope, marked)
		b.add(n, u, out, scope)
	case *plan.Union:
		u := &op.Union{}
		for port, in := range n.Ins {
			b.child(in, u, port, out, scope, marked)
		}
		b.add(n, u, out, scope)
	case *plan.AsofJoin:
		j := op.NewAsofJoin(n.Left.Schema(), n.Right.Schema(), n.LeftKeys, n.RightKeys, n.LeftTime, n.RightTime, n.Strict, n.Outer)
		b.child(n.Left, j, 0, out, scope, marked)
		b.child(n.Right, j, 1, out, scope, marked)
		b.add(n, j, out, scope)
	case *plan.Recursive:
		r := recursiveOf(n)
		for port, in := range n.Children() {
			b.child(in, r, port, out, scope, marked)
		}
		b.add(n, r, out, scope)
	case *plan.SetOp:
		s := op.NewSetOp(n.Schema(), setRules[[2]bool{n.Except, n.All}])
		b.child(n.Left, s, 0, out, scope, marked)
		b.child(n.Right, s, 1, out, scope, marked)
		b.add(n, s, out, scope)
	case *plan.Reduce:
		return b.reduce(n, nil, out, scope, marked)
	case *plan.TopN:
		t := op.NewTopN(n.In.Schema(), n.Partition, n.Order, n.Offset, n.Limit)
		b.child(n.In, t, 0, out, scope, marked)
		b.add(n, t, out, scope)
	case *plan.Over:
		o := op.NewOver(n.In.Schema(), n.Partition, n.Order, n.Calls)
		b.child(n.In, o, 0, out, scope, marked)
		b.add(n, o, out, scope)
	case *plan.LatestBy:
		l := op.NewLatestBy(n.In.Schema(), n.Keys, n.Ts, n.Retract, n.In.AppendOnly())
		if n.Bounds() {
			l.Bound(op.Retention{MaxRows: n.MaxRows, TTL: n.TTLMs})
		}
		if at := b.child(n.In, l, 0, out, scope, marked); at >= 0 {
			b.f.paths[at].latest = l
		}
		b.add(n, l, out, scope)
	case *plan.Lookup:
		l := op.NewLookup(n.Left.Schema(), n.Right.Schema(), n.LeftKeys, n.RightKeys, n.Residual, n.Outer)
		b.child(n.Left, l, 0, out, scope, marked)
		b.child(n.Right, l, 1, out, scope, nil)
		b.add(n, l, out, scope)
	case *plan.Keyed:
		u := op.NewKeyed(n.In.Schema(), n.Keys, n.Retract)
		b.child(n.In, u, 0, out, scope, marked)
		b.add(n, u, out, scope)
	case *plan.Retain:
		r := op.NewRetain(n.In.Schema(), n.Ts, op.Retention{MaxRows: n.MaxRows, TTL: n.TTLMs})
		b.child(n.In, r, 0, out, scope, marked)
		b.add(n, r, out, scope)
	case *plan.Join:
		var j op.Operator
		if n.Kind == plan.Inner {
			j = op.NewJoin(n.Left.Schema(), n.Right.Schema(), n.LeftKeys, n.RightKeys, n.NullSafe, n.Residual)
		} else {
			j = op.NewOuterJoin(n.Left.Schema(), n.Right.Schema(), n.LeftKeys, n.RightKeys, n.NullSafe, n.Residual, outerKinds[n.Kind])
		}
		b.child(n.Left, j, 0, out, scope, marked)
		b.child(n.Right, j, 1, out, scope, marked)
		b.add(n, j, out, scope)
	case *plan.Window:
		b.window(n, out)
	case *plan.Rolling:
		return b.rolling(n, out, scope, marked)
	case *plan.IntervalJoin:
		b.intervalJoin(n, out)
	default:
		panic(fmt.Sprintf("BUG: no operator for plan node %T", n))
	}
	return -1
}

// setRules is the rule of a set operation by whether it is EXCEPT and whether it has ALL.
var setRules = map[[2]bool]op.SetRule{
	{false, false}: op.Intersect, {false, true}: op.IntersectAll, {true, false}: op.Except, {true, true}: op.ExceptAll,
}

// outerKinds is what a join of a plan is for the operator.
var outerKinds = map[plan.JoinKind]op.OuterKind{
	plan.Left: op.PadLeft, plan.Right: op.PadRight, plan.Full: op.PadBoth,
	plan.Semi: op.Matched, plan.Anti: op.Unmatched, plan.Mark: op.Marked,
}

func (b *builder) scan(n *plan.Scan, out op.Emit, marked *scope) int {
	f := b.f
	in := f.inputs[n.Input]
	f.paths = append(f.paths, &path{input: n.Input})
	in.scans = append(in.scans, &scan{
		op: op.NewScan(n.Cols, len(in.def.Columns)), out: out, scope: marked, path: len(f.paths) - 1,
	})
	return len(f.paths) - 1
}

func (b *builder) reduce(n *plan.Reduce, cols []int, out op.Emit, scope, marked *scope) int {
	r := op.NewReduce(n.Keys, n.Aggs, n.In.AppendOnly(), cols)
	if b.meter().node != n {
		b.meter().fused = n
	}
	b.child(n.In, r, 0, out, scope, marked)
	b.add(n, r, out, scope)
	return -1
}

// child builds the input of an operator that ends the path of a scan.
func (b *builder) child(in plan.Node, o op.Operator, port int, out op.Emit, scope, marked *scope) int {
	var reached int64
	next := b.into(o, port, out)
	at := b.node(in, func(d op.Delta) {
		reached += int64(d.Len())
		next(d)
	}, scope, marked)
	b.end(at, &reached)
	return at
}

// end says where the count of rows that reached the end of a path is; nil for the output of the flow.
func (b *builder) end(at int, reached *int64) {
	if at < 0 {
		return
	}
	p := b.f.paths[at]
	if reached == nil {
		reached = &b.f.out.taken
	}
	p.reached = reached
}

func (b *builder) add(n plan.Node, o op.Operator, out op.Emit, scope *scope) {
	b.meter().op = o
	b.f.nodes = append(b.f.nodes, &node{op: o, name: n.Name(), out: out, scope: scope, meter: b.meter()})
}

// lateOf takes the late rows of an operator of time; nil when they are dropped.
func (b *builder) lateOf(drop bool, s types.Schema) op.Emit {
	if drop {
		return nil
	}
	return b.lateInto(s)
}

// lateInto collects late rows. Windows of one query that read different columns share the stream only when their
// kinds agree; the rows of the others are counted.
func (b *builder) lateInto(s types.Schema) op.Emit {
	f := b.f
	if f.lateCol == nil {
		f.lateCol = s
		return f.late.take
	}
	if len(s) != len(f.lateCol) {
		return nil
	}
	for i := range s {
		if s[i].Stored() != f.lateCol[i].Stored() {
			return nil
		}
	}
	return f.late.take
}

func plainColumns(es []expr.Expr) ([]int, bool) {
	cols := make([]int, len(es))
	for i, e := range es {
		c, ok := e.(*expr.Column)
		if !ok {
			return nil, false
		}
		cols[i] = c.Index
	}
	return cols, true
}

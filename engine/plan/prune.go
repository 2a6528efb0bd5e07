package plan

import (
	"slices"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// prune drops columns that nothing above reads, down to what the scans ask of the inputs.
//
// It is legal because every operator is linear in the columns that it does not read: rows that differ only there add
// up. The one exception is LATEST BY over an input that takes rows back: a retraction has to equal the retained row
// as a whole, so all of its columns stay.
func prune(q *Query) *Query {
	out := *q
	p := &pruner{query: &out, used: make([]map[int]bool, len(q.Inputs))}
	for i := range p.used {
		p.used[i] = map[int]bool{}
		if q.Pipeline && q.Inputs[i].Ts >= 0 {
			p.used[i][q.Inputs[i].Ts] = true // the watermark follows it
		}
	}
	root, _ := p.node(q.Root, all(q.Root))
	out.Inputs = make([]Input, len(q.Inputs))
	to := make([][]int, len(q.Inputs))
	for i, in := range q.Inputs {
		out.Inputs[i], to[i] = narrow(in, sorted(p.used[i]))
	}
	out.Root = rescan(root, out.Inputs, to)
	return &out
}

// narrow keeps the columns of an input and says where each went, -1 for nowhere.
func narrow(in Input, cols []int) (Input, []int) {
	to := absent(len(in.Columns))
	out := Input{Name: in.Name, Kind: in.Kind, Columns: types.Schema{}, Ts: -1}
	for _, c := range cols {
		to[c] = len(out.Columns)
		out.Columns = append(out.Columns, in.Columns[c])
	}
	if in.Ts >= 0 {
		out.Ts = to[in.Ts]
	}
	return out, to
}

// rescan points the scans of a tree at the narrowed inputs.
func rescan(n Node, inputs []Input, to [][]int) Node {
	if s, ok := n.(*Scan); ok {
		cols := make([]int, len(s.Cols))
		for i, c := range s.Cols {
			cols[i] = to[s.Input][c]
		}
		return NewScan(s.Input, s.Relation, s.Alias, inputs[s.Input].Columns, cols, s.Append, s.Unique)
	}
	children := n.Children()
	out := make([]Node, len(children))
	for i, c := range children {
		out[i] = rescan(c, inputs, to)
	}
	return n.withChildren(out)
}

func all(n Node) map[int]bool {
	need := map[int]bool{}
	for i := range n.Schema() {
		need[i] = true
	}
	return need
}

func absent(n int) []int {
	to := make([]int, n)
	for i := range to {
		to[i] = -1
	}
	return to
}

type pruner struct {
	query *Query
	used  []map[int]bool // columns of each input that a scan reads
}

// node returns n with at least the needed columns of its output, and where each old column went (-1: dropped).
func (p *pruner) node(n Node, need map[int]bool) (Node, []int) {
	switch n := n.(type) {
	case *Scan:
		return p.scan(n, need)
	case *Filter:
		collect(n.Pred, need)
		in, to := p.node(n.In, need)
		return &Filter{In: in, Pred: remap(n.Pred, to)}, to
	case *Project:
		return p.project(n, need)
	case *Unnest:
		below := map[int]bool{}
		width := len(n.In.Schema())
		for c := range need {
			if c < width {
				below[c] = true
			}
		}
		collect(n.Arg, below)
		in, to := p.node(n.In, below)
		out := n.over(in, remap(n.Arg, to))
		return out, append(slices.Clone(to), len(in.Schema()))
	case *Union:
		return p.union(n, need)
	case *AsofJoin:
		return p.asof(n, need)
	case *Recursive:
		return p.recursive(n)
	case *SetOp:
		return p.setOp(n)
	case *Reduce:
		keys, aggs, in, to := p.group(n.In, n.Keys, n.Aggs, need, map[int]bool{})
		keep, calls := keptAggs(n.Aggs, aggs, len(keys))
		return NewReduce(in, remapAll(keys, to), remapCalls(calls, to)), keep
	case *Window:
		keys, aggs, in, to := p.group(n.In, n.Keys, n.Aggs, need, map[int]bool{n.Ts: true})
		keep, calls := keptAggs(n.Aggs, aggs, len(keys))
		for i := range n.Added() { // the borders and the event time stay
			keep = append(keep, len(keys)+len(calls)+i)
		}
		return n.With(in, to[n.Ts], remapAll(keys, to), remapCalls(calls, to)), keep
	case *LatestBy:
		return p.latestBy(n, need)
	case *Lookup:
		return p.lookup(n, need)
	case *Keyed:
		return p.keyed(n, need)
	case *TopN:
		return p.topN(n)
	case *Over:
		return p.over(n, need)
	case *Join:
		return p.join(n, need)
	case *IntervalJoin:
		return p.interval(n, need)
	case *Rolling:
		return p.rolling(n, need)
	}
	panic("BUG: a node that prune does not know: " + n.Name())
}

func (p *pruner) scan(n *Scan, need map[int]bool) (Node, []int) {
	to := absent(len(n.Cols))
	var cols []int
	for _, c := range sorted(need) {
		to[c] = len(cols)
		cols = append(cols, n.Cols[c])
		p.used[n.Input][n.Cols[c]] = true
	}
	unique := n.Unique
	if unique != nil {
		unique = []int{}
		for _, c := range n.Unique {
			if to[c] < 0 {
				unique = nil
				break
			}
			unique = append(unique, to[c])
		}
	}
	return NewScan(n.Input, n.Relation, n.Alias, p.query.Inputs[n.Input].Columns, cols, n.Append, unique), to
}

func (p *pruner) project(n *Project, need map[int]bool) (Node, []int) {
	below := map[int]bool{}
	keep := sorted(need)
	for _, c := range keep {
		collect(n.Exprs[c], below)
	}
	in, to := p.node(n.In, below)
	out := absent(len(n.Exprs))
	exprs := make([]expr.Expr, len(keep))
	names := make([]string, len(keep))
	for i, c := range keep {
		out[c] = i
		exprs[i] = remap(n.Exprs[c], to)
		names[i] = n.Names[c]
	}
	return NewProject(in, exprs, names), out
}

// union gives every branch exactly the needed columns, in order.
func (p *pruner) union(n *Union, need map[int]bool) (Node, []int) {
	keep := sorted(need)
	out := absent(len(n.Schema()))
	for i, c := range keep {
		out[c] = i
	}
	ins := make([]Node, len(n.Ins))
	for i, in := range n.Ins {
		mine := map[int]bool{}
		for c := range need {
			mine[c] = true
		}
		node, to := p.node(in, mine)
		exprs := make([]expr.Expr, len(keep))
		names := make([]string, len(keep))
		for j, c := range keep {
			f := node.Schema()[to[c]]
			exprs[j] = &expr.Column{Index: to[c], Name: f.Name, K: f.Kind}
			names[j] = n.Schema()[c].Name
		}
		ins[i] = NewProject(node, exprs, names)
	}
	return &Union{Ins: ins}, out
}

// group prunes the input of a grouping: keys stay, because they make the groups; aggregates stay when they are read.
func (p *pruner) group(in Node, keys []expr.Expr, aggs []agg.Call, need, below map[int]bool) ([]expr.Expr, []bool, Node, []int) {
	kept := make([]bool, len(aggs))
	for _, k := range keys {
		collect(k, below)
	}
	for i, a := range aggs {
		kept[i] = need[len(keys)+i]
		if !kept[i] {
			continue
		}
		for _, e := range a.Exprs() {
			collect(e, below)
		}
	}
	node, to := p.node(in, below)
	return keys, kept, node, to
}

func keptAggs(aggs []agg.Call, kept []bool, keys int) (to []int, calls []agg.Call) {
	to = firstN(keys)
	for i, a := range aggs {
		if !kept[i] {
			to = append(to, -1)
			continue
		}
		to = append(to, keys+len(calls))
		calls = append(calls, a)
	}
	return to, calls
}

func (p *pruner) latestBy(n *LatestBy, need map[int]bool) (Node, []int) {
	if !n.In.AppendOnly() {
		need = all(n.In)
	}
	for _, k := range n.Keys {
		need[k] = true
	}
	need[n.Ts] = true
	if n.Retract >= 0 {
		need[n.Retract] = true
	}
	in, to := p.node(n.In, need)
	keys := make([]int, len(n.Keys))
	for i, k := range n.Keys {
		keys[i] = to[k]
	}
	retract := -1
	if n.Retract >= 0 {
		retract = to[n.Retract]
	}
	return &LatestBy{In: in, Keys: keys, Ts: to[n.Ts], Retract: retract}, to
}

// sides prunes both sides of a join, and says where the columns of each and of both together went.
func (p *pruner) sides(left, right Node, needLeft, needRight map[int]bool) (l, r Node, toLeft, toRight, both []int) {
	l, toLeft = p.node(left, needLeft)
	r, toRight = p.node(right, needRight)
	both = slices.Clone(toLeft)
	for _, c := range toRight {
		if c >= 0 {
			c += len(l.Schema())
		}
		both = append(both, c)
	}
	return l, r, toLeft, toRight, both
}

func (p *pruner) join(n *Join, need map[int]bool) (Node, []int) {
	width := len(n.Left.Schema())
	left, right := map[int]bool{}, map[int]bool{}
	split := func(c int) {
		switch {
		case c < width:
			left[c] = true
		case c < width+len(n.Right.Schema()):
			right[c-width] = true
		}
	}
	for c := range need {
		if c < width || n.Kind.Pairs() {
			split(c)
		}
	}
	if n.Residual != nil {
		for _, c := range Columns(n.Residual) {
			split(c)
		}
	}
	for i := range n.LeftKeys {
		collect(n.LeftKeys[i], left)
		collect(n.RightKeys[i], right)
	}
	l, r, toLeft, toRight, both := p.sides(n.Left, n.Right, left, right)
	var residual expr.Expr
	if n.Residual != nil {
		residual = remap(n.Residual, both)
	}
	out := NewNullSafeJoin(l, r, remapAll(n.LeftKeys, toLeft), remapAll(n.RightKeys, toRight), n.NullSafe, residual, n.Kind)
	switch {
	case n.Kind.Pairs():
		return out, both
	case n.Kind == Mark:
		return out, append(both[:width:width], len(l.Schema()))
	}
	return out, both[:width]
}

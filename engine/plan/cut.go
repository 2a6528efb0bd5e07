package plan

import (
	"slices"

	"github.com/streamsforge/streamsforge/engine/expr"
)

// cutter builds stages from the leaves up.
type cutter struct{ out *Physical }

// part is a piece of the plan that is not a stage yet: operators may be put on top of it.
type part struct {
	node   Node
	in     []*Edge
	inputs []Input
	// single says that there is one partition.
	single bool
	// placed says that a row and its retraction come to the same partition.
	placed bool
	// arrival says that the order in which rows of several inputs come counts.
	arrival bool
	// by are lists of columns; rows with equal values in one of the lists are in one partition, which is that of the
	// hash of those values.
	by [][]int
}

// part is a plan node as the top of a piece.
func (c *cutter) part(n Node) *part {
	switch n := n.(type) {
	case *Scan:
		return c.scan(n)
	case *Filter:
		return c.part(n.In).put(n)
	case *Project:
		p := c.part(n.In).put(n)
		p.by = projected(p.by, n.Exprs)
		return p
	case *Unnest:
		return c.part(n.In).put(n)
	case *Union:
		return c.union(n)
	case *Join:
		return c.join(n)
	case *AsofJoin:
		return c.asof(n)
	case *SetOp:
		all := columnsOf(n.Schema())
		l, r := c.meet(c.part(n.Left), c.part(n.Right), all, all)
		return l.with(n, r)
	case *Reduce:
		p := c.keyed(c.part(n.In), n.Keys).put(n)
		p.by = projected(p.by, n.Keys)
		return p
	case *TopN:
		return c.keyed(c.part(n.In), n.Partition).put(n)
	case *Over:
		return c.keyed(c.part(n.In), n.Partition).put(n)
	case *LatestBy:
		return c.arrival(n, n.In, n.Keys)
	case *Keyed:
		return c.arrival(n, n.In, n.Keys)
	case *Recursive:
		return c.alone(n)
	}
	return c.serial(n)
}

// scan reads rows from outside: whatever partition is free takes them.
func (c *cutter) scan(n *Scan) *part {
	e := c.edge(&Edge{Input: n.Input, Mode: Local, Role: "input"})
	s := *n
	s.Input = 0
	return &part{node: &s, in: []*Edge{e}, inputs: []Input{c.out.Query.Inputs[n.Input]}}
}

func (c *cutter) edge(e *Edge) *Edge {
	e.ID = len(c.out.Edges)
	c.out.Edges = append(c.out.Edges, e)
	return e
}

// stage ends a piece.
func (c *cutter) stage(p *part) *Stage {
	s := &Stage{ID: len(c.out.Stages), Root: p.node, In: p.in, Inputs: p.inputs, Partitions: c.out.Partitions, Arrival: p.arrival}
	if p.single {
		s.Partitions = 1
	}
	for _, e := range p.in {
		if e.From != nil {
			s.Level = max(s.Level, e.From.Level+1)
		}
	}
	s.Kind = stageKind(s)
	c.out.Stages = append(c.out.Stages, s)
	return s
}

// send ends a piece as a stage and begins another one with its rows.
func (c *cutter) send(p *part, mode EdgeMode, keys []expr.Expr) *part {
	from := c.stage(p)
	from.Out = c.edge(&Edge{From: from, Input: -1, Mode: mode, Role: "input", Keys: keys})
	columns := from.Root.Schema().Clone()
	for i := range columns {
		columns[i].Name = "" // an event time among them is a column like any other
	}
	leaf := NewScan(0, "", "", columns, firstN(len(columns)), p.node.AppendOnly(), p.node.Key())
	leaf.schema = from.Root.Schema()
	leaf.Relation = from.Kind
	leaf.Alias = from.Kind
	out := &part{
		node: leaf, in: []*Edge{from.Out}, inputs: []Input{{Name: from.Kind, Kind: Table, Columns: columns, Ts: -1}},
		single: mode == Gather, placed: p.placed || mode != Local,
	}
	if cols, plain := plainKeys(keys); mode == HashPartition && plain {
		out.by = [][]int{cols}
	}
	return out
}

func (c *cutter) hash(p *part, keys []expr.Expr) *part { return c.send(p, HashPartition, keys) }

func (c *cutter) gather(p *part) *part {
	if p.single {
		return p
	}
	return c.send(p, Gather, nil)
}

// put puts a node with one child on top.
func (p *part) put(n Node) *part {
	p.node = n.withChildren([]Node{p.node})
	return p
}

// with puts a node with two children on top of two pieces, which become one.
func (p *part) with(n Node, right *part) *part {
	p.node = n.withChildren([]Node{p.node, p.absorb(right)})
	p.placed = p.placed && right.placed
	return p
}

// absorb takes the edges of another piece in and returns its tree, reading them.
func (p *part) absorb(o *part) Node {
	n := shiftInputs(o.node, len(p.in))
	p.in, p.inputs = append(p.in, o.in...), append(p.inputs, o.inputs...)
	return n
}

func shiftInputs(n Node, by int) Node {
	if s, ok := n.(*Scan); ok {
		out := *s
		out.Input += by
		return &out
	}
	children := make([]Node, len(n.Children()))
	for i, c := range n.Children() {
		children[i] = shiftInputs(c, by)
	}
	return n.withChildren(children)
}

// keyed brings rows with equal keys together; without keys all rows.
func (c *cutter) keyed(p *part, keys []expr.Expr) *part {
	if p.single {
		return p
	}
	if len(keys) == 0 {
		return c.gather(p)
	}
	for _, by := range p.by {
		if within(by, keys) {
			return p
		}
	}
	return c.hash(p, keys)
}

// arrival is an operator that follows the order in which the rows of each key come.
func (c *cutter) arrival(n, in Node, keys []int) *part {
	if len(keys) > 0 && inOrder(in) {
		p := c.hash(c.part(in), columnKeys(in, keys)).put(n)
		return p
	}
	return c.serial(n)
}

// inOrder reports whether rows are those of one input, filtered and computed.
func inOrder(n Node) bool {
	switch n := n.(type) {
	case *Scan:
		return true
	case *Filter:
		return inOrder(n.In)
	case *Project:
		return inOrder(n.In)
	case *Unnest:
		return inOrder(n.In)
	}
	return false
}

// serial runs a node and everything below it in one partition.
func (c *cutter) serial(n Node) *part {
	p := &part{single: true, placed: true, arrival: true}
	p.node = c.serialNode(n, p)
	return c.send(p, Gather, nil)
}

func (c *cutter) serialNode(n Node, p *part) Node {
	if s, ok := n.(*Scan); ok {
		out := *s
		// Two readings of an input are one edge: every row goes to both before the next one comes.
		out.Input = slices.IndexFunc(p.in, func(e *Edge) bool { return e.Input == s.Input })
		if out.Input >= 0 {
			return &out
		}
		out.Input = len(p.in)
		p.in = append(p.in, c.edge(&Edge{Input: s.Input, Mode: Gather, Role: "input"}))
		p.inputs = append(p.inputs, c.out.Query.Inputs[s.Input])
		return &out
	}
	children := make([]Node, len(n.Children()))
	for i, in := range n.Children() {
		children[i] = c.serialNode(in, p)
	}
	return n.withChildren(children)
}

// alone runs a node in one partition, and what is below it in all of them.
func (c *cutter) alone(n Node) *part {
	p := &part{single: true, placed: true}
	var children []Node
	for _, in := range n.Children() {
		children = append(children, p.absorb(c.gather(c.part(in))))
	}
	p.node = n.withChildren(children)
	return p
}

// union adds relations up; rows stay where they are.
func (c *cutter) union(n *Union) *part {
	ins := make([]*part, len(n.Ins))
	single := true
	for i, in := range n.Ins {
		ins[i] = c.part(in)
		single = single && ins[i].single
	}
	out := &part{single: single, placed: true}
	children := make([]Node, len(ins))
	for i, p := range ins {
		if p.single && !single {
			p = c.send(p, Local, nil)
		}
		out.placed = out.placed && p.placed
		if i == 0 {
			out.by = p.by
		}
		out.by = slices.DeleteFunc(slices.Clone(out.by), func(by []int) bool {
			return !slices.ContainsFunc(p.by, func(o []int) bool { return slices.Equal(by, o) })
		})
		children[i] = out.absorb(p)
	}
	out.node = n.withChildren(children)
	return out
}

// projected are the lists of columns that are still there after a projection.
func projected(by [][]int, exprs []expr.Expr) (out [][]int) {
	for _, cols := range by {
		var to []int
		for _, c := range cols {
			at := slices.IndexFunc(exprs, func(e expr.Expr) bool {
				col, ok := e.(*expr.Column)
				return ok && col.Index == c
			})
			if at < 0 {
				break
			}
			to = append(to, at)
		}
		if len(to) == len(cols) {
			out = append(out, to)
		}
	}
	return out
}

// within reports whether all columns of a list are among keys.
func within(by []int, keys []expr.Expr) bool {
	for _, c := range by {
		if keyAt(keys, c) < 0 {
			return false
		}
	}
	return true
}

// keyAt is the position among keys of a column, -1 when it is none of them.
func keyAt(keys []expr.Expr, col int) int {
	return slices.IndexFunc(keys, func(e expr.Expr) bool {
		c, ok := e.(*expr.Column)
		return ok && c.Index == col
	})
}

func plainKeys(keys []expr.Expr) ([]int, bool) {
	cols := make([]int, len(keys))
	for i, k := range keys {
		c, ok := k.(*expr.Column)
		if !ok {
			return nil, false
		}
		cols[i] = c.Index
	}
	return cols, true
}

func columnKeys(n Node, cols []int) []expr.Expr {
	s := n.Schema()
	out := make([]expr.Expr, len(cols))
	for i, c := range cols {
		out[i] = &expr.Column{Index: c, Name: s[c].Name, K: s[c].Stored()}
	}
	return out
}

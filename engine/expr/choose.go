package expr

import (
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// buildCase compiles CASE and IF: the rows are split by the conditions, and each branch is evaluated for its rows.
func buildCase(c *compiler, e *Case) node {
	n := &caseNode{out: chosen{kind: e.K}}
	for _, w := range e.Whens {
		n.conds = append(n.conds, c.condition(w.Cond))
		n.branches = append(n.branches, c.node(w.Then))
	}
	n.hits = make([][]int32, len(n.branches)+1)
	if e.Else != nil {
		n.branches = append(n.branches, c.node(e.Else))
	}
	return n
}

type caseNode struct {
	conds    []condition
	branches []node // one a condition, then ELSE if there is one
	hits     [][]int32
	out      chosen
}

func (n *caseNode) eval(f *frame, sel []int32) *zset.Column {
	n.out.start(f.n)
	rest := sel
	for w, cond := range n.conds {
		n.hits[w] = grow(n.hits[w], selLen(rest, f.n))
		hit := cond.filter(f, rest, n.hits[w])
		if len(hit) > 0 {
			n.out.take(n.branches[w].eval(f, hit), hit, f.n)
		}
		last := len(n.conds)
		n.hits[last] = grow(n.hits[last], selLen(rest, f.n))
		rest = without(rest, hit, n.hits[last], f.n)
		if len(rest) == 0 {
			break
		}
	}
	if len(n.branches) > len(n.conds) && len(rest) > 0 {
		n.out.take(n.branches[len(n.conds)].eval(f, rest), rest, f.n)
	}
	return n.out.done(f.n)
}

func buildCoalesce(c *compiler, e *Call) node {
	return &coalesceNode{args: c.nodes(e.Args), out: chosen{kind: e.K}}
}

// coalesceNode takes the first argument that is not NULL; later arguments are evaluated for the remaining rows.
type coalesceNode struct {
	args      []node
	hit, rest []int32
	out       chosen
}

func (n *coalesceNode) eval(f *frame, sel []int32) *zset.Column {
	n.out.start(f.n)
	rest := sel
	for k, arg := range n.args {
		c := arg.eval(f, rest)
		if c.Valid == nil && k == 0 {
			return c
		}
		m := selLen(rest, f.n)
		n.hit = dropNulls(c.Valid, allRows(rest, grow(n.hit, m), f.n))
		n.out.take(c, n.hit, f.n)
		n.rest = grow(n.rest, m)
		rest = without(rest, n.hit, n.rest, f.n)
		if len(rest) == 0 {
			break
		}
	}
	return n.out.done(f.n)
}

// chosen puts a column together from rows of several columns. Rows that nothing was taken for are NULL.
type chosen struct {
	kind  types.Kind
	col   zset.Column
	valid []uint64
	// Text is kept in pieces first, because a text column is built in order of position.
	text  textOut
	piece []byte
	from  []uint32 // start of the row's text in piece
	to    []uint32
}

func (c *chosen) start(n int) {
	c.col.Kind = c.kind
	c.col.Valid = none(&c.valid, n)
	switch {
	case c.kind == types.Double:
		c.col.F64 = grow(c.col.F64, n)
	case c.kind.IsText():
		c.piece = c.piece[:0]
		c.from, c.to = grow(c.from, n), grow(c.to, n)
	default:
		c.col.I64 = grow(c.col.I64, n)
	}
}

// take copies the rows at the positions of sel.
func (c *chosen) take(src *zset.Column, sel []int32, n int) {
	switch {
	case c.kind == types.Double:
		for _, i := range sel {
			c.col.F64[i] = src.F64[i]
		}
	case c.kind.IsText():
		for _, i := range sel {
			c.from[i] = uint32(len(c.piece))
			if isValid(src.Valid, i) {
				c.piece = append(c.piece, src.Text(int(i))...)
			}
			c.to[i] = uint32(len(c.piece))
		}
	default:
		for _, i := range sel {
			c.col.I64[i] = src.I64[i]
		}
	}
	for _, i := range sel {
		if isValid(src.Valid, i) {
			setValid(c.valid, i)
		}
	}
}

func (c *chosen) done(n int) *zset.Column {
	if !c.kind.IsText() {
		return &c.col
	}
	c.text.start(c.kind, n)
	for i := range int32(n) {
		if isValid(c.valid, i) {
			c.text.put(i, c.piece[c.from[i]:c.to[i]])
		}
	}
	return c.text.done(n)
}

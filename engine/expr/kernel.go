package expr

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Kernel is a compiled expression. It reuses its buffers from call to call, so it belongs to one goroutine and to
// one place of a flow.
//
// A selection is an ascending list of row positions; nil means every row of the batch. Batches of about 1,000 to
// 8,000 rows keep the buffers in the processor's cache; larger ones work and are slower a row.
type Kernel struct {
	root  node
	frame frame
	cond  condition
	out   zset.Column
	pick  []int32
}

// Compile makes the kernel of an expression. Constant parts are folded first.
func Compile(e Expr) *Kernel {
	c := &compiler{}
	k := &Kernel{root: c.node(Fold(e))}
	k.cond, _ = k.root.(condition)
	return k
}

// Aligned evaluates the expression for the selected rows and returns a column as long as the batch, in which only
// the selected positions mean anything. A plain column costs nothing. The result is valid until the next call and
// must not be changed.
func (k *Kernel) Aligned(b *zset.Batch, sel []int32) *zset.Column {
	k.frame.b, k.frame.n = b, b.N
	return k.root.eval(&k.frame, sel)
}

// Eval evaluates the expression and returns a dense column: row i is the result for row sel[i]. NULLs hold zero
// values. The result may share memory with the batch and is valid until the next call.
func (k *Kernel) Eval(b *zset.Batch, sel []int32) zset.Column {
	c := k.Aligned(b, sel)
	if _, isColumn := k.root.(*columnNode); isColumn && sel == nil {
		return *c
	}
	compact(&k.out, c, sel, b.N)
	return k.out
}

// Filter returns the selected rows for which the expression is exactly TRUE, in order. The result is valid until
// the next call.
func (k *Kernel) Filter(b *zset.Batch, sel []int32) []int32 {
	k.frame.b, k.frame.n = b, b.N
	k.pick = grow(k.pick, selLen(sel, b.N))
	if k.cond != nil {
		return k.cond.filter(&k.frame, sel, k.pick)
	}
	return filterColumn(k.root.eval(&k.frame, sel), sel, k.pick, b.N)
}

// frame is the batch under evaluation.
type frame struct {
	b *zset.Batch
	n int
}

// node is one compiled expression. eval returns a column of frame.n rows in which only the selected positions mean
// anything; it belongs to the node (or to the batch) until the node's next eval.
type node interface {
	eval(f *frame, sel []int32) *zset.Column
}

// condition is a node that can narrow a selection without making a column. filter writes the selected rows for
// which the node is TRUE to out, which has room for all of them and may be the memory of sel.
type condition interface {
	node
	filter(f *frame, sel, out []int32) []int32
}

// compiler turns expressions into nodes.
type compiler struct{}

func (c *compiler) node(e Expr) node {
	switch e := e.(type) {
	case *Column:
		return &columnNode{index: e.Index}
	case *Literal:
		return &literalNode{v: e.V}
	case *Call:
		if e.Fn.build == nil {
			panic("BUG: " + e.Fn.Name + " is rewritten when it is bound and has no kernel")
		}
		return e.Fn.build(c, e)
	case *Case:
		return buildCase(c, e)
	default:
		panic(fmt.Sprintf("BUG: no kernel for expression %T", e))
	}
}

func (c *compiler) nodes(es []Expr) []node {
	out := make([]node, len(es))
	for i, e := range es {
		out[i] = c.node(e)
	}
	return out
}

// condition compiles a Bool expression; nodes that only make columns are wrapped.
func (c *compiler) condition(e Expr) condition {
	n := c.node(e)
	if cond, ok := n.(condition); ok {
		return cond
	}
	return &columnCondition{n}
}

// columnCondition filters by a Bool column.
type columnCondition struct{ node }

func (n *columnCondition) filter(f *frame, sel, out []int32) []int32 {
	return filterColumn(n.eval(f, sel), sel, out, f.n)
}

// columnNode reads a column of the batch.
type columnNode struct{ index int }

func (n *columnNode) eval(f *frame, _ []int32) *zset.Column { return &f.b.Cols[n.index] }

// literalNode broadcasts a constant.
type literalNode struct {
	v   types.Value
	col zset.Column
	n   int
}

func (n *literalNode) eval(f *frame, _ []int32) *zset.Column {
	if n.n >= f.n && n.n > 0 {
		return &n.col
	}
	n.n = max(f.n, 64, 2*n.n)
	n.col = zset.Column{Kind: n.v.Kind()}
	if n.v.IsNull() {
		n.col.Valid = make([]uint64, words(n.n))
	}
	switch n.v.Kind() {
	case types.Double:
		n.col.F64 = fill(make([]float64, n.n), n.v.Float())
	case types.String, types.Json, types.Unknown:
		text := []byte(n.v.Text())
		n.col.Dict = &zset.Dict{Offs: []uint32{0, uint32(len(text))}, Bytes: text}
		n.col.Codes = make([]uint32, n.n)
	default:
		n.col.I64 = fill(make([]int64, n.n), n.v.Int())
	}
	return &n.col
}

// filter of a constant: all rows or none.
func (n *literalNode) filter(f *frame, sel, out []int32) []int32 {
	if n.v.IsNull() || n.v.Kind() != types.Bool || !n.v.Bool() {
		return out[:0]
	}
	return allRows(sel, out, f.n)
}

func fill[T any](s []T, v T) []T {
	for i := range s {
		s[i] = v
	}
	return s
}

// CompileNumber makes the kernel of an expression read as a number: a Double column that is NULL for everything
// that is not a number. Numeric Json nodes count as numbers. Aggregates read their arguments so.
func CompileNumber(e Expr) *Kernel {
	c := &compiler{}
	return &Kernel{root: c.numberOrNode(Fold(e))}
}

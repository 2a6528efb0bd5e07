package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Lookup completes the rows of a stream (Left) with the rows that a table (Right) has at the row's epoch. It gives the
// pairs with equal keys for which Residual is TRUE; with Outer also stream rows without one, with NULLs. The event
// time stays the stream's, and the table holds no watermark back.
type Lookup struct {
	Left, Right         Node
	LeftKeys, RightKeys []expr.Expr // over the columns of their own side
	Residual            expr.Expr   // over the output's columns; nil: none
	Outer               bool

	schema types.Schema
}

var _ Node = (*Lookup)(nil)

// NewLookup looks rows of left up in right.
func NewLookup(left, right Node, leftKeys, rightKeys []expr.Expr, residual expr.Expr, outer bool) *Lookup {
	return &Lookup{
		Left: left, Right: right, LeftKeys: leftKeys, RightKeys: rightKeys, Residual: residual, Outer: outer,
		schema: append(left.Schema().Clone(), right.Schema()...),
	}
}

// Schema is the left columns and the right ones.
func (n *Lookup) Schema() types.Schema { return n.schema }

// Children are the stream and the table.
func (n *Lookup) Children() []Node { return []Node{n.Left, n.Right} }

// AppendOnly when the stream is: a later change of the table changes nothing that was given out.
func (n *Lookup) AppendOnly() bool { return n.Left.AppendOnly() }

// Key is unknown.
func (n *Lookup) Key() []int { return nil }

// Changelog of the output.
func (n *Lookup) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Lookup) Name() string { return "Lookup" }

// Detail is the kind, the equalities and the residual condition.
func (n *Lookup) Detail() string {
	var b strings.Builder
	if n.Outer {
		b.WriteString("LEFT")
	} else {
		b.WriteString("INNER")
	}
	for i := range n.LeftKeys {
		b.WriteString([]string{" on ", ", "}[min(i, 1)] + n.LeftKeys[i].String() + " = " + n.RightKeys[i].String())
	}
	if n.Residual != nil {
		b.WriteString(" if " + n.Residual.String())
	}
	return b.String()
}

func (n *Lookup) withChildren(c []Node) Node {
	return NewLookup(c[0], c[1], n.LeftKeys, n.RightKeys, n.Residual, n.Outer)
}

func (p *pruner) lookup(n *Lookup, need map[int]bool) (Node, []int) {
	width := len(n.Left.Schema())
	left, right := map[int]bool{}, map[int]bool{}
	if n.Residual != nil {
		collect(n.Residual, need)
	}
	for c := range need {
		if c < width {
			left[c] = true
		} else {
			right[c-width] = true
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
	return NewLookup(l, r, remapAll(n.LeftKeys, toLeft), remapAll(n.RightKeys, toRight), residual, n.Outer), both
}

package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// AsofJoin pairs each left row with the latest right row of its key at or before its time, by the columns LeftTime and
// RightTime; with Strict before its time. Of several right rows of one time it takes the greatest. Outer keeps left rows
// without such a row, with NULLs for the right columns. Keys are those of a Join.
type AsofJoin struct {
	Left, Right         Node
	LeftKeys, RightKeys []expr.Expr
	LeftTime, RightTime int
	Strict, Outer       bool

	schema types.Schema
}

var _ Node = (*AsofJoin)(nil)

// NewAsofJoin makes an as-of join.
func NewAsofJoin(left, right Node, leftKeys, rightKeys []expr.Expr, leftTime, rightTime int, strict, outer bool) *AsofJoin {
	return &AsofJoin{Left: left, Right: right, LeftKeys: leftKeys, RightKeys: rightKeys, LeftTime: leftTime, RightTime: rightTime,
		Strict: strict, Outer: outer, schema: append(left.Schema().Clone(), right.Schema()...)}
}

// Schema is the left columns, then the right ones.
func (n *AsofJoin) Schema() types.Schema { return n.schema }

// Children are the two sides.
func (n *AsofJoin) Children() []Node { return []Node{n.Left, n.Right} }

// AppendOnly is false: a right row that comes late takes the place of an earlier one.
func (n *AsofJoin) AppendOnly() bool { return false }

// Key is the left side's: a left row is there at most once.
func (n *AsofJoin) Key() []int { return n.Left.Key() }

// Changelog of the output.
func (n *AsofJoin) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *AsofJoin) Name() string { return "AsofJoin" }

// Detail is the kind, the equalities and the times.
func (n *AsofJoin) Detail() string {
	var b strings.Builder
	b.WriteString("INNER on ")
	if n.Outer {
		b.Reset()
		b.WriteString("LEFT on ")
	}
	for i := range n.LeftKeys {
		b.WriteString(n.LeftKeys[i].String() + " = " + n.RightKeys[i].String() + " AND ")
	}
	op := " >= "
	if n.Strict {
		op = " > "
	}
	b.WriteString(n.Left.Schema()[n.LeftTime].Name + op + n.Right.Schema()[n.RightTime].Name)
	return b.String()
}

func (n *AsofJoin) withChildren(c []Node) Node {
	return NewAsofJoin(c[0], c[1], n.LeftKeys, n.RightKeys, n.LeftTime, n.RightTime, n.Strict, n.Outer)
}

// asof keeps every column of the right side: they decide which of several rows of one time is taken.
func (p *pruner) asof(n *AsofJoin, need map[int]bool) (Node, []int) {
	width := len(n.Left.Schema())
	left := map[int]bool{n.LeftTime: true}
	for c := range need {
		if c < width {
			left[c] = true
		}
	}
	for _, k := range n.LeftKeys {
		collect(k, left)
	}
	l, toLeft := p.node(n.Left, left)
	r, toRight := p.node(n.Right, all(n.Right))
	out := append([]int(nil), toLeft...)
	for _, c := range toRight {
		out = append(out, c+len(l.Schema()))
	}
	return NewAsofJoin(l, r, remapAll(n.LeftKeys, toLeft), remapAll(n.RightKeys, toRight), toLeft[n.LeftTime], toRight[n.RightTime], n.Strict, n.Outer), out
}

// pushFilterIntoAsofJoin filters left rows before they are joined.
func pushFilterIntoAsofJoin(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	j, ok := f.In.(*AsofJoin)
	if !ok {
		return nil
	}
	width := len(j.Left.Schema())
	var left, above expr.Expr
	for _, c := range Conjuncts(f.Pred) {
		if reads(c, func(i int) bool { return i < width }) {
			left = And(left, c)
		} else {
			above = And(above, c)
		}
	}
	if left == nil {
		return nil
	}
	return filtered(j.withChildren([]Node{filtered(j.Left, left), j.Right}), above)
}

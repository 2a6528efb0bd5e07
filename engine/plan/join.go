package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// JoinKind is the kind of a relational join.
type JoinKind uint8

// The kinds that a plan can hold.
const (
	// Inner emits the pairs that match.
	Inner JoinKind = iota
)

var joinKindNames = [...]string{"INNER"}

func (k JoinKind) String() string { return joinKindNames[k] }

// Join pairs rows of Left and Right whose keys are equal and for which Residual is TRUE. Its output is the left
// columns, then the right ones. Δ(A⋈B) = ΔA⋈B + A⋈ΔB + ΔA⋈ΔB.
//
// Keys are typed (Long 1 and Double 1.0 are different) and compared position by position; a row with a NULL among
// its key values never matches.
type Join struct {
	Left, Right         Node
	LeftKeys, RightKeys []expr.Expr // over the columns of their own side, one or more
	Residual            expr.Expr   // over the output's columns; nil: none
	Kind                JoinKind

	schema types.Schema
}

var _ Node = (*Join)(nil)

// NewJoin pairs left and right.
func NewJoin(left, right Node, leftKeys, rightKeys []expr.Expr, residual expr.Expr, kind JoinKind) *Join {
	s := append(left.Schema().Clone(), right.Schema()...)
	return &Join{Left: left, Right: right, LeftKeys: leftKeys, RightKeys: rightKeys, Residual: residual, Kind: kind, schema: s}
}

// Schema is the left columns, then the right ones.
func (n *Join) Schema() types.Schema { return n.schema }

// Children are the two sides.
func (n *Join) Children() []Node { return []Node{n.Left, n.Right} }

// AppendOnly when both sides are: an inner join of facts only ever adds pairs.
func (n *Join) AppendOnly() bool { return n.Left.AppendOnly() && n.Right.AppendOnly() }

// Key is the left key alone when the join looks at most one right row up for each left row (and the other way
// round), else both keys together.
func (n *Join) Key() []int {
	l, r := n.Left.Key(), n.Right.Key()
	w := len(n.Left.Schema())
	if l != nil && covers(n.RightKeys, r) {
		return l
	}
	if r != nil && covers(n.LeftKeys, l) {
		return shift(r, w)
	}
	if l == nil || r == nil {
		return nil
	}
	return append(append([]int(nil), l...), shift(r, w)...)
}

// covers reports whether equality on the expressions fixes every column of the key.
func covers(on []expr.Expr, key []int) bool {
	if key == nil {
		return false
	}
	for _, k := range key {
		found := false
		for _, e := range on {
			if c, ok := e.(*expr.Column); ok && c.Index == k {
				found = true
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func shift(cols []int, by int) []int {
	out := make([]int, len(cols))
	for i, c := range cols {
		out[i] = c + by
	}
	return out
}

// Changelog of the output.
func (n *Join) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Join) Name() string { return "Join" }

// Detail is the kind, the equalities and the residual condition.
func (n *Join) Detail() string {
	var b strings.Builder
	b.WriteString(n.Kind.String())
	for i := range n.LeftKeys {
		if i == 0 {
			b.WriteString(" on ")
		} else {
			b.WriteString(" AND ")
		}
		b.WriteString(n.LeftKeys[i].String() + " = " + n.RightKeys[i].String())
	}
	if n.Residual != nil {
		b.WriteString(" if " + n.Residual.String())
	}
	return b.String()
}

func (n *Join) withChildren(c []Node) Node {
	return NewJoin(c[0], c[1], n.LeftKeys, n.RightKeys, n.Residual, n.Kind)
}

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
	// Left also emits each left row without a match, with NULLs for the right columns; Right the other way round.
	Left
	Right
	// Full is Left and Right together.
	Full
	// Semi emits the left rows that have a match, Anti those that have none; neither multiplies rows.
	Semi
	Anti
	// Mark emits every left row with a Bool column that says whether it has a match.
	Mark
)

var joinKindNames = [...]string{"INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "MARK"}

func (k JoinKind) String() string { return joinKindNames[k] }

// Pairs reports whether the output has the columns of both sides.
func (k JoinKind) Pairs() bool { return k <= Full }

// MarkColumn is the name of the column that a Mark join adds.
const MarkColumn = "matched"

// Join pairs rows of Left and Right whose keys are equal and for which Residual is TRUE. Δ(A⋈B) = ΔA⋈B + A⋈ΔB +
// ΔA⋈ΔB. The output is the left columns, then the right ones, or what the kind says.
//
// A row has a match while at least one such row of the other side has a positive net weight, whatever its multiplicity.
//
// Keys are typed (Long 1 and Double 1.0 are different) and compared position by position; a row with a NULL among
// its key values never matches, but for the first NullSafe keys, where NULL equals NULL. Without keys every row of
// one side meets every row of the other.
type Join struct {
	Left, Right         Node
	LeftKeys, RightKeys []expr.Expr // over the columns of their own side
	Residual            expr.Expr   // over the left columns, then the right ones; nil: none
	Kind                JoinKind
	NullSafe            int

	schema types.Schema
}

var _ Node = (*Join)(nil)

// NewJoin pairs left and right.
func NewJoin(left, right Node, leftKeys, rightKeys []expr.Expr, residual expr.Expr, kind JoinKind) *Join {
	return NewNullSafeJoin(left, right, leftKeys, rightKeys, 0, residual, kind)
}

// NewNullSafeJoin pairs left and right; in the first nullSafe keys NULL equals NULL.
func NewNullSafeJoin(left, right Node, leftKeys, rightKeys []expr.Expr, nullSafe int, residual expr.Expr, kind JoinKind) *Join {
	s := left.Schema().Clone()
	switch {
	case kind.Pairs():
		s = append(s, right.Schema()...)
	case kind == Mark:
		s = append(s, types.Field{Name: MarkColumn, Kind: types.Bool})
	}
	return &Join{Left: left, Right: right, LeftKeys: leftKeys, RightKeys: rightKeys, Residual: residual, Kind: kind, NullSafe: nullSafe, schema: s}
}

// over is the same join of other sides. Keys and residual must fit them.
func (n *Join) over(left, right Node) *Join {
	return NewNullSafeJoin(left, right, n.LeftKeys, n.RightKeys, n.NullSafe, n.Residual, n.Kind)
}

// Schema is the left columns, then the right ones or what the kind adds.
func (n *Join) Schema() types.Schema { return n.schema }

// Children are the two sides.
func (n *Join) Children() []Node { return []Node{n.Left, n.Right} }

// AppendOnly when both sides are and the kind never takes a row back: an inner or semi join of facts only ever adds.
func (n *Join) AppendOnly() bool {
	return (n.Kind == Inner || n.Kind == Semi) && n.Left.AppendOnly() && n.Right.AppendOnly()
}

// Key is the left key alone when there is at most one right row for each left row (or the other way round), else
// both keys together. Rows that have no match are told apart by the key of their own side; those of both sides at once
// are not.
func (n *Join) Key() []int {
	l, r := n.Left.Key(), n.Right.Key()
	if !n.Kind.Pairs() {
		return l
	}
	if n.Kind == Full {
		return nil
	}
	w := len(n.Left.Schema())
	if l != nil && n.Kind != Right && covers(n.RightKeys, r) {
		return l
	}
	if r != nil && n.Kind != Left && covers(n.LeftKeys, l) {
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

// Detail is the kind, the equalities and the residual condition; IS stands for an equality in which NULL equals NULL.
func (n *Join) Detail() string {
	var b strings.Builder
	b.WriteString(n.Kind.String())
	for i := range n.LeftKeys {
		if i == 0 {
			b.WriteString(" on ")
		} else {
			b.WriteString(" AND ")
		}
		eq := " = "
		if i < n.NullSafe {
			eq = " IS "
		}
		b.WriteString(n.LeftKeys[i].String() + eq + n.RightKeys[i].String())
	}
	if n.Residual != nil {
		b.WriteString(" if " + n.Residual.String())
	}
	return b.String()
}

func (n *Join) withChildren(c []Node) Node { return n.over(c[0], c[1]) }

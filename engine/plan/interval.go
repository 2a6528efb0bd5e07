package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// IntervalJoin pairs rows of two streams whose keys are equal, whose event times differ by at most WithinMs, and for
// which Residual is TRUE. Its output is the left columns, the right ones, and _ts, the later event time of the two.
//
// A row is kept until the watermark passes its time plus WithinMs. A row of an outer side that found no partner by
// then is given out with NULLs in the place of the other side, at its own event time. Keys compare as numbers (Long 1
// is Double 1.0); a NULL matches nothing. Without keys every pair inside the duration matches.
type IntervalJoin struct {
	Left, Right     Node
	LeftTs, RightTs int // positions of the event times in their sides
	WithinMs        int64
	// LatenessMs is how far behind the watermark a row may be and still count: rows are kept that much longer.
	LatenessMs int64
	// DropLate says that rows that are too late are counted and not kept.
	DropLate            bool
	LeftKeys, RightKeys []expr.Expr // over the columns of their own side
	Residual            expr.Expr   // over the output's columns; nil: none
	// KeepLeft and KeepRight say that unmatched rows of a side are given out: LEFT, RIGHT and FULL joins.
	KeepLeft, KeepRight bool

	schema types.Schema
}

var _ Node = (*IntervalJoin)(nil)

// with completes a join whose other fields are set.
func (n IntervalJoin) with(left, right Node) *IntervalJoin {
	n.Left, n.Right = left, right
	n.schema = append(left.Schema().Clone(), right.Schema()...)
	n.schema = append(n.schema, types.Field{Name: types.TsColumn, Kind: types.Long})
	return &n
}

// NewIntervalJoin pairs left and right by the rules of the other fields of spec.
func NewIntervalJoin(left, right Node, spec IntervalJoin) *IntervalJoin {
	return spec.with(left, right)
}

// Schema is the left columns, the right ones, and the event time.
func (n *IntervalJoin) Schema() types.Schema { return n.schema }

// Children are the two sides.
func (n *IntervalJoin) Children() []Node { return []Node{n.Left, n.Right} }

// AppendOnly is true: pairs are facts, and a row is padded only when no partner can come any more.
func (n *IntervalJoin) AppendOnly() bool { return true }

// Key is unknown.
func (n *IntervalJoin) Key() []int { return nil }

// Changelog of the output.
func (n *IntervalJoin) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *IntervalJoin) Name() string { return "IntervalJoin" }

// Kind is INNER, LEFT, RIGHT, FULL or CROSS.
func (n *IntervalJoin) Kind() string {
	switch {
	case n.KeepLeft && n.KeepRight:
		return "FULL"
	case n.KeepLeft:
		return "LEFT"
	case n.KeepRight:
		return "RIGHT"
	case len(n.LeftKeys) == 0:
		return "CROSS"
	}
	return "INNER"
}

// Detail is the kind, the duration, the equalities and the residual condition.
func (n *IntervalJoin) Detail() string {
	var b strings.Builder
	b.WriteString(n.Kind() + " within " + FormatMillis(n.WithinMs))
	if n.LatenessMs > 0 {
		b.WriteString(" lateness " + FormatMillis(n.LatenessMs))
	}
	if n.DropLate {
		b.WriteString(" late rows dropped")
	}
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

func (n *IntervalJoin) withChildren(c []Node) Node { return n.with(c[0], c[1]) }

// interval keeps the columns that are read above, the keys, and the event times.
func (p *pruner) interval(n *IntervalJoin, need map[int]bool) (Node, []int) {
	width := len(n.Left.Schema())
	end := width + len(n.Right.Schema())
	if n.Residual != nil {
		collect(n.Residual, need)
	}
	left, right := map[int]bool{n.LeftTs: true}, map[int]bool{n.RightTs: true}
	for c := range need {
		switch {
		case c < width:
			left[c] = true
		case c < end:
			right[c-width] = true
		}
	}
	for i := range n.LeftKeys {
		collect(n.LeftKeys[i], left)
		collect(n.RightKeys[i], right)
	}
	l, toLeft := p.node(n.Left, left)
	r, toRight := p.node(n.Right, right)
	out := append([]int(nil), toLeft...)
	for _, c := range toRight {
		if c >= 0 {
			c += len(l.Schema())
		}
		out = append(out, c)
	}
	out = append(out, len(l.Schema())+len(r.Schema()))
	next := *n
	next.LeftTs, next.RightTs = toLeft[n.LeftTs], toRight[n.RightTs]
	next.LeftKeys, next.RightKeys = remapAll(n.LeftKeys, toLeft), remapAll(n.RightKeys, toRight)
	if n.Residual != nil {
		next.Residual = remap(n.Residual, out)
	}
	return next.with(l, r), out
}

package flow

import (
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
)

// intervalJoin builds a join of two streams. Both sides follow one watermark: the smallest of their inputs.
func (b *builder) intervalJoin(n *plan.IntervalJoin, out op.Emit) {
	own := b.newScope(n, plan.InLag(n))
	left := op.IntervalSide{Schema: n.Left.Schema(), Ts: n.LeftTs, Keys: n.LeftKeys, Keep: n.KeepLeft, OnLate: b.lateOf(n.DropLate, n.Left.Schema())}
	right := op.IntervalSide{Schema: n.Right.Schema(), Ts: n.RightTs, Keys: n.RightKeys, Keep: n.KeepRight, OnLate: b.lateOf(n.DropLate, n.Right.Schema())}
	j := op.NewIntervalJoin(left, right, n.WithinMs, n.Residual)
	for port, in := range n.Children() {
		if at := b.child(in, j, port, out, own, own); at >= 0 {
			b.f.paths[at].late = &j.Late[port]
		}
	}
	b.add(n, j, out, own)
}

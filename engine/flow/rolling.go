package flow

import (
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
)

// rolling builds the reading of a rolling snapshot. The stream is built first, so that what it gives out at a moment
// meets the snapshot of before. The windows of both follow watermarks of their own.
func (b *builder) rolling(n *plan.Rolling, out op.Emit, scope, marked *scope) int {
	r := op.NewRolling(n.Sub.Schema()[n.Col].Kind, op.RollingKind(n.Kind), n.Value, n.Col)
	at := b.node(n.In, b.into(r, 0, out), scope, marked)
	outer := b.onClose
	b.onClose = r.Replace
	b.child(n.Sub, r, 1, out, b.newScope(n.Sub, 0), nil)
	b.onClose = outer
	b.add(n, r, out, scope)
	return at
}

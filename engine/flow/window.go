package flow

import (
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
)

// window builds a window. It follows a watermark of its own, over the inputs below it.
func (b *builder) window(n *plan.Window, out op.Emit) {
	own := b.newScope(n, plan.InLag(n))
	spec := op.WindowSpec{Ts: n.Ts, Keys: n.Keys, Aggs: n.Aggs, AppendOnly: n.In.AppendOnly(), Changes: n.Changes,
		Amend: n.AmendMs, OnLate: b.lateOf(n.DropLate, n.In.Schema()), OnClose: b.onClose}
	b.onClose = nil
	var o op.Operator
	var late *op.Lateness
	switch n.Kind {
	case plan.Session:
		s := op.NewSession(n.SizeMs, spec)
		o, late = s, &s.Late
	default:
		advance := n.SizeMs
		if n.Kind == plan.Hopping {
			advance = n.AdvanceMs
		}
		w := op.NewWindow(n.SizeMs, advance, spec)
		o, late = w, &w.Late
	}
	if at := b.child(n.In, o, 0, out, own, own); at >= 0 {
		b.f.paths[at].late = late
	}
	b.add(n, o, out, own)
}

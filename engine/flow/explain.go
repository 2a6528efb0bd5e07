package flow

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
)

// Describe lists the operators of the flow with what they have done since it was made or restored. The numbers are no
// part of a snapshot.
func (f *Flow) Describe() plan.Description {
	var d plan.Description
	f.describe(&d, f.meter, f.given, func(int, *plan.Scan) {})
	return d
}

// give takes the changes that come out of the root.
func (f *Flow) give(d op.Delta) {
	f.given += int64(d.Len())
	f.out.take(d)
}

// describe appends an operator with everything below it and returns its id; scanned is told of the scans.
func (f *Flow) describe(d *plan.Description, m *meter, rowsOut int64, scanned func(id int, n *plan.Scan)) int {
	id := d.Node(m.node)
	if scan, ok := m.node.(*plan.Scan); ok {
		scanned(id, scan)
	}
	o := &(*d)[id]
	work := &plan.Work{RowsOut: rowsOut}
	if m.op == nil {
		work.RowsIn = rowsOut // a scan passes everything on
	} else {
		work.StateBytes, work.TimeNs = m.op.StateBytes(), f.watch.estimate(m)
	}
	for _, rows := range m.rows {
		work.RowsIn += rows
	}
	o.Work, o.Variant = work, f.variant(m)
	if m.fused != nil {
		o.Name += "+" + m.fused.Name()
		o.Detail += " of " + m.fused.Detail()
		o.State = plan.StateOf(m.fused)
	}
	for port, in := range m.ins {
		below := f.describe(d, in, m.rows[port], scanned)
		(*d)[id].Inputs = append((*d)[id].Inputs, below)
	}
	d.AddStep(m.node, id)
	return id
}

// variant says how an operator runs where its inputs allow several ways.
func (f *Flow) variant(m *meter) string {
	n := m.node
	if m.fused != nil {
		n = m.fused
	}
	var in plan.Node
	timed := false
	switch n := n.(type) {
	case *plan.Reduce:
		in = n.In
	case *plan.LatestBy:
		in = n.In
	case *plan.Window:
		in, timed = n.In, true
	case *plan.IntervalJoin:
		timed = true
	default:
		return ""
	}
	var parts []string
	if in != nil {
		parts = append(parts, [...]string{"retractable", "append-only"}[b2i(in.AppendOnly())])
	}
	if timed {
		parts = append(parts, [...]string{"closes by epoch", "closes by row"}[b2i(f.eager)])
	}
	return strings.Join(parts, ", ")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

package flow

import (
	"maps"

	"github.com/streamsforge/streamsforge/engine/plan"
)

// eager reports whether it matters within an epoch when an operator of time gives its rows out: because an operator
// above it follows other inputs too, and can be ahead; or because that one depends on the order of its rows, as
// sessions and running rows do. The watermark is then told after every row, so that the result does not depend on how
// rows are cut into epochs.
func eager(n plan.Node) bool {
	if _, ok := n.(*plan.Rolling); ok {
		return true // a row meets the snapshot that is there when it comes
	}
	if keepsTime(n) {
		own := inputsOf(n)
		for _, below := range timedBelow(n) {
			if ordered(n) || !maps.Equal(own, inputsOf(below)) {
				return true
			}
		}
	}
	for _, c := range n.Children() {
		if eager(c) {
			return true
		}
	}
	return false
}

// ordered reports whether what an operator gives out depends on the order in which rows come.
func ordered(n plan.Node) bool {
	w, ok := n.(*plan.Window)
	return ok && (w.Kind == plan.Session || w.Changes || w.AmendMs > 0)
}

func keepsTime(n plan.Node) bool {
	switch n.(type) {
	case *plan.Window, *plan.IntervalJoin:
		return true
	}
	return false
}

// timedBelow lists the nearest operators of time below a node.
func timedBelow(n plan.Node) (out []plan.Node) {
	for _, c := range n.Children() {
		if keepsTime(c) {
			out = append(out, c)
		} else {
			out = append(out, timedBelow(c)...)
		}
	}
	return out
}

// inputsOf is the set of inputs that are read below a node.
func inputsOf(n plan.Node) map[int]bool {
	out := map[int]bool{}
	var walk func(plan.Node)
	walk = func(n plan.Node) {
		if s, ok := n.(*plan.Scan); ok {
			out[s.Input] = true
		}
		for _, c := range n.Children() {
			walk(c)
		}
	}
	walk(n)
	return out
}

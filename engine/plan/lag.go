package plan

// InLag is how much further than the newest row less Time.WatermarkLag the watermark of an operator that keeps time
// trails, in milliseconds: what it waits for late rows, or for rows that the operators below give out behind their own
// watermark.
func InLag(n Node) int64 {
	lag := int64(0)
	children := n.Children()
	if r, ok := n.(*Rolling); ok {
		children = []Node{r.In} // a snapshot holds nothing up
	}
	for _, c := range children {
		lag = max(lag, OutLag(c))
	}
	switch n := n.(type) {
	case *Window:
		lag = max(lag, n.LatenessMs)
	case *IntervalJoin:
		lag = max(lag, n.LatenessMs)
	}
	return lag
}

// OutLag is how far behind the newest row less Time.WatermarkLag a row that a node gives out can be. A window gives
// out its end when the watermark reaches it; an outer join pads a row when the watermark is past what it waited for.
func OutLag(n Node) int64 {
	lag := InLag(n)
	if w, ok := n.(*Window); ok && w.Kind == Session {
		lag += w.SizeMs
	}
	if j, ok := n.(*IntervalJoin); ok && (j.KeepLeft || j.KeepRight) {
		lag += j.WithinMs
	}
	return lag
}

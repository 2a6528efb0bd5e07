package flow

import (
	"github.com/streamsforge/streamsforge/engine/op"
)

// Counters are the books of a flow. They count rows, not weights.
type Counters struct {
	// RowsIn is the number of rows pushed, one entry per input.
	RowsIn []int64
	// Paths says what became of the rows, one entry per place where the query reads an input (a self join reads one
	// twice). For every path Rows = Filtered + Late + Ignored + Passed.
	Paths []Path
	// Filtered, Late and Ignored are totals, including rows dropped after a join or a grouping.
	Filtered int64
	// Late rows came behind the watermark of a window or an interval join and were dropped.
	Late int64
	// LateBy says how late they were.
	LateBy op.Lateness
	// Amended rows came behind the watermark and were taken into a window all the same, by an allowed lateness.
	Amended int64
	// Ignored rows were older than the row that LATEST BY retains, or took back a row that it does not retain.
	Ignored int64
	// Evicted rows were let go by the retention of the table.
	Evicted int64
	// Changes are what the rows of keyed sources were: Upserts + Deletes + Unknown is the number of those rows that passed
	// the conditions on their key.
	Changes op.Changes
	// WindowsClosed is the number of windows that have been closed.
	WindowsClosed int64
	// RowsOut is the number of rows given out.
	RowsOut int64
	// Overflows is the number of times that a SUM of Longs was given out that does not fit 64 bits.
	Overflows int64
	// RecursionsCut is the number of commits at which WITH RECURSIVE stopped at its bound with rows still to come.
	RecursionsCut int64
}

// Path is the way of an input's rows through filters and projections to the first operator that keeps state.
type Path struct {
	Input                                 int
	Rows, Filtered, Late, Ignored, Passed int64
}

// Counters returns the counters since the flow was made; they are part of a snapshot.
func (f *Flow) Counters() Counters {
	c := Counters{RowsOut: f.rowsOut}
	for _, in := range f.inputs {
		c.RowsIn = append(c.RowsIn, in.rows)
	}
	for _, p := range f.paths {
		c.Paths = append(c.Paths, p.count())
	}
	for _, n := range f.nodes {
		switch o := n.op.(type) {
		case *op.Filter:
			c.Filtered += o.Dropped
		case *op.Join:
			c.Filtered += o.Filtered
		case *op.OuterJoin:
			c.Filtered += o.Filtered
		case *op.Lookup:
			c.Filtered += o.Filtered
		case *op.LatestBy:
			c.Ignored += o.Ignored
			c.Evicted += o.Evicted
			if o.Changes != nil {
				c.Changes.Add(*o.Changes)
			}
		case *op.Retain:
			c.Evicted += o.Evicted
		case *op.Recursive:
			c.RecursionsCut += o.Cut
		case *op.Reduce:
			c.Overflows += o.Overflows
		case *op.Window:
			c.window(o.Late, o.Amended, o.Closed, o.Overflows)
		case *op.Session:
			c.window(o.Late, o.Amended, o.Closed, o.Overflows)
		case *op.IntervalJoin:
			c.Filtered += o.Filtered
			c.LateBy.Add(o.Late[0])
			c.LateBy.Add(o.Late[1])
		}
	}
	c.Late = c.LateBy.Rows
	return c
}

func (c *Counters) window(late op.Lateness, amended, closed, overflows int64) {
	c.LateBy.Add(late)
	c.Amended += amended
	c.WindowsClosed += closed
	c.Overflows += overflows
}

func (p *path) count() Path {
	out := Path{Input: p.input, Rows: p.rows, Passed: *p.reached}
	for _, f := range p.filters {
		out.Filtered += f.Dropped
	}
	if p.late != nil {
		out.Late = p.late.Rows
	}
	if p.latest != nil {
		out.Ignored = p.latest.Ignored
	}
	out.Passed -= out.Late + out.Ignored
	return out
}

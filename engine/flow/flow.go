package flow

import (
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Flow is the state of one running query. One goroutine owns it.
type Flow struct {
	query *plan.Query
}

// Output is what a flow gives out at a Flush. Its batches own their memory.
type Output struct {
	// Delta is the net change of a table since the last Flush, sorted and consolidated, or the rows of a pipeline in
	// order of emission; nil when there is nothing. Its columns are those of the plan's root.
	Delta *zset.Batch
	// Late are the rows that came after their window had closed, in order of arrival, with the columns that the
	// window reads; nil when there are none.
	Late *zset.Batch
}

// New makes an empty flow of a query. The query is shared and not changed.
func New(q *plan.Query) *Flow { return &Flow{query: q} }

// Push takes rows of the current epoch for an input; the columns are those of Query.Inputs[input]. Several calls
// are taken in order. The batch is shared and must not change afterwards.
func (f *Flow) Push(input int, b *zset.Batch) {}

// Advance ends an epoch that stands for a time, milliseconds since the epoch of the calendar. Times never go back.
func (f *Flow) Advance(timeMs int64) {}

// Flush returns what changed since the last Flush.
func (f *Flow) Flush() Output { return Output{} }

// WaitsForTime reports whether rows are held back until time goes on: the clock must tick even without new rows.
func (f *Flow) WaitsForTime() bool { return false }

// Watermark is the event time up to which the flow is complete, math.MinInt64 before the first row.
func (f *Flow) Watermark() int64 { return 0 }

// Counters returns the counters since the flow was made; they are part of a snapshot.
func (f *Flow) Counters() Counters { return Counters{} }

// Snapshot appends the whole state. It is taken between Flush and the next Push.
func (f *Flow) Snapshot(dst []byte) []byte { return dst }

// Restore replaces the state by a snapshot of the same query.
func (f *Flow) Restore(b []byte) error { return nil }

// StateBytes is the memory that the state takes.
func (f *Flow) StateBytes() int64 { return 0 }

package flow

import (
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Flow is the state of one running query. One goroutine owns it.
type Flow struct {
	query   *plan.Query
	nodes   []*node // children before parents
	inputs  []*input
	scopes  []*scope // watermarks; scopes[0] is that of all inputs
	paths   []*path
	out     sink
	late    sink
	lateCol types.Schema

	rowsOut int64
	marks   []int64
	// eager says that operators of time are told of the watermark after every row, and not at the end of an epoch only.
	eager bool
	// meter is that of the root.
	meter *meter
	given int64 // rows that came out of it since the flow was made or restored
	watch stopwatch
}

// Output is what a flow gives out at a Flush. Its batches own their memory.
type Output struct {
	// Delta is the net change of a table since the last Flush, sorted and consolidated, or the rows of a pipeline in
	// order of emission; nil when there is nothing. Its columns are those of the plan's root.
	Delta *zset.Batch
	// Evicted marks the rows of Delta that retention takes back, whole or in part; nil when there are none.
	Evicted []bool
	// Late are the rows that came after their window had closed, in order of arrival, with the columns of
	// Flow.LateSchema; nil when there are none.
	Late *zset.Batch
}

// maxRows is the size to which pushed batches are cut: the buffers of the kernels stay in the cache.
const maxRows = 8192

// New makes an empty flow of a query. The query is shared and not changed.
func New(q *plan.Query) *Flow {
	f := &Flow{query: q}
	b := builder{f: f}
	b.build()
	return f
}

// Push takes rows of the current epoch for an input; the columns are those of Query.Inputs[input]. Several calls
// are taken in order. The batch is shared and must not change afterwards.
func (f *Flow) Push(input int, b *zset.Batch) {
	in := f.inputs[input]
	in.rows += int64(b.N)
	f.watch.begin(turnPush, int64(b.N))
	step := maxRows
	if f.query.Pipeline && (len(in.scans) > 1 || f.eager) {
		// Every reader of the input takes a row before the next row comes, so that the order of what is emitted does
		// not depend on how rows are cut into batches.
		step = 1
	}
	for from := 0; from < b.N; from += step {
		f.push(in, zset.Slice(b, from, min(from+step, b.N)))
	}
}

func (f *Flow) push(in *input, b *zset.Batch) {
	times := in.times(b)
	for _, s := range in.scans {
		d := op.Delta{B: b, Stable: true}
		if s.scope != nil && times != nil {
			f.marks = s.scope.marks(f.marks, in, times, b)
			d.Marks = f.marks
		}
		f.paths[s.path].rows += int64(b.N)
		s.op.Apply(0, d, s.out)
	}
	in.see(times, b)
	moved := false
	for _, s := range f.scopes {
		moved = s.follow(in) || moved
	}
	if moved && f.eager {
		f.close()
	}
}

// close tells every operator how far its watermark is.
func (f *Flow) close() {
	for _, n := range f.nodes {
		if f.watch.on {
			before := f.watch.enter(n.meter)
			n.op.Advance(n.scope.watermark, n.out)
			f.watch.enter(before)
			continue
		}
		n.op.Advance(n.scope.watermark, n.out)
	}
}

// Advance ends an epoch that stands for a time, milliseconds since the epoch of the calendar. Times never go back.
func (f *Flow) Advance(timeMs int64) {
	f.watch.begin(turnAdvance, 1)
	for _, in := range f.inputs {
		in.tick(timeMs, f.query.Time.Idle)
	}
	for _, s := range f.scopes {
		s.tick(timeMs)
	}
	f.close()
}

// Flush returns what changed since the last Flush.
func (f *Flow) Flush() Output {
	f.flush()
	var out Output
	if f.query.Pipeline {
		out.Delta = f.out.rows()
	} else {
		evicted := f.out.gone()
		out.Delta = f.out.delta()
		out.Evicted = markEvicted(out.Delta, evicted)
	}
	out.Late = f.late.rows()
	if out.Delta != nil {
		f.rowsOut += int64(out.Delta.N)
	}
	return out
}

// flush lets every operator give out what it has held back.
func (f *Flow) flush() {
	f.watch.begin(turnFlush, 1)
	for _, n := range f.nodes {
		if f.watch.on {
			before := f.watch.enter(n.meter)
			n.op.Flush(n.out)
			f.watch.enter(before)
			continue
		}
		n.op.Flush(n.out)
	}
}

// LateSchema is the columns of the late rows: what the window reads. It is nil for a query without a window.
func (f *Flow) LateSchema() types.Schema { return f.lateCol }

// WaitsForTime reports whether rows are held back until time goes on: the clock must tick even without new rows.
func (f *Flow) WaitsForTime() bool {
	for _, n := range f.nodes {
		if n.op.Waits() {
			return true
		}
	}
	return false
}

// Watermark is the event time up to which the flow is complete, math.MinInt64 before the first row.
func (f *Flow) Watermark() int64 { return f.scopes[0].watermark }

// StateBytes is the memory that the state takes.
func (f *Flow) StateBytes() int64 {
	n := int64(0)
	for _, node := range f.nodes {
		n += node.op.StateBytes()
	}
	return n
}

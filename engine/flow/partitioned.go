package flow

import (
	"math"

	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Runner is the state of a running query, in one partition or in several.
type Runner interface {
	Push(input int, b *zset.Batch)
	Advance(timeMs int64)
	Flush() Output
	LateSchema() types.Schema
	WaitsForTime() bool
	Watermark() int64
	StateBytes() int64
	Counters() Counters
	Describe() plan.Description
	Measure(clock func() int64)
	Snapshot(dst []byte) []byte
	Restore(b []byte) error
}

var (
	_ Runner = (*Flow)(nil)
	_ Runner = (*Partitioned)(nil)
)

// Executor runs tasks that do not depend on each other and returns when all of them are done. It may run them one
// after the other or on several goroutines: what comes out is the same. A panic of a task must reach the caller. rows
// is how many rows the step has taken: a few are not worth a goroutine.
type Executor func(rows int, tasks []func())

// Sequential runs tasks one after the other.
func Sequential(_ int, tasks []func()) {
	for _, t := range tasks {
		t()
	}
}

// Partitioned runs the stages of a table, each as several flows that share nothing. It gives what a Flow of the same
// query gives, to the byte, after every Flush. One goroutine owns it; the executor may use more of them within a call.
//
// Stages run level by level in lock step: every partition of a stage takes all rows that a commit has for it before
// the next stage begins, so that a result never holds a part of an epoch. Rows that were pushed for one input are dealt
// out in pieces that follow each other, and the pieces are taken in that order behind an exchange: the order of arrival
// survives it.
type Partitioned struct {
	physical *plan.Physical
	run      Executor
	inputs   []*input
	scope    *scope
	stages   []*stage
	levels   [][]*stage
	waiting  []pushed // in order
	queued   int      // rows in waiting
	epoch    int64    // the newest time of Advance
	rowsOut  int64
	tasks    []func()
}

// pushed are rows of an input.
type pushed struct {
	input int
	b     *zset.Batch
}

// stage is a stage with its partitions.
type stage struct {
	def   *plan.Stage
	parts []*partition
}

// partition is one flow of a stage.
type partition struct {
	flow  *Flow
	route *op.Route // of HashPartition
	// out are the rows for each partition of the next stage; the last stage collects in out[0].
	out     [][]*zset.Batch
	in, put int64 // rows taken and given
}

// maxQueued is the number of rows that are held back until the stages take them: between two commits only as much
// memory is taken as that.
const maxQueued = 64 << 10

// NewPartitioned makes the empty state of a cut plan.
func NewPartitioned(p *plan.Physical, run Executor) *Partitioned {
	f := &Partitioned{physical: p, run: run, scope: newScope(p.Query.Time, 0), epoch: math.MinInt64}
	for i := range p.Query.Inputs {
		in := newInput(i, &p.Query.Inputs[i])
		f.inputs = append(f.inputs, in)
		f.scope.add(in)
	}
	for _, def := range p.Stages {
		s := &stage{def: def}
		query := &plan.Query{Inputs: def.Inputs, Root: def.Root, Time: p.Query.Time}
		for range def.Partitions {
			t := &partition{flow: New(query), out: make([][]*zset.Batch, 1)}
			if e := def.Out; e != nil {
				t.out = make([][]*zset.Batch, f.next(def).Partitions)
				if e.Mode == plan.HashPartition {
					t.route = op.NewRoute(e.Keys, len(t.out))
				}
			}
			s.parts = append(s.parts, t)
		}
		f.stages = append(f.stages, s)
		for len(f.levels) <= def.Level {
			f.levels = append(f.levels, nil)
		}
		f.levels[def.Level] = append(f.levels[def.Level], s)
	}
	return f
}

// next is the stage that takes the rows of a stage.
func (f *Partitioned) next(s *plan.Stage) *plan.Stage {
	for _, o := range f.physical.Stages {
		for _, e := range o.In {
			if e.From == s {
				return o
			}
		}
	}
	panic("BUG: nothing reads the rows of a stage")
}

// Physical is the plan that is run.
func (f *Partitioned) Physical() *plan.Physical { return f.physical }

// Push takes rows of the current epoch for an input; see Flow.Push.
func (f *Partitioned) Push(input int, b *zset.Batch) {
	if b.N == 0 {
		return
	}
	in := f.inputs[input]
	in.rows += int64(b.N)
	in.see(in.times(b), b)
	f.scope.follow(in)
	f.waiting = append(f.waiting, pushed{input, b})
	if f.queued += b.N; f.queued >= maxQueued {
		f.pass(false, false)
	}
}

// Advance ends an epoch; see Flow.Advance.
func (f *Partitioned) Advance(timeMs int64) {
	f.epoch = timeMs
	for _, in := range f.inputs {
		in.tick(timeMs, f.physical.Query.Time.Idle)
	}
	f.scope.tick(timeMs)
	if f.physical.Epochs {
		f.pass(true, false)
	}
}

// Flush returns what changed since the last Flush; see Flow.Flush.
func (f *Partitioned) Flush() Output {
	f.pass(false, true)
	var out Output
	last := f.stages[len(f.stages)-1]
	var parts []*zset.Batch
	for _, t := range last.parts {
		parts = append(parts, t.out[0]...)
		clear(t.out[0])
		t.out[0] = t.out[0][:0]
	}
	if b := zset.Concat(parts...); b != nil && b.N > 0 {
		if b = zset.Consolidate(b); b.N > 0 {
			out.Delta = b
			f.rowsOut += int64(b.N)
		}
	}
	return out
}

// pass brings everything that was pushed through the stages; with advance it ends the epoch, with flush the commit.
func (f *Partitioned) pass(advance, flush bool) {
	for _, level := range f.levels {
		f.tasks = f.tasks[:0]
		for _, s := range level {
			for p := range s.parts {
				f.tasks = append(f.tasks, func() { f.take(s, p, advance, flush) })
			}
		}
		f.run(f.queued, f.tasks)
	}
	clear(f.waiting)
	f.waiting = f.waiting[:0]
	f.queued = 0
}

// take is the work of one partition of a stage in a pass.
func (f *Partitioned) take(s *stage, p int, advance, flush bool) {
	t := s.parts[p]
	if s.def.Arrival {
		f.follow(s.def, t)
	}
	for i, e := range s.def.In {
		if e.From == nil {
			if !s.def.Arrival {
				f.deal(e.Input, p, len(s.parts), func(b *zset.Batch) { t.push(i, b) })
			}
			continue
		}
		for _, from := range f.stages[e.From.ID].parts {
			for _, b := range from.out[p] {
				t.push(i, b)
			}
		}
	}
	if advance {
		t.flow.Advance(f.epoch)
	}
	if flush {
		t.flow.flush()
	}
	t.give(s.def.Out)
}

// follow gives a partition the pushed rows of all its inputs in the order in which they came.
func (f *Partitioned) follow(s *plan.Stage, t *partition) {
	for _, w := range f.waiting {
		for i, e := range s.In {
			if e.From == nil && e.Input == w.input {
				t.push(i, w.b)
			}
		}
	}
}

// deal gives a partition its piece of the pushed rows of an input: all of them in order, cut at as many places as there
// are partitions.
func (f *Partitioned) deal(input, p, partitions int, push func(*zset.Batch)) {
	total := 0
	for _, w := range f.waiting {
		if w.input == input {
			total += w.b.N
		}
	}
	from, to := total*p/partitions, total*(p+1)/partitions
	for _, w := range f.waiting {
		if w.input != input {
			continue
		}
		if lo, hi := max(from, 0), min(to, w.b.N); lo < hi {
			push(zset.Slice(w.b, lo, hi))
		}
		from, to = from-w.b.N, to-w.b.N
	}
}

func (t *partition) push(input int, b *zset.Batch) {
	t.in += int64(b.N)
	t.flow.Push(input, b)
}

// give puts the rows that the flow has given out where the partitions of the next stage find them.
func (t *partition) give(e *plan.Edge) {
	b := t.flow.out.rows()
	if e == nil {
		if b != nil && b.N > 0 {
			b = zset.Consolidate(b)
			t.put += int64(b.N)
			t.out[0] = append(t.out[0], b)
		}
		return
	}
	for q := range t.out {
		clear(t.out[q])
		t.out[q] = t.out[q][:0]
	}
	if b == nil || b.N == 0 {
		return
	}
	t.put += int64(b.N)
	switch e.Mode {
	case plan.HashPartition:
		for q, rows := range t.route.Split(b) {
			if rows != nil {
				t.out[q] = append(t.out[q], rows)
			}
		}
	case plan.Broadcast:
		for q := range t.out {
			t.out[q] = append(t.out[q], b)
		}
	default: // Gather, and Local of a stage with one partition
		t.out[0] = append(t.out[0], b)
	}
}

// LateSchema is nil: a table has no late rows.
func (*Partitioned) LateSchema() types.Schema { return nil }

// WaitsForTime is false: a table in partitions holds nothing back until time goes on.
func (*Partitioned) WaitsForTime() bool { return false }

// Watermark is the event time up to which the input is complete, math.MinInt64 before the first row.
func (f *Partitioned) Watermark() int64 { return f.scope.watermark }

// StateBytes is the memory that the state of all partitions takes.
func (f *Partitioned) StateBytes() (n int64) {
	for _, s := range f.stages {
		for _, t := range s.parts {
			n += t.flow.StateBytes()
		}
	}
	return n
}

// Counters are the sums over all partitions. Paths is empty: the way of a row leads through several flows.
func (f *Partitioned) Counters() Counters {
	c := Counters{RowsOut: f.rowsOut}
	for _, in := range f.inputs {
		c.RowsIn = append(c.RowsIn, in.rows)
	}
	for _, s := range f.stages {
		for _, t := range s.parts {
			o := t.flow.Counters()
			c.Filtered += o.Filtered
			c.Ignored += o.Ignored
			c.Overflows += o.Overflows
			c.RecursionsCut += o.RecursionsCut
			c.Changes.Add(o.Changes)
		}
	}
	return c
}

// PartitionCounters are the books of one partition of a stage.
type PartitionCounters struct {
	Stage, Partition int
	Kind             string
	// In and Out are the rows taken and given.
	In, Out int64
}

// Partitions are the books of all partitions, stage by stage.
func (f *Partitioned) Partitions() []PartitionCounters {
	var out []PartitionCounters
	for _, s := range f.stages {
		for p, t := range s.parts {
			out = append(out, PartitionCounters{Stage: s.def.ID, Partition: p, Kind: s.def.Kind, In: t.in, Out: t.put})
		}
	}
	return out
}

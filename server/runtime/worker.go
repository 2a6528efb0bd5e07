package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/streams"
)

// worker drives one version of a table or pipeline. Its goroutine owns the flow and everything below it without a
// lock; what others may read is atomic or in the entity.
type worker struct {
	env  *environment
	e    *entity
	log  *slog.Logger
	node *clock.Node
	def  definition

	prog    *engine.Program
	plan    string
	schema  types.Schema // of output batches
	kinds   []types.Kind
	timed   bool
	ordered bool
	inputs  []input

	flow    flow.Runner
	journal *streams.Journal
	late    *streams.Journal
	gen     uint64
	entries uint64 // Sf-Seq of the newest entry: deltas of a table, rows of a pipeline
	lates   uint64 // rows in the late stream

	lateSchema types.Schema

	at       uint64 // the border that the flow has reached
	lastTick int64
	newest   int64 // event time
	stored   int64 // when the newest row of the step was stored
	rowsIn   int64 // rows and deltas taken
	rowsOut  int64 // rows of committed deltas or results
	lastMs   int64 // epoch time of the newest output

	// silent is set while the worker computes without publishing: until it joins the clock. held is its output.
	silent  bool
	held    *holding
	joinAt  uint64
	pending *record // what the generation that is being built will be made by
	again   bool    // build from the retained rows, whatever checkpoints there are
	renewed bool    // an input has taken a new version since the newest checkpoint
	swap    bool    // it takes the place of an older version that goes on until then

	checkpointed uint64        // epoch of the newest checkpoint that was begun
	saveEvery    time.Duration // grows with the size of the state
	nextSave     time.Time
	saving       chan error // of the checkpoint that is being written
	base         baseWork

	enc   []byte
	probe chan func() // called by the worker between two steps

	cancel context.CancelFunc
	done   chan struct{}
	err    error // why it ended, valid when done is closed

	stats stats
}

// stats is what others read of a worker.
type stats struct {
	epoch      atomic.Uint64
	rowsIn     atomic.Int64
	rowsOut    atomic.Int64
	lastMs     atomic.Int64
	newest     atomic.Int64
	late       atomic.Int64
	windows    atomic.Int64
	overflows  atomic.Int64
	evicted    atomic.Int64
	upserts    atomic.Int64
	deletes    atomic.Int64
	unknown    atomic.Int64
	filtered   atomic.Int64
	stateBytes atomic.Int64
	watermark  atomic.Int64
	live       atomic.Bool // it takes part and has caught up once
	parts      atomic.Pointer[[]partitionStats]
	steps      atomic.Int64
	build      atomic.Pointer[progress]
}

// definition is what a worker runs, taken from the catalog.
type definition struct {
	revision int64
	name     string
	pipeline bool
	memory   bool // nothing is stored
	limits   streams.Limits
	replay   map[string]startAt
	retainMs int64
	// parallelism is the number of partitions of a table; 0 and 1 are one.
	parallelism int
}

// startAt is where an input is read from at a first start.
type startAt struct {
	seq uint64
	ms  int64
}

// failAll is the message of a panic in a worker.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// start runs the worker. When it ends by itself, the entity learns why.
func (w *worker) start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	w.done = make(chan struct{})
	go func() {
		defer close(w.done)
		w.err = w.guarded(ctx)
		w.finishSaving()
		if ctx.Err() == nil || !errors.Is(w.err, context.Canceled) {
			w.env.ended(w)
		}
	}()
}

// stop ends the worker and waits for it. What it has committed stays; the rest was never shown.
func (w *worker) stop() {
	w.cancel()
	<-w.done
}

// over says that the worker has ended.
func (w *worker) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// guarded turns a panic of the engine into an error: it fails this entity and nothing else.
func (w *worker) guarded(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := asPanic(v)
			w.log.Error("a worker panicked", "error", p, "epoch", w.at, "stack", string(p.stack))
			err = p
		}
	}()
	return w.run(ctx)
}

// run restores or builds the state, catches up, and then follows the clock. A lost fence starts it over from the log
// while this process owns the clock.
func (w *worker) run(ctx context.Context) error {
	pause := firstRetry
	for {
		began := w.at
		err := w.life(ctx)
		if w.at > began {
			pause = firstRetry
		}
		if transient(err) && ctx.Err() == nil && pause <= lastRetry {
			// The log did not answer in time. Nothing is known to be wrong: begin again from what it holds.
			w.log.Warn("the log did not answer; beginning again from the checkpoint", "error", err, "epoch", w.at, "pause", pause)
			w.e.warn(err)
			w.finishSaving()
			w.env.clk.Detach(w.node)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
			pause *= 2
			continue
		}
		if errors.Is(err, errRegenerated) && ctx.Err() == nil {
			// What the worker knows of an input is of an older version: it takes the state of the new one.
			w.log.Info("an input has a new version; building again", "reason", err)
			w.again = true
			w.finishSaving()
			w.env.clk.Detach(w.node)
			continue
		}
		if !errors.Is(err, streams.ErrFenced) {
			return err
		}
		// Decision 10: what is in memory is ahead of the log. Nothing of it is used again.
		w.log.Warn("another writer has appended to the journal; reading it again", "error", err, "epoch", w.at)
		if err := w.env.stillOwner(ctx); err != nil {
			return err
		}
		w.finishSaving()
		w.env.clk.Detach(w.node)
	}
}

func (w *worker) life(ctx context.Context) error {
	if err := w.open(ctx); err != nil {
		return err
	}
	for {
		err := w.catchUp(ctx)
		if err == nil {
			err = w.follows(ctx)
		}
		if !errors.Is(err, errBehind) {
			return err
		}
	}
}

// A worker begins again after transient faults of the log with growing pauses; it fails when it gets nowhere in between.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// transient says that an error is about the log's answer and not about what it holds.
func transient(err error) bool {
	for _, t := range []error{nats.ErrTimeout, nats.ErrNoResponders, jetstream.ErrNoStreamResponse, context.DeadlineExceeded, streams.ErrBusy} {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// errBehind says that rows the worker needs are not in memory any more.
var errBehind = errors.New("behind")

// follows takes steps from the clock until the context ends or the worker is too far behind.
func (w *worker) follows(ctx context.Context) error {
	var work clock.Work
	// The checkpoint timer is for an idle worker; a busy one looks at the time between steps.
	timer := time.NewTimer(w.saveEvery)
	defer timer.Stop()
	for {
		if ctx.Err() != nil {
			return w.leaveInOrder(ctx)
		}
		switch w.env.clk.Collect(w.node, clock.StepLimits, &work) {
		case clock.Behind:
			return errBehind
		case clock.Ready:
			if err := w.step(ctx, &work); err != nil {
				return err
			}
			if err := w.betweenSteps(ctx); err != nil {
				return err
			}
			continue
		}
		if w.silent && w.joinAt == 0 {
			if err := w.askToJoin(ctx); err != nil {
				return err
			}
			continue
		}
		timer.Reset(w.untilSave())
		select {
		case <-w.node.Wake():
		case <-timer.C:
			if err := w.betweenSteps(ctx); err != nil {
				return err
			}
		case err := <-w.saving:
			w.saved(err)
		case ask := <-w.probe:
			ask()
		case <-ctx.Done():
		}
	}
}

// step takes the epochs of one piece of work, commits their output, serves it and tells the clock.
func (w *worker) step(ctx context.Context, work *clock.Work) error {
	began := w.env.rt.now()
	if err := w.take(work.Epochs); err != nil {
		return err
	}
	w.at = work.To
	for i := range w.inputs {
		if in := &w.inputs[i]; in.kind == engine.Source && i < len(work.Positions) {
			if p := work.Positions[i]; p.Incarnation == in.at.Incarnation && p.Seq > in.at.Seq {
				return fmt.Errorf("BUG: input %q stands at %d, the clock at %d in epoch %d", in.name, in.at.Seq, p.Seq, work.To)
			}
		}
	}
	out := w.flow.Flush()
	p := clock.Progress{To: work.To, TickMs: w.lastTick, Waits: w.flow.WaitsForTime()}
	joins := w.silent && w.joinAt > 0 && work.To >= w.joinAt
	if w.silent && !joins {
		w.held.add(out)
	} else {
		prev := work.From
		if w.silent {
			prev = w.joinAt - 1
			w.held.add(out)
			out = w.held.output(w.prog)
		}
		d, err := w.publish(ctx, prev, work.To, work.ToMs, out)
		if err != nil {
			return err
		}
		p.Delta = d
	}
	w.note()
	p.Cost = w.env.rt.now().Sub(began)
	if joins {
		return w.joined(ctx, p)
	}
	w.saveRenewed()
	w.env.clk.Done(w.node, p)
	return nil
}

// publish commits the output of the epochs after prev up to epoch, and only then serves it. It returns what dependents
// get.
func (w *worker) publish(ctx context.Context, prev, epoch uint64, ms int64, out flow.Output) (*clock.Delta, error) {
	if w.swap {
		return w.takeOver(ctx, epoch, ms, out)
	}
	d, err := w.commit(ctx, prev, epoch, out)
	if err != nil {
		return nil, err
	}
	if d != nil {
		w.lastMs = ms
		d.StoredMs = w.stored
		w.serve(d, ms)
		if w.stored > 0 && w.stats.live.Load() {
			w.e.showed(time.Duration(w.env.rt.now().UnixMilli()-w.stored) * time.Millisecond)
		}
	}
	return d, nil
}

// note publishes the counters of the worker.
func (w *worker) note() {
	c := w.flow.Counters()
	w.stats.epoch.Store(w.at)
	w.stats.rowsIn.Store(w.rowsIn)
	w.stats.rowsOut.Store(w.rowsOut)
	w.stats.lastMs.Store(w.lastMs)
	w.stats.newest.Store(w.newest)
	w.stats.late.Store(c.Late)
	w.stats.windows.Store(c.WindowsClosed)
	w.stats.overflows.Store(c.Overflows)
	w.stats.evicted.Store(c.Evicted)
	w.stats.upserts.Store(c.Changes.Upserts)
	w.stats.deletes.Store(c.Changes.Deletes)
	w.stats.unknown.Store(c.Changes.Unknown)
	w.stats.filtered.Store(c.Filtered)
	w.stats.watermark.Store(w.watermark())
	w.notePartitions()
	w.stats.steps.Add(1)
}

// holding is the output of a worker that does not publish yet, kept consolidated for a table and in order for a
// pipeline.
type holding struct {
	table bool
	kinds []types.Kind
	parts []*zset.Batch
	late  []*zset.Batch
	rows  int // in parts since they were last consolidated
	base  int // rows after that
}

func (h *holding) add(o flow.Output) {
	if o.Delta != nil {
		h.parts = append(h.parts, o.Delta)
		h.rows += o.Delta.N
	}
	if o.Late != nil {
		h.late = append(h.late, o.Late)
	}
	if h.table && h.rows > 64<<10+h.base {
		h.compact()
	}
}

func (h *holding) compact() {
	b := zset.Concat(h.parts...)
	h.parts = h.parts[:0]
	h.rows, h.base = 0, 0
	if b != nil {
		if b = zset.Consolidate(b); b.N > 0 {
			h.parts, h.base = append(h.parts, b), b.N
		}
	}
}

// output is everything that was held, as one flush.
func (h *holding) output(p *engine.Program) flow.Output {
	if h.table {
		h.compact()
	}
	o := flow.Output{Delta: zset.Concat(h.parts...), Late: zset.Concat(h.late...)}
	if o.Delta != nil && o.Delta.N == 0 {
		o.Delta = nil
	}
	if o.Late != nil && o.Late.N == 0 {
		o.Late = nil
	}
	h.parts, h.late = nil, nil
	return o
}

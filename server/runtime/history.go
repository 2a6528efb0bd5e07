package runtime

import (
	"context"
	"math"
	"time"

	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
)

// derivedMs is the width of an epoch that is derived from the stored times of messages, where the epoch log does not
// reach back. With clock.EpochRows it is the whole rule, so that the same rows give the same epochs.
const derivedMs = 100

// history takes rows of sources that are older than the epoch log: messages up to the given positions, by input, in
// epochs that end every 100 ms of stored time or at 8,192 rows. The flow's output goes to sink now and then.
type history struct {
	w       *worker
	cursors []*sourceCursor // by input, nil for others
	to      []uint64
	sink    func(flow.Output)
	rows    int                  // since the last flush
	done    func(rows int) error // called after each epoch
}

// takeHistory runs to the positions; a source that stands there already adds nothing.
func (w *worker) takeHistory(ctx context.Context, to []clock.Position, sink func(flow.Output), done func(int) error) error {
	h := &history{w: w, cursors: make([]*sourceCursor, len(w.inputs)), to: make([]uint64, len(w.inputs)), sink: sink, done: done}
	defer func() {
		for _, c := range h.cursors {
			if c != nil {
				c.stop()
			}
		}
	}()
	for i := range w.inputs {
		in := &w.inputs[i]
		if in.src == nil || to[i].Incarnation != in.src.stream.Incarnation() {
			continue
		}
		if in.at.Incarnation != to[i].Incarnation {
			in.at = clock.Position{Incarnation: to[i].Incarnation}
		}
		if to[i].Seq > in.at.Seq {
			h.cursors[i], h.to[i] = newSourceCursor(in.src, in.at.Seq), to[i].Seq
		}
	}
	for {
		more, err := h.epoch(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if h.rows >= clock.StepLimits.Rows {
			h.flush()
		}
	}
	h.flush()
	return nil
}

func (h *history) flush() {
	h.sink(h.w.flow.Flush())
	h.rows = 0
}

// epoch takes one derived epoch; false when everything has been taken.
func (h *history) epoch(ctx context.Context) (bool, error) {
	bucket := int64(math.MaxInt64)
	for i, c := range h.cursors {
		if c != nil && c.at < h.to[i] {
			m, err := c.peek(ctx)
			if err != nil {
				return false, err
			}
			if m.Seq > h.to[i] {
				c.at = h.to[i] // the rest was deleted by hand
				continue
			}
			bucket = min(bucket, m.TimeMs/derivedMs)
		}
	}
	if bucket == math.MaxInt64 {
		return false, nil
	}
	e := clock.Epoch{Tick: clock.Tick{TimeMs: (bucket + 1) * derivedMs}}
	rows, last := 0, int64(0)
	full := false
	for i, c := range h.cursors {
		if c == nil {
			continue
		}
		p := clock.Part{Input: i}
		for c.at < h.to[i] && !full {
			m, err := c.peek(ctx)
			if err != nil {
				return false, err
			}
			if m.Seq > h.to[i] || m.TimeMs/derivedMs != bucket {
				break
			}
			last = max(last, m.TimeMs)
			g, n := c.takeOne()
			if g != nil {
				p.Segments = append(p.Segments, g)
			}
			rows += n
			full = rows >= clock.EpochRows
		}
		if g := c.cut(); g != nil {
			p.Segments = append(p.Segments, g)
		}
		if len(p.Segments) > 0 {
			e.Parts = append(e.Parts, p)
		}
	}
	if full {
		e.TimeMs = last
	}
	// Derived time never runs ahead of the recorded epoch that comes next, which is not older than its rows.
	e.TimeMs = max(e.TimeMs, h.w.lastTick)
	if err := h.w.take([]clock.Epoch{e}); err != nil {
		return false, err
	}
	h.rows += rows
	if h.done != nil {
		return true, h.done(rows)
	}
	return true, nil
}

// bridge closes a hole in the epoch log: the epochs between the worker's border and the record are derived. Deltas of
// other inputs are taken at the record's epoch.
func (w *worker) bridge(ctx context.Context, gap *gapError) error {
	w.log.Info("the epoch log does not reach back far enough; epochs are derived from stored times", "from", w.at, "to", gap.at.Epoch)
	held := w.held
	if !w.silent {
		held = w.newHolding()
	}
	if err := w.takeHistory(ctx, w.sourcePositions(gap.positions), held.add, nil); err != nil {
		return err
	}
	e := clock.Epoch{Tick: clock.Tick{Epoch: gap.at.Epoch, TimeMs: max(gap.at.TimeMs, w.lastTick)}}
	if err := w.takeOthers(ctx, &e); err != nil {
		return err
	}
	held.add(w.flow.Flush())
	prev := w.at
	w.at = gap.at.Epoch
	p := clock.Progress{To: w.at, TickMs: w.lastTick, Waits: w.flow.WaitsForTime()}
	if !w.silent {
		d, err := w.publish(ctx, prev, w.at, e.TimeMs, held.output(w.prog))
		if err != nil {
			return err
		}
		p.Delta = d
	}
	w.note()
	w.env.clk.Done(w.node, p)
	return nil
}

// takeOthers lets the flow take the deltas of other entities up to an epoch, as one epoch.
func (w *worker) takeOthers(ctx context.Context, e *clock.Epoch) error {
	for i := range w.inputs {
		in := &w.inputs[i]
		if in.ent == nil {
			continue
		}
		c, err := in.ent.cursor(ctx, in.at, in.gen)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		defer c.stop()
		if err := c.refresh(ctx); err != nil {
			return err
		}
		for {
			d, err := c.next(ctx, e.Epoch)
			if err != nil {
				return err
			}
			if d == nil {
				break
			}
			e.Parts = append(e.Parts, clock.Part{Input: i, Delta: d})
		}
	}
	if len(e.Parts) == 0 {
		return nil
	}
	return w.take([]clock.Epoch{*e})
}

// progress is how far a build has come.
type progress struct {
	phase string
	total int64 // messages to read
	began time.Time
	done  int64
	rows  int64
}

package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/streams"
)

// tail gives a worker that is not fed from memory the recorded epochs one by one, with the rows that they bring: it
// reads the epoch log, the source streams and the journals of other entities by itself. What it gives for an epoch is
// what the clock gives for it.
type tail struct {
	w       *worker
	epochs  *streams.EpochReader
	records []streams.EpochRecord
	read    uint64 // the newest record that was read
	sources []*sourceCursor
	others  []*journalCursor
	checked uint64 // the epoch up to which the journals are known to be read completely

	ready []clock.Epoch // read but not taken
	to    uint64        // every epoch up to here has been read
	spans []clock.Span
}

// gapError says that the epoch log begins after the epoch that the worker needs next.
type gapError struct {
	at        streams.EpochRecord // a record behind the hole
	positions map[string]uint64   // of every source at it
}

func (e *gapError) Error() string {
	return fmt.Sprintf("the epoch log has a hole before epoch %d", e.at.Epoch)
}

// newTail reads on after the border of the worker.
func (w *worker) newTail(ctx context.Context) (*tail, error) {
	w.resolve()
	t := &tail{w: w, to: w.at, read: w.at, sources: make([]*sourceCursor, len(w.inputs)), others: make([]*journalCursor, len(w.inputs))}
	for i := range w.inputs {
		in := &w.inputs[i]
		switch {
		case in.src != nil:
			if in.at.Incarnation != in.src.stream.Incarnation() {
				// What the worker has taken belongs to a source that is gone; the new one begins at its first message.
				in.at = clock.Position{Incarnation: in.src.stream.Incarnation()}
			}
			t.sources[i] = newSourceCursor(in.src, in.at.Seq)
		case in.ent != nil:
			c, err := in.ent.cursor(ctx, in.at, in.gen)
			if err != nil {
				return nil, err
			}
			if c != nil && in.at.Incarnation != c.stream.Incarnation() {
				in.at = clock.Position{Incarnation: c.stream.Incarnation()}
			}
			t.others[i] = c
		}
	}
	t.epochs = streams.ReadEpochs(w.env.epochs, w.at+1)
	return t, nil
}

func (t *tail) stop() {
	t.epochs.Stop()
	for _, c := range t.sources {
		if c != nil {
			c.stop()
		}
	}
	for _, c := range t.others {
		if c != nil {
			c.stop()
		}
	}
}

// record returns the next record up to an epoch that is known to be stored.
func (t *tail) record(ctx context.Context, limit uint64) (*streams.EpochRecord, error) {
	for len(t.records) == 0 {
		if t.read >= limit {
			return nil, nil
		}
		recs, err := t.epochs.Next(ctx)
		var gap *streams.GapError
		if errors.As(err, &gap) {
			if recs, err = t.epochs.Next(ctx); err != nil {
				return nil, fmt.Errorf("read the epoch log: %w", err)
			}
			// The clock of the reader is complete at the last record that it returned.
			return nil, &gapError{at: recs[len(recs)-1], positions: maps.Clone(t.epochs.Clock().Positions)}
		}
		if err != nil {
			return nil, fmt.Errorf("read the epoch log: %w", err)
		}
		t.records = recs
		t.read = recs[len(recs)-1].Epoch
	}
	r := &t.records[0]
	if r.Epoch > limit {
		return nil, nil
	}
	t.records = t.records[1:]
	return r, nil
}

// next reads one more epoch up to a limit and keeps it when it concerns the worker. It returns false at the limit.
func (t *tail) next(ctx context.Context, limit uint64) (bool, error) {
	r, err := t.record(ctx, limit)
	if err != nil {
		return false, err
	}
	if r == nil {
		t.to = max(t.to, limit)
		return false, nil
	}
	if t.checked < r.Epoch {
		for _, c := range t.others {
			if c != nil {
				if err := c.refresh(ctx); err != nil {
					return false, err
				}
			}
		}
		t.checked = limit
	}
	e := clock.Epoch{Tick: clock.Tick{Epoch: r.Epoch, TimeMs: r.TimeMs}}
	for i := range t.w.inputs {
		in := &t.w.inputs[i]
		if in.kind == engine.Source {
			segs, err := t.rows(ctx, i, r)
			if err != nil {
				return false, err
			}
			if segs != nil {
				e.Parts = append(e.Parts, clock.Part{Input: i, Segments: segs})
			}
			continue
		}
		if c := t.others[i]; c != nil {
			for {
				d, err := c.next(ctx, r.Epoch)
				if err != nil {
					return false, err
				}
				if d == nil {
					break
				}
				if d.Epoch-d.Prev > 1 {
					t.spans = append(t.spans, clock.Span{Prev: d.Prev, Epoch: d.Epoch})
				}
				e.Parts = append(e.Parts, clock.Part{Input: i, Delta: d})
			}
		}
	}
	t.to = r.Epoch
	if len(e.Parts) > 0 || t.w.timed {
		t.ready = append(t.ready, e)
	}
	return true, nil
}

// rows reads what a record gives of one source.
func (t *tail) rows(ctx context.Context, i int, r *streams.EpochRecord) ([]*clock.Segment, error) {
	in := &t.w.inputs[i]
	if in.src == nil {
		return nil, nil
	}
	seq, ok := r.Positions[streams.InputKey(in.name, in.src.stream.Incarnation())]
	c := t.sources[i]
	if !ok || seq <= c.at {
		return nil, nil
	}
	return c.upTo(ctx, seq)
}

// collect fills in the next step: epochs up to limit, which the clock allows, ending where Collect would end it, and not
// before least. False means that no step can end yet.
func (t *tail) collect(ctx context.Context, limit, least uint64, lim clock.Limits, w *clock.Work) (bool, error) {
	*w = clock.Work{From: t.w.at}
	rows, bytes := 0, 0
	for i := range t.ready {
		r, b := epochSize(&t.ready[i])
		rows, bytes = rows+r, bytes+b
	}
	for rows < lim.Rows && bytes < lim.Bytes && len(t.ready) < lim.Epochs {
		n := len(t.ready)
		more, err := t.next(ctx, limit)
		if err != nil {
			return false, err
		}
		if !more {
			break
		}
		if len(t.ready) > n {
			r, b := epochSize(&t.ready[n])
			rows, bytes = rows+r, bytes+b
		}
	}
	lo := t.to
	if len(t.ready) > 0 {
		lo = t.ready[0].Epoch
	}
	if t.to <= t.w.at {
		return false, nil
	}
	lo = max(lo, least)
	for t.to < lo {
		if more, err := t.next(ctx, limit); err != nil || !more {
			return false, err
		}
	}
	to, err := t.border(ctx, lo)
	for err == nil && to == 0 && t.to < limit {
		if _, err = t.next(ctx, limit); err == nil {
			to, err = t.border(ctx, lo)
		}
	}
	if err != nil || to == 0 {
		return false, err
	}
	n := 0
	for n < len(t.ready) && t.ready[n].Epoch <= to {
		n++
	}
	w.To, w.Epochs = to, t.ready[:n:n]
	if n > 0 {
		w.From = max(w.From, t.ready[0].Epoch-1)
	}
	w.Narrow(t.w.at)
	t.ready = t.ready[n:]
	w.ToMs = t.timeOf(to, w)
	keep := t.spans[:0]
	for _, s := range t.spans {
		if s.Epoch > to {
			keep = append(keep, s)
		}
	}
	t.spans = keep
	return true, nil
}

// border picks where a step ends that must take epoch lo, inside of what has been read. A delta that was not reached yet
// may begin before it, and no step may end inside of one.
func (t *tail) border(ctx context.Context, lo uint64) (uint64, error) {
	spans := t.spans
	for _, c := range t.others {
		if c == nil {
			continue
		}
		s, err := c.peek(ctx)
		if err != nil {
			return 0, err
		}
		if s != nil {
			spans = append(spans[:len(spans):len(spans)], clock.Span{Prev: prevOf(s.Entry), Epoch: s.Epoch})
		}
	}
	return clock.Border(lo, t.to, t.to, spans), nil
}

func (t *tail) timeOf(to uint64, w *clock.Work) int64 {
	if ms, ok := t.w.env.clk.TimeOf(to); ok {
		return ms
	}
	if n := len(w.Epochs); n > 0 {
		return w.Epochs[n-1].TimeMs
	}
	return t.w.lastTick
}

func epochSize(e *clock.Epoch) (rows, bytes int) {
	for _, p := range e.Parts {
		for _, g := range p.Segments {
			rows += g.Batch.N
			bytes += g.Bytes
		}
		if p.Delta != nil {
			rows += p.Delta.Batch.N
			bytes += p.Delta.Bytes
		}
	}
	return rows, bytes
}

// catchUp reads the log until the clock can feed the worker from memory.
func (w *worker) catchUp(ctx context.Context) error {
	if w.env.clk.Attach(w.node) {
		return nil
	}
	t, err := w.newTail(ctx)
	if err != nil {
		return err
	}
	defer t.stop()
	var work clock.Work
	for {
		head := w.env.clk.Reserve(w.node)
		for w.at < head.Epoch {
			if ctx.Err() != nil {
				return w.leaveInOrder(ctx)
			}
			reach, stop := w.env.clk.Reach(w.node)
			ok := false
			if reach > w.at {
				if stop > 0 {
					ok, err = t.collect(ctx, stop, 0, clock.StepLimits, &work)
				}
				if !ok && err == nil {
					ok, err = t.collect(ctx, reach, stop, clock.StepLimits, &work)
				}
				if err != nil {
					return w.tailError(ctx, t, err)
				}
			}
			if !ok {
				select {
				case <-w.node.Wake():
				case <-ctx.Done():
				}
				continue
			}
			if err := w.step(ctx, &work); err != nil {
				return err
			}
			if err := w.betweenSteps(ctx); err != nil {
				return err
			}
		}
		if w.env.clk.Attach(w.node) {
			return nil
		}
	}
}

// tailError handles a hole in the epoch log under a worker that follows it: the epochs in between are derived from
// the stored times of the rows.
func (w *worker) tailError(ctx context.Context, t *tail, err error) error {
	var gap *gapError
	if !errors.As(err, &gap) {
		return err
	}
	if err := w.bridge(ctx, gap); err != nil {
		return err
	}
	return errBehind
}

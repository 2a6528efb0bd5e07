package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/runtime/serve"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// open brings the worker to where the journal ends, in one of three ways:
//
//   - a checkpoint of this query: restore it and take the epochs after it again without publishing, exactly to the
//     epoch of the newest entry;
//   - entries of this query but no checkpoint: build the state from the retained rows, leaving the clock meanwhile;
//   - nothing of this query: build a new generation, the old one serving until the new one joins.
func (w *worker) open(ctx context.Context) error {
	w.reset()
	w.resolve()
	if err := w.openJournals(ctx); err != nil {
		return err
	}
	rec, err := w.env.state.load(ctx, w.e.kind, w.e.id)
	if err != nil {
		return fmt.Errorf("read what the journal was made by: %w", err)
	}
	last, any := w.journal.Last()
	if rec != nil && any && rec.Before != nil && last.Generation == rec.Before.Generation {
		rec = rec.Before // The swap to the newer generation never happened.
	}
	w.e.knows(rec)
	same := rec != nil && rec.Plan == w.plan && (!any || last.Generation == rec.Generation)
	if same && !w.again {
		r, err := w.env.loadCheckpoint(w.e.key, w.plan, rec.Generation, w.journal.Stream(), w.journal.End())
		if err != nil {
			return err
		}
		if r != nil {
			w.gen = rec.Generation
			err := w.resume(ctx, r, rec)
			if !errors.Is(err, errUnreadable) {
				return err
			}
			// It is whole and the engine cannot read it, as after an update of the product.
			w.log.Warn("a checkpoint cannot be read by this engine; the state is built again", "error", err)
			w.reset()
		}
	}
	w.gen = 1
	if rec != nil {
		w.gen = rec.Generation
	}
	if same && (any || w.def.pipeline) {
		return w.buildAgain(ctx, rec)
	}
	if rec != nil && !same {
		w.gen++
	}
	return w.build(ctx, rec, any)
}

// reset forgets everything in memory.
func (w *worker) reset() {
	w.flow = w.newFlow()
	w.at, w.lastTick, w.newest, w.rowsIn, w.rowsOut, w.lastMs, w.entries, w.lates = 0, 0, 0, 0, 0, 0, 0, 0
	w.silent, w.held, w.joinAt, w.checkpointed, w.pending, w.swap = false, nil, 0, 0, nil, false
	w.renewed = false
	w.base = baseWork{}
	w.saveEvery = w.env.rt.opt.CheckpointEvery
	w.nextSave = w.env.rt.now().Add(w.saveEvery)
	for i := range w.inputs {
		w.inputs[i].at, w.inputs[i].gen = clock.Position{}, 0
	}
}

func (w *worker) openJournals(ctx context.Context) error {
	st, late, err := w.env.ensureJournals(ctx, w.e, w.def)
	if err != nil {
		return err
	}
	if w.journal, err = streams.OpenJournal(ctx, st, w.env.term); err != nil {
		return err
	}
	if late == nil {
		w.late = nil
		return nil
	}
	w.late, err = streams.OpenJournal(ctx, late, w.env.term)
	return err
}

func (w *worker) newHolding() *holding { return &holding{table: !w.def.pipeline, kinds: w.kinds} }

// resume goes on from a checkpoint. The entries of the journal after it are what was published; the flow takes the
// epochs after it again and must come to the same, and nothing is appended twice.
func (w *worker) resume(ctx context.Context, r *restored, rec *record) error {
	if err := w.apply(r); err != nil {
		return fmt.Errorf("checkpoint of epoch %d: %w: %w", r.meta.Epoch, errUnreadable, err)
	}
	w.e.savedMs.CompareAndSwap(0, r.meta.SavedMs) // a start is no new checkpoint: its age goes on
	if err := w.sameInputs(ctx); err != nil {
		return err
	}
	p, err := w.published(ctx, r)
	if err != nil {
		return err
	}
	if err := w.showPublished(ctx, r, p); err != nil {
		return err
	}
	away := w.env.away(w.e)
	w.env.clk.Place(w.node, w.at, p.last, !away)
	w.env.clk.SetTick(w.node, w.lastTick, w.flow.WaitsForTime())
	if away {
		w.silent, w.held = true, w.newHolding()
	}
	if err := w.replay(ctx, p, true); err != nil {
		return err
	}
	w.goOn(rec, p.last, away)
	return nil
}

// sameInputs checks that what a checkpoint says of tables and pipelines is about those that are there now, and not about
// ones of the same name that were deleted, or about an older version.
func (w *worker) sameInputs(ctx context.Context) error {
	for i := range w.inputs {
		if in := &w.inputs[i]; in.ent != nil {
			if _, err := in.ent.cursor(ctx, in.at, in.gen); err != nil {
				return err
			}
		}
	}
	return nil
}

// goOn places a worker that has the state of what it has published. One that had joined at an epoch that its journal
// does not show yet comes back at exactly that epoch: until then its dependents have gone on without it.
func (w *worker) goOn(rec *record, last uint64, away bool) {
	w.env.clk.Place(w.node, w.at, last, !away)
	w.env.clk.SetTick(w.node, w.lastTick, w.flow.WaitsForTime())
	if !away && rec.Joined > last && rec.Joined > w.at {
		w.joinAt = rec.Joined
		w.env.clk.StopAt(w.node, rec.Joined)
	}
	w.silent = away || w.joinAt > 0
	if w.silent && w.held == nil {
		w.held = w.newHolding()
	}
	w.note()
	w.e.restored(w, nil)
}

// published is what the journal holds after a checkpoint.
type published struct {
	entries  uint64 // Sf-Seq of the newest row or delta
	lates    uint64
	last     uint64 // epoch of the newest entry
	lateLast uint64 // epoch of the newest entry of late rows
	position uint64 // of the newest entry
	inputs   []streams.Position
	rows     int64
	sum      digest
	batches  []*clock.Delta
}

// published reads the entries after a checkpoint.
func (w *worker) published(ctx context.Context, r *restored) (*published, error) {
	p := &published{entries: r.x.Entries, lates: r.x.Lates, last: r.meta.Epoch, position: r.meta.Journal}
	if l, ok := w.journal.Last(); ok && l.Epoch <= r.meta.Epoch {
		p.last, p.position = l.Epoch, l.Last
	}
	var rec []byte
	err := readEntries(ctx, w.journal.Stream(), r.meta.Journal+1, w.journal.End(), func(s streams.Stored) error {
		if s.Kind != streams.Delta || s.Generation != w.gen {
			return nil
		}
		d, err := deltaOf(s, w.schema)
		if err != nil {
			return err
		}
		p.last, p.position, p.inputs = s.Epoch, s.Last, s.Inputs
		p.rows += int64(d.Batch.N)
		p.entries = s.SeqNo
		if w.def.pipeline {
			p.entries += uint64(d.Batch.N) - 1
		}
		rec = p.sum.add(d.Batch, rec)
		p.batches = append(p.batches, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("journal after the checkpoint of epoch %d: %w", r.meta.Epoch, err)
	}
	return p, w.publishedLate(ctx, p)
}

// publishedLate adds where the late rows end.
func (w *worker) publishedLate(ctx context.Context, p *published) error {
	if w.late == nil {
		return nil
	}
	l, ok := w.late.Last()
	if !ok || l.Generation != w.gen {
		return nil
	}
	rows, err := entryRows(ctx, w.late.Stream(), l)
	p.lateLast, p.lates = l.Epoch, max(p.lates, l.SeqNo+uint64(rows)-1)
	return err
}

// entryRows reads an entry whose place is known and counts its rows.
func entryRows(ctx context.Context, st *streams.Stream, l streams.Stored) (rows int, err error) {
	err = readEntries(ctx, st, l.First, l.Last, func(s streams.Stored) error {
		_, b, err := wire.Decode(s.Data)
		if err == nil {
			rows = b.N
		}
		return err
	})
	return rows, err
}

// readEntries reads the entries of a journal between two positions, both included. Positions that were trimmed are
// skipped: what is behind a base nobody needs.
func readEntries(ctx context.Context, st *streams.Stream, from, to uint64, each func(streams.Stored) error) error {
	if from > to {
		return nil
	}
	r := st.Entries(from, streams.ReadOptions{Until: to, Bulk: true})
	defer r.Stop()
	for {
		got, err := r.Next(ctx)
		var gap *streams.GapError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &gap):
			continue
		case err != nil:
			return err
		}
		for _, s := range got {
			if err := each(s); err != nil {
				return err
			}
		}
	}
}

// showPublished makes the rows of the journal visible before the flow has caught up: they are in the log, so they may
// be seen.
func (w *worker) showPublished(ctx context.Context, r *restored, p *published) error {
	if w.def.pipeline {
		return w.e.results.load(ctx, w.journal, w.gen, w.schema)
	}
	s := serve.New(w.serveOptions())
	if err := s.Restore(r.rows, r.x.Served); err != nil {
		return fmt.Errorf("checkpoint of epoch %d: %w: %w", r.meta.Epoch, errUnreadable, err)
	}
	for i, d := range p.batches {
		s.Apply(serve.Change{
			Prev: d.Prev, Epoch: d.Epoch, Seq: int64(p.entries) - int64(len(p.batches)-1-i), Position: d.Seq, Batch: d.Batch,
		})
	}
	w.e.show(s)
	return nil
}

func (w *worker) serveOptions() serve.Options {
	sh := shapeOf(w.prog)
	return serve.Options{Schema: sh.visible(), Key: sh.key}
}

// replay takes the epochs between the checkpoint and the newest entry without publishing, stopping exactly at the
// epochs of the newest result and the newest late rows, and compares what came out with what the journal holds. Without
// compare the rows before the start of the replay are not known to be the same, as when results were trimmed.
func (w *worker) replay(ctx context.Context, p *published, compare bool) error {
	w.entries, w.lates = p.entries, p.lates
	if p.last <= w.at && p.lateLast <= w.at {
		return nil
	}
	var sum digest
	var rows int64
	var rec []byte
	count := func(o flow.Output) {
		if o.Delta != nil {
			rows += int64(o.Delta.N)
			rec = sum.add(o.Delta, rec)
		}
	}
	stops := []uint64{p.lateLast, p.last}
	slices.Sort(stops)
	for _, stop := range stops {
		if stop <= w.at {
			continue
		}
		out, err := w.runTo(ctx, stop, p.inputs, count)
		if err != nil {
			return err
		}
		count(out)
		if stop > p.lateLast && stop == p.last && out.Late != nil {
			// The results of these epochs are in the log and their late rows are not.
			if err := w.commitLate(ctx, stop, out.Late); err != nil {
				return err
			}
		}
	}
	w.rowsOut += p.rows
	for _, d := range p.batches {
		if ms, ok := w.env.clk.TimeOf(d.Epoch); ok {
			w.lastMs = ms
		}
	}
	// Invariant 4: what the flow gives for these epochs is what the journal published for them.
	if compare && (sum != p.sum || w.def.pipeline && rows != p.rows) {
		return fmt.Errorf("%w: epochs %d to %d give other rows now than the journal holds", errDiverged, w.checkpointed+1, p.last)
	}
	return nil
}

// errUnreadable says that a checkpoint is whole and does not fit the engine.
var errUnreadable = errors.New("the checkpoint does not fit this engine")

// errDiverged says that the state does not lead to what was published. The entity must not go on from it.
var errDiverged = errors.New("the state does not match the journal")

// runTo takes the recorded epochs up to one, without committing, and returns what was not given to each yet. inputs
// are the positions at that epoch as an entry names them, for an epoch whose record is lost.
func (w *worker) runTo(ctx context.Context, epoch uint64, inputs []streams.Position, each func(flow.Output)) (flow.Output, error) {
	var late []*zset.Batch
	keep := func(o flow.Output) {
		each(flow.Output{Delta: o.Delta})
		if o.Late != nil {
			late = append(late, o.Late)
		}
	}
	for w.at < epoch {
		t, err := w.newTail(ctx)
		if err != nil {
			return flow.Output{}, err
		}
		err = w.runTail(ctx, t, epoch, inputs, keep)
		t.stop()
		var gap *gapError
		if errors.As(err, &gap) {
			if gap.at.Epoch > epoch {
				// The record of the epoch itself is gone: the entry says where its inputs stood.
				gap = w.entryPositions(epoch, inputs)
			}
			err = w.deriveTo(ctx, gap, keep)
		}
		if err != nil {
			return flow.Output{}, err
		}
	}
	out := w.flow.Flush()
	if len(late) > 0 {
		out.Late = zset.Concat(append(late, out.Late)...)
	}
	return out, nil
}

// runTail takes recorded epochs; it returns nil at the epoch or at the end of what is recorded.
func (w *worker) runTail(ctx context.Context, t *tail, epoch uint64, inputs []streams.Position, each func(flow.Output)) error {
	rows := 0
	head := w.env.clk.Head().Epoch
	for t.to < epoch {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := t.next(ctx, min(epoch, head))
		if err != nil {
			return err
		}
		for i := range t.ready {
			if err := w.take(t.ready[i : i+1]); err != nil {
				return err
			}
			r, _ := epochSize(&t.ready[i])
			rows += r
		}
		t.ready, t.spans = t.ready[:0], t.spans[:0]
		w.at = min(t.to, epoch)
		if rows >= clock.StepLimits.Rows {
			each(w.flow.Flush())
			rows = 0
		}
		if !more && w.at < epoch {
			// The log of epochs ends before the journal, as after a loss of power.
			return w.entryPositions(epoch, inputs)
		}
	}
	w.at = epoch
	return nil
}

// entryPositions stands for the record of an epoch that is lost.
func (w *worker) entryPositions(epoch uint64, inputs []streams.Position) *gapError {
	g := &gapError{positions: map[string]uint64{}}
	g.at.Epoch = epoch
	for _, p := range inputs {
		g.positions[streams.InputKey(p.Input, p.Incarnation)] = p.Seq
	}
	return g
}

// deriveTo takes everything up to the positions behind a hole, without committing.
func (w *worker) deriveTo(ctx context.Context, gap *gapError, each func(flow.Output)) error {
	if err := w.takeHistory(ctx, w.sourcePositions(gap.positions), each, nil); err != nil {
		return err
	}
	e := clock.Epoch{Tick: clock.Tick{Epoch: gap.at.Epoch, TimeMs: max(gap.at.TimeMs, w.lastTick)}}
	if err := w.takeOthers(ctx, &e); err != nil {
		return err
	}
	w.at = gap.at.Epoch
	return nil
}

// sourcePositions picks the positions of the worker's sources.
func (w *worker) sourcePositions(at map[string]uint64) []clock.Position {
	to := make([]clock.Position, len(w.inputs))
	for i := range w.inputs {
		if in := &w.inputs[i]; in.src != nil {
			inc := in.src.stream.Incarnation()
			to[i] = clock.Position{Incarnation: inc, Seq: at[streams.InputKey(in.name, inc)]}
		}
	}
	return to
}

// readEntriesFrom is readEntries from a position that may be inside of an entry: reading then begins behind it.
func readEntriesFrom(ctx context.Context, st *streams.Stream, from, to uint64, each func(streams.Stored) error) error {
	for from <= to {
		err := readEntries(ctx, st, from, to, each)
		var mid *streams.MidEntryError
		if !errors.As(err, &mid) {
			return err
		}
		from = mid.Seq + 1
	}
	return nil
}

package runtime

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/runtime/serve"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// prevOf is the newest epoch before an entry at which its entity's output was what it had been.
func prevOf(e streams.Entry) uint64 {
	if e.Prev > 0 && e.Prev < e.Epoch {
		return e.Prev
	}
	return e.Epoch - 1
}

// commit appends the output of the epochs after prev up to epoch as one entry with the input positions that it
// reflects, and waits until it is stored (Invariant 2). A step without output appends nothing: its positions go with
// the next entry or checkpoint.
func (w *worker) commit(ctx context.Context, prev, epoch uint64, out flow.Output) (*clock.Delta, error) {
	// A stop in the middle of an append would leave its outcome open; the append is short and runs to its end.
	ctx, cancel := w.env.appending(ctx)
	defer cancel()
	var d *clock.Delta
	if out.Delta != nil && out.Delta.N > 0 {
		first := w.entries + 1
		last := first
		if w.def.pipeline {
			last = w.entries + uint64(out.Delta.N)
		}
		w.enc = wire.EncodeMarked(w.enc[:0], w.kinds, out.Delta, out.Evicted)
		began := w.env.rt.now()
		seq, err := w.journal.Append(ctx, streams.Entry{
			Epoch: epoch, Prev: prev, Inputs: w.positions(), Watermark: w.watermark(), Generation: w.gen, Plan: w.plan,
			SeqNo: first, ContentType: wire.ContentType, Data: w.enc,
		})
		if err != nil {
			return nil, err
		}
		w.e.counted(w.env.rt.now().Sub(began))
		w.entries = last
		w.rowsOut += int64(out.Delta.N)
		w.base.grew(len(w.enc))
		d = &clock.Delta{Prev: prev, Epoch: epoch, Seq: seq, Incarnation: w.journal.Stream().Incarnation(), Generation: w.gen, Schema: w.schema, Batch: out.Delta, Bytes: out.Delta.Bytes()}
	}
	return d, w.commitLate(ctx, epoch, out.Late)
}

// commitLate stores rows that came after their window had closed. They follow the results: a restart in between finds
// the results and adds the late rows of the same epochs.
func (w *worker) commitLate(ctx context.Context, epoch uint64, rows *zset.Batch) error {
	if rows == nil || rows.N == 0 || w.late == nil {
		return nil
	}
	w.enc = wire.Encode(w.enc[:0], rows.Kinds(), rows)
	_, err := w.late.Append(ctx, streams.Entry{
		Epoch: epoch, Inputs: w.positions(), Generation: w.gen, Plan: w.plan, SeqNo: w.lates + 1,
		ContentType: wire.ContentType, Data: w.enc,
	})
	if err != nil {
		return fmt.Errorf("late rows: %w", err)
	}
	w.lates += uint64(rows.N)
	return nil
}

// positions is how far the worker has taken each input.
func (w *worker) positions() []streams.Position {
	out := make([]streams.Position, len(w.inputs))
	for i := range w.inputs {
		in := &w.inputs[i]
		out[i] = streams.Position{Input: in.name, Incarnation: in.at.Incarnation, Seq: in.at.Seq}
	}
	return out
}

func (w *worker) watermark() int64 {
	if !w.timed {
		return 0
	}
	if ms := w.flow.Watermark(); ms != math.MinInt64 {
		return ms
	}
	return 0
}

// serve shows what has been committed.
func (w *worker) serve(d *clock.Delta, ms int64) {
	if w.def.pipeline {
		w.e.results.add(resultBatch{first: int64(w.entries) - int64(d.Batch.N) + 1, epoch: d.Epoch, position: d.Seq, schema: w.schema, batch: d.Batch})
		return
	}
	w.e.rows().Apply(serve.Change{
		Prev: d.Prev, Epoch: d.Epoch, TimeMs: ms, Seq: int64(w.entries), Position: d.Seq, Batch: d.Batch,
	})
}

// betweenSteps does what is due beside the steps: checkpoints, a base for the journal.
func (w *worker) betweenSteps(ctx context.Context) error {
	select {
	case err := <-w.saving:
		w.saved(err)
	case ask := <-w.probe:
		ask()
	default:
	}
	now := w.env.rt.now()
	if now.Before(w.nextSave) {
		return nil
	}
	w.nextSave = now.Add(w.saveEvery)
	w.stats.stateBytes.Store(w.flow.StateBytes())
	w.save()
	return w.tidy(ctx)
}

func (w *worker) untilSave() time.Duration {
	return max(w.nextSave.Sub(w.env.rt.now()), 10*time.Millisecond)
}

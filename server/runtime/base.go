package runtime

import (
	"context"
	"time"

	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// trimEvery is how often a journal is looked at for entries that nobody needs.
const trimEvery = 30 * time.Second

// tidy gives the journal of a table a base when its deltas have outgrown its rows, and lets go of what is behind the
// base and behind everyone who reads the journal.
func (w *worker) tidy(ctx context.Context) error {
	if w.silent {
		return nil
	}
	if !w.def.pipeline && w.base.due() {
		if err := w.rebase(ctx); err != nil {
			return err
		}
		w.base.trimmed = time.Time{}
	}
	now := w.env.rt.now()
	if now.Sub(w.base.trimmed) < trimEvery {
		return nil
	}
	w.base.trimmed = now
	return w.trim(ctx)
}

// rebase writes a base at the worker's border.
func (w *worker) rebase(ctx context.Context) error {
	rows, err := w.allRows(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := w.env.appending(ctx)
	defer cancel()
	_, size, err := w.writeBase(ctx, streams.Entry{
		Epoch: w.at, Inputs: w.positions(), Watermark: w.watermark(), Generation: w.gen, Plan: w.plan, SeqNo: w.entries,
		ContentType: wire.ContentType,
	}, rows)
	if err != nil {
		return err
	}
	w.base.size, w.base.deltas = size, 0
	return nil
}

// allRows is the whole output as a Z-set: from the served rows, or, when those lack a hidden column, from the journal.
func (w *worker) allRows(ctx context.Context) (*zset.Batch, error) {
	if !w.prog.EventTime() {
		return w.e.rows().View().Batch(), nil
	}
	parts, _, err := foldJournal(ctx, w.journal, w.gen, w.schema, 0)
	if err != nil {
		return nil, err
	}
	b := zset.Concat(parts...)
	if b == nil {
		return zset.Empty(w.kinds), nil
	}
	return zset.Consolidate(b), nil
}

// trim removes entries that are behind the newest base, every checkpoint of the entity, every dependent, and the
// retention of the definition.
func (w *worker) trim(ctx context.Context) error {
	need := w.env.neededOf(w.e)
	if w.def.retainMs > 0 {
		seq, err := w.journal.Stream().SeqAtTime(ctx, w.env.rt.now().Add(-time.Duration(w.def.retainMs)*time.Millisecond))
		if err != nil {
			return err
		}
		need = min(need, seq)
	} else if w.def.pipeline {
		return nil // the stream's own bounds keep the results
	}
	last, ok := w.journal.Last()
	if !ok {
		return nil
	}
	if !w.def.pipeline {
		if last.BaseSeq == 0 {
			return nil
		}
		need = min(need, last.BaseSeq)
	}
	_, err := w.journal.Trim(ctx, need)
	return err
}

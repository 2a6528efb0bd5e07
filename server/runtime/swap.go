package runtime

import (
	"context"

	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/runtime/serve"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// takeOver puts a new version of a table in the place of the old one at an epoch: a base with all of its rows, then a
// marker, which is the moment of the swap in the log. Dependents get the difference.
func (w *worker) takeOver(ctx context.Context, epoch uint64, ms int64, out flow.Output) (*clock.Delta, error) {
	before, err := w.e.handOver(ctx, w)
	if err != nil {
		return nil, err
	}
	ctx, cancel := w.env.appending(ctx)
	defer cancel()
	// The old version has stopped: read the tail that it has left.
	if w.journal, err = streams.OpenJournal(ctx, w.journal.Stream(), w.env.term); err != nil {
		return nil, err
	}
	rows := out.Delta
	if rows == nil {
		rows = zset.Empty(w.kinds)
	}
	entry := streams.Entry{
		Epoch: epoch, Prev: epoch - 1, Inputs: w.positions(), Watermark: w.watermark(), Generation: w.gen, Plan: w.plan,
		SeqNo: w.entries + 1, ContentType: wire.ContentType,
	}
	if _, _, err := w.writeBase(ctx, entry, rows); err != nil {
		return nil, err
	}
	entry.Kind, entry.ContentType = streams.Marker, ""
	seq, err := w.journal.Append(ctx, entry)
	if err != nil {
		return nil, err
	}
	w.entries++
	w.lastMs = ms
	w.rowsOut += int64(rows.N)
	if before.rows == nil {
		before.at = epoch - 1
	}
	d := difference(before, rows, w.schema, epoch, seq)
	d.Generation, d.Incarnation = w.gen, w.journal.Stream().Incarnation()
	s := serve.New(w.serveOptions())
	s.Load(rows, serve.State{Epoch: epoch, TimeMs: ms, Seq: int64(w.entries), Position: seq})
	w.e.restored(w, s)
	return d, nil
}

// oldState is the rows of the version that is replaced.
type oldState struct {
	rows   []*zset.Batch
	schema types.Schema
	at     uint64
}

// difference is new rows minus old rows, over the columns of both: a column that one of them lacks is NULL there, and a
// dependent that reads by name takes back exactly what it was given.
func difference(old oldState, rows *zset.Batch, schema types.Schema, epoch, seq uint64) *clock.Delta {
	all := append(types.Schema{}, schema...)
	for _, f := range old.schema {
		i, ok := all.Find(f.Name)
		if !ok || all[i].Stored() != f.Stored() {
			if ok {
				// The column changed its kind. Nothing can be both; the old values go by, and dependents that read it are
				// compiled again.
				continue
			}
			all = append(all, f)
		}
	}
	in := input{columns: all}
	parts := []*zset.Batch{in.project(schema, rows)}
	was := input{columns: all}
	for _, b := range old.rows {
		parts = append(parts, zset.Negate(was.project(old.schema, b)))
	}
	b := zset.Consolidate(zset.Concat(parts...))
	return &clock.Delta{Prev: old.at, Epoch: epoch, Seq: seq, Schema: all, Batch: b, Bytes: b.Bytes()}
}

// writeBase writes all rows of a table in chunks.
func (w *worker) writeBase(ctx context.Context, e streams.Entry, rows *zset.Batch) (first uint64, bytes int64, err error) {
	b := w.journal.BeginBase(e)
	// Rows are counted, not bytes: a chunk of this many ordinary rows is far below the smallest message limit.
	chunk := max(1, min(baseChunkRows, rows.N*(w.env.rt.opt.Streams.MaxPayload()/4)/max(1, rows.Bytes())))
	for from := 0; from == 0 || from < rows.N; from += chunk {
		data := wire.Encode(nil, w.kinds, zset.Slice(rows, from, min(rows.N, from+chunk)))
		bytes += int64(len(data))
		if err := b.Write(ctx, data); err != nil {
			return 0, 0, err
		}
	}
	first, _, err = b.Commit(ctx)
	return first, bytes, err
}

const baseChunkRows = 16 << 10

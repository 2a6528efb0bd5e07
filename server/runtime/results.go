package runtime

import (
	"context"
	"slices"
	"sync"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// keptResults is how many of the newest rows of a pipeline are in memory; older ones are in its stream.
const keptResults = 100

// resultBatch is the rows of one entry.
type resultBatch struct {
	first    int64 // number of the first row, from 1
	epoch    uint64
	position uint64
	schema   types.Schema
	batch    *zset.Batch
}

// results is the newest rows of a pipeline, oldest first.
type results struct {
	keep int // rows; 0 means keptResults

	mu      sync.Mutex
	batches []resultBatch
	rows    int
}

func (r *results) bound() int {
	if r.keep > 0 {
		return r.keep
	}
	return keptResults
}

func (r *results) add(b resultBatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, b)
	r.rows += b.batch.N
	drop := 0
	for r.rows-r.batches[drop].batch.N >= r.bound() {
		r.rows -= r.batches[drop].batch.N
		drop++
	}
	r.batches = slices.Delete(r.batches, 0, drop)
}

// reset forgets the rows of an older version.
func (r *results) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches, r.rows = nil, 0
}

// load fills the ring from the end of the journal.
func (r *results) load(ctx context.Context, j *streams.Journal, gen uint64, schema types.Schema) error {
	r.reset()
	last, ok := j.Last()
	if !ok {
		return nil
	}
	// Entries hold a row at least, so the newest hundred hold enough.
	from := uint64(1)
	if last.Last > keptResults {
		from = last.Last - keptResults
	}
	first := true
	return readEntriesFrom(ctx, j.Stream(), from, last.Last, func(s streams.Stored) error {
		if s.Kind != streams.Delta || s.Generation != gen {
			return nil
		}
		d, err := deltaOf(s, schema)
		if err != nil {
			if first {
				first = false
				return nil
			}
			return err
		}
		first = false
		r.add(resultBatch{first: int64(s.SeqNo), epoch: s.Epoch, position: s.Last, schema: schema, batch: d.Batch})
		return nil
	})
}

// newest returns the newest rows, oldest first.
func (r *results) newest(id string, visible types.Schema, limit int) []view.ResultEnvelope {
	r.mu.Lock()
	batches := slices.Clone(r.batches)
	r.mu.Unlock()
	n := 0
	for _, b := range batches {
		n += b.batch.N
	}
	skip := max(0, n-min(limit, r.bound()))
	out := make([]view.ResultEnvelope, 0, n-skip)
	for _, b := range batches {
		ts, hasTime := b.schema.Find(types.TsColumn)
		for i := range b.batch.N {
			if skip > 0 {
				skip--
				continue
			}
			e := view.ResultEnvelope{PipelineID: id, Seq: b.first + int64(i), Row: zset.AppendJSON(nil, visible, b.batch, i)}
			if w := b.batch.W(i); w != 1 {
				e.Weight = &w
			}
			if hasTime && !b.batch.Cols[ts].IsNull(i) {
				e.TimestampMs = b.batch.Cols[ts].I64[i]
			}
			out = append(out, e)
		}
	}
	return out
}

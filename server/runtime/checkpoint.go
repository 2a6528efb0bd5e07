package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/runtime/serve"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/checkpoint"
)

// snapshotShare bounds the share of a worker's time that taking snapshots may cost: a big state is saved less often.
const snapshotShare = 50

// extra is what a checkpoint holds beside the state of the flow and the served rows.
type extra struct {
	LastTick int64      `json:"lastTick"`
	Newest   int64      `json:"newest"`
	RowsIn   int64      `json:"rowsIn"`
	RowsOut  int64      `json:"rowsOut"`
	LastMs   int64      `json:"lastMs"`
	Entries  uint64     `json:"entries"`
	Lates    uint64     `json:"lates"`
	Inputs   []savedPos `json:"inputs"`
	// Served is the moment of the served rows.
	Served serve.State `json:"served"`
	Flow   int         `json:"flow"` // bytes of the flow's snapshot, which come first
}

type savedPos struct {
	Name        string `json:"name"`
	Incarnation string `json:"incarnation"`
	Seq         uint64 `json:"seq"`
	Generation  uint64 `json:"generation,omitempty"`
}

// save begins a checkpoint when something has changed since the last one. The snapshot is taken here, between two
// steps; everything slow happens beside the worker.
func (w *worker) save() {
	if w.silent || w.def.memory || w.env.checkpoints == nil || w.saving != nil || w.at == w.checkpointed {
		return
	}
	m, head, rows := w.capture()
	w.saving = make(chan error, 1)
	done := w.saving
	go func() { done <- w.env.writeCheckpoint(w.e.key, m, head, rows) }()
}

// capture takes the state at the worker's border.
func (w *worker) capture() (m checkpoint.Meta, state []byte, rows *serve.View) {
	began := w.env.rt.now()
	state = w.flow.Snapshot(nil)
	x := extra{
		LastTick: w.lastTick, Newest: w.newest, RowsIn: w.rowsIn, RowsOut: w.rowsOut, LastMs: w.lastMs,
		Entries: w.entries, Lates: w.lates, Flow: len(state),
	}
	m = checkpoint.Meta{
		Epoch: w.at, Term: w.env.term, Generation: w.gen, Plan: w.plan, Inputs: map[string]uint64{},
		Journal: w.journal.End(), JournalIncarnation: w.journal.Stream().Incarnation(), SavedMs: began.UnixMilli(),
	}
	for i := range w.inputs {
		in := &w.inputs[i]
		x.Inputs = append(x.Inputs, savedPos{in.name, in.at.Incarnation, in.at.Seq, in.gen})
		m.Inputs[streams.InputKey(in.name, in.at.Incarnation)] = in.at.Seq
	}
	if !w.def.pipeline {
		rows = w.e.rows().View()
		x.Served = rows.State
	}
	m.Extra, _ = json.Marshal(x) // plain numbers and strings
	w.checkpointed = w.at
	w.saveEvery = max(w.env.rt.opt.CheckpointEvery, snapshotShare*w.env.rt.now().Sub(began))
	return m, state, rows
}

func (env *environment) writeCheckpoint(key string, m checkpoint.Meta, state []byte, rows *serve.View) error {
	if rows != nil {
		state = rows.AppendSnapshot(state)
	}
	began := env.rt.now()
	in, err := env.checkpoints.Save(key, m, state)
	if err != nil {
		return err
	}
	env.saved(key, m, in.Bytes, env.rt.now().Sub(began))
	return env.checkpoints.Prune(key, keepCheckpoints)
}

// keepCheckpoints is two: a damaged one falls back to the one before.
const keepCheckpoints = 2

func (w *worker) saved(err error) {
	w.saving = nil
	if err != nil {
		// Nothing is lost: the log still has everything since the one before. The next one is tried as usual.
		w.log.Error("a checkpoint could not be written", "error", err, "epoch", w.checkpointed)
		w.checkpointed = 0
		w.e.warn(err)
		return
	}
	w.e.warn(nil)
}

// finishSaving waits for a checkpoint that is being written.
func (w *worker) finishSaving() {
	if w.saving != nil {
		w.saved(<-w.saving)
	}
}

// leaveInOrder writes a last checkpoint, when the worker is told to stop.
func (w *worker) leaveInOrder(ctx context.Context) error {
	w.finishSaving()
	if w.env.abandoned() {
		return ctx.Err()
	}
	w.save()
	w.finishSaving()
	return ctx.Err()
}

// restored is a readable checkpoint.
type restored struct {
	meta checkpoint.Meta
	x    extra
	flow []byte
	rows []byte
}

// loadCheckpoint finds the newest checkpoint that is whole and belongs to the journal as it is: made by the plan and
// generation, of the same streams, not ahead of the journal.
func (env *environment) loadCheckpoint(key, plan string, gen uint64, st *streams.Stream, end uint64) (*restored, error) {
	if env.checkpoints == nil {
		return nil, nil
	}
	m, state, skipped, err := env.checkpoints.Load(key, func(m checkpoint.Meta) error {
		switch {
		case plan != "" && m.Plan != plan:
			return fmt.Errorf("it is of plan %s, not %s", m.Plan, plan)
		case m.Generation != gen:
			return fmt.Errorf("it is of generation %d, not %d", m.Generation, gen)
		case m.JournalIncarnation != st.Incarnation():
			return errors.New("the journal was made again since")
		case m.Journal > end:
			return fmt.Errorf("it reflects position %d of the journal, which ends at %d", m.Journal, end)
		}
		return nil
	})
	for _, s := range skipped {
		var damaged *checkpoint.DamagedError
		if errors.As(s, &damaged) {
			env.log.Warn("a checkpoint is damaged; the one before is used", "entity", key, "error", s)
			env.damaged.Add(1)
		}
	}
	if errors.Is(err, checkpoint.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &restored{meta: m}
	if err := json.Unmarshal(m.Extra, &r.x); err != nil || r.x.Flow > len(state) {
		return nil, fmt.Errorf("checkpoint of %s at epoch %d: its description does not fit the state of %d bytes: %w", key, m.Epoch, len(state), errors.Join(err, errDiverged))
	}
	r.flow, r.rows = state[:r.x.Flow], state[r.x.Flow:]
	return r, nil
}

// apply puts a checkpoint into the worker.
func (w *worker) apply(r *restored) error {
	if err := w.flow.Restore(r.flow); err != nil {
		return err
	}
	w.at, w.checkpointed = r.meta.Epoch, r.meta.Epoch
	w.lastTick, w.newest, w.rowsIn, w.rowsOut, w.lastMs = r.x.LastTick, r.x.Newest, r.x.RowsIn, r.x.RowsOut, r.x.LastMs
	w.entries, w.lates = r.x.Entries, r.x.Lates
	if len(r.x.Inputs) != len(w.inputs) {
		return fmt.Errorf("it has %d inputs, the query has %d", len(r.x.Inputs), len(w.inputs))
	}
	for i, p := range r.x.Inputs {
		if p.Name != w.inputs[i].name {
			return fmt.Errorf("its input %d is %q, the query reads %q", i, p.Name, w.inputs[i].name)
		}
		w.inputs[i].at, w.inputs[i].gen = clock.Position{Incarnation: p.Incarnation, Seq: p.Seq}, p.Generation
	}
	return nil
}

// digest is a sum over the rows of a Z-set that does not depend on their order: equal Z-sets have equal digests.
type digest uint64

func (d *digest) add(b *zset.Batch, rec []byte) []byte {
	for i := range b.N {
		rec = zset.AppendRecord(rec[:0], b, i, nil)
		*d += digest(zset.Hash(rec)) * digest(b.W(i))
	}
	return rec
}

// baseWork decides when a journal gets a base: all rows at an epoch, behind which older deltas can go.
type baseWork struct {
	deltas  int64 // bytes of deltas since the newest base
	size    int64 // of that base
	trimmed time.Time
}

func (b *baseWork) grew(n int) { b.deltas += int64(n) }

// smallestBase is the least amount of deltas that is worth a base.
const smallestBase = 16 << 20

func (b *baseWork) due() bool { return b.deltas > max(smallestBase, 4*b.size) }

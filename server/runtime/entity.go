package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/runtime/serve"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// Kinds of entities in the clock and in keys.
const (
	kindTable    = "table"
	kindPipeline = "pipeline"
)

// entity is one table or pipeline of the catalog: what readers see of it, and the worker that drives it, if any.
type entity struct {
	env      *environment
	kind, id string
	key      string // kind/id
	node     *clock.Node
	results  results

	commits     atomic.Int64
	commitNanos atomic.Int64
	latency     histogram
	saveNanos   atomic.Int64 // spent on checkpoints
	lastNanos   atomic.Int64 // of that, on the newest one
	savedMs     atomic.Int64 // when the newest checkpoint was taken, which may be the restored one
	savedBytes  atomic.Int64
	checkpoints atomic.Int64
	lastInRate  rate
	lastOutRate rate

	mu       sync.Mutex
	name     string
	store    *serve.Store
	stream   *streams.Stream // the journal, once it exists
	gen      uint64          // the version whose entries the journal ends with
	shape    shape
	made     bool    // a generation has joined: gen and shape count
	rec      *record // what the journal is made by
	tail     uint64  // epoch of the newest entry when the process began
	present  bool    // takes part in the clock, by the epoch log
	run      *worker
	side     *worker // a new version that is being built beside run
	status   view.Status
	err      string
	degraded *view.Degraded
	applied  int64
	warning  string
	changed  chan struct{}
}

func (env *environment) newEntity(kind, id, name string) *entity {
	e := &entity{env: env, kind: kind, id: id, key: kind + "/" + id, name: name, status: view.Stopped, changed: make(chan struct{})}
	e.node = env.clk.AddNode(e.key)
	return e
}

// update changes what others see, and wakes those who wait for it.
func (e *entity) update(change func()) {
	e.mu.Lock()
	change()
	close(e.changed)
	e.changed = make(chan struct{})
	e.mu.Unlock()
}

func (e *entity) worker() *worker {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run
}

// rows is the store of a table that is being served.
func (e *entity) rows() *serve.Store {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.store
}

// show serves other rows from now on. Subscribers of the old ones read again.
func (e *entity) show(s *serve.Store) {
	var old *serve.Store
	e.update(func() { old, e.store = e.store, s })
	if old != nil && old != s {
		old.End(serve.ErrReplaced)
	}
}

// restored notes that a worker has the state of what the journal holds, and shows other rows when it comes with some.
func (e *entity) restored(w *worker, rows *serve.Store) {
	var old *serve.Store
	e.update(func() {
		if w == e.side {
			e.run, e.side = w, nil
		}
		if rows != nil {
			old, e.store = e.store, rows
		}
		e.stream, e.gen, e.shape, e.made = w.journal.Stream(), w.gen, shapeOf(w.prog), true
		if !w.silent {
			e.degraded = nil
			if w.pending != nil {
				e.rec, w.pending = w.pending, nil
			}
		}
	})
	if old != nil {
		old.End(serve.ErrReplaced)
	}
	if !w.silent {
		w.stats.live.Store(true)
	}
}

// knows sets what the journal is made by.
func (e *entity) knows(rec *record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rec = rec
}

// building notes that a worker computes a generation that nobody sees yet.
func (e *entity) building(w *worker, rec *record) {
	w.pending = rec
	e.update(func() {
		if e.stream == nil {
			e.stream = w.journal.Stream()
		}
	})
}

// built notes where a build has ended.
func (e *entity) built(w *worker) {
	if w.pending == nil {
		return
	}
	w.pending.Built, w.pending.BuiltAt = w.at, map[string]uint64{}
	for i := range w.inputs {
		if in := &w.inputs[i]; in.ent == nil {
			w.pending.BuiltAt[streams.InputKey(in.name, in.at.Incarnation)] = in.at.Seq
		}
	}
}

// asking stores that the entity is about to join, before the epoch log says so.
func (e *entity) asking(ctx context.Context, w *worker, head uint64) error {
	e.mu.Lock()
	rec := e.rec
	if w.pending != nil {
		rec = w.pending
	}
	e.mu.Unlock()
	if rec == nil {
		return errors.New("BUG: an entity joins without a record of what its journal is made by")
	}
	rec.Joining = head
	return e.saveRecord(ctx, rec)
}

func (e *entity) saveRecord(ctx context.Context, rec *record) error {
	if err := e.env.state.save(ctx, e.kind, e.id, rec); err != nil {
		return fmt.Errorf("store what the journal is made by: %w", err)
	}
	return nil
}

// joining stores what the journal's next entries are made by, before the first of them, and the epoch at which they
// begin to count.
func (e *entity) joining(ctx context.Context, w *worker, at uint64) error {
	e.mu.Lock()
	rec, fresh := e.rec, w.pending != nil
	if fresh {
		rec = w.pending
	}
	e.mu.Unlock()
	rec.Joined, rec.Joining = at, 0
	if err := e.saveRecord(ctx, rec); err != nil {
		return err
	}
	switch {
	case !fresh:
	case w.def.pipeline:
		e.results.reset()
	case !w.swap:
		e.serveEmpty(w)
	}
	return nil
}

// serveEmpty makes a store for the first delta of a new table.
func (e *entity) serveEmpty(w *worker) {
	if e.rows() == nil {
		e.show(serve.New(w.serveOptions()))
	}
}

// handOver stops the version that runs and returns its rows, for the difference that dependents get. It is made whether
// there are any or not: one may come while the swap goes on.
func (e *entity) handOver(ctx context.Context, w *worker) (oldState, error) {
	e.mu.Lock()
	run, gen, sh, made, st := e.run, e.gen, e.shape, e.made, e.stream
	e.mu.Unlock()
	if run != nil && run != w {
		run.stop()
	}
	if !made {
		return oldState{}, nil
	}
	j, err := streams.OpenJournal(ctx, st, 0)
	if err != nil {
		return oldState{}, err
	}
	last, ok := j.Last()
	if !ok {
		return oldState{}, nil
	}
	rows, state, err := foldStream(ctx, st, last, gen, sh.schema(), 0)
	if err != nil {
		return oldState{}, fmt.Errorf("the rows of the version that is replaced: %w", err)
	}
	return oldState{rows: rows, schema: sh.schema(), at: state.Epoch}, nil
}

// cursor reads the journal behind a position; nil when nothing was ever published.
func (e *entity) cursor(_ context.Context, at clock.Position, gen uint64) (*journalCursor, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at.Incarnation != "" && (e.stream == nil || at.Incarnation != e.stream.Incarnation()) {
		return nil, fmt.Errorf("input %q was deleted and made again: %w", e.name, errRegenerated)
	}
	if e.stream == nil || !e.made {
		return nil, nil
	}
	if gen != 0 && gen != e.gen {
		return nil, fmt.Errorf("input %q: %w", e.name, errRegenerated)
	}
	return &journalCursor{name: e.name, e: e, stream: e.stream, at: at.Seq, gen: e.gen, seen: gen, shape: e.shape}, nil
}

// inputState is all rows of an entity at one epoch, with their exact weights and hidden columns.
type inputState struct {
	rows   []*zset.Batch
	schema types.Schema
	at     clock.Position
	gen    uint64
}

// stateAt returns the rows at an epoch that the entity has reached, or at which it was away: then those that it had left
// with. False means that the rows of that epoch are not known.
func (e *entity) stateAt(ctx context.Context, epoch uint64) (inputState, bool, error) {
	e.mu.Lock()
	store, st, sh, gen, made, pipeline := e.store, e.stream, e.shape, e.gen, e.made, e.kind == kindPipeline
	e.mu.Unlock()
	if !made || st == nil {
		return inputState{}, true, nil
	}
	s := inputState{schema: sh.schema(), at: clock.Position{Incarnation: st.Incarnation()}, gen: gen}
	if store != nil && sh.hidden == 0 && !pipeline {
		v := store.View()
		if old, ok := v.At(epoch); ok && (old.Position > 0 || v.Position == 0) {
			s.rows, s.at.Seq = []*zset.Batch{old.Batch()}, old.Position
			return s, true, nil
		}
	}
	j, err := streams.OpenJournal(ctx, st, 0)
	if err != nil {
		return inputState{}, false, err
	}
	last, ok := j.Last()
	if !ok {
		return s, true, nil
	}
	rows, state, err := foldStream(ctx, st, last, gen, sh.schema(), epoch)
	if errors.Is(err, errHidden) {
		return inputState{}, false, nil
	}
	if err != nil {
		return inputState{}, false, err
	}
	s.rows, s.at.Seq = rows, state.Position
	return s, true, nil
}

// counted notes one commit.
func (e *entity) counted(took time.Duration) {
	e.commits.Add(1)
	e.commitNanos.Add(int64(took))
}

// showed notes how old the newest row of a step was when it was served. The environment keeps a sum of its own: one
// made of the entities would go back when an entity is deleted.
func (e *entity) showed(age time.Duration) {
	e.latency.observe(age)
	e.env.latencyOf(e.kind).observe(age)
}

func (e *entity) warn(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.warning = ""
	if err != nil {
		e.warning = err.Error()
	}
}

// observed is what the catalog and REST see.
func (e *entity) observed() view.EntityStatus {
	e.mu.Lock()
	st := view.EntityStatus{Status: e.status, Error: e.err, Applied: e.applied, Degraded: e.degraded}
	w := e.run
	e.mu.Unlock()
	if w != nil && st.Status == view.Running {
		st.StaleInputs = e.env.staleInputs(w)
	}
	return st
}

// staleInputs names the inputs of a worker that do not take part, so that their last state counts: tables and pipelines
// that are away, and sources that were deleted.
func (env *environment) staleInputs(w *worker) []string {
	var out []string
	for i := range w.inputs {
		in := &w.inputs[i]
		away := in.ent != nil && env.clk.Absent(in.ent.node)
		if away || in.kind == engine.Source && env.source(in.name) == nil {
			out = append(out, in.name)
		}
	}
	return out
}

// coming says that a worker is on its way to take part in the clock.
func (e *entity) coming() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status == view.Running && e.run != nil
}

func kindOf(k catalog.InputKind) string {
	if k == catalog.InputPipeline {
		return kindPipeline
	}
	return kindTable
}

// rate is a smoothed number per second, fed by the environment's ticker.
type rate struct {
	last  int64
	value atomic.Uint64 // rows per second * 1000
}

func (r *rate) feed(total int64, seconds float64) {
	d := float64(total-r.last) / seconds
	r.last = total
	if d < 0 {
		d = 0
	}
	old := float64(r.value.Load()) / 1000
	r.value.Store(uint64((old + (d-old)*0.5) * 1000))
}

func (r *rate) perSecond() float64 {
	v := float64(r.value.Load()) / 1000
	if v < 0.05 {
		return 0
	}
	return v
}

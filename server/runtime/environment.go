package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/checkpoint"
)

// environment is everything that runs under one clock.
type environment struct {
	rt   *Runtime
	name string
	log  *slog.Logger

	epochs      *streams.Stream
	epochLog    *streams.EpochLog
	term        uint64
	clk         *clock.Clock
	seq         *clock.Sequencer
	state       *store
	checkpoints *checkpoint.Store
	damaged     atomic.Int64

	tableLatency, pipelineLatency histogram

	// soft ends when the environment stops in order, hard when nothing may be appended any more.
	soft, hard         context.Context //nolint:containedctx // the lives of the environment, not of a call
	stopSoft, stopHard context.CancelFunc
	left               atomic.Bool // abandoned: no checkpoint, no books
	tasks              sync.WaitGroup

	mu       sync.Mutex
	sources  map[string]*source
	entities map[string]*entity // by key
	metas    map[string][]checkpoint.Meta
	lost     error // why the clock stopped
	rates    map[string]*rate
}

// epochWriter writes the sequencer's records into the log.
type epochWriter struct{ env *environment }

// Append implements clock.Log.
func (l epochWriter) Append(_ context.Context, e clock.Entry) error {
	r := streams.EpochRecord{Epoch: e.Epoch, TimeMs: e.TimeMs}
	if len(e.Cuts) > 0 {
		r.Positions = make(map[string]uint64, len(e.Cuts))
		for _, c := range e.Cuts {
			r.Positions[streams.InputKey(c.Track.Name(), c.Position.Incarnation)] = c.Position.Seq
		}
	}
	for _, c := range e.Left {
		r.Left = append(r.Left, streams.Change{Kind: c.Kind, Key: c.Key, Epoch: c.Epoch})
	}
	for _, c := range e.Joined {
		r.Joined = append(r.Joined, streams.Change{Kind: c.Kind, Key: c.Key})
	}
	for _, y := range e.Layouts {
		r.Layouts = append(r.Layouts, streams.Layout{Source: y.Source, Version: y.Version, From: y.From})
	}
	_, err := l.env.epochLog.Append(l.env.hard, r)
	if errors.Is(err, streams.ErrFenced) {
		return fmt.Errorf("%w: %w", clock.ErrFenced, err)
	}
	return err
}

// begin starts the readers, the sequencer and the housekeeping.
func (env *environment) begin() {
	env.tasks.Go(func() {
		err := env.seq.Run(env.hard)
		if env.hard.Err() == nil {
			env.lose(err)
		}
	})
	env.mu.Lock()
	for _, s := range env.sources {
		env.seq.AddSource(s)
		s.start(env.soft)
	}
	env.mu.Unlock()
	env.tasks.Go(env.housekeeping)
}

// lose ends everything when another process has taken over the clock: nothing that this one computes may be shown or
// written any more.
func (env *environment) lose(err error) {
	env.log.Error("the clock of the environment is lost; nothing runs here any more", "error", err)
	env.mu.Lock()
	env.lost = err
	env.mu.Unlock()
	env.left.Store(true)
	env.stopSoft()
	env.stopHard()
	env.rt.fail(fmt.Errorf("environment %q: %w", env.name, err))
}

// stillOwner returns an error when this process does not write the clock any more.
func (env *environment) stillOwner(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.lost
}

func (env *environment) abandoned() bool { return env.left.Load() }

// appending is the context of an append: it outlives an orderly stop of the worker, and ends when nothing may be
// written any more.
func (env *environment) appending(context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(env.hard)
}

// addSource opens a source.
func (env *environment) addSource(ctx context.Context, rec *catalog.SourceRecord, positions map[string]uint64) error {
	st, err := env.rt.opt.Streams.EnsureSource(ctx, env.name, rec.Name, env.rt.SourceLimits(rec))
	if err != nil {
		return fmt.Errorf("source %q: %w", rec.Name, err)
	}
	at := clock.Position{Incarnation: st.Incarnation(), Seq: positions[streams.InputKey(rec.Name, st.Incarnation())]}
	end, err := st.State(ctx)
	if err != nil {
		return fmt.Errorf("source %q: %w", rec.Name, err)
	}
	if at.Seq > end.Last {
		// Rows that epochs reflect are lost. Reading goes on with what comes; workers that had taken them find out.
		env.log.Error("the stream of a source lost its tail", "entity", rec.Name, "kind", "source", "clock", at.Seq, "stream", end.Last)
		at.Seq = end.Last
	}
	s, err := env.openSource(ctx, rec, st, at)
	if err != nil {
		return fmt.Errorf("source %q: %w", rec.Name, err)
	}
	env.mu.Lock()
	env.sources[rec.Name] = s
	env.mu.Unlock()
	return nil
}

func (env *environment) source(name string) *source {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.sources[name]
}

func (env *environment) entity(kind, id string) *entity {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.entities[kind+"/"+id]
}

func (env *environment) noteLayout(l clock.Layout) {
	if env.seq == nil {
		return
	}
	env.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(env.hard, 10*time.Second)
		defer cancel()
		if _, err := env.seq.Record(ctx, l); err != nil && env.hard.Err() == nil {
			env.log.Warn("a layout could not be noted in the epoch log", "entity", l.Source, "error", err)
		}
	})
}

func (env *environment) openQuarantine(ctx context.Context, source, incarnation string) (*streams.Quarantine, error) {
	st, err := env.rt.opt.Streams.EnsureQuarantine(ctx, env.name, source, streams.Limits{MaxBytes: env.rt.opt.QuarantineMaxBytes})
	if err != nil {
		return nil, err
	}
	return streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: incarnation, Retain: env.rt.opt.QuarantineRetain, Now: env.rt.now}), nil
}

// ensureJournals makes the streams of an entity. A deleted entity of the same name whose stream could not be removed at
// the time would keep the subject: what no definition owns is removed then, and the stream is made.
func (env *environment) ensureJournals(ctx context.Context, e *entity, def definition) (st, late *streams.Stream, err error) {
	st, late, err = env.makeJournals(ctx, e, def)
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != subjectsOverlap {
		return st, late, err
	}
	sn, serr := env.rt.opt.Catalog.Snapshot(env.name)
	if serr == nil {
		serr = env.sweep(ctx, sn)
	}
	if serr != nil {
		return nil, nil, errors.Join(err, serr)
	}
	return env.makeJournals(ctx, e, def)
}

// subjectsOverlap is the server's code for a stream whose subject another stream has.
const subjectsOverlap = 10065

func (env *environment) makeJournals(ctx context.Context, e *entity, def definition) (st, late *streams.Stream, err error) {
	l := def.limits
	l.Memory = def.memory
	if !def.pipeline {
		st, err = env.rt.opt.Streams.EnsureTable(ctx, env.name, e.id, def.name, l)
		return st, nil, err
	}
	if st, err = env.rt.opt.Streams.EnsureResult(ctx, env.name, e.id, l); err != nil {
		return nil, nil, err
	}
	late, err = env.rt.opt.Streams.EnsureLate(ctx, env.name, e.id, l)
	return st, late, err
}

// away says that an entity does not take part in the clock.
func (env *environment) away(e *entity) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.present
}

func (env *environment) joined(e *entity) {
	e.mu.Lock()
	e.present = true
	e.mu.Unlock()
}

// leave records that an entity does not take part any more. Its dependents go on with its last state.
func (env *environment) leave(ctx context.Context, e *entity) error {
	if env.away(e) {
		return nil
	}
	at, _ := env.clk.Frontier(e.node)
	if _, err := env.seq.Leave(ctx, clock.Change{Node: e.node, Kind: e.kind, Key: e.id, Epoch: at}); err != nil {
		return err
	}
	e.mu.Lock()
	e.present = false
	e.mu.Unlock()
	return nil
}

func (w *worker) reads(e *entity) bool {
	for i := range w.inputs {
		if w.inputs[i].ent == e {
			return true
		}
	}
	return false
}

// latencyOf is the histogram of all entities of a kind.
func (env *environment) latencyOf(kind string) *histogram {
	if kind == kindPipeline {
		return &env.pipelineLatency
	}
	return &env.tableLatency
}

// saved remembers what the newest checkpoints of an entity need of the logs.
func (env *environment) saved(key string, m checkpoint.Meta, bytes int64, took time.Duration) {
	env.mu.Lock()
	defer env.mu.Unlock()
	l := append(env.metas[key], m)
	env.metas[key] = l[max(0, len(l)-keepCheckpoints):]
	if e := env.entities[key]; e != nil {
		e.checkpoints.Add(1)
		e.saveNanos.Add(int64(took))
		e.lastNanos.Store(int64(took))
		e.savedMs.Store(m.SavedMs)
		e.savedBytes.Store(bytes)
	}
}

// neededOf is the first position of an entity's journal that somebody needs: a checkpoint of its own, or one of a
// dependent. Whoever has not enough checkpoints yet needs everything.
func (env *environment) neededOf(e *entity) uint64 {
	env.mu.Lock()
	defer env.mu.Unlock()
	own := env.metas[e.key]
	if e.kind == kindTable && len(own) < keepCheckpoints {
		return 0
	}
	need := ^uint64(0)
	for _, m := range own {
		need = min(need, m.Journal+1)
	}
	for key, d := range env.entities {
		w := d.worker()
		if w == nil || !w.reads(e) {
			continue
		}
		ms := env.metas[key]
		if len(ms) < keepCheckpoints {
			return 0
		}
		for _, m := range ms {
			for i := range w.inputs {
				if w.inputs[i].ent == e {
					need = min(need, m.Inputs[streams.InputKey(w.inputs[i].name, e.stream.Incarnation())]+1)
				}
			}
		}
	}
	return need
}

// housekeeping stores the books of sources, feeds the rates, and lets the epoch log go behind the checkpoints.
func (env *environment) housekeeping() {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	last := env.rt.now()
	for n := 1; ; n++ {
		select {
		case <-second.C:
		case <-env.soft.Done():
			return
		}
		now := env.rt.now()
		env.feedRates(now.Sub(last).Seconds())
		last = now
		if n%2 == 0 {
			env.saveBooks()
		}
		if n%30 == 0 {
			env.trimEpochs()
			env.pruneLayouts()
		}
	}
}

func (env *environment) saveBooks() {
	for _, s := range env.sourceList() {
		if err := s.saveBooks(env.hard); err != nil && env.hard.Err() == nil {
			env.log.Error("the counters of a source could not be stored", "entity", s.name, "kind", "source", "error", err)
		}
	}
}

func (env *environment) sourceList() []*source {
	env.mu.Lock()
	defer env.mu.Unlock()
	out := make([]*source, 0, len(env.sources))
	for _, s := range env.sources {
		out = append(out, s)
	}
	return out
}

func (env *environment) entityList() []*entity {
	env.mu.Lock()
	defer env.mu.Unlock()
	out := make([]*entity, 0, len(env.entities))
	for _, e := range env.entities {
		out = append(out, e)
	}
	return out
}

func (env *environment) feedRates(seconds float64) {
	for _, e := range env.entityList() {
		if w := e.worker(); w != nil {
			e.lastInRate.feed(w.stats.rowsIn.Load(), seconds)
			e.lastOutRate.feed(w.stats.rowsOut.Load(), seconds)
		}
	}
	for _, s := range env.sourceList() {
		s.mu.Lock()
		n := s.books.Rows
		s.mu.Unlock()
		s.rate.feed(n, seconds)
	}
}

// pruneLayouts forgets the layouts of rows that are not retained any more.
func (env *environment) pruneLayouts() {
	for _, s := range env.sourceList() {
		if len(s.Layouts()) < 2 {
			continue
		}
		st, err := s.stream.State(env.hard)
		if err == nil {
			err = env.rt.opt.Catalog.PruneLayouts(env.hard, env.name, s.name, st.First)
		}
		if err != nil && env.hard.Err() == nil {
			env.log.Warn("old layouts could not be forgotten", "entity", s.name, "kind", "source", "error", err)
		}
	}
}

// trimEpochs lets go of the records that no running entity needs to recover.
func (env *environment) trimEpochs() {
	need := env.clk.Head().Epoch
	env.mu.Lock()
	for key, e := range env.entities {
		w := e.worker()
		if w == nil || w.def.memory {
			continue
		}
		ms := env.metas[key]
		if len(ms) < keepCheckpoints {
			env.mu.Unlock()
			return
		}
		for _, m := range ms {
			need = min(need, m.Epoch)
		}
	}
	env.mu.Unlock()
	if err := env.epochLog.Trim(env.hard, need); err != nil && env.hard.Err() == nil {
		env.log.Warn("the epoch log could not be trimmed", "error", err)
	}
}

// stop ends everything in order: workers finish their step and write a checkpoint, readers store their books, the clock
// stops last.
func (env *environment) stop() {
	var wg sync.WaitGroup
	for _, e := range env.entityList() {
		e.mu.Lock()
		run, side := e.run, e.side
		e.mu.Unlock()
		for _, w := range []*worker{run, side} {
			if w != nil {
				wg.Go(w.stop)
			}
		}
	}
	wg.Wait()
	env.stopSoft()
	for _, s := range env.sourceList() {
		s.stop()
	}
	if !env.abandoned() {
		env.saveBooks()
	}
	env.stopHard()
	env.tasks.Wait()
	for _, e := range env.entityList() {
		if s := e.rows(); s != nil {
			s.End(errStopped)
		}
	}
}

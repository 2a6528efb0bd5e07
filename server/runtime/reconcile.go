package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// reconcile makes what runs follow the catalog, until the context ends. first is closed after the first pass.
func (rt *Runtime) reconcile(ctx context.Context, first chan<- struct{}) {
	changes, end := rt.opt.Catalog.Changes()
	defer end()
	for {
		select {
		case <-changes:
		case <-ctx.Done():
			return
		}
		sn, err := rt.opt.Catalog.Snapshot(rt.env.name)
		if err != nil {
			rt.env.log.Error("the catalog cannot be read", "error", err)
		} else {
			rt.env.follow(ctx, sn)
		}
		if first != nil {
			close(first)
			first = nil
		}
	}
}

// follow brings everything to what a snapshot says: sources first, then what should stop, dependents before what they
// read, then what is gone, then what should run, inputs before what reads them.
func (env *environment) follow(ctx context.Context, sn *catalog.Snapshot) {
	env.followSources(ctx, sn)
	wants := env.wanted(sn)
	seen := map[string]bool{}
	for _, x := range slices.Backward(wants) {
		seen[x.e.key] = true
		if x.run.Desired != catalog.DesiredRunning {
			env.halt(ctx, x)
		}
	}
	// What is gone goes before anything begins: a new entity may have its name, and with it its subject.
	for _, e := range env.entityList() {
		if !seen[e.key] {
			env.drop(ctx, e)
		}
	}
	// Every worker is put into the graph before the first one moves, so that a border which one of them needs is known to
	// all that it reads.
	var begin []*worker
	if ctx.Err() != nil {
		return // what was to go may be there still, and what was to stop may run
	}
	for _, x := range wants {
		if x.run.Desired == catalog.DesiredRunning {
			if w := env.launch(ctx, sn, x); w != nil {
				begin = append(begin, w)
			}
		}
	}
	for _, w := range begin {
		w.start(env.soft)
		env.publish(w.e, "started", view.Running)
	}
}

// wanted is one entity with what the catalog wants of it.
type wanted struct {
	e     *entity
	run   catalog.Run
	facts catalog.Facts
	table *catalog.TableRecord
	pipe  *catalog.PipelineRecord
}

// wanted lists pipelines, then tables, each behind what it reads.
func (env *environment) wanted(sn *catalog.Snapshot) []wanted {
	var all []wanted
	for _, p := range sn.Pipelines() {
		all = append(all, wanted{e: env.ensure(kindPipeline, p.ID, p.Name), run: p.Run, facts: p.Facts, pipe: p})
	}
	for _, t := range sn.Tables() {
		all = append(all, wanted{e: env.ensure(kindTable, t.ID, t.Name), run: t.Run, facts: t.Facts, table: t})
	}
	byName := map[string]int{}
	for i, x := range all {
		name := x.e.kind + "/"
		if x.table != nil {
			name += x.table.Name
		} else {
			name += x.pipe.Name
		}
		if _, ok := byName[name]; !ok {
			byName[name] = i
		}
	}
	out := make([]wanted, 0, len(all))
	state := make([]uint8, len(all))
	var visit func(i int)
	visit = func(i int) {
		if state[i] != 0 {
			return
		}
		state[i] = 1
		for _, in := range all[i].facts.Inputs {
			if in.Kind == catalog.InputSource {
				continue
			}
			if j, ok := byName[kindOf(in.Kind)+"/"+in.Name]; ok {
				visit(j)
			}
		}
		out = append(out, all[i])
	}
	for i := range all {
		visit(i)
	}
	return out
}

func (env *environment) ensure(kind, id, name string) *entity {
	env.mu.Lock()
	defer env.mu.Unlock()
	key := kind + "/" + id
	e := env.entities[key]
	if e == nil {
		e = env.newEntity(kind, id, name)
		env.entities[key] = e
	}
	e.mu.Lock()
	e.name = name
	e.mu.Unlock()
	return e
}

// followSources opens new sources, follows changed layouts and limits, and drops what is gone.
func (env *environment) followSources(ctx context.Context, sn *catalog.Snapshot) {
	for _, rec := range sn.Sources() {
		s := env.source(rec.Name)
		if s == nil {
			c, _ := env.epochLog.Clock()
			if err := env.addSource(ctx, rec, c.Positions); err != nil {
				env.log.Error("a source cannot be opened", "entity", rec.Name, "kind", "source", "error", err)
				continue
			}
			s = env.source(rec.Name)
			env.seq.AddSource(s)
			s.start(env.soft)
			continue
		}
		if err := s.follow(ctx, rec.Layouts); err != nil {
			env.log.Error("the change of a source cannot be followed", "entity", rec.Name, "kind", "source", "error", err)
		}
		if l := env.rt.SourceLimits(rec); l != s.limits {
			if _, err := env.rt.opt.Streams.EnsureSource(ctx, env.name, rec.Name, l); err != nil {
				env.log.Error("the limits of a source cannot be changed", "entity", rec.Name, "kind", "source", "error", err)
			} else {
				s.limits = l
			}
		}
	}
	for _, s := range env.sourceList() {
		if _, ok := sn.Source(s.name); !ok {
			env.dropSource(ctx, s)
		}
	}
}

// dropSource deletes the streams of a source that is gone. What reads it goes on with what it has taken.
func (env *environment) dropSource(ctx context.Context, s *source) {
	env.seq.RemoveSource(s)
	s.stop()
	env.mu.Lock()
	delete(env.sources, s.name)
	env.mu.Unlock()
	env.epochLog.Forget(streams.InputKey(s.name, s.stream.Incarnation()))
	err := errors.Join(
		env.rt.opt.Streams.DeleteStream(ctx, streams.SourceStream(env.name, s.name)),
		env.rt.opt.Streams.DeleteStream(ctx, streams.QuarantineStream(env.name, s.name)),
		env.state.forgetBooks(ctx, s.name),
	)
	if err != nil {
		env.log.Error("a deleted source leaves something behind", "entity", s.name, "kind", "source", "error", err)
	}
}

// halt stops an entity that should not run.
func (env *environment) halt(ctx context.Context, x wanted) {
	e := x.e
	e.mu.Lock()
	run, side, applied, present := e.run, e.side, e.applied, e.present
	status := e.status
	e.mu.Unlock()
	if run == nil && side == nil && applied >= x.run.Revision && !present {
		return
	}
	env.stopWorkers(e)
	if err := env.leave(ctx, e); err != nil && ctx.Err() == nil {
		env.log.Error("a stop could not be recorded", "entity", e.key, "error", err)
	}
	e.update(func() {
		e.status, e.err, e.applied = view.Stopped, "", x.run.Revision
		if x.run.Refused != "" {
			e.status, e.err = view.Failed, x.run.Refused
		}
	})
	if run != nil && status == view.Running {
		env.publish(e, "stopped", view.Stopped)
	}
}

func (env *environment) stopWorkers(e *entity) {
	e.mu.Lock()
	run, side := e.run, e.side
	e.mu.Unlock()
	for _, w := range []*worker{side, run} {
		if w != nil {
			w.stop()
			env.removeNode(w)
		}
	}
	if run != nil {
		env.clk.Detach(e.node)
	}
	e.update(func() { e.run, e.side = nil, nil })
}

// removeNode takes the node of a version that will not take over out of the graph; the version that runs may be waiting
// for it and goes on. A version that has taken over drives the entity's own node.
func (env *environment) removeNode(w *worker) {
	if w.node != w.e.node {
		env.clk.Remove(w.node)
		env.clk.Release(w.e.node)
	}
}

// launch gets the worker of an entity ready, or that of a new version of one that runs; nil when there is nothing to do.
func (env *environment) launch(ctx context.Context, sn *catalog.Snapshot, x wanted) *worker {
	e := x.e
	e.mu.Lock()
	run, side, applied := e.run, e.side, e.applied
	e.mu.Unlock()
	if applied >= x.run.Revision {
		return nil
	}
	w, err := env.newWorker(sn, x)
	if err != nil {
		env.stopWorkers(e)
		env.failed(ctx, e, x.run.Revision, err)
		return nil
	}
	if side != nil {
		side.stop()
		env.removeNode(side)
		e.update(func() {
			if e.side == side {
				e.side = nil
			}
			run = e.run // the side may have taken over before it stopped
		})
	}
	if run != nil && run.over() {
		env.clk.Detach(e.node)
		run = nil
	}
	if run != nil && run.plan == w.plan {
		// Settings changed and the query did not: the worker goes on from its checkpoint, and dependents wait for the
		// moment.
		run.stop()
		env.clk.Detach(e.node)
		run = nil
	}
	if run != nil && (w.def.pipeline || !run.stats.live.Load()) {
		// A version that has not come to take part is given up for the new one: it publishes nothing that must go on
		// meanwhile, and the new one may even go on from the same journal.
		run.stop()
		env.clk.Detach(e.node)
		run = nil
	}
	if run != nil {
		w.node = env.clk.AddNode(e.key + "+")
	}
	env.clk.SetInputs(w.node, w.clockInputs(), w.timed)
	e.mu.Lock()
	if e.present && e.rec != nil && e.rec.Joined > e.tail && applied == 0 {
		// It had joined at an epoch that its journal does not show yet.
		env.clk.StopAt(e.node, e.rec.Joined)
	}
	e.mu.Unlock()
	e.update(func() {
		if run != nil {
			e.side = w
		} else {
			e.run = w
		}
		e.status, e.err, e.applied = view.Running, "", x.run.Revision
	})
	return w
}

// ended is called when a worker has ended by itself: its entity fails, and nothing else.
func (env *environment) ended(w *worker) {
	if env.abandoned() || w.err == nil {
		return
	}
	e := w.e
	e.mu.Lock()
	isSide := e.side == w
	e.mu.Unlock()
	w.log.Error("a worker has failed", "error", w.err, "epoch", w.at)
	env.removeNode(w)
	if isSide && (w.e.worker() == nil || w.e.worker().over()) {
		isSide = false // it had stopped the version that ran to take its place
		e.update(func() { e.side = nil })
	}
	if isSide {
		// The version that runs goes on; what is wrong with the new one is said beside it.
		e.update(func() {
			e.side = nil
			e.degraded = &view.Degraded{Reason: "the new version could not be built: " + w.err.Error(), Missing: missingOf(w.err)}
		})
		return
	}
	// Done before the worker counts as ended: whoever stops it and starts another one must not be overtaken by this.
	env.failed(env.hard, e, w.def.revision, fmt.Errorf("%w (epoch %d)", w.err, w.at))
}

// failed marks an entity and takes it out of the clock, so that its dependents go on with its last state.
func (env *environment) failed(ctx context.Context, e *entity, revision int64, err error) {
	env.clk.Detach(e.node)
	if lerr := env.leave(ctx, e); lerr != nil && ctx.Err() == nil {
		env.log.Error("a failure could not be recorded", "entity", e.key, "error", lerr)
	}
	e.update(func() {
		if e.applied > revision {
			return // it was stopped or started again meanwhile
		}
		e.status, e.err, e.applied = view.Failed, err.Error(), revision
		e.run = nil
		if missing := missingOf(err); len(missing) > 0 || errors.Is(err, errDiverged) {
			e.degraded = &view.Degraded{Reason: err.Error(), Missing: missing}
		}
	})
	env.publish(e, "failed", view.Failed)
}

func missingOf(err error) []view.MissingInput {
	var m *missingError
	if !errors.As(err, &m) {
		return []view.MissingInput{}
	}
	return []view.MissingInput{{Input: m.input, From: int64(m.from), To: int64(m.to)}}
}

// drop removes an entity that is gone from the catalog, with its streams and checkpoints.
func (env *environment) drop(ctx context.Context, e *entity) {
	env.stopWorkers(e)
	if err := env.leave(ctx, e); err != nil && ctx.Err() == nil {
		env.log.Error("a deletion could not be recorded", "entity", e.key, "error", err)
	}
	env.mu.Lock()
	delete(env.entities, e.key)
	delete(env.metas, e.key)
	env.mu.Unlock()
	env.clk.Remove(e.node)
	if s := e.rows(); s != nil {
		s.End(errGone)
	}
	names := []string{streams.TableStream(env.name, e.id)}
	if e.kind == kindPipeline {
		names = []string{streams.ResultStream(env.name, e.id), streams.LateStream(env.name, e.id)}
	}
	var err error
	for _, n := range names {
		err = errors.Join(err, env.rt.opt.Streams.DeleteStream(ctx, n))
	}
	err = errors.Join(err, env.state.forget(ctx, e.kind, e.id))
	if env.checkpoints != nil {
		err = errors.Join(err, env.checkpoints.Remove(e.key))
	}
	if err != nil && ctx.Err() == nil {
		env.log.Error("a deleted entity leaves something behind", "entity", e.key, "error", err)
	}
	e.update(func() { e.status, e.err = view.Stopped, "" })
}

var errGone = view.Errorf(view.Missing, "the table was deleted")

// publish tells others about the life of an entity.
func (env *environment) publish(e *entity, what string, s view.Status) {
	if env.rt.opt.Publish == nil {
		return
	}
	e.mu.Lock()
	key, kind := e.id, what
	if e.kind == kindTable {
		key, kind = e.name, "table-"+what
	}
	e.mu.Unlock()
	env.rt.opt.Publish(env.name, view.LifecycleEvent{PipelineID: key, Kind: kind, Status: string(s), TimestampMs: env.rt.now().UnixMilli()})
}

// Await implements the interface of REST: it blocks until the runtime has applied a run revision.
func (rt *Runtime) Await(ctx context.Context, env string, kind catalog.InputKind, id string, revision int64) (view.EntityStatus, error) {
	v, err := rt.environment(env)
	if err != nil {
		return view.EntityStatus{}, err
	}
	for {
		e := v.entity(kindOf(kind), id)
		if e == nil {
			// The catalog has it and the next pass will.
			select {
			case <-time.After(5 * time.Millisecond):
				continue
			case <-ctx.Done():
				return view.EntityStatus{}, ctx.Err()
			}
		}
		e.mu.Lock()
		changed, applied := e.changed, e.applied
		e.mu.Unlock()
		if applied >= revision {
			return e.observed(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return e.observed(), ctx.Err()
		}
	}
}

// Observed implements catalog.Observer.
func (rt *Runtime) Observed(env string, kind catalog.InputKind, id string) view.EntityStatus {
	v, err := rt.environment(env)
	if err != nil {
		return view.EntityStatus{Status: view.Stopped}
	}
	e := v.entity(kindOf(kind), id)
	if e == nil {
		return view.EntityStatus{Status: view.Stopped}
	}
	return e.observed()
}

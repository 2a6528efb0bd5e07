package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/runtime/serve"
	"github.com/streamsforge/streamsforge/streams"
)

// shapeOf is the columns of a program's output.
func shapeOf(p *engine.Program) shape {
	s := shape{output: outputSchema(p)}
	if p.EventTime() {
		s.hidden = 1
	}
	if cols, whole := p.KeyFields(); !whole {
		s.key = make([]int, 0, len(cols))
		for _, name := range cols {
			i, ok := p.Output().Find(name)
			if !ok {
				s.key = nil
				break
			}
			s.key = append(s.key, i)
		}
	}
	return s
}

func (w *worker) record() *record {
	s := shapeOf(w.prog)
	return &record{Plan: w.plan, Generation: w.gen, Starts: map[string]uint64{}, Output: catalog.Fields(s.output), Hidden: s.hidden, Key: s.key}
}

// build computes a new generation from the retained rows, without publishing. An older version of a table goes on
// serving, and when it runs, goes on running, until this one joins the clock.
func (w *worker) build(ctx context.Context, old *record, published bool) error {
	w.silent, w.held = true, w.newHolding()
	// Beside a version that runs, this one takes its place even when that one has not published anything yet: it may
	// until then, and there is one writer of a journal.
	w.swap = (published || w.node != w.e.node) && !w.def.pipeline
	rec := w.record()
	if old != nil && (published || w.swap) {
		rec.Before = old
		rec.Before.Before = nil
	}
	if err := w.startPositions(ctx, rec); err != nil {
		return err
	}
	w.e.building(w, rec)
	return w.buildRows(ctx)
}

// buildAgain computes the state of a generation whose checkpoints are gone. Its entries stay; the difference to what it
// has published is its next delta. Who took part in the clock still does: dependents wait for it at their last common
// epoch, because going on without it would show two moments mixed.
func (w *worker) buildAgain(ctx context.Context, rec *record) error {
	w.log.Info("no checkpoint can be used; the state is built from the retained rows")
	w.silent, w.held = true, w.newHolding()
	last, _ := w.journal.Last()
	if err := w.sameStarts(ctx, rec); err != nil {
		return err
	}
	w.e.building(w, rec)
	if w.def.pipeline {
		return w.pipelineAgain(ctx, rec, last)
	}
	rows, state, err := foldJournal(ctx, w.journal, w.gen, w.schema, 0)
	if err != nil {
		return err
	}
	s := serve.New(w.serveOptions())
	for _, b := range rows {
		s.Load(b, state)
	}
	w.e.show(s)
	w.entries = uint64(state.Seq)
	for _, b := range rows {
		w.held.add(flow.Output{Delta: zset.Negate(b)})
	}
	return w.buildRows(ctx)
}

// pipelineAgain takes everything up to the newest result without publishing, by recorded epochs as far as they go
// back, because results depend on them.
func (w *worker) pipelineAgain(ctx context.Context, rec *record, last streams.Stored) error {
	if err := w.e.results.load(ctx, w.journal, w.gen, w.schema); err != nil {
		return err
	}
	p := &published{}
	if last.Last > 0 {
		rows, err := entryRows(ctx, w.journal.Stream(), last)
		if err != nil {
			return err
		}
		p.entries, p.last, p.inputs = last.SeqNo+uint64(rows)-1, last.Epoch, last.Inputs
	}
	if err := w.publishedLate(ctx, p); err != nil {
		return err
	}
	away := w.env.away(w.e)
	fresh := p.last == 0 && p.lateLast == 0
	if rec.Built > 0 {
		// The first build ended there; up to it epochs were derived, and they are derived again. What they give was
		// published with the first entry, if there is one.
		sink := func(flow.Output) {}
		if fresh {
			sink = w.held.add
		}
		if ok, err := w.takeTables(ctx, rec.Built); err != nil {
			return err
		} else if !ok {
			return w.tablesForgotten(rec.Built)
		}
		if err := w.takeHistory(ctx, w.sourcePositions(rec.BuiltAt), sink, nil); err != nil {
			return err
		}
		w.at = rec.Built
	}
	if fresh {
		w.goOn(rec, 0, away)
		return nil
	}
	if err := w.replay(ctx, p, false); err != nil {
		return err
	}
	w.rowsOut = int64(w.entries)
	w.held = nil
	w.goOn(rec, max(p.last, p.lateLast), away)
	return nil
}

// startPositions puts every source input where the definition says that reading begins: at the first retained row, at
// a position, or at a time.
func (w *worker) startPositions(ctx context.Context, rec *record) error {
	for i := range w.inputs {
		in := &w.inputs[i]
		if in.src == nil {
			continue
		}
		s, err := in.src.stream.State(ctx)
		if err != nil {
			return fmt.Errorf("source %q: %w", in.name, err)
		}
		from := s.First
		if at, ok := w.def.replay[in.name]; ok {
			switch {
			case at.seq > 0:
				from = max(from, min(at.seq, s.Last+1))
			case at.ms > 0:
				seq, err := in.src.stream.SeqAtTime(ctx, time.UnixMilli(at.ms))
				if err != nil {
					return fmt.Errorf("source %q: find the time to begin at: %w", in.name, err)
				}
				from = max(from, seq)
			}
		}
		in.at = clock.Position{Incarnation: in.src.stream.Incarnation(), Seq: from - 1}
		rec.Starts[streams.InputKey(in.name, in.at.Incarnation)] = from - 1
	}
	return nil
}

// sameStarts puts every source input where the build of the generation began, and refuses when rows that it has taken
// are gone.
func (w *worker) sameStarts(ctx context.Context, rec *record) error {
	for i := range w.inputs {
		in := &w.inputs[i]
		if in.src == nil {
			continue
		}
		s, err := in.src.stream.State(ctx)
		if err != nil {
			return fmt.Errorf("source %q: %w", in.name, err)
		}
		inc := in.src.stream.Incarnation()
		begin, ok := rec.Starts[streams.InputKey(in.name, inc)]
		if !ok {
			for k := range rec.Starts {
				if name, _, _ := cutKey(k); name == in.name {
					return &missingError{input: in.name, from: rec.Starts[k] + 1, to: rec.Starts[k] + 1, why: "the source was deleted and made again"}
				}
			}
		}
		if s.First > begin+1 {
			return &missingError{input: in.name, from: begin + 1, to: s.First - 1, why: "they are no longer retained, and no checkpoint reflects them"}
		}
		in.at = clock.Position{Incarnation: inc, Seq: begin}
	}
	return nil
}

// buildRows reads sources up to the head of the clock, takes the state of other inputs at one epoch, and leaves the
// worker at that epoch.
func (w *worker) buildRows(ctx context.Context) error {
	p := &progress{phase: "reading", began: w.env.rt.now()}
	w.stats.build.Store(p)
	if w.def.pipeline && w.readsOthers() {
		return w.buildLookups(ctx, p)
	}
	_, at := w.env.clk.At()
	var head clock.Tick
	for {
		to := w.clockPositions(at)
		left := w.messagesTo(to)
		p = p.more(left)
		w.stats.build.Store(p)
		if err := w.takeHistory(ctx, to, w.held.add, func(rows int) error {
			p = p.read(rows, w.messagesDone(to, left))
			w.stats.build.Store(p)
			w.stats.rowsIn.Store(w.rowsIn)
			return w.breathe(ctx)
		}); err != nil {
			return err
		}
		if head, at = w.env.clk.At(); w.messagesTo(w.clockPositions(at)) < clock.EpochRows {
			break
		}
	}
	p = p.in("joining")
	w.stats.build.Store(p)
	if w.readsOthers() {
		return w.attachInputs(ctx, head)
	}
	if err := w.takeHistory(ctx, w.clockPositions(at), w.held.add, nil); err != nil {
		return err
	}
	return w.placeAt(ctx, head)
}

// breathe lets running workers go first: a build that has the processor to itself takes it, otherwise it waits.
func (w *worker) breathe(ctx context.Context) error {
	if behind, _ := w.env.clk.Behind(); behind > 4 {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// placeAt ends a build at an epoch. A worker that takes part in the clock publishes there; another one goes on in
// silence until it has joined.
func (w *worker) placeAt(ctx context.Context, t clock.Tick) error {
	w.at = t.Epoch
	w.e.built(w)
	if w.node != w.e.node || w.env.away(w.e) {
		w.env.clk.Place(w.node, w.at, 0, false)
		w.env.clk.SetTick(w.node, w.lastTick, w.flow.WaitsForTime())
		w.note()
		return nil
	}
	if err := w.e.joining(ctx, w, t.Epoch); err != nil {
		return err
	}
	prev, _ := w.env.clk.Frontier(w.node)
	d, err := w.publish(ctx, min(prev, t.Epoch-1), t.Epoch, t.TimeMs, w.held.output(w.prog))
	if err != nil {
		return err
	}
	w.note()
	return w.joined(ctx, clock.Progress{To: t.Epoch, TickMs: w.lastTick, Waits: w.flow.WaitsForTime(), Delta: d})
}

func (w *worker) readsOthers() bool {
	for i := range w.inputs {
		if w.inputs[i].ent != nil {
			return true
		}
	}
	return false
}

// clockPositions is where the clock stands for each source input.
func (w *worker) clockPositions(at map[string]clock.Position) []clock.Position {
	to := make([]clock.Position, len(w.inputs))
	for i := range w.inputs {
		if w.inputs[i].src != nil {
			to[i] = at[w.inputs[i].name]
		}
	}
	return to
}

// messagesTo is how many messages lie between the worker and positions.
func (w *worker) messagesTo(to []clock.Position) (n int64) {
	for i := range w.inputs {
		if in := &w.inputs[i]; in.src != nil && to[i].Incarnation == in.src.stream.Incarnation() {
			from := uint64(0)
			if in.at.Incarnation == to[i].Incarnation {
				from = in.at.Seq
			}
			if to[i].Seq > from {
				n += int64(to[i].Seq - from)
			}
		}
	}
	return n
}

func (w *worker) messagesDone(to []clock.Position, of int64) int64 { return of - w.messagesTo(to) }

// attachInputs takes the state of the other inputs at one epoch that all of them have, with the rows of the sources up
// to the same epoch.
func (w *worker) attachInputs(ctx context.Context, head clock.Tick) error {
	for {
		at, err := w.commonEpoch(ctx, head.Epoch)
		if err != nil {
			return err
		}
		ok, err := w.attachAt(ctx, at)
		if err != nil || ok {
			return err
		}
		// The inputs have moved on since; look again.
	}
}

// commonEpoch waits until every other input that takes part has reached the epoch, and returns the smallest epoch that
// they have in common.
func (w *worker) commonEpoch(ctx context.Context, least uint64) (uint64, error) {
	at := w.env.clk.Head().Epoch
	for i := range w.inputs {
		e := w.inputs[i].ent
		if e == nil {
			continue
		}
		for {
			f, present := w.env.clk.Frontier(e.node)
			if !present && !e.coming() {
				break // it has left: its last state counts
			}
			if present && f >= least {
				at = min(at, f)
				break
			}
			wait, cancel := context.WithTimeout(ctx, 100*time.Millisecond) // the input may leave meanwhile
			err := w.env.clk.AwaitEpoch(wait, e.node, least)
			cancel()
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return 0, err
			}
		}
	}
	return at, nil
}

// attachAt takes every input at an epoch; false when one of them has no state there.
func (w *worker) attachAt(ctx context.Context, epoch uint64) (bool, error) {
	states, ok, err := w.statesAt(ctx, epoch)
	if err != nil || !ok {
		return false, err
	}
	to, tick, ok := w.cutAt(epoch)
	if !ok {
		return false, nil
	}
	if err := w.takeHistory(ctx, to, w.held.add, nil); err != nil {
		return false, err
	}
	w.takeStates(states)
	tick.TimeMs = max(tick.TimeMs, w.lastTick)
	w.flow.Advance(tick.TimeMs)
	w.lastTick = tick.TimeMs
	w.held.add(w.flow.Flush())
	return true, w.placeAt(ctx, tick)
}

// cutAt is where the sources stand at an epoch, and its time; false when the clock no longer knows.
func (w *worker) cutAt(epoch uint64) (to []clock.Position, t clock.Tick, ok bool) {
	to = make([]clock.Position, len(w.inputs))
	for i := range w.inputs {
		in := &w.inputs[i]
		if in.src == nil {
			continue
		}
		p, ok := w.env.clk.PositionAt(in.src.track, epoch)
		if !ok || in.at.Incarnation == p.Incarnation && p.Seq < in.at.Seq {
			return nil, t, false
		}
		to[i] = p
	}
	ms, ok := w.env.clk.TimeOf(epoch)
	return to, clock.Tick{Epoch: epoch, TimeMs: max(ms, w.lastTick)}, ok
}

// statesAt is the rows that the other inputs have at an epoch; false when one of them no longer knows.
func (w *worker) statesAt(ctx context.Context, epoch uint64) ([]inputState, bool, error) {
	states := make([]inputState, len(w.inputs))
	for i := range w.inputs {
		in := &w.inputs[i]
		if in.ent == nil {
			continue
		}
		st, ok, err := in.ent.stateAt(ctx, epoch)
		if err != nil {
			return nil, false, fmt.Errorf("the rows of input %q at epoch %d: %w", in.name, epoch, err)
		}
		if !ok {
			return nil, false, nil
		}
		states[i] = st
	}
	return states, true, nil
}

// takeStates gives the flow the rows of the other inputs.
func (w *worker) takeStates(states []inputState) {
	for i, s := range states {
		in := &w.inputs[i]
		if in.ent == nil {
			continue
		}
		in.at, in.gen = s.at, s.gen
		for _, b := range s.rows {
			w.flow.Push(i, in.project(s.schema, b))
			w.rowsIn += int64(b.N)
		}
	}
}

// askToJoin records that the worker takes part from an epoch on, when it has caught up: it will step exactly to it and
// publish everything that it has held back as one delta.
func (w *worker) askToJoin(ctx context.Context) error {
	c := clock.Change{Node: w.node, Kind: w.e.kind, Key: w.e.id}
	if w.node != w.e.node {
		c.Held = w.e.node
	}
	if err := w.e.asking(ctx, w, w.env.clk.Head().Epoch); err != nil {
		return err
	}
	at, err := w.env.seq.Join(ctx, c)
	if err != nil {
		return err
	}
	w.joinAt = at
	w.env.joined(w.e)
	return w.e.joining(ctx, w, at)
}

// joined ends the silence of a worker that has published at the epoch of its join.
func (w *worker) joined(ctx context.Context, p clock.Progress) error {
	w.silent, w.held, w.swap, w.again, w.joinAt = false, nil, false, false, 0
	w.stats.build.Store(nil)
	// What the journal holds now is known before the clock says that it is there.
	w.e.restored(w, nil)
	if w.node != w.e.node {
		w.env.clk.Swap(w.e.node, w.node, p.To, p.Delta)
		w.node = w.e.node
	} else {
		w.env.clk.Done(w.node, p)
	}
	w.save()
	return nil
}

// cutKey splits <input>#<incarnation>.
func cutKey(k string) (name, incarnation string, ok bool) {
	for i := len(k) - 1; i >= 0; i-- {
		if k[i] == '#' {
			return k[:i], k[i+1:], true
		}
	}
	return k, "", false
}

func (p *progress) more(messages int64) *progress {
	c := *p
	c.total += messages
	return &c
}

func (p *progress) read(rows int, done int64) *progress {
	c := *p
	c.rows += int64(rows)
	c.done = max(c.done, done)
	return &c
}

func (p *progress) in(phase string) *progress {
	c := *p
	c.phase = phase
	return &c
}

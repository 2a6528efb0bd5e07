package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/checkpoint"
)

// openEnvironment reads the clock, takes it over, and puts every source and entity where the log says it stands. Nothing
// runs yet.
func (rt *Runtime) openEnvironment(ctx context.Context, name string) (env *environment, err error) {
	env = &environment{
		rt: rt, name: name, log: rt.opt.Logger.With("env", name), checkpoints: rt.checkpoints,
		sources: map[string]*source{}, entities: map[string]*entity{}, metas: map[string][]checkpoint.Meta{}, rates: map[string]*rate{},
	}
	env.soft, env.stopSoft = context.WithCancel(context.WithoutCancel(ctx))
	env.hard, env.stopHard = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			env.stopSoft()
			env.stopHard()
		}
	}()
	s := rt.opt.Streams
	if env.state, err = openStore(ctx, s.JetStream(), name, s.Storage() == streams.StorageMemory); err != nil {
		return nil, fmt.Errorf("environment %q: %w", name, err)
	}
	if env.epochs, err = s.EnsureEpochs(ctx, name); err != nil {
		return nil, fmt.Errorf("environment %q: %w", name, err)
	}
	if err := env.claim(ctx); err != nil {
		return nil, fmt.Errorf("environment %q: %w", name, err)
	}
	sn, err := rt.opt.Catalog.Snapshot(name)
	if err != nil {
		return nil, err
	}
	if err := env.sweep(ctx, sn); err != nil {
		return nil, fmt.Errorf("environment %q: %w", name, err)
	}
	return env, env.stand(ctx, sn)
}

// sweep removes the journals of tables and pipelines that were deleted when the process was killed before it got to
// them: a stream that is left keeps the subject of a name that may be used again. Only what is derived from sources is
// removed here.
func (env *environment) sweep(ctx context.Context, sn *catalog.Snapshot) error {
	names, err := env.rt.opt.Streams.StreamNames(ctx, env.name)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, t := range sn.Tables() {
		known[streams.TableStream(env.name, t.ID)] = true
	}
	for _, p := range sn.Pipelines() {
		known[streams.ResultStream(env.name, p.ID)] = true
		known[streams.LateStream(env.name, p.ID)] = true
	}
	kinds := []struct{ prefix, kind string }{
		{streams.TableStream(env.name, ""), kindTable}, {streams.ResultStream(env.name, ""), kindPipeline}, {streams.LateStream(env.name, ""), kindPipeline},
	}
	for _, n := range names {
		for _, k := range kinds {
			token, ok := strings.CutPrefix(n, k.prefix)
			if !ok || known[n] {
				continue
			}
			id, err := streams.Decode(token)
			if err != nil {
				continue // not a name of ours
			}
			err = errors.Join(env.rt.opt.Streams.DeleteStream(ctx, n), env.state.forget(ctx, k.kind, id))
			if env.checkpoints != nil {
				err = errors.Join(err, env.checkpoints.Remove(k.kind+"/"+id))
			}
			if err != nil {
				return fmt.Errorf("remove what a deleted %s has left: %w", k.kind, err)
			}
			env.log.Info("removed what a deleted entity had left", "entity", id, "kind", k.kind, "stream", n)
		}
	}
	return nil
}

// claim takes the clock over: the first record of a new term. From then on nothing of an older process gets into the
// log of epochs any more, not even what was on its way when it ended.
func (env *environment) claim(ctx context.Context) error {
	var err error
	for range claimTries {
		if env.epochLog, err = streams.OpenEpochs(ctx, env.epochs, 0); err != nil {
			return err
		}
		c, _ := env.epochLog.Clock()
		_, err = env.epochLog.Append(ctx, streams.EpochRecord{Epoch: c.Epoch + 1, TimeMs: max(c.TimeMs, env.rt.now().UnixMilli())})
		if !errors.Is(err, streams.ErrFenced) {
			return err
		}
	}
	return fmt.Errorf("take over the clock: %w", err)
}

// claimTries bounds how often another writer may get between the look at the tail and the first record.
const claimTries = 20

// stand puts the clock where the newest record or the newest entry of any journal is, and every entity at its own.
func (env *environment) stand(ctx context.Context, sn *catalog.Snapshot) error {
	c, _ := env.epochLog.Clock()
	tails, err := env.tails(ctx, sn)
	if err != nil {
		return err
	}
	head := clock.Tick{Epoch: c.Epoch, TimeMs: max(c.TimeMs, env.rt.now().UnixMilli())}
	positions := c.Positions
	repair := false
	for _, t := range tails {
		if !t.any || t.last.Epoch <= c.Epoch {
			continue
		}
		// The log of epochs lost its tail (a loss of power): entries reflect epochs that it does not have any more.
		repair = true
		head.Epoch = max(head.Epoch, t.last.Epoch)
		for _, p := range t.last.Inputs {
			if k := streams.InputKey(p.Input, p.Incarnation); p.Seq > positions[k] && env.isSource(sn, p.Input) {
				positions[k] = p.Seq
			}
		}
	}
	if repair {
		head.Epoch++
		if _, err := env.epochLog.Append(ctx, streams.EpochRecord{Epoch: head.Epoch, TimeMs: head.TimeMs, Positions: positions}); err != nil {
			return fmt.Errorf("environment %q: write where the journals are: %w", env.name, err)
		}
		env.log.Warn("the log of epochs ends before the journals; a record was added", "from", c.Epoch, "to", head.Epoch)
	}
	c, _ = env.epochLog.Clock()
	env.term = env.epochLog.Term()
	env.clk = clock.New(clock.Options{Bytes: env.rt.opt.MemoryBytes}, clock.Tick{Epoch: head.Epoch, TimeMs: max(head.TimeMs, c.TimeMs)})
	env.seq = clock.NewSequencer(clock.SequencerOptions{Clock: env.clk, Log: epochWriter{env}, Now: env.rt.now, Logger: env.log})
	for _, rec := range sn.Sources() {
		if err := env.addSource(ctx, rec, c.Positions); err != nil {
			return err
		}
	}
	for _, t := range tails {
		e := env.newEntity(t.kind, t.id, t.name)
		env.entities[e.key] = e
		if t.rec == nil {
			continue
		}
		_, away := c.Away(t.kind, t.id)
		if t.rec.Joining > 0 {
			if err := env.findJoin(ctx, t, head.Epoch); err != nil {
				return err
			}
		}
		rec := t.rec
		if rec.Before != nil && t.any && t.last.Generation == rec.Before.Generation {
			rec = rec.Before
		}
		e.present = rec.Joined > 0 && !away
		e.rec, e.tail = rec, t.last.Epoch
		e.stream, e.gen, e.shape, e.made = t.stream, rec.Generation, rec.shape(), rec.Joined > 0 && t.stream != nil
		env.clk.Place(e.node, t.last.Epoch, t.last.Epoch, e.present)
	}
	return nil
}

// findJoin looks for the epoch at which an entity has joined while its process ended.
func (env *environment) findJoin(ctx context.Context, t tailOf, head uint64) error {
	r := streams.ReadEpochs(env.epochs, t.rec.Joining)
	defer r.Stop()
	for at := uint64(0); at < head; {
		recs, err := r.Next(ctx)
		var gap *streams.GapError
		if errors.As(err, &gap) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s %q: find where it joined: %w", t.kind, t.name, err)
		}
		for _, rec := range recs {
			at = rec.Epoch
			for _, c := range rec.Joined {
				if c.Kind == t.kind && c.Key == t.id {
					t.rec.Joined = rec.Epoch
				}
			}
		}
	}
	t.rec.Joining = 0
	return env.state.save(ctx, t.kind, t.id, t.rec)
}

func (env *environment) isSource(sn *catalog.Snapshot, name string) bool {
	_, ok := sn.Source(name)
	return ok
}

// tailOf is where the journal of an entity ends.
type tailOf struct {
	kind, id, name string
	stream         *streams.Stream
	last           streams.Stored
	any            bool
	rec            *record
}

// tails reads the end of every journal.
func (env *environment) tails(ctx context.Context, sn *catalog.Snapshot) ([]tailOf, error) {
	var out []tailOf
	for _, p := range sn.Pipelines() {
		out = append(out, tailOf{kind: kindPipeline, id: p.ID, name: p.Name})
	}
	for _, t := range sn.Tables() {
		out = append(out, tailOf{kind: kindTable, id: t.ID, name: t.Name})
	}
	for i := range out {
		t := &out[i]
		var err error
		if t.rec, err = env.state.load(ctx, t.kind, t.id); err != nil {
			return nil, fmt.Errorf("%s %q: %w", t.kind, t.name, err)
		}
		name := streams.TableStream(env.name, t.id)
		if t.kind == kindPipeline {
			name = streams.ResultStream(env.name, t.id)
		}
		t.stream, err = env.rt.opt.Streams.Stream(ctx, name)
		if errors.Is(err, streams.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", t.kind, t.name, err)
		}
		j, err := streams.OpenJournal(ctx, t.stream, 0)
		if err != nil {
			// A damaged tail is this entity's own trouble; its worker reports it.
			env.log.Error("the journal of an entity cannot be read", "entity", t.name, "kind", t.kind, "error", err)
			continue
		}
		t.last, t.any = j.Last()
	}
	return out, nil
}

package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/view"
)

// planVersion is part of every fingerprint. It grows when the same query means something else to the engine, so that
// states of an older version are not taken for it.
const planVersion = "1"

// newWorker compiles an entity and resolves what it reads.
func (env *environment) newWorker(sn *catalog.Snapshot, x wanted) (w *worker, err error) {
	w = &worker{env: env, e: x.e, node: x.e.node, probe: make(chan func())}
	if x.table != nil {
		if w.prog, err = env.rt.opt.Catalog.CompileTable(sn, x.table); err != nil {
			return nil, err
		}
		w.def = definition{
			name: x.table.Name, memory: x.table.Persistence == catalog.MemoryOnly, limits: env.rt.limits(x.table.Replay), replay: startsOf(x.table.ReplayFrom),
			parallelism: x.table.Parallelism,
		}
		if err := w.partitionable(); err != nil {
			return nil, err
		}
		if x.table.Replay != nil {
			w.def.retainMs = x.table.Replay.RetainMs
		}
	} else {
		if w.prog, err = env.rt.opt.Catalog.CompilePipeline(sn, x.pipe); err != nil {
			return nil, err
		}
		w.def = definition{name: x.pipe.Name, pipeline: true, limits: env.rt.limits(x.pipe.Replay), replay: startsOf(x.pipe.ReplayFrom)}
		if x.pipe.Replay != nil {
			w.def.retainMs = x.pipe.Replay.RetainMs
		}
	}
	w.def.memory = w.def.memory || w.def.limits.Memory
	w.def.revision = x.run.Revision
	w.log = env.log.With("entity", w.def.name, "kind", x.e.kind)
	w.schema = outputSchema(w.prog)
	w.kinds = kindsOf(w.schema)
	w.saveEvery = env.rt.opt.CheckpointEvery
	q := w.prog.Query()
	w.timed, w.ordered = q.Pipeline, q.Pipeline || ordered(q.Root)
	for _, in := range w.prog.Inputs() {
		i := input{name: in.Name, kind: in.Kind, columns: in.Columns}
		switch in.Kind {
		case engine.Source:
			i.src = env.source(in.Name)
			i.in.Track = env.clk.Track(in.Name, clock.Position{})
		default:
			if i.ent = env.named(sn, in); i.ent == nil {
				return nil, view.Errorf(view.Conflict, "input '%s' does not exist", in.Name)
			}
			i.in.Node = i.ent.node
		}
		w.inputs = append(w.inputs, i)
	}
	w.plan = planOf(w)
	if w.def.pipeline {
		w.lateSchema = w.prog.NewFlow().LateSchema()
	}
	return w, nil
}

func (env *environment) named(sn *catalog.Snapshot, in engine.Input) *entity {
	if in.Kind == engine.Table {
		if t, ok := sn.TableNamed(in.Name); ok {
			return env.entity(kindTable, t.ID)
		}
		return nil
	}
	for _, p := range sn.PipelinesFor(in.Name) {
		if p.Name == in.Name {
			return env.entity(kindPipeline, p.ID)
		}
	}
	return nil
}

// resolve looks the sources up again: one may have been deleted and made again since.
func (w *worker) resolve() {
	for i := range w.inputs {
		if w.inputs[i].kind == engine.Source {
			w.inputs[i].src = w.env.source(w.inputs[i].name)
		}
	}
}

func (w *worker) clockInputs() []clock.Input {
	out := make([]clock.Input, len(w.inputs))
	for i := range w.inputs {
		out[i] = w.inputs[i].in
	}
	return out
}

// ordered says that the result depends on the order of rows across inputs: LATEST BY takes the last of equal times.
func ordered(n plan.Node) bool {
	if _, ok := n.(*plan.LatestBy); ok {
		return true
	}
	return slices.ContainsFunc(n.Children(), ordered)
}

func startsOf(m map[string]catalog.ReplayFrom) map[string]startAt {
	out := map[string]startAt{}
	for name, r := range m {
		var s startAt
		if r.Seq != nil && *r.Seq > 0 {
			s.seq = uint64(*r.Seq)
		} else if r.TimestampMs != nil {
			s.ms = *r.TimestampMs
		}
		out[name] = s
	}
	return out
}

// planOf is the fingerprint of what a worker computes: two workers with the same one come to the same rows, so the
// state of one is a state of the other.
func planOf(w *worker) string {
	q := w.prog.Query()
	type start struct {
		Seq uint64
		Ms  int64
	}
	starts := map[string]start{}
	for name, s := range w.def.replay {
		starts[name] = start{s.seq, s.ms}
	}
	b, err := json.Marshal(struct {
		Version, SQL, Explain string
		Inputs                []plan.Input
		Output                any
		EventTime, Pipeline   bool
		Time                  plan.Time
		Starts                map[string]start
		// Partitions is left out for one, so that tables that are there keep their plan.
		Partitions int `json:",omitempty"`
	}{planVersion, w.prog.SQL(), w.prog.Explain(), w.prog.Inputs(), w.prog.Output(), q.EventTime, q.Pipeline, q.Time, starts, w.partitions()})
	if err != nil {
		panic(fmt.Sprintf("BUG: fingerprint of a plan: %v", err))
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:12])
}

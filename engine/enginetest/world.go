package enginetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Variant is a way to run a script. All of them must give the same rows.
type Variant int

// The variants.
const (
	// AsWritten runs every step as one epoch and one commit.
	AsWritten Variant = iota
	// Restarted snapshots and restores every flow after every step.
	Restarted
	// SingleRows makes an epoch of every row.
	SingleRows
	// Coalesced commits only when a script looks: epochs follow each other inside one commit, as a worker that is
	// behind takes them.
	Coalesced
	// Joined puts the rows of all steps up to a look into one epoch.
	Joined
	// Parallel runs every table that can in four partitions.
	Parallel
	// Oracle compares every table with the reference after every step, and every pipeline's results so far.
	Oracle
)

var variantNames = [...]string{"as-written", "restarted", "single-rows", "coalesced", "joined", "parallel", "oracle"}

func (v Variant) String() string { return variantNames[v] }

// Variants lists all of them.
func Variants() []Variant {
	return []Variant{AsWritten, Restarted, SingleRows, Coalesced, Joined, Parallel, Oracle}
}

// World is a small world of sources, tables and pipelines in memory. It is the engine with the simplest possible
// runtime around it, and a pure function of the calls.
type World struct {
	variant  Variant
	entities []*entity
	clock    int64 // epoch time, milliseconds
	history  []Event
	waiting  []Event // rows of an epoch that the joined variant has not closed
	pending  bool    // the coalesced variant has epochs that are not committed
	problem  error
}

// entity is one source, table or pipeline.
type entity struct {
	relation engine.Relation
	mode     engine.Mode
	options  engine.Options
	program  *engine.Program // nil: a source
	flow     flow.Runner
	parts    int             // partitions of a table, 1 for everything else
	rows     map[string]*Row // served rows of a table, by visible values
	results  []Row           // everything a pipeline gave
	delta    []Row           // what the last commit gave, with hidden time
	held     []Event         // rows of an epoch for a flow that looks tables up: the tables' changes come first
}

var _ analyze.Models = (*World)(nil)

// NewWorld makes an empty world.
func NewWorld(v Variant) *World { return &World{variant: v} }

// Relations finds what has a name.
func (w *World) Relations(name string) (out []engine.Relation) {
	for _, e := range w.entities {
		if e.relation.Name == name {
			out = append(out, e.relation)
		}
	}
	return out
}

// Model finds what ref('name') reads: in a script every table and pipeline is a model.
func (w *World) Model(name string) (r engine.Relation, found, broken bool) {
	for _, e := range w.entities {
		if e.relation.Name == name && e.program != nil {
			return e.relation, true, false
		}
	}
	return r, false, false
}

// ModelNames lists all tables and pipelines.
func (w *World) ModelNames() (out []string) {
	for _, e := range w.entities {
		if e.program != nil {
			out = append(out, e.relation.Name)
		}
	}
	return out
}

// Names lists all names.
func (w *World) Names() []string {
	out := make([]string, len(w.entities))
	for i, e := range w.entities {
		out[i] = e.relation.Name
	}
	return out
}

func (w *World) entity(name string) (*entity, error) {
	for _, e := range w.entities {
		if e.relation.Name == name {
			return e, nil
		}
	}
	return nil, fmt.Errorf("no entity %q", name)
}

// Declare adds a relation that rows come in from.
func (w *World) Declare(r engine.Relation) { w.entities = append(w.entities, &entity{relation: r}) }

// Define adds a table or a pipeline. The rows that its inputs hold by then are its first epoch.
func (w *World) Define(name, sql string, mode engine.Mode, o engine.Options) (*engine.Program, []engine.Diagnostic) {
	return w.define(name, sql, mode, o, w.partitions())
}

func (w *World) define(name, sql string, mode engine.Mode, o engine.Options, partitions int) (*engine.Program, []engine.Diagnostic) {
	w.look()
	p, problems := engine.Compile(sql, w, mode, o)
	if p == nil {
		return nil, problems
	}
	e := &entity{relation: p.Relation(name), mode: mode, options: o, program: p, rows: map[string]*Row{}, parts: partitions}
	e.start()
	w.entities = append(w.entities, e)
	w.backfill(e)
	return p, problems
}

// backfill gives a new entity everything that its inputs ever gave, epoch by epoch, in one commit.
func (w *World) backfill(e *entity) {
	if len(w.history) == 0 {
		return
	}
	for _, ev := range w.history {
		if ev.Relation == "" {
			for _, h := range e.held {
				w.give(e, h.Relation, []Event{h})
			}
			e.held = nil
			e.flow.Advance(ev.EpochMs)
			continue
		}
		if w.looksUp(e) && w.isStream(ev.Relation) {
			e.held = append(e.held, ev)
			continue
		}
		from, err := w.entity(ev.Relation)
		if err != nil {
			w.fail(err)
			return
		}
		for i, in := range e.program.Inputs() {
			if in.Name == ev.Relation {
				e.flow.Push(i, batch(from.relation.Schema, in.Columns, []Event{ev}))
			}
		}
	}
	w.commit()
}

// Step takes rows in order of arrival and ends the epoch at the clock, which follows the newest row.
func (w *World) Step(rows []Event) error {
	for _, r := range rows {
		w.clock = max(w.clock, r.Ts)
	}
	switch w.variant {
	case SingleRows:
		for _, e := range w.entities {
			e.delta = nil
		}
		for _, r := range rows {
			w.epoch([]Event{r})
			w.commit()
		}
		return w.problem
	case Joined:
		w.waiting = append(w.waiting, rows...)
		return nil
	}
	for _, e := range w.entities {
		e.delta = nil
	}
	w.epoch(rows)
	if w.variant == Coalesced {
		w.pending = true
		return nil
	}
	w.commit()
	w.after()
	return w.problem
}

// Advance moves the clock without rows.
func (w *World) Advance(ms int64) error {
	w.look()
	for _, e := range w.entities {
		e.delta = nil
	}
	w.clock += ms
	w.epoch(nil)
	w.commit()
	w.after()
	return w.problem
}

// look ends what a variant holds back, because somebody wants to see.
func (w *World) look() {
	if len(w.waiting) > 0 {
		rows := w.waiting
		w.waiting = nil
		for _, e := range w.entities {
			e.delta = nil
		}
		w.epoch(rows)
		w.commit()
	}
	if w.pending {
		w.pending = false
		w.commit()
	}
}

// after does what a variant adds to every step.
func (w *World) after() {
	switch w.variant {
	case Restarted:
		w.Restart()
	case Oracle:
		w.check()
	}
}

// Restart snapshots every flow and goes on with a restored one.
func (w *World) Restart() {
	w.look()
	for _, e := range w.entities {
		if e.program == nil {
			continue
		}
		snapshot := e.flow.Snapshot(nil)
		e.start()
		if err := e.flow.Restore(snapshot); err != nil {
			w.fail(fmt.Errorf("restore %s: %w", e.relation.Name, err))
		}
		if again := e.flow.Snapshot(nil); !slices.Equal(again, snapshot) {
			w.fail(fmt.Errorf("restore %s: the restored flow has another snapshot", e.relation.Name))
		}
	}
}

func (w *World) fail(err error) {
	if w.problem == nil {
		w.problem = err
	}
}

// epoch pushes the rows of sources to all that read them and ends the epoch. Deltas of tables follow at the commit.
func (w *World) epoch(rows []Event) {
	for i, r := range rows {
		if r.Weight == 0 {
			rows[i].Weight = 1
		}
	}
	w.history = append(w.history, rows...)
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && rows[to].Relation == rows[from].Relation {
			to++
		}
		w.push(rows[from].Relation, rows[from:to])
		from = to
	}
	for _, e := range w.entities {
		if e.program != nil && !w.chained(e) {
			e.flow.Advance(w.clock)
		}
	}
	if w.variant == Coalesced {
		w.history = append(w.history, Event{EpochMs: w.clock})
	}
}

// chained reports whether an entity reads another table or pipeline: its epoch ends when those have committed.
func (w *World) chained(e *entity) bool {
	for _, in := range e.program.Inputs() {
		if up, err := w.entity(in.Name); err == nil && up.program != nil {
			return true
		}
	}
	return false
}

// commit takes the deltas in order of definition; what a table gives reaches its readers in the same epoch.
func (w *World) commit() {
	for _, e := range w.entities {
		if e.program == nil {
			continue
		}
		for _, ev := range e.held {
			w.give(e, ev.Relation, []Event{ev})
		}
		e.held = nil
		if w.chained(e) {
			e.flow.Advance(w.clock)
		}
		out := e.flow.Flush().Delta
		if out == nil || out.N == 0 {
			continue
		}
		rows := w.read(e, out)
		e.apply(rows)
		events := make([]Event, len(rows))
		for i, r := range rows {
			events[i] = Event{Relation: e.relation.Name, Values: r.Values, Ts: r.Ts, Weight: r.Weight}
		}
		w.history = append(w.history, events...)
		w.push(e.relation.Name, events)
	}
	w.history = append(w.history, Event{EpochMs: w.clock})
}

// push gives rows of one relation to every flow that reads it.
func (w *World) push(relation string, rows []Event) {
	for _, e := range w.entities {
		if e.program == nil {
			continue
		}
		if w.looksUp(e) && w.isStream(relation) {
			for _, in := range e.program.Inputs() {
				if in.Name == relation {
					e.held = append(e.held, rows...)
				}
			}
			continue
		}
		w.give(e, relation, rows)
	}
}

// looksUp reports whether a pipeline reads tables. Its rows wait for the changes that the epoch makes to them.
func (w *World) looksUp(e *entity) bool {
	return e.mode == engine.PipelineMode && slices.ContainsFunc(e.program.Inputs(), func(in engine.Input) bool { return in.Kind == engine.Table })
}

func (w *World) isStream(relation string) bool {
	e, err := w.entity(relation)
	return err == nil && e.relation.Kind == engine.Source
}

// give gives rows of one relation to a flow, if it reads it.
func (w *World) give(e *entity, relation string, rows []Event) {
	from, err := w.entity(relation)
	if err != nil {
		w.fail(err)
		return
	}
	for i, in := range e.program.Inputs() {
		if in.Name == relation {
			e.flow.Push(i, batch(from.relation.Schema, in.Columns, rows))
		}
	}
}

// batch builds the columns that a program wants of rows.
func batch(schema, want types.Schema, rows []Event) *zset.Batch {
	kinds := make([]types.Kind, len(want))
	for i, f := range want {
		kinds[i] = f.Stored()
	}
	b := zset.NewBuilder(kinds)
	for _, r := range rows {
		for c, f := range want {
			switch i, declared := schema.Find(f.Name); {
			case declared:
				b.Value(c, r.Values[i])
			case f.Name == types.TsColumn:
				b.Long(c, r.Ts)
			case f.Name == types.RetractColumn:
				b.Bool(c, r.Retract)
			}
		}
		b.EndRow(r.Weight)
	}
	return b.Build()
}

// read boxes a delta: the visible columns and the hidden time.
func (w *World) read(e *entity, b *zset.Batch) []Row {
	visible := len(e.relation.Schema)
	wide := visible
	if e.program.EventTime() {
		wide++
	}
	if len(b.Cols) != wide {
		w.fail(fmt.Errorf("%s gives %d columns, its program has %d", e.relation.Name, len(b.Cols), wide))
		return nil
	}
	if e.mode == engine.TableMode && !zset.IsConsolidated(b) {
		w.fail(fmt.Errorf("%s gives a delta that is not consolidated", e.relation.Name))
	}
	rows := make([]Row, b.N)
	for i := range rows {
		vals := b.Row(i)
		rows[i] = Row{Values: vals[:visible:visible], Weight: b.W(i)}
		if wide > visible {
			rows[i].Ts = vals[visible].Int()
		}
		if rows[i].Weight < 0 && e.program.AppendOnly() {
			w.fail(fmt.Errorf("%s takes a row back, its plan proves that it does not", e.relation.Name))
		}
	}
	return rows
}

// apply serves a delta.
func (e *entity) apply(rows []Row) {
	e.delta = append(e.delta, rows...)
	if e.mode == engine.PipelineMode {
		e.results = append(e.results, rows...)
		return
	}
	for _, r := range rows {
		k := keyOf(r.Values)
		have, ok := e.rows[k]
		if !ok {
			e.rows[k] = &Row{Values: r.Values, Weight: r.Weight}
			continue
		}
		if have.Weight += r.Weight; have.Weight == 0 {
			delete(e.rows, k)
		}
	}
}

// Rows are the served rows of a table, or the results of a pipeline so far, in order of their values.
func (w *World) Rows(name string) ([]Row, error) {
	w.look()
	e, err := w.entity(name)
	if err != nil {
		return nil, err
	}
	if e.mode == engine.PipelineMode {
		return sortRows(mergeRows(e.results), nil), nil
	}
	var out []Row
	for _, r := range e.rows {
		if r.Weight > 0 {
			out = append(out, *r)
		}
	}
	return sortRows(out, nil), w.problem
}

// Delta is the net change that the last step made to an entity, on the visible columns.
func (w *World) Delta(name string) ([]Row, error) {
	e, err := w.entity(name)
	if err != nil || e.program == nil {
		return nil, err
	}
	keys, _ := e.program.KeyFields()
	return sortRows(mergeRows(e.delta), positions(e.relation.Schema, keys)), nil
}

// mergeRows adds the weights of rows that are equal on the visible columns.
func mergeRows(rows []Row) []Row {
	at := map[string]int{}
	var out []Row
	for _, r := range rows {
		k := keyOf(r.Values)
		if i, ok := at[k]; ok {
			out[i].Weight += r.Weight
			continue
		}
		at[k] = len(out)
		out = append(out, Row{Values: r.Values, Weight: r.Weight})
	}
	return slices.DeleteFunc(out, func(r Row) bool { return r.Weight == 0 })
}

func positions(s types.Schema, names []string) []int {
	var out []int
	for _, n := range names {
		if i, ok := s.Find(n); ok {
			out = append(out, i)
		}
	}
	return out
}

// sortRows orders rows by the key columns, then what goes before what comes, then by all columns.
func sortRows(rows []Row, key []int) []Row {
	slices.SortFunc(rows, func(a, b Row) int {
		for _, c := range key {
			if d := compareValues(a.Values[c], b.Values[c]); d != 0 {
				return d
			}
		}
		if len(key) > 0 && (a.Weight < 0) != (b.Weight < 0) {
			if a.Weight < 0 {
				return -1
			}
			return 1
		}
		for c := range a.Values {
			if d := compareValues(a.Values[c], b.Values[c]); d != 0 {
				return d
			}
		}
		return int(a.Weight - b.Weight)
	})
	return rows
}

// compareValues orders NULL first, then values, then their texts.
func compareValues(a, b types.Value) int {
	switch {
	case a.IsNull() && b.IsNull():
		return 0
	case a.IsNull():
		return -1
	case b.IsNull():
		return 1
	}
	if c, ok := types.Compare(a, b); ok && c != 0 {
		return c
	}
	return strings.Compare(a.String(), b.String())
}

// Counters are the books of a table or pipeline; they are zero for anything else.
func (w *World) Counters(name string) flow.Counters {
	w.look()
	if e, err := w.entity(name); err == nil && e.flow != nil {
		return e.flow.Counters()
	}
	return flow.Counters{}
}

package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/runtime/serve"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// find returns an entity that the catalog knows.
func (rt *Runtime) find(env, kind, id string) (*entity, error) {
	v, err := rt.environment(env)
	if err != nil {
		return nil, err
	}
	if e := v.entity(kind, id); e != nil {
		return e, nil
	}
	return nil, view.ErrUnknown
}

// served returns the store of a table. One that does not run serves what its journal holds.
func (e *entity) served(ctx context.Context) (*serve.Store, error) {
	if s := e.rows(); s != nil {
		return s, nil
	}
	e.mu.Lock()
	st, gen, sh, made := e.stream, e.gen, e.shape, e.made
	e.mu.Unlock()
	if !made || st == nil {
		return nil, nil
	}
	j, err := streams.OpenJournal(ctx, st, 0)
	if err != nil {
		return nil, err
	}
	s := serve.New(serve.Options{Schema: sh.visible(), Key: sh.key})
	last, ok := j.Last()
	if ok {
		rows, at, err := foldStream(ctx, st, last, gen, sh.schema(), 0)
		if err != nil {
			return nil, err
		}
		for _, b := range rows {
			s.Load(b, at)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store == nil {
		e.store = s
	}
	return e.store, nil
}

// TableRows reads a page of a table, after the positions that the query asks for.
func (rt *Runtime) TableRows(ctx context.Context, env, id string, q view.RowsQuery) (view.TableRows, error) {
	e, err := rt.find(env, kindTable, id)
	if err != nil {
		return view.TableRows{}, err
	}
	for name, seq := range q.MinPositions {
		if err := e.awaitPosition(ctx, name, seq); err != nil {
			return view.TableRows{}, err
		}
	}
	out := view.TableRows{Rows: []view.TableRow{}}
	s, err := e.served(ctx)
	if err != nil || s == nil {
		return out, err
	}
	// The frontier is read first: the rows may be newer, never older.
	frontier, _ := e.env.clk.Frontier(e.node)
	v := s.View()
	out.TotalRows, out.Seq, out.Position = v.Len(), v.Seq, int64(v.Position)
	f := int64(max(frontier, v.Epoch))
	out.FrontierEpoch = &f
	out.Rows = pageOf(v, q.Offset, q.Limit)
	return out, nil
}

// pageOf encodes a page of rows.
func pageOf(v *serve.View, offset, limit int) []view.TableRow {
	b := zset.NewBuilder(kindsOf(v.Schema()))
	weights := []int64{}
	v.Each(offset, limit, func(rec []byte, w int64) {
		b.Record(rec, 0)
		b.EndRow(1)
		weights = append(weights, w)
	})
	batch := b.Build()
	out := make([]view.TableRow, len(weights))
	var all []byte
	ends := make([]int, len(weights))
	for i := range weights {
		all = zset.AppendJSON(all, v.Schema(), batch, i)
		ends[i] = len(all)
	}
	from := 0
	for i, w := range weights {
		out[i] = view.TableRow{Row: view.Row(all[from:ends[i]:ends[i]]), Weight: w}
		from = ends[i]
	}
	return out
}

// awaitPosition waits until the entity reflects a position of an input, which it may read through others.
func (e *entity) awaitPosition(ctx context.Context, input string, seq uint64) error {
	env := e.env
	var epoch uint64
	switch kind, id := e.reach(input); {
	case kind == "source":
		t, ok := env.clk.Find(input)
		if !ok {
			return view.Errorf(view.Missing, "source '%s' does not exist", input)
		}
		p := clock.Position{Seq: seq}
		if src := env.source(input); src != nil {
			p.Incarnation = src.stream.Incarnation()
		}
		at, err := env.clk.AwaitPosition(ctx, t, p)
		if err != nil {
			return waitError(err, input, seq)
		}
		epoch = at
	case kind != "":
		in := env.entity(kind, id)
		at, err := in.epochOf(ctx, seq)
		if err != nil {
			return waitError(err, input, seq)
		}
		epoch = at
	default:
		return view.Errorf(view.Invalid, "'%s' is no input of this table, not through others either", input)
	}
	if _, err := e.awaitEpoch(ctx, input, epoch); err != nil {
		return waitError(err, input, seq)
	}
	return nil
}

// awaitEpoch waits until the entity, and every entity between it and an input, reflects an epoch. One that has left
// holds the wait until it is back, because its last state lacks the row; what it had missed comes with the epoch at
// which it joins, so that is what those who read it have to reach.
func (e *entity) awaitEpoch(ctx context.Context, input string, epoch uint64) (uint64, error) {
	if w := e.worker(); w != nil {
		for i := range w.inputs {
			in := &w.inputs[i]
			if in.ent == nil || in.name == input {
				continue
			}
			if kind, _ := in.ent.reach(input); kind == "" {
				continue
			}
			at, err := in.ent.awaitEpoch(ctx, input, epoch)
			if err != nil {
				return 0, err
			}
			epoch = max(epoch, at)
		}
	}
	if err := e.env.clk.AwaitEpoch(ctx, e.node, epoch); err != nil {
		return 0, err
	}
	return max(epoch, e.env.clk.Since(e.node)), nil
}

func waitError(err error, input string, seq uint64) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &view.Error{Code: view.Timeout, Text: fmt.Sprintf("position %d of '%s' was not reflected in time", seq, input), Err: err}
	}
	return err
}

// reach finds what an input name means for an entity: one of its inputs, or an input of those.
func (e *entity) reach(input string) (kind, id string) {
	w := e.worker()
	if w == nil {
		return "", ""
	}
	for i := range w.inputs {
		in := &w.inputs[i]
		switch {
		case in.name == input && in.ent == nil:
			return "source", input
		case in.name == input:
			return in.ent.kind, in.ent.id
		}
	}
	for i := range w.inputs {
		if in := w.inputs[i].ent; in != nil {
			if kind, id := in.reach(input); kind != "" {
				return kind, id
			}
		}
	}
	return "", ""
}

// epochOf waits for a position of an entity's stream and returns its epoch.
func (e *entity) epochOf(ctx context.Context, seq uint64) (uint64, error) {
	e.mu.Lock()
	st := e.stream
	e.mu.Unlock()
	if st == nil {
		return 0, view.Errorf(view.Missing, "%s '%s' has no position %d", e.kind, e.name, seq)
	}
	m, err := st.Get(ctx, seq)
	if errors.Is(err, streams.ErrNotFound) {
		s, serr := st.State(ctx)
		if serr != nil {
			return 0, serr
		}
		if seq < s.First {
			return 0, nil // it is older than everything retained, so it is reflected
		}
		return 0, view.Errorf(view.Missing, "%s '%s' has no position %d yet", e.kind, e.name, seq)
	}
	if err != nil {
		return 0, err
	}
	epoch, err := strconv.ParseUint(m.Header.Get(streams.HeaderEpoch), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s '%s': position %d is no entry: %w", e.kind, e.label(), seq, err)
	}
	return epoch, nil
}

// RowsAtEpoch reads several tables at one epoch that all of them have.
func (rt *Runtime) RowsAtEpoch(ctx context.Context, env string, ids []string, limit int) (view.RowsAtEpoch, error) {
	out := view.RowsAtEpoch{Tables: map[string][]view.TableRow{}, Excluded: []view.Excluded{}}
	views, epoch, excluded, err := rt.viewsAtEpoch(ctx, env, ids)
	if err != nil {
		return out, err
	}
	out.Epoch = int64(epoch)
	out.Excluded = append(out.Excluded, excluded...)
	for name, v := range views {
		out.Tables[name] = pageOf(v, 0, limit)
	}
	return out, nil
}

// viewsAtEpoch finds the newest epoch at which every table that takes part is settled and known, and its rows there. A
// table that has left is named instead of waited for.
func (rt *Runtime) viewsAtEpoch(ctx context.Context, env string, ids []string) (map[string]*serve.View, uint64, []view.Excluded, error) {
	v, err := rt.environment(env)
	if err != nil {
		return nil, 0, nil, err
	}
	var excluded []view.Excluded
	var parts []*entity
	for _, id := range ids {
		e := v.entity(kindTable, id)
		if e == nil {
			return nil, 0, nil, view.ErrUnknown
		}
		if st := e.observed(); st.Status != view.Running || v.clk.Absent(e.node) {
			why := "it is " + string(st.Status)
			if st.Status == view.Running {
				why = "it is being built"
			}
			excluded = append(excluded, view.Excluded{Table: e.label(), Reason: why})
			continue
		}
		parts = append(parts, e)
	}
	for range 64 {
		if err := ctx.Err(); err != nil {
			return nil, 0, nil, err
		}
		epoch := v.clk.Head().Epoch
		for _, e := range parts {
			f, _ := v.clk.Frontier(e.node)
			epoch = min(epoch, f)
		}
		views := make([]*serve.View, len(parts))
		for i, e := range parts {
			s, err := e.served(ctx)
			if err != nil {
				return nil, 0, nil, err
			}
			if s == nil {
				s = serve.New(serve.Options{})
			}
			views[i] = s.View()
		}
		if at, ok := common(views, epoch); ok {
			out := map[string]*serve.View{}
			for i, e := range parts {
				old, ok := views[i].At(at)
				if !ok {
					return nil, 0, nil, fmt.Errorf("BUG: table %q has no rows at epoch %d", e.label(), at)
				}
				out[e.label()] = old
			}
			return out, at, excluded, nil
		}
	}
	return nil, 0, nil, view.Errorf(view.Overloaded, "the tables have no epoch in common at the moment; one of them is far behind")
}

// common finds the newest epoch up to a bound at which every view is known.
func common(views []*serve.View, epoch uint64) (uint64, bool) {
	for {
		known := true
		for _, v := range views {
			if epoch < v.Oldest() {
				return 0, false
			}
			if !v.Has(epoch) {
				epoch = v.Before(epoch)
				known = false
			}
		}
		if known {
			return epoch, true
		}
	}
}

func (e *entity) label() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.name
}

// Subscribe follows a table without a gap: the rows at an epoch, and every delta after it. The caller closes it.
func (rt *Runtime) Subscribe(ctx context.Context, env, id string) (*serve.Subscription, error) {
	e, err := rt.find(env, kindTable, id)
	if err != nil {
		return nil, err
	}
	s, err := e.served(ctx)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, view.Errorf(view.Conflict, "table '%s' has no rows yet: it is not running, or being built", e.label())
	}
	return s.Subscribe(), nil
}

// TableReplay says what the journal of a table retains.
func (rt *Runtime) TableReplay(ctx context.Context, env, id string) (view.ReplayInfo, error) {
	return rt.entityReplay(ctx, env, kindTable, id)
}

// PipelineReplay says what the results of a pipeline retain.
func (rt *Runtime) PipelineReplay(ctx context.Context, env, id string) (view.ReplayInfo, error) {
	return rt.entityReplay(ctx, env, kindPipeline, id)
}

func (rt *Runtime) entityReplay(ctx context.Context, env, kind, id string) (view.ReplayInfo, error) {
	e, err := rt.find(env, kind, id)
	if err != nil {
		return view.ReplayInfo{}, err
	}
	e.mu.Lock()
	st := e.stream
	e.mu.Unlock()
	if st == nil {
		return view.ReplayInfo{FirstSeq: 1, Persisted: true}, nil
	}
	return replayInfo(ctx, st)
}

// SourceReplay says what the stream of a source retains.
func (rt *Runtime) SourceReplay(ctx context.Context, env, name string) (view.ReplayInfo, error) {
	s, err := rt.findSource(env, name)
	if err != nil {
		return view.ReplayInfo{}, err
	}
	return replayInfo(ctx, s.stream)
}

func replayInfo(ctx context.Context, st *streams.Stream) (view.ReplayInfo, error) {
	s, err := st.State(ctx)
	if err != nil {
		return view.ReplayInfo{}, err
	}
	return view.ReplayInfo{FirstSeq: int64(s.First), LastSeq: int64(s.Last), RetainedBytes: int64(s.Bytes), Persisted: !st.Memory()}, nil
}

// AwaitSource waits until a source that the catalog has is read here, which means that its stream exists.
func (rt *Runtime) AwaitSource(ctx context.Context, env, name string) error {
	for {
		_, err := rt.findSource(env, name)
		if err == nil || !errors.Is(err, view.ErrUnknown) {
			return err
		}
		select {
		case <-time.After(2 * time.Millisecond): // the catalog has it and the next pass will
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (rt *Runtime) findSource(env, name string) (*source, error) {
	v, err := rt.environment(env)
	if err != nil {
		return nil, err
	}
	if s := v.source(name); s != nil {
		return s, nil
	}
	return nil, view.ErrUnknown
}

// PipelineResults returns the newest rows, oldest first.
func (rt *Runtime) PipelineResults(ctx context.Context, env, id string, limit int) ([]view.ResultEnvelope, error) {
	e, err := rt.find(env, kindPipeline, id)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	st, sh, gen, made, run := e.stream, e.shape, e.gen, e.made, e.run
	e.mu.Unlock()
	if !made || st == nil {
		return []view.ResultEnvelope{}, nil
	}
	if limit > keptResults || run == nil || !run.stats.live.Load() {
		return e.storedResults(ctx, st, sh, gen, limit)
	}
	return e.results.newest(e.id, sh.visible(), limit), nil
}

// storedResults reads more rows than are in memory from the stream.
func (e *entity) storedResults(ctx context.Context, st *streams.Stream, sh shape, gen uint64, limit int) ([]view.ResultEnvelope, error) {
	s, err := st.State(ctx)
	if err != nil {
		return nil, err
	}
	from := s.First
	if s.Last > uint64(limit) {
		from = max(from, s.Last-uint64(limit)+1)
	}
	r := &results{keep: max(limit, 1)}
	err = readEntriesFrom(ctx, st, from, s.Last, func(s streams.Stored) error {
		if s.Kind != streams.Delta || s.Generation != gen {
			return nil
		}
		d, err := deltaOf(s, sh.schema())
		if err == nil {
			r.add(resultBatch{first: int64(s.SeqNo), epoch: s.Epoch, position: s.Last, schema: sh.schema(), batch: d.Batch})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.newest(e.id, sh.visible(), limit), nil
}

// PipelineLate returns the newest late rows, oldest first.
func (rt *Runtime) PipelineLate(ctx context.Context, env, id string, limit int) ([]view.Row, error) {
	e, err := rt.find(env, kindPipeline, id)
	if err != nil {
		return nil, err
	}
	st, err := rt.opt.Streams.Stream(ctx, streams.LateStream(e.env.name, e.id))
	if errors.Is(err, streams.ErrNotFound) {
		return []view.Row{}, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := st.State(ctx)
	if err != nil {
		return nil, err
	}
	from := s.First
	if s.Last > uint64(limit) {
		from = max(from, s.Last-uint64(limit)+1)
	}
	var schema types.Schema
	if w := e.worker(); w != nil {
		schema = w.lateSchema
	}
	out := []view.Row{}
	err = readEntriesFrom(ctx, st, from, s.Last, func(s streams.Stored) error {
		kinds, b, err := wire.Decode(s.Data)
		if err != nil {
			return err
		}
		names := schema
		if len(names) != len(kinds) {
			names = make(types.Schema, len(kinds))
			for i, k := range kinds {
				names[i] = types.Field{Name: fmt.Sprintf("c%d", i+1), Kind: k}
			}
		}
		for i := range b.N {
			out = append(out, zset.AppendJSON(nil, names, b, i))
		}
		return nil
	})
	return out[max(0, len(out)-limit):], err
}

// SourceEvents returns the newest rows of a source, newest first.
func (rt *Runtime) SourceEvents(ctx context.Context, env, name string, limit int) ([]view.Row, error) {
	s, err := rt.findSource(env, name)
	if err != nil {
		return nil, err
	}
	return s.events(ctx, min(limit, recentRows))
}

// events encodes the newest rows. After a start they are read from the stream once.
func (s *source) events(ctx context.Context, limit int) ([]view.Row, error) {
	s.mu.Lock()
	s.close() // what is decoded and waits for its epoch counts too
	segs := slices.Clone(s.recent)
	oldest := max(s.open.from, s.books.Seq)
	layouts := s.layouts
	s.mu.Unlock()
	n := 0
	for _, g := range segs {
		n += g.Batch.N
	}
	if len(segs) > 0 {
		oldest = segs[0].From
	}
	if n < limit && oldest > 0 {
		older, err := s.olderRows(ctx, oldest, limit-n, layouts)
		if err != nil {
			return nil, err
		}
		segs = append(older, segs...)
	}
	out := []view.Row{}
	for _, g := range slices.Backward(segs) {
		origin := s.originOf(g.Schema)
		cols := visibleColumns(g.Schema)
		schema := make(types.Schema, len(cols))
		b := &zset.Batch{N: g.Batch.N, Cols: make([]zset.Column, len(cols))}
		for i, c := range cols {
			schema[i], b.Cols[i] = g.Schema[c], g.Batch.Cols[c]
		}
		for i := g.Batch.N - 1; i >= 0; i-- {
			if len(out) == limit {
				return out, nil
			}
			row := zset.AppendJSON(nil, schema, b, i)
			out = append(out, append(row[:len(row)-1], origin...))
		}
	}
	return out, nil
}

// originOf is how the JSON object of a row ends: with the name of its source as `_source`, unless the source declares
// a column of that name. A row always has a member before it, its `_ts`.
func (s *source) originOf(schema types.Schema) string {
	if slices.ContainsFunc(schema, func(f types.Field) bool { return strings.EqualFold(f.Name, types.SourceColumn) }) {
		return "}"
	}
	name, err := json.Marshal(s.name)
	if err != nil {
		return "}" // no string fails to encode
	}
	return `,"` + types.SourceColumn + `":` + string(name) + "}"
}

// visibleColumns leaves out the retraction mark that nobody declared: it is the last column then.
func visibleColumns(s types.Schema) []int {
	var out []int
	for i, f := range s {
		if f.Name == types.RetractColumn && i == len(s)-1 {
			continue
		}
		out = append(out, i)
	}
	return out
}

// olderRows reads messages before a position until there are enough rows.
func (s *source) olderRows(ctx context.Context, before uint64, rows int, layouts []catalog.Layout) ([]*clock.Segment, error) {
	st, err := s.stream.State(ctx)
	if err != nil {
		return nil, err
	}
	for span := uint64(64); ; span *= 4 {
		from := st.First
		if before > span {
			from = max(from, before-span+1)
		}
		if from > before {
			return nil, nil
		}
		c := &sourceCursor{name: s.name, stream: s.stream, layouts: layouts, at: from - 1, from: from - 1}
		segs, err := c.upTo(ctx, before)
		c.stop()
		var missing *missingError
		if errors.As(err, &missing) {
			return nil, nil // trimmed meanwhile
		}
		if err != nil {
			return nil, err
		}
		n := 0
		for _, g := range segs {
			n += g.Batch.N
		}
		if n >= rows || from == st.First || span > recentRows {
			return segs, nil
		}
	}
}

package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
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

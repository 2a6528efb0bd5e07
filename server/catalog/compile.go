package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/view"
)

// tableFacts are the facts of a table's query, and why its rows cannot be retained by age or number ("" when they
// can).
type tableFacts struct {
	Facts
	retention string
}

func (s *Store) compilePipeline(sn *Snapshot, r *PipelineRecord) Facts {
	_, f := s.compile(sn, r.SQL, engine.PipelineMode, s.pipelineOptions(r))
	return f.Facts
}

func (s *Store) compileTable(sn *Snapshot, r *TableRecord) tableFacts {
	_, f := s.compile(sn, r.SQL, engine.TableMode, s.tableOptions(r))
	return f
}

// compileAll computes the facts of every query, inputs before readers. A query that no longer compiles keeps its
// stored facts: what runs on them goes on (a deleted source does not take its readers' columns away).
func (s *Store) compileAll(sn *Snapshot) {
	for _, name := range sn.inOrder() {
		for _, old := range sn.pipelineNames[name] {
			if f := s.compilePipeline(sn, old); f.Compiled || !old.Facts.Compiled {
				r := *old
				r.compiled(f)
				sn.replacePipeline(&r)
			}
		}
		for _, old := range sn.tableNames[name] {
			if f := s.compileTable(sn, old); f.Compiled || !old.Facts.Compiled {
				r := *old
				r.compiled(f.Facts)
				sn.replaceTable(&r)
			}
		}
	}
}

func (sn *Snapshot) replacePipeline(r *PipelineRecord) {
	sn.pipelines[r.ID] = r
	swap(sn.pipelineList, func(o *PipelineRecord) bool { return o.ID == r.ID }, r)
	swap(sn.pipelineNames[r.Name], func(o *PipelineRecord) bool { return o.ID == r.ID }, r)
}

func (sn *Snapshot) replaceTable(r *TableRecord) {
	sn.tables[r.ID] = r
	swap(sn.tableList, func(o *TableRecord) bool { return o.ID == r.ID }, r)
	swap(sn.tableNames[r.Name], func(o *TableRecord) bool { return o.ID == r.ID }, r)
}

func swap[T any](l []*T, is func(*T) bool, by *T) {
	if i := slices.IndexFunc(l, is); i >= 0 {
		l[i] = by
	}
}

// inOrder lists the names of tables and pipelines so that a name comes after the names it reads, as far as their
// stored facts know.
func (sn *Snapshot) inOrder() []string {
	var out []string
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, in := range sn.inputsOf(name) {
			visit(in.Name)
		}
		if len(sn.tableNames[name])+len(sn.pipelineNames[name]) > 0 {
			out = append(out, name)
		}
	}
	for _, p := range sn.pipelineList {
		visit(p.Name)
	}
	for _, t := range sn.tableList {
		visit(t.Name)
	}
	return out
}

// refresh compiles again what a changed relation reaches: its readers, their readers, and every draft (which may
// wait for just this name). The columns that the readers show follow the new shape. Nobody is restarted but the tables
// whose source has another key.
func (s *Store) refresh(ctx context.Context, sn *Snapshot, names []string) {
	changed := map[string]bool{}
	for _, n := range names {
		changed[n] = true
	}
	touched := func(f Facts) bool {
		return !f.Compiled || slices.ContainsFunc(f.Inputs, func(in Input) bool { return changed[in.Name] })
	}
	for _, name := range sn.inOrder() {
		for _, old := range sn.pipelineNames[name] {
			if slices.Contains(names, name) || !touched(old.Facts) {
				continue
			}
			r := *old
			if f := s.compilePipeline(sn, old); f.Compiled {
				r.compiled(f)
			}
			if equalJSON(old.Facts, r.Facts) {
				continue
			}
			changed[name] = changed[name] || !sameShape(old.OutputFields, r.OutputFields)
			s.follow(ctx, sn, &change{pipelines: []*PipelineRecord{&r}}, r.Name)
			sn.replacePipeline(&r)
		}
		for _, old := range sn.tableNames[name] {
			if slices.Contains(names, name) || !touched(old.Facts) {
				continue
			}
			r := *old
			if f := s.compileTable(sn, old); f.Compiled {
				r.compiled(f.Facts)
			}
			if equalJSON(old.Facts, r.Facts) {
				continue
			}
			if !sameShape(old.OutputFields, r.OutputFields) {
				r.SchemaRevision++
				changed[name] = true
			}
			// With another key the same rows are another relation: what was made of the old one is wrong.
			r.Run = old.Run.edited(!sameKeys(old.Facts.Inputs, r.Facts.Inputs), r.Facts)
			s.follow(ctx, sn, &change{tables: []*TableRecord{&r}}, r.Name)
			sn.replaceTable(&r)
		}
	}
}

// sameKeys compares the keys of the sources that a table reads.
func sameKeys(a, b []Input) bool {
	return slices.EqualFunc(a, b, func(x, y Input) bool { return x.Name == y.Name && slices.Equal(x.Key, y.Key) })
}

// follow stores what follows from a change. Losing a race or the store is not the caller's failure: the facts are
// computed again when the catalog is opened.
func (s *Store) follow(ctx context.Context, sn *Snapshot, c *change, name string) {
	if err := s.put(ctx, sn, c); err != nil {
		s.opt.Logger.Warn("the refreshed columns of a query were not stored", "env", sn.Env, "entity", name, "error", err)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// columnsOf lists output columns for an answer.
func columnsOf(s types.Schema) []view.OutputColumn {
	out := make([]view.OutputColumn, len(s))
	for i, f := range s {
		out[i] = view.OutputColumn{Name: f.Name, Kind: f.Stored()}
	}
	return out
}

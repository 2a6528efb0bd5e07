package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/view"
)

// CreateTable stores a new table, Stopped. SQL that does not compile is stored as a draft.
func (s *Store) CreateTable(ctx context.Context, env, actor string, in Table) (*TableRecord, error) {
	var out *TableRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		if err := invalid(in.problems()); err != nil {
			return nil, err
		}
		if err := sn.free(in.Name, InputTable); err != nil {
			return nil, err
		}
		r := &TableRecord{Table: in.own(), Run: Run{Desired: DesiredStopped}}
		r.normalize()
		now := s.opt.Now().UnixMilli()
		r.ID, r.Revision, r.SchemaRevision, r.Environment = s.opt.NewID(), 1, 1, environment(sn.Env)
		r.CreatedBy, r.CreatedAtMs, r.UpdatedBy, r.UpdatedAtMs = actor, now, actor, now
		if err := s.admit(sn, r); err != nil {
			return nil, err
		}
		out = r
		return &change{tables: []*TableRecord{r}, reshaped: []string{r.Name}, events: []view.LifecycleEvent{tableEvent(r, "table-created")}}, nil
	})
	return out, err
}

// problems are the rules of shape: a request that breaks one cannot be understood.
func (t *Table) problems() []string {
	var out problems
	if strings.TrimSpace(t.Name) == "" || strings.TrimSpace(t.SQL) == "" {
		out.add("name and sql are required")
	} else {
		out.add(nameProblem("table", t.Name, false))
	}
	member := func(what, v string, of ...string) {
		if !slices.Contains(of, v) {
			out.addf("%s '%s' is not one of %s", what, v, strings.Join(of, ", "))
		}
	}
	member("searchMode", t.SearchMode, "Exact", "Fuzzy")
	member("historyMode", t.HistoryMode, "All", "LastN", "FirstN", "MinBy", "MaxBy")
	member("persistence", t.Persistence, Batched, FireAndForget, MemoryOnly, Journaled)
	out.add(pinProblems(t.DependsOn)...)
	out.add(sinkProblems(t.Sinks)...)
	out.add(insertText(t.SQL, t.Sinks, InputTable))
	if r := t.Replay; r != nil && (r.RetainMs < 0 || r.MaxBytes < 0) {
		out.add("replay.retainMs and replay.maxBytes must not be negative")
	}
	return out
}

// settings are the catalog's rules: the request is understood and refused.
func (t *Table) settings() []string {
	var out problems
	if t.Parallelism < 1 || t.Parallelism > 16 {
		out.addf("parallelism is %d: it must be between 1 and 16", t.Parallelism)
	}
	if t.FlushMs < 0 {
		out.addf("flushMs is %d: it must not be negative", t.FlushMs)
	}
	if t.JournalMaxEntries < 0 {
		out.addf("journalMaxEntries is %d: it must not be negative", t.JournalMaxEntries)
	}
	if t.RetentionMaxRows < 0 {
		out.addf("retentionMaxRows is %d: it must not be negative", t.RetentionMaxRows)
	}
	if t.RetentionTtlMs < 0 {
		out.addf("retentionTtlMs is %d: it must not be negative", t.RetentionTtlMs)
	}
	if (t.RetentionMaxRows > 0 || t.RetentionTtlMs > 0) && t.Parallelism > 1 {
		out.add("retention needs parallelism 1")
	}
	if t.HistoryEnabled {
		if t.HistoryLimit < 1 && (t.HistoryMode == "LastN" || t.HistoryMode == "FirstN") {
			out.addf("historyLimit is %d: historyMode %s needs at least 1", t.HistoryLimit, t.HistoryMode)
		}
		if t.HistoryWindowMs < 0 {
			out.addf("historyWindowMs is %d: it must not be negative", t.HistoryWindowMs)
		}
		if (t.HistoryMode == "MinBy" || t.HistoryMode == "MaxBy") && text(t.HistoryByField) == "" {
			out.addf("historyMode %s needs historyByField", t.HistoryMode)
		}
	}
	if len(t.ShardBy) > 0 {
		if t.SearchEnabled {
			out.add("a sharded table cannot have searchEnabled: its rows live in shards that are not all in memory")
		}
		if t.Persistence == MemoryOnly {
			out.add("a sharded table cannot have persistence MemoryOnly: an idle shard leaves memory and must be read back")
		}
	}
	return out
}

// columns are the rules about output columns; they are checked once the query compiles.
func (t *Table) columns(f Facts) []string {
	if !f.Compiled {
		return nil
	}
	var out problems
	schema := Schema(f.Output)
	for _, c := range t.ShardBy {
		if _, ok := schema.Find(c); !ok {
			out.addf("shardBy names '%s', which is not a column of the query; columns: %s", c, list(schema.Names()))
		}
	}
	if by := text(t.HistoryByField); t.HistoryEnabled && by != "" && (t.HistoryMode == "MinBy" || t.HistoryMode == "MaxBy") {
		i, ok := schema.Find(by)
		switch {
		case !ok:
			out.addf("historyByField names '%s', which is not a column of the query; columns: %s", by, list(schema.Names()))
		case schema[i].Stored() == types.String || schema[i].Stored() == types.Bool || schema[i].Stored() == types.Json:
			out.addf("historyByField '%s' is %s: it must be a number or a timestamp", by, typeName(f.Output[i]))
		}
	}
	return out
}

// admit compiles a table and applies every rule of the catalog to it.
func (s *Store) admit(sn *Snapshot, r *TableRecord) error {
	p := problems(r.settings())
	f := s.compileTable(sn, r)
	if f.retention != "" {
		p.add(f.retention)
	}
	r.compiled(f.Facts)
	p.add(r.columns(r.Facts)...)
	if len(p) > 0 {
		return view.Errorf(view.Conflict, "%s", strings.Join(p, "; "))
	}
	if cycle := sn.cycle(r.Name, r.Facts.Inputs); cycle != nil {
		return view.Errorf(view.Conflict, "table '%s' would read itself: %s", r.Name, strings.Join(cycle, " -> "))
	}
	return replayRefused(sn, r.Facts, r.ReplayFrom)
}

// cycle follows inputs through tables and pipelines and returns the path from a name back to itself, nil when there
// is none.
func (sn *Snapshot) cycle(name string, inputs []Input) []string {
	seen := map[string]bool{}
	var walk func(at string, inputs []Input) []string
	walk = func(at string, inputs []Input) []string {
		for _, in := range inputs {
			if in.Kind == InputSource {
				continue
			}
			if in.Name == name {
				return []string{at, name}
			}
			if seen[in.Name] {
				continue
			}
			seen[in.Name] = true
			if path := walk(in.Name, sn.inputsOf(in.Name)); path != nil {
				return append([]string{at}, path...)
			}
		}
		return nil
	}
	return walk(name, inputs)
}

func (sn *Snapshot) inputsOf(name string) []Input {
	var out []Input
	for _, t := range sn.tableNames[name] {
		out = append(out, t.Facts.Inputs...)
	}
	for _, p := range sn.pipelineNames[name] {
		out = append(out, p.Facts.Inputs...)
	}
	return out
}

func tableEvent(r *TableRecord, kind string) view.LifecycleEvent {
	return view.LifecycleEvent{PipelineID: r.Name, Kind: kind, Status: r.Run.status()}
}

// compiled takes over what compiling found.
func (r *TableRecord) compiled(f Facts) {
	r.Facts = f
	r.StreamInputs, r.TableInputs, r.PipelineInputs = []string{}, []string{}, []string{}
	for _, in := range f.Inputs {
		switch in.Kind {
		case InputSource:
			r.StreamInputs = append(r.StreamInputs, in.Name)
		case InputTable:
			r.TableInputs = append(r.TableInputs, in.Name)
		case InputPipeline:
			r.PipelineInputs = append(r.PipelineInputs, in.Name)
		}
	}
	r.OutputFields = f.Output
	fill(&r.OutputFields)
	r.KeyFields = nil // the whole row, also of a query that does not compile
	if f.Compiled && !f.WholeRow {
		r.KeyFields = f.Key
		fill(&r.KeyFields)
	}
}

// UpdateTable replaces the definition of a table: absent scalars take their default, null tags, metadata, sinks,
// shardBy, dependsOn and replayFrom keep the stored value.
func (s *Store) UpdateTable(ctx context.Context, env, actor, id string, in Table) (*TableRecord, error) {
	var out *TableRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, ok := sn.tables[id]
		if !ok {
			return nil, view.ErrUnknown
		}
		own := in.own()
		keep(&own.Tags, old.Tags)
		keep(&own.Sinks, old.Sinks)
		keep(&own.ShardBy, old.ShardBy)
		keep(&own.DependsOn, old.DependsOn)
		if own.Metadata == nil {
			own.Metadata = old.Metadata
		}
		if own.ReplayFrom == nil {
			own.ReplayFrom = old.ReplayFrom
		}
		if err := invalid(own.problems()); err != nil {
			return nil, err
		}
		if own.Name != old.Name {
			if err := s.renameRefused(sn, old, own.Name); err != nil {
				return nil, err
			}
		}
		r := &TableRecord{Table: own, Run: old.Run, Facts: old.Facts, Stored: old.Stored}
		r.ID, r.CreatedBy, r.CreatedAtMs, r.UpdatedBy, r.UpdatedAtMs = old.ID, old.CreatedBy, old.CreatedAtMs, old.UpdatedBy, old.UpdatedAtMs
		r.Revision, r.SchemaRevision, r.Environment = old.Revision, old.SchemaRevision, old.Environment
		r.normalize()
		if err := s.admit(sn, r); err != nil {
			return nil, err
		}
		edited := !equalJSON(old.own(), r.own())
		if !edited && equalJSON(old.Facts, r.Facts) {
			out = old
			return nil, nil
		}
		if edited {
			r.Revision++ // Rule 2
			r.UpdatedBy, r.UpdatedAtMs = actor, s.opt.Now().UnixMilli()
		}
		c := &change{tables: []*TableRecord{r}, events: []view.LifecycleEvent{tableEvent(r, "table-updated")}}
		if !sameShape(old.OutputFields, r.OutputFields) {
			r.SchemaRevision++
			c.reshaped = []string{r.Name}
		}
		if own.Name != old.Name {
			c.reshaped = []string{r.Name}
		}
		r.Run = old.Run.edited(restarts(&old.Table, &r.Table), r.Facts)
		out = r
		return c, nil
	})
	return out, err
}

// restarts reports whether a running table must start again to follow an edit.
func restarts(a, b *Table) bool {
	return a.SQL != b.SQL || a.SearchEnabled != b.SearchEnabled || a.SearchMode != b.SearchMode ||
		a.Parallelism != b.Parallelism || a.Persistence != b.Persistence || a.FlushMs != b.FlushMs ||
		a.JournalMaxEntries != b.JournalMaxEntries || a.RetentionMaxRows != b.RetentionMaxRows ||
		a.RetentionTtlMs != b.RetentionTtlMs || !slices.Equal(a.ShardBy, b.ShardBy) || !equalJSON(a.ReplayFrom, b.ReplayFrom)
}

// renameRefused holds the three ways a rename would strand something.
func (s *Store) renameRefused(sn *Snapshot, old *TableRecord, name string) error {
	if err := sn.free(name, InputTable); err != nil {
		return err
	}
	if old.Run.Desired == DesiredRunning {
		return view.Errorf(view.Conflict, "Cannot rename '%s': it is running; stop it first", old.Name)
	}
	if len(old.ShardBy) > 0 {
		return view.Errorf(view.Conflict, "Cannot rename '%s': its shards are keyed by its name", old.Name)
	}
	var readers []string
	for _, t := range sn.tableList {
		if slices.Contains(t.TableInputs, old.Name) {
			readers = append(readers, t.Name)
		}
	}
	for _, p := range sn.pipelineList {
		if slices.Contains(p.SourceNames, old.Name) || slices.Contains(p.TableInputs, old.Name) {
			readers = append(readers, p.Name)
		}
	}
	if len(readers) > 0 {
		return view.Errorf(view.Conflict, "Cannot rename '%s': it is an input of %s", old.Name, strings.Join(readers, ", "))
	}
	return nil
}

// DeleteTable removes a table that no running table reads.
func (s *Store) DeleteTable(ctx context.Context, env, id string) error {
	return s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		r, ok := sn.tables[id]
		if !ok {
			return nil, view.ErrUnknown
		}
		if err := s.runningReaders(sn, r.Name).dependents("delete", r.Name); err != nil {
			return nil, err
		}
		return &change{dropTable: r, events: []view.LifecycleEvent{{PipelineID: r.Name, Kind: "table-deleted", Status: string(view.Stopped)}}}, nil
	})
}

// StartTable makes a table run. A query that does not compile or an input table that does not run is not an error of
// the call: the record then says why in Run.Refused.
func (s *Store) StartTable(ctx context.Context, env, id string) (*TableRecord, error) {
	var out *TableRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, ok := sn.tables[id]
		if !ok {
			return nil, view.ErrUnknown
		}
		out = old
		if s.runs(sn, InputTable, id, old.Run) {
			return nil, nil
		}
		r := *old
		refused := ""
		if err := s.admit(sn, &r); err != nil {
			refused = err.Error()
		} else if refused = r.Facts.errorText(); refused == "" {
			refused = s.stoppedText(sn, r.TableInputs)
		}
		if !sameShape(old.OutputFields, r.OutputFields) {
			r.SchemaRevision++
		}
		r.Run = old.Run.started(refused)
		out = &r
		c := &change{tables: []*TableRecord{&r}}
		if !sameShape(old.OutputFields, r.OutputFields) {
			c.reshaped = []string{r.Name}
		}
		return c, nil
	})
	return out, err
}

// stoppedText names the input tables that do not run, "" when all do.
func (s *Store) stoppedText(sn *Snapshot, inputs []string) string {
	var off []string
	for _, name := range inputs {
		t, ok := sn.TableNamed(name)
		if !ok || !s.runs(sn, InputTable, t.ID, t.Run) {
			off = append(off, name)
		}
	}
	if len(off) == 0 {
		return ""
	}
	return "table input(s) not running: " + strings.Join(off, ", ")
}

// StopTable makes a table stop, unless a running table reads it.
func (s *Store) StopTable(ctx context.Context, env, id string) (*TableRecord, error) {
	var out *TableRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, ok := sn.tables[id]
		if !ok {
			return nil, view.ErrUnknown
		}
		out = old
		if old.Run.Desired == DesiredStopped && old.Run.Refused == "" {
			return nil, nil
		}
		if err := s.runningReaders(sn, old.Name).dependents("stop", old.Name); err != nil {
			return nil, err
		}
		r := *old
		r.Run = Run{Desired: DesiredStopped, Revision: old.Run.Revision + 1}
		out = &r
		return &change{tables: []*TableRecord{&r}}, nil
	})
	return out, err
}

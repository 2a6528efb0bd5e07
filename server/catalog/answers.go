package catalog

import (
	"fmt"
	"slices"
	"unicode"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/server/view"
)

// ValidatePipeline checks a pipeline's query. Problems are in the answer; the error is for an unknown environment.
func (s *Store) ValidatePipeline(env, sql string) (view.PipelineValidation, error) {
	sn, err := s.Snapshot(env)
	if err != nil {
		return view.PipelineValidation{}, err
	}
	f := s.validate(sn, sql, engine.PipelineMode, InputPipeline)
	v := view.PipelineValidation{
		OK: f.Compiled, Diagnostics: f.Diagnostics, PlanSummary: f.summary(), SourceNames: []string{}, TableInputs: []string{},
		OutputSchema: columnsOf(Schema(f.Output)), ChangelogMode: f.changelog(),
	}
	for _, in := range f.Inputs {
		if in.Kind == InputTable {
			v.TableInputs = append(v.TableInputs, in.Name)
		} else {
			v.SourceNames = append(v.SourceNames, in.Name)
		}
	}
	return v, nil
}

// ValidateTable checks a table's query. Problems are in the answer; the error is for an unknown environment.
func (s *Store) ValidateTable(env, sql string) (view.TableValidation, error) {
	sn, err := s.Snapshot(env)
	if err != nil {
		return view.TableValidation{}, err
	}
	f := s.validate(sn, sql, engine.TableMode, InputTable)
	var r TableRecord
	r.compiled(f.Facts)
	return view.TableValidation{
		OK: f.Compiled, Diagnostics: f.Diagnostics, PlanSummary: f.summary(),
		StreamInputs: r.StreamInputs, TableInputs: r.TableInputs, PipelineInputs: r.PipelineInputs,
		OutputSchema: columnsOf(Schema(f.Output)), KeyFields: r.KeyFields, ChangelogMode: f.changelog(),
	}, nil
}

// validate compiles a query that stands alone: it has no sinks yet, so an INSERT has no target.
func (s *Store) validate(sn *Snapshot, sql string, mode engine.Mode, what InputKind) tableFacts {
	if d := insertProblem(sql, nil, what); d != nil {
		return tableFacts{Facts: Facts{Diagnostics: Diagnostics([]engine.Diagnostic{*d})}}
	}
	_, f := s.compile(sn, sql, mode, s.options(engine.Options{}))
	return f
}

func (f Facts) summary() *string {
	if !f.Compiled {
		return nil
	}
	return ptr(f.Summary)
}

func (f Facts) changelog() *view.ChangelogMode {
	if !f.Compiled {
		return nil
	}
	return &view.ChangelogMode{Mode: f.Mode, Key: f.ModeKey}
}

// PipelinePlan shows the plan of a pipeline.
func (s *Store) PipelinePlan(sn *Snapshot, r *PipelineRecord) view.ExecutionPlan {
	p, f := s.compile(sn, r.SQL, engine.PipelineMode, s.pipelineOptions(r))
	return planOf(p, f.Facts, 1, "a pipeline runs as one worker and has no physical stages")
}

// TablePlan shows the plan of a table.
func (s *Store) TablePlan(sn *Snapshot, r *TableRecord) view.ExecutionPlan {
	p, f := s.compile(sn, r.SQL, engine.TableMode, s.tableOptions(r))
	why := "with parallelism 1 a table runs as one worker and has no physical stages"
	out := planOf(p, f.Facts, r.Parallelism, why)
	if p != nil && r.Parallelism > 1 {
		stagesOf(p, &out)
	}
	return out
}

func planOf(p *engine.Program, f Facts, parallelism int, why string) view.ExecutionPlan {
	out := view.ExecutionPlan{
		PlanSummary: f.summary(), Inputs: []string{}, Stages: []view.PlanStage{}, Edges: []view.PlanEdge{},
		Parallelism: parallelism, UnavailableReason: &why,
	}
	if p == nil {
		out.UnavailableReason = ptr("the query does not compile: " + f.errorText())
		return out
	}
	for _, in := range f.Inputs {
		out.Inputs = append(out.Inputs, in.Name)
	}
	out.Explain = ptr(p.Explain())
	return out
}

// Functions lists what SQL can call, sorted: the names of functions, without operators.
func Functions() view.FunctionCatalog {
	registered := []string{}
	scalars := slices.DeleteFunc(slices.Clone(expr.Names()), func(n string) bool {
		if f, ok := expr.Lookup(n); ok && f.Plugin {
			registered = append(registered, n)
			return true
		}
		return n == "" || !unicode.IsLetter(rune(n[0]))
	})
	aggregates := slices.Clone(agg.Names())
	slices.Sort(scalars)
	slices.Sort(aggregates)
	return view.FunctionCatalog{
		Scalars: scalars, Aggregates: aggregates, RegisteredScalars: registered, RegisteredAggregates: []string{},
	}
}

// ShowPipeline is a pipeline as it is served: the definition, what the runtime observes, and whether a pin is stale.
func (s *Store) ShowPipeline(sn *Snapshot, r *PipelineRecord) Pipeline {
	p := r.Pipeline
	st := s.shown(sn, InputPipeline, p.ID, r.Run)
	p.Status, p.Error, p.Degraded, p.StaleInputs = st.Status, errorOf(st), st.Degraded, st.StaleInputs
	p.StaleReason = sn.stale(p.DependsOn)
	return p
}

// ShowTable is a table as it is served; see ShowPipeline.
func (s *Store) ShowTable(sn *Snapshot, r *TableRecord) Table {
	t := r.Table
	st := s.shown(sn, InputTable, t.ID, r.Run)
	t.Status, t.Error, t.Degraded, t.StaleInputs = st.Status, errorOf(st), st.Degraded, st.StaleInputs
	t.StaleReason = sn.stale(t.DependsOn)
	return t
}

// shown is the status to serve. A refused start reads as Failed although nothing runs; an entity that should run and
// that the runtime has not reached yet reads as Running, as the answer to its start did.
func (s *Store) shown(sn *Snapshot, kind InputKind, id string, run Run) view.EntityStatus {
	if run.Refused != "" {
		return view.EntityStatus{Status: view.Failed, Error: run.Refused, Applied: run.Revision, StaleInputs: []string{}}
	}
	st := s.observed(sn.Env, kind, id, run)
	if st.Applied < run.Revision || st.Status == "" {
		st.Status, st.Error = view.Status(run.status()), ""
	}
	fill(&st.StaleInputs)
	return st
}

func errorOf(st view.EntityStatus) *string {
	if st.Status != view.Failed || st.Error == "" {
		return nil
	}
	return &st.Error
}

// stale says which pin no longer holds, nil when all do.
func (sn *Snapshot) stale(pins []EntityPin) *string {
	for _, p := range pins {
		var revision int64
		found := false
		switch p.Kind {
		case "source":
			if r, ok := sn.sources[p.Name]; ok {
				revision, found = r.SchemaRevision, true
			}
		case "table":
			if r, ok := sn.TableNamed(p.Name); ok {
				revision, found = r.SchemaRevision, true
			}
		}
		switch {
		case !found:
			return ptr(fmt.Sprintf("%s '%s' does not exist", p.Kind, p.Name))
		case p.SchemaRevision > 0 && revision != p.SchemaRevision:
			return ptr(fmt.Sprintf("%s '%s' is at schemaRevision %d, pinned at %d", p.Kind, p.Name, revision, p.SchemaRevision))
		}
	}
	return nil
}

// Lineage is the graph of stored inputs, of the entities that keep admits.
func (sn *Snapshot) Lineage(keep func(kind InputKind, name string, tags []string) bool) view.Lineage {
	out := view.Lineage{Nodes: []view.LineageNode{}, Edges: []view.LineageEdge{}}
	kept := map[string]bool{}
	for _, r := range sn.sourceList {
		if keep(InputSource, r.Name, r.Tags) {
			kept[r.Name] = true
			out.Nodes = append(out.Nodes, view.LineageNode{Kind: string(InputSource), Name: r.Name})
		}
	}
	node := func(kind InputKind, name, id string, tags []string) {
		if keep(kind, name, tags) {
			kept[name] = true
			out.Nodes = append(out.Nodes, view.LineageNode{Kind: string(kind), Name: name, ID: &id})
		}
	}
	edges := func(kind InputKind, name string, f Facts) {
		for _, in := range f.Inputs {
			if kept[name] && kept[in.Name] {
				out.Edges = append(out.Edges, view.LineageEdge{FromKind: string(in.Kind), FromName: in.Name, ToKind: string(kind), ToName: name})
			}
		}
	}
	for _, r := range sn.pipelineList {
		node(InputPipeline, r.Name, r.ID, r.Tags)
	}
	for _, r := range sn.tableList {
		node(InputTable, r.Name, r.ID, r.Tags)
	}
	for _, r := range sn.pipelineList {
		edges(InputPipeline, r.Name, r.Facts)
	}
	for _, r := range sn.tableList {
		edges(InputTable, r.Name, r.Facts)
	}
	return out
}

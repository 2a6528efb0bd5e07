package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/server/view"
)

// CreatePipeline stores a new pipeline, Stopped. SQL that does not compile is stored as a draft.
func (s *Store) CreatePipeline(ctx context.Context, env, actor string, in Pipeline) (*PipelineRecord, error) {
	var out *PipelineRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		if err := invalid(in.problems()); err != nil {
			return nil, err
		}
		if err := sn.free(in.Name, InputPipeline); err != nil {
			return nil, err
		}
		r := &PipelineRecord{Pipeline: in.own(), Run: Run{Desired: DesiredStopped}}
		r.normalize()
		now := s.opt.Now().UnixMilli()
		r.ID, r.Revision, r.Environment = s.opt.NewID(), 1, environment(sn.Env)
		r.CreatedBy, r.CreatedAtMs, r.UpdatedBy, r.UpdatedAtMs = actor, now, actor, now
		if err := s.admitPipeline(sn, r); err != nil {
			return nil, err
		}
		out = r
		return &change{pipelines: []*PipelineRecord{r}, reshaped: []string{r.Name}, events: []view.LifecycleEvent{pipelineEvent(r, "created")}}, nil
	})
	return out, err
}

// problems are the rules that do not need the catalog.
func (p *Pipeline) problems() []string {
	var out problems
	if strings.TrimSpace(p.Name) == "" || strings.TrimSpace(p.SQL) == "" {
		out.add("name and sql are required")
	} else {
		out.add(nameProblem("pipeline", p.Name, true))
	}
	out.add(pinProblems(p.DependsOn)...)
	out.add(sinkProblems(p.Sinks)...)
	out.add(insertText(p.SQL, p.Sinks, InputPipeline))
	if p.AllowedLatenessMs < 0 {
		out.addf("allowedLatenessMs is %d: it must not be negative", p.AllowedLatenessMs)
	}
	if r := p.Replay; r != nil && (r.RetainMs < 0 || r.MaxBytes < 0) {
		out.add("replay.retainMs and replay.maxBytes must not be negative")
	}
	return out
}

func pipelineEvent(r *PipelineRecord, kind string) view.LifecycleEvent {
	return view.LifecycleEvent{PipelineID: r.ID, Kind: kind, Status: r.Run.status()}
}

// status is the status as far as the catalog knows it.
func (r Run) status() string {
	switch {
	case r.Desired == DesiredRunning:
		return string(view.Running)
	case r.Refused != "":
		return string(view.Failed)
	}
	return string(view.Stopped)
}

// admitPipeline compiles a pipeline and applies every rule of the catalog to it.
func (s *Store) admitPipeline(sn *Snapshot, r *PipelineRecord) error {
	r.compiled(s.compilePipeline(sn, r))
	if cycle := sn.cycle(r.Name, r.Facts.Inputs); cycle != nil {
		return view.Errorf(view.Conflict, "pipeline '%s' would read itself: %s", r.Name, strings.Join(cycle, " -> "))
	}
	return replayRefused(sn, r.Facts, r.ReplayFrom)
}

// compiled takes over what compiling found.
func (r *PipelineRecord) compiled(f Facts) {
	r.Facts = f
	r.SourceNames, r.TableInputs = []string{}, []string{}
	for _, in := range f.Inputs {
		if in.Kind == InputTable {
			r.TableInputs = append(r.TableInputs, in.Name)
		} else {
			r.SourceNames = append(r.SourceNames, in.Name)
		}
	}
	r.OutputFields = f.Output
	fill(&r.OutputFields)
}

// replayRefused checks replayFrom against the compiled inputs. A draft has none yet; it is checked when it compiles.
func replayRefused(sn *Snapshot, f Facts, from map[string]ReplayFrom) error {
	if !f.Compiled {
		return nil
	}
	var valid []string
	for _, in := range f.Inputs {
		if in.Kind != InputTable {
			valid = append(valid, in.Name)
		}
	}
	for _, name := range sortedKeys(from) {
		i := slices.IndexFunc(f.Inputs, func(in Input) bool { return in.Name == name })
		switch {
		case i < 0:
			return view.Errorf(view.Conflict, "replayFrom names '%s', which is not an input of the query; valid inputs: %s", name, list(valid))
		case f.Inputs[i].Kind == InputTable:
			return view.Errorf(view.Conflict, "replayFrom names '%s', which is a table: a table input is always read from its current rows; valid inputs: %s", name, list(valid))
		}
		if src, ok := sn.sources[name]; ok && src.Kind == "crdt" {
			return view.Errorf(view.Conflict, "replayFrom names '%s', a crdt source: its rows are refilled by its own replay", name)
		}
		if v := from[name]; v.Seq != nil && *v.Seq < 1 || v.TimestampMs != nil && *v.TimestampMs < 0 {
			return view.Errorf(view.Conflict, "replayFrom of '%s': seq counts from 1 and timestampMs is not negative", name)
		}
	}
	return nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// UpdatePipeline replaces the definition of a pipeline; null tags, metadata, sinks, dependsOn and replayFrom keep the
// stored value. A running pipeline restarts when its query or where it reads from changes.
func (s *Store) UpdatePipeline(ctx context.Context, env, actor, id string, in Pipeline) (*PipelineRecord, error) {
	var out *PipelineRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, ok := sn.pipelines[id]
		if !ok {
			return nil, view.ErrUnknown
		}
		own := in.own()
		keep(&own.Tags, old.Tags)
		keep(&own.Sinks, old.Sinks)
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
			if err := sn.free(own.Name, InputPipeline); err != nil {
				return nil, err
			}
			if err := s.runningReaders(sn, old.Name).dependents("rename", old.Name); err != nil {
				return nil, err
			}
		} else if sn.sources[own.Name] != nil || len(sn.tableNames[own.Name]) > 0 {
			return nil, sn.free(own.Name, InputPipeline)
		}
		r := &PipelineRecord{Pipeline: own, Run: old.Run, Facts: old.Facts, Stored: old.Stored}
		r.ID, r.CreatedBy, r.CreatedAtMs, r.UpdatedBy, r.UpdatedAtMs = old.ID, old.CreatedBy, old.CreatedAtMs, old.UpdatedBy, old.UpdatedAtMs
		r.Revision, r.Environment = old.Revision, old.Environment
		r.normalize()
		if err := s.admitPipeline(sn, r); err != nil {
			return nil, err
		}
		if equalJSON(old.own(), r.own()) && equalJSON(old.Facts, r.Facts) {
			out = old
			return nil, nil
		}
		if !equalJSON(old.own(), r.own()) {
			r.Revision++ // Rule 2
			r.UpdatedBy, r.UpdatedAtMs = actor, s.opt.Now().UnixMilli()
		}
		restart := old.SQL != r.SQL || old.AllowedLatenessMs != r.AllowedLatenessMs || !equalJSON(old.ReplayFrom, r.ReplayFrom)
		r.Run = old.Run.edited(restart, r.Facts)
		out = r
		c := &change{pipelines: []*PipelineRecord{r}, events: []view.LifecycleEvent{pipelineEvent(r, "updated")}}
		if own.Name != old.Name || !sameShape(old.OutputFields, r.OutputFields) {
			c.reshaped = []string{r.Name}
		}
		return c, nil
	})
	return out, err
}

// edited is the desired state after an edit: a worker whose query changed runs again, unless there is no query to
// run any more.
func (r Run) edited(restart bool, f Facts) Run {
	if !restart {
		return r
	}
	r.Refused = ""
	if r.Desired == DesiredRunning {
		r.Revision++
		if !f.Compiled {
			r.Desired, r.Refused = DesiredStopped, f.errorText()
		}
	}
	return r
}

// DeletePipeline removes a pipeline. Tables that read it keep running on the rows they have.
func (s *Store) DeletePipeline(ctx context.Context, env, id string) error {
	return s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		r, ok := sn.pipelines[id]
		if !ok {
			return nil, view.ErrUnknown
		}
		return &change{dropPipeline: r, events: []view.LifecycleEvent{{PipelineID: id, Kind: "deleted", Status: string(view.Stopped)}}}, nil
	})
}

// StartPipeline makes a pipeline run. A query that does not compile is not an error of the call: the record then
// says why in Run.Refused.
func (s *Store) StartPipeline(ctx context.Context, env, id string) (*PipelineRecord, error) {
	var out *PipelineRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, ok := sn.pipelines[id]
		if !ok {
			return nil, view.ErrUnknown
		}
		out = old
		if s.runs(sn, InputPipeline, id, old.Run) {
			return nil, nil
		}
		r := *old
		refused := ""
		if err := s.admitPipeline(sn, &r); err != nil {
			refused = err.Error()
		} else if refused = r.Facts.errorText(); refused == "" {
			refused = s.stoppedText(sn, r.TableInputs)
		}
		r.Run = old.Run.started(refused)
		out = &r
		return &change{pipelines: []*PipelineRecord{&r}}, nil
	})
	return out, err
}

// started is the desired state after a start that was refused with a text, or accepted ("").
func (r Run) started(refused string) Run {
	if refused != "" {
		return Run{Desired: DesiredStopped, Revision: r.Revision + 1, Refused: refused}
	}
	return Run{Desired: DesiredRunning, Revision: r.Revision + 1}
}

// StopPipeline makes a pipeline stop.
func (s *Store) StopPipeline(ctx context.Context, env, id string) (*PipelineRecord, error) {
	var out *PipelineRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, ok := sn.pipelines[id]
		if !ok {
			return nil, view.ErrUnknown
		}
		out = old
		if old.Run.Desired == DesiredStopped && old.Run.Refused == "" {
			return nil, nil
		}
		r := *old
		r.Run = Run{Desired: DesiredStopped, Revision: old.Run.Revision + 1}
		out = &r
		return &change{pipelines: []*PipelineRecord{&r}}, nil
	})
	return out, err
}

// keep replaces a null list by the stored one.
func keep[T any](to *[]T, stored []T) {
	if *to == nil {
		*to = stored
	}
}

// observed is what the runtime sees of an entity; without a runtime, what is desired.
func (s *Store) observed(env string, kind InputKind, id string, run Run) view.EntityStatus {
	if o := s.observer.Load(); o != nil {
		return (*o).Observed(env, kind, id)
	}
	return view.EntityStatus{Status: view.Status(run.status()), Error: run.Refused, Applied: run.Revision}
}

// runs reports whether an entity runs or is about to: it should, and the runtime has not failed it.
func (s *Store) runs(sn *Snapshot, kind InputKind, id string, run Run) bool {
	if run.Desired != DesiredRunning {
		return false
	}
	st := s.observed(sn.Env, kind, id, run)
	return st.Status != view.Failed || st.Applied < run.Revision
}

// readers are the running tables and pipelines that read a relation.
type readers struct{ tables, pipelines []string }

func (s *Store) runningReaders(sn *Snapshot, name string) (out readers) {
	reads := func(f Facts) bool {
		return slices.ContainsFunc(f.Inputs, func(in Input) bool { return in.Name == name })
	}
	for _, t := range sn.tableList {
		if reads(t.Facts) && s.runs(sn, InputTable, t.ID, t.Run) {
			out.tables = append(out.tables, t.Name)
		}
	}
	for _, p := range sn.pipelineList {
		if reads(p.Facts) && s.runs(sn, InputPipeline, p.ID, p.Run) {
			out.pipelines = append(out.pipelines, p.Name)
		}
	}
	return out
}

// dependents refuses an action because of the running readers, nil when there are none.
func (r readers) dependents(action, name string) error {
	var by []string
	if len(r.tables) > 0 {
		by = append(by, "running table(s) depend on it: "+strings.Join(r.tables, ", "))
	}
	if len(r.pipelines) > 0 {
		by = append(by, "running pipeline(s) look it up: "+strings.Join(r.pipelines, ", "))
	}
	if len(by) == 0 {
		return nil
	}
	return view.Errorf(view.Conflict, "Cannot %s '%s': %s", action, name, strings.Join(by, "; "))
}

// errorText joins the errors of a query that does not compile, "" when it does.
func (f Facts) errorText() string {
	if f.Compiled {
		return ""
	}
	var out []string
	for _, d := range f.Diagnostics {
		if d.Severity == "Error" {
			out = append(out, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Message))
		}
	}
	if len(out) == 0 {
		return "the query has not been compiled"
	}
	return strings.Join(out, "; ")
}

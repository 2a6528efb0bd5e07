package catalog

import (
	"slices"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/server/view"
)

// relations shows a snapshot to the engine. A query that does not compile has no columns, so nothing can read it.
type relations struct{ sn *Snapshot }

var _ engine.Catalog = relations{}

// Engine returns the snapshot as the catalog that queries are compiled against.
func (sn *Snapshot) Engine() engine.Catalog { return relations{sn} }

// Relations finds a name; names are compared as they are, case included.
func (c relations) Relations(name string) []engine.Relation {
	var out []engine.Relation
	if s, ok := c.sn.sources[name]; ok {
		out = append(out, engine.Relation{
			Name: name, Kind: engine.Source, Schema: Schema(s.Fields), EventTime: true, AppendOnly: len(s.KeyFields) == 0, Key: s.KeyFields,
		})
	}
	for _, t := range c.sn.tableNames[name] {
		if t.Facts.Compiled {
			out = append(out, t.Facts.relation(name, engine.Table))
		}
	}
	for _, p := range c.sn.pipelineNames[name] {
		if p.Facts.Compiled {
			out = append(out, p.Facts.relation(name, engine.Pipeline))
		}
	}
	return out
}

// Names lists every relation, sorted.
func (c relations) Names() []string {
	out := sortedKeys(c.sn.sources)
	out = append(out, sortedKeys(c.sn.tableNames)...)
	out = append(out, sortedKeys(c.sn.pipelineNames)...)
	slices.Sort(out)
	return out
}

func (f Facts) relation(name string, kind engine.InputKind) engine.Relation {
	return engine.Relation{
		Name: name, Kind: kind, Schema: Schema(f.Output), EventTime: f.EventTime, AppendOnly: f.AppendOnly, Key: f.RowKey,
	}
}

// CompilePipeline compiles the query of a pipeline against the newest definitions of its environment. The error is a
// view.Conflict with every diagnostic.
func (s *Store) CompilePipeline(sn *Snapshot, r *PipelineRecord) (*engine.Program, error) {
	return s.program(sn, r.SQL, engine.PipelineMode, s.pipelineOptions(r))
}

// CompileTable compiles the query of a table; see CompilePipeline.
func (s *Store) CompileTable(sn *Snapshot, r *TableRecord) (*engine.Program, error) {
	return s.program(sn, r.SQL, engine.TableMode, s.tableOptions(r))
}

// options adds the settings of the process to those of a definition.
func (s *Store) options(o engine.Options) engine.Options {
	o.IdleMs, o.LatenessMs, o.StrictNotIn = s.opt.IdleMs, s.opt.LatenessMs, s.opt.StrictNotIn
	o.StateWarnings = true
	return o
}

func (s *Store) pipelineOptions(r *PipelineRecord) engine.Options {
	return s.options(engine.Options{AllowedLatenessMs: r.AllowedLatenessMs})
}

func (s *Store) tableOptions(r *TableRecord) engine.Options {
	return s.options(engine.Options{Retention: engine.Retention{MaxRows: int64(r.RetentionMaxRows), TTLMs: r.RetentionTtlMs}})
}

func (s *Store) program(sn *Snapshot, sql string, mode engine.Mode, o engine.Options) (*engine.Program, error) {
	p, f := s.compile(sn, sql, mode, o)
	if p == nil {
		return nil, view.Errorf(view.Conflict, "%s", f.errorText())
	}
	return p, nil
}

// compile runs the engine and keeps what the catalog needs of the answer.
func (s *Store) compile(sn *Snapshot, sql string, mode engine.Mode, o engine.Options) (*engine.Program, tableFacts) {
	p, found := engine.Compile(query(sql), sn.Engine(), mode, o)
	f := tableFacts{Facts: Facts{Diagnostics: Diagnostics(found), Inputs: []Input{}, Output: []Field{}}}
	if p == nil {
		for _, d := range found {
			if d.Code == engine.CodeRetention {
				f.retention = d.Message
			}
		}
		return nil, f
	}
	rel := p.Relation("")
	f.Compiled, f.Summary, f.Output = true, p.Summary(), Fields(p.Output())
	f.EventTime, f.AppendOnly, f.RowKey = rel.EventTime, rel.AppendOnly, rel.Key
	f.Key, f.WholeRow = p.KeyFields()
	changelog := p.Changelog()
	f.Mode, f.ModeKey = changelog.Mode.String(), changelog.Key
	for _, in := range p.Inputs() {
		i := Input{Name: in.Name, Kind: inputKind(in.Kind)}
		if s, ok := sn.sources[in.Name]; ok && i.Kind == InputSource && mode == engine.TableMode {
			i.Key = s.KeyFields
		}
		f.Inputs = append(f.Inputs, i)
	}
	f.LatestBy = latestBy(p.Query().Root)
	return p, f
}

func inputKind(k engine.InputKind) InputKind {
	switch k {
	case engine.Table:
		return InputTable
	case engine.Pipeline:
		return InputPipeline
	default:
		return InputSource
	}
}

// Diagnostics turns the engine's findings into the wire's.
func Diagnostics(found []engine.Diagnostic) []view.SqlDiagnostic {
	out := make([]view.SqlDiagnostic, len(found))
	for i, d := range found {
		out[i] = view.SqlDiagnostic{
			Message: d.Message, Line: d.Pos.Line, Column: d.Pos.Column, Length: d.Pos.Length,
			Severity: d.Severity.String(), Code: d.Code, Hint: d.Hint, Fix: fix(d.Fix),
		}
	}
	return out
}

func fix(f *engine.Fix) *view.SqlFix {
	if f == nil {
		return nil
	}
	out := &view.SqlFix{Title: f.Title, Edits: make([]view.SqlEdit, len(f.Edits))}
	for i, e := range f.Edits {
		out.Edits[i] = view.SqlEdit{Line: e.Pos.Line, Column: e.Pos.Column, Length: e.Pos.Length, Text: e.Text}
	}
	return out
}

// latestBy reports whether a plan keeps the newest row of each key of its input.
func latestBy(n plan.Node) bool {
	if _, ok := n.(*plan.LatestBy); ok {
		return true
	}
	return slices.ContainsFunc(n.Children(), latestBy)
}

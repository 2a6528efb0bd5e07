package engine

import (
	"slices"

	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Names of the facade for what lives in the packages below it.
type (
	// Diagnostic is one problem of a statement.
	Diagnostic = syntax.Diagnostic
	// Fix is a change of a statement's text that makes a diagnostic go away.
	Fix = syntax.Fix
	// Severity of a diagnostic.
	Severity = syntax.Severity
	// Pos is a place in a statement.
	Pos = syntax.Pos
	// Catalog finds relations by name.
	Catalog = analyze.Catalog
	// Relation is what a statement can read.
	Relation = analyze.Relation
	// InputKind is the kind of a relation.
	InputKind = plan.InputKind
	// Input is one relation that a program reads.
	Input = plan.Input
	// Mode is what a statement defines.
	Mode = analyze.Mode
	// Options are the settings of a statement beside its text.
	Options = analyze.Options
	// Retention bounds the rows of a table.
	Retention = plan.Retention
	// Changelog is a derived changelog mode.
	Changelog = plan.Changelog
	// ChangelogMode is Append, Upsert or Retract.
	ChangelogMode = plan.ChangelogMode
)

// The constants of those types.
const (
	Error   = syntax.Error
	Warning = syntax.Warning

	Source   = plan.Source
	Table    = plan.Table
	Pipeline = plan.Pipeline

	TableMode    = analyze.Table
	PipelineMode = analyze.Pipeline

	Append  = plan.Append
	Upsert  = plan.Upsert
	Retract = plan.Retract
)

// CodeRetention is the code of the diagnostic about a query whose rows cannot be evicted.
const CodeRetention = analyze.CodeRetention

// HasErrors reports whether one of the diagnostics forbids to run the statement.
func HasErrors(ds []Diagnostic) bool { return syntax.HasErrors(ds) }

// Compile checks a statement against a catalog and plans it. It reports every problem at once, ordered by place. The
// program is nil when one of them is an Error.
func Compile(sql string, cat Catalog, mode Mode, o Options) (*Program, []Diagnostic) {
	q, problems := syntax.Parse(sql)
	r, found := analyze.Analyze(q, cat, mode, o)
	if syntax.HasErrors(problems) && !q.Complete() {
		found = analyze.Certain(found)
	}
	problems = syntax.Sort(append(problems, found...))
	if syntax.HasErrors(problems) {
		return nil, problems
	}
	query := plan.Optimize(r.Query)
	if o.Retention.Bounds() {
		if why := plan.RetentionRefused(query.Root); why != "" {
			return nil, append(problems, Diagnostic{Pos: Pos{Line: 1, Column: 1}, Code: analyze.CodeRetention, Message: why,
				Hint: "remove the bounds, or bound a table of plain rows that this one reads"})
		}
		query = plan.Retained(query, o.Retention)
	}
	return &Program{sql: sql, result: r, query: query}, problems
}

// Program is a compiled statement. It is immutable and shared.
type Program struct {
	sql    string
	result analyze.Result
	query  *plan.Query
}

// SQL is the statement as it was compiled.
func (p *Program) SQL() string { return p.sql }

// Inputs are the relations that the program reads, in the order in which the statement names them, each once, with
// the columns that a flow wants of their rows. The caller must not change them.
func (p *Program) Inputs() []Input { return p.query.Inputs }

// Output is the visible columns of the result. The caller must not change it.
func (p *Program) Output() types.Schema { return p.query.Output }

// EventTime says that output batches have one more column behind those of Output: the hidden "_ts".
func (p *Program) EventTime() bool { return p.query.EventTime }

// KeyFields are the output columns by which rows supersede each other: the keys of GROUP BY or LATEST BY in clause
// order, empty for one global row. whole says that a row is identified by all of its columns.
func (p *Program) KeyFields() (cols []string, whole bool) {
	return p.result.KeyFields, p.result.WholeRow
}

// Changelog is the derived mode of the output. The hidden event time is no part of a key.
func (p *Program) Changelog() Changelog { return p.query.Root.Changelog() }

// AppendOnly proves that the output never takes a row back.
func (p *Program) AppendOnly() bool { return p.query.Root.AppendOnly() }

// Relation describes the output for programs that read it under a name.
func (p *Program) Relation(name string) Relation {
	r := Relation{Name: name, Kind: Table, Schema: p.Output(), EventTime: p.EventTime(), AppendOnly: p.AppendOnly()}
	if p.query.Pipeline {
		r.Kind = Pipeline
	}
	if key := p.query.Root.Key(); key != nil && !slices.Contains(key, len(r.Schema)) { // not by the hidden event time
		r.Key = []string{}
		for _, c := range key {
			r.Key = append(r.Key, r.Schema[c].Name)
		}
	}
	return r
}

// Summary is the plan in one line for people.
func (p *Program) Summary() string { return p.result.Summary }

// Explain is the optimized plan as stable text, one operator a line.
func (p *Program) Explain() string { return plan.Explain(p.query.Root) }

// Query is the optimized plan. The caller must not change it.
func (p *Program) Query() *plan.Query { return p.query }

// NewFlow makes an empty flow.
func (p *Program) NewFlow() *flow.Flow { return flow.New(p.query) }

// Partition cuts the program of a table into stages for 2 to 16 partitions; an error says why it cannot.
func (p *Program) Partition(partitions int) (*plan.Physical, error) {
	return plan.Cut(p.query, partitions)
}

// NewPartitioned makes an empty state in several partitions; run runs the tasks of a step.
func (p *Program) NewPartitioned(partitions int, run flow.Executor) (*flow.Partitioned, error) {
	cut, err := p.Partition(partitions)
	if err != nil {
		return nil, err
	}
	return flow.NewPartitioned(cut, run), nil
}

package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/changelog"
	"github.com/streamsforge/streamsforge/engine/project"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Problem is one thing that is not as a fixture says.
type Problem struct {
	// Place is where the expectation stands, or the row.
	Place project.Place `json:"place"`
	Model string        `json:"model,omitempty"`
	// Message is one line.
	Message string `json:"message"`
	// Diff is the records line by line: "  " as expected, "- " expected only, "+ " emitted only.
	Diff []string `json:"diff,omitempty"`
}

// String prints the problem with its difference below.
func (p Problem) String() string {
	s := p.Place.String() + ": "
	if p.Model != "" {
		s += p.Model + ": "
	}
	s += p.Message
	for _, line := range p.Diff {
		s += "\n    " + line
	}
	return s
}

// Variant is a way to run a fixture.
type Variant int

// The variants.
const (
	// AsWritten runs the steps as the fixture says.
	AsWritten Variant = iota
	// Restarted restarts everything after every epoch. It emits the same records.
	Restarted
	// OneEpoch makes one epoch of the rows of every step. Every step ends with the same rows.
	OneEpoch
	// SingleRows makes an epoch of every row. Every step ends with the same rows.
	SingleRows
)

var variantNames = [...]string{"as written", "restarted after every epoch", "with the rows of each step in one epoch", "with an epoch for each row"}

func (v Variant) String() string { return variantNames[v] }

// Trace is what a run emitted.
type Trace struct {
	Models []ModelTrace
}

// ModelTrace is what one model emitted, step by step.
type ModelTrace struct {
	Model   string
	Columns []string
	Steps   []StepTrace
}

// StepTrace is what one model emitted in a step, and the rows that it holds at the end.
type StepTrace struct {
	Records []changelog.Record
	rows    []string
	late    [][]types.Value
}

// emitted is what one model gave out over some time.
type emitted struct {
	records []changelog.Record
	late    [][]types.Value
}

// runner runs one fixture.
type runner struct {
	sim      *Simulator
	variant  Variant
	trace    Trace
	problems []Problem
}

// Run runs a fixture in a variant, from nothing.
func Run(c *project.Checked, f Fixture, v Variant) (Trace, []Problem) {
	r := &runner{sim: New(c), variant: v}
	for _, m := range r.sim.models {
		r.trace.Models = append(r.trace.Models, ModelTrace{Model: m.def.Name, Columns: m.relation.Schema.Names()})
	}
	for _, s := range f.Steps {
		r.step(s)
	}
	all := map[string]emitted{}
	for _, m := range r.trace.Models {
		var e emitted
		for _, s := range m.Steps {
			e.records, e.late = append(e.records, s.Records...), append(e.late, s.late...)
		}
		all[m.Model] = e
	}
	for _, e := range f.Expect {
		r.expect(e, all[e.Model])
	}
	return r.trace, r.problems
}

// Verify runs a fixture in the other variants and reports where they give something else than trace.
func Verify(c *project.Checked, f Fixture, trace Trace) []Problem {
	var out []Problem
	for _, v := range []Variant{Restarted, OneEpoch, SingleRows} {
		other, _ := Run(c, f, v)
		out = append(out, compare(f, trace, other, v)...)
	}
	return out
}

func (r *runner) problem(at project.Place, model, format string, args ...any) {
	r.problems = append(r.problems, Problem{Place: at, Model: model, Message: fmt.Sprintf(format, args...)})
}

func (r *runner) step(s Step) {
	refused := 0
	together := s.Together
	switch r.variant {
	case OneEpoch:
		together = true
	case SingleRows:
		together = false
	}
	rows := make([]Row, 0, len(s.Rows))
	for _, row := range s.Rows {
		if src := r.sim.source(row.Source); src == nil {
			r.problem(row.At, "", "no source %q%s", row.Source, hint(row.Source, r.sim.sourceNames(), "sources"))
		} else if name, ok := undeclared(row.Names, src.def.Fields); ok {
			r.problem(row.At, "", "source %s has no column %q%s", row.Source, name, hint(name, src.def.Fields.Names(), "columns"))
		} else {
			rows = append(rows, row)
		}
	}
	for from := 0; from < len(rows); {
		to := from + 1
		if together {
			to = len(rows)
		}
		for _, f := range r.sim.Epoch(rows[from:to]) {
			if refused++; refused > s.Refused {
				row := rows[from+f.Row]
				r.problem(row.At, "", "source %s refuses the row: %s", row.Source, f.Reason)
			}
		}
		r.afterEpoch(s.At)
		from = to
	}
	if refused < s.Refused {
		r.problem(s.At, "", "%d rows are refused, expected %d", refused, s.Refused)
	}
	if s.AdvanceMs > 0 {
		r.sim.Advance(s.AdvanceMs)
		r.afterEpoch(s.At)
	}
	if s.Restart {
		r.restart(s.At)
	}
	now := map[string]emitted{}
	for i, m := range r.sim.models {
		t := StepTrace{Records: m.records, rows: m.lines(), late: m.late}
		r.trace.Models[i].Steps = append(r.trace.Models[i].Steps, t)
		now[m.def.Name] = emitted{m.records, m.late}
		m.records, m.late = nil, nil
	}
	for _, e := range s.Expect {
		r.expect(e, now[e.Model])
	}
}

func (r *runner) afterEpoch(at project.Place) {
	if r.variant == Restarted {
		r.restart(at)
	}
}

func (r *runner) restart(at project.Place) {
	if err := r.sim.Restart(); err != nil {
		r.problem(at, "", "%v", err)
	}
}

// expect compares what is expected of one model.
func (r *runner) expect(e Expect, got emitted) {
	m := r.sim.model(e.Model)
	if m == nil {
		r.problem(e.At, "", "no model %q%s", e.Model, hint(e.Model, r.sim.modelNames(), "models"))
		return
	}
	if e.Records != nil {
		if want, ok := r.wants(m, *e.Records); ok {
			r.difference(e, m, want, got.records)
		}
	}
	if e.Rows != nil {
		if want, ok := r.wants(m, *e.Rows); ok {
			r.rowsDiffer(e, m, want)
		}
	}
	if late := m.flow.Counters().Late; e.Late != nil && late != *e.Late {
		r.problem(e.At, e.Model, "%d rows were late, expected %d", late, *e.Late)
	}
	if e.LateRows != nil {
		r.lateDiffer(e, m, got.late)
	}
	if e.Watermark != nil {
		if w := m.flow.Watermark(); w != *e.Watermark {
			r.problem(e.At, e.Model, "the watermark is %s, expected %d", watermark(w), *e.Watermark)
		}
	}
}

func watermark(ms int64) string {
	if ms < -1<<62 {
		return "not there yet: no row with a time has come"
	}
	return fmt.Sprint(ms)
}

// undeclared finds the first member that is neither a column nor reserved.
func undeclared(names []string, s types.Schema) (string, bool) {
	reserved := []string{types.TsColumn, types.RetractColumn, types.OpColumn}
	for _, n := range names {
		if !slices.Contains(s.Names(), n) && !slices.Contains(reserved, n) {
			return n, true
		}
	}
	return "", false
}

func hint(name string, names []string, noun string) string {
	if h := analyze.DidYouMean(name, names, noun); h != "" {
		return "; " + h
	}
	return ""
}

func (s *Simulator) sourceNames() (out []string) {
	for _, src := range s.sources {
		out = append(out, src.def.Name)
	}
	return out
}

func (s *Simulator) modelNames() (out []string) {
	for _, m := range s.models {
		out = append(out, m.def.Name)
	}
	return out
}

// lines are the rows that a model holds, sorted, each as often as it is there.
func (m *model) lines() []string {
	columns := m.relation.Schema.Names()
	out := make([]string, 0, len(m.rows))
	for _, h := range m.rows {
		out = append(out, rowLine(columns, h.row, h.weight))
	}
	slices.Sort(out)
	return out
}

func rowLine(columns []string, row []types.Value, count int64) string {
	line := strings.TrimLeft(changelog.Record{Row: row, Count: 1}.Format(columns)[len("insert"):], " ")
	if count != 1 {
		line += fmt.Sprintf("  (%d times)", count)
	}
	return line
}

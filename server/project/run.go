package project

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/project"
	"github.com/streamsforge/streamsforge/engine/simulate"
)

// Opened is a project that was read and checked.
type Opened struct {
	Files    Files
	Checked  *project.Checked
	Findings []project.Finding
}

// Open reads and checks a project.
func Open(fsys fs.FS) (*Opened, error) {
	files, findings, err := Load(fsys)
	if err != nil {
		return nil, err
	}
	checked, more := project.Check(files.Project)
	o := &Opened{Files: files, Checked: checked, Findings: append(findings, more...)}
	project.Sort(o.Findings)
	return o, nil
}

// ModelReport is one model in the answer of a check.
type ModelReport struct {
	Name         string         `json:"name"`
	Kind         string         `json:"kind"` // table or pipeline
	Materialized string         `json:"materialized"`
	Changelog    ChangelogMode  `json:"changelogMode"`
	Derived      ChangelogMode  `json:"derivedMode"` // of the statement alone
	Columns      []ColumnReport `json:"columns"`
	Reads        []string       `json:"reads"`
}

// ChangelogMode is a changelog mode; the key is null unless the mode is Upsert.
type ChangelogMode struct {
	Mode string   `json:"mode"`
	Key  []string `json:"key"`
}

// ColumnReport is one column of a model.
type ColumnReport struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Report describes a compiled model.
func Report(m *project.Compiled) ModelReport {
	r := ModelReport{
		Name: m.Name, Kind: m.Mode.String(), Materialized: m.Materialized, Reads: m.Reads,
		Changelog: modeOf(m.Effective), Derived: modeOf(m.Derived), Columns: []ColumnReport{},
	}
	for _, f := range m.Program.Output() {
		k := f.Kind.String()
		if f.IsArray {
			k += "[]"
		}
		r.Columns = append(r.Columns, ColumnReport{f.Name, k})
	}
	return r
}

func modeOf(c engine.Changelog) ChangelogMode { return ChangelogMode{c.Mode.String(), c.Key} }

// FixtureReport is the outcome of one fixture.
type FixtureReport struct {
	Name     string             `json:"name"`
	Place    project.Place      `json:"place"`
	OK       bool               `json:"ok"`
	Records  int                `json:"records"` // emitted by all models
	Problems []simulate.Problem `json:"problems"`
}

// TestOptions choose what is run and how.
type TestOptions struct {
	// Run keeps the fixtures whose name contains it.
	Run string
	// RestartEverywhere compares the run that restarts after every epoch with what is expected, instead of the run as
	// written.
	RestartEverywhere bool
}

// Test runs the fixtures of a checked project. Every one runs as written, and again in each way that must not show.
func (o *Opened) Test(opts TestOptions) []FixtureReport {
	variant := simulate.AsWritten
	if opts.RestartEverywhere {
		variant = simulate.Restarted
	}
	out := []FixtureReport{}
	for _, f := range o.Files.Fixtures {
		if !strings.Contains(f.Name, opts.Run) {
			continue
		}
		trace, problems := simulate.Run(o.Checked, f, variant)
		problems = append(problems, simulate.Verify(o.Checked, f, trace)...)
		problems = append(problems, o.unexpected(f.Name)...)
		r := FixtureReport{Name: f.Name, Place: f.At, OK: len(problems) == 0, Problems: append([]simulate.Problem{}, problems...)}
		for _, m := range trace.Models {
			for _, s := range m.Steps {
				r.Records += len(s.Records)
			}
		}
		out = append(out, r)
	}
	return out
}

// unexpected reports the findings that a fixture expects and that the check does not have.
func (o *Opened) unexpected(fixture string) (out []simulate.Problem) {
	for _, e := range o.Files.Expected {
		if e.Fixture == fixture && !slices.ContainsFunc(o.Findings, e.is) {
			out = append(out, simulate.Problem{Place: e.At, Model: e.Model, Message: "the check does not find " + e.Code})
		}
	}
	return out
}

func (e ExpectedFinding) is(f project.Finding) bool {
	return f.Code == e.Code && (e.Model == "" || f.Model == e.Model)
}

// Unforeseen are the findings that no fixture expects. Only those stand in the way of a test.
func (o *Opened) Unforeseen() []project.Finding {
	return slices.DeleteFunc(slices.Clone(o.Findings), func(f project.Finding) bool {
		return slices.ContainsFunc(o.Files.Expected, func(e ExpectedFinding) bool { return e.is(f) })
	})
}

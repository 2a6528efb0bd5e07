package project

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// check is the state of one check.
type check struct {
	project  Project
	findings []Finding
	names    map[string]string // what a name is: "source" or "model"
	broken   map[string]bool   // models that exist and cannot be read
	models   []*Compiled
}

// Check compiles the models in order of dependency and holds what they declare against what they emit. It reports
// everything at once, ordered by place; models with errors are left out of the result.
func Check(p Project) (*Checked, []Finding) {
	c := &check{project: p, names: map[string]string{}, broken: map[string]bool{}}
	for i := range p.Sources {
		c.source(&p.Sources[i])
	}
	var all []*parsed
	for i := range p.Models {
		if m := &p.Models[i]; c.name(m.Name, "model", m.At) {
			q, _ := syntax.Parse(m.SQL)
			all = append(all, &parsed{model: m, refs: q.Refs})
			if m.Name != "" {
				c.broken[m.Name] = true // until it has compiled
			}
		}
	}
	for _, m := range c.order(all) {
		if compiled := c.compile(m.model); compiled != nil {
			delete(c.broken, m.model.Name)
			c.models = append(c.models, compiled)
		}
	}
	Sort(c.findings)
	return &Checked{Project: p, Models: c.models}, c.findings
}

// report adds an error.
func (c *check) report(at Place, model, code, hint, format string, args ...any) {
	c.findings = append(c.findings, Finding{Place: at, Model: model, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// name takes a name for a source or a model: all of them are told apart by name alone.
func (c *check) name(name, what string, at Place) bool {
	if !isName(name) {
		c.report(at, "", CodeBadName, "letters, digits and _, not beginning with a digit", "%q cannot be the name of a %s", name, what)
		return false
	}
	if before, taken := c.names[name]; taken {
		c.report(at, "", CodeDuplicateName, "give one of them another name", "the name %q is taken by a %s", name, before)
		return false
	}
	c.names[name] = what
	return true
}

// isName reports whether SQL can read the name without quotes.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

// source checks one source.
func (c *check) source(s *Source) {
	if !c.name(s.Name, "source", s.At) {
		return
	}
	if len(s.Fields) == 0 {
		c.report(s.At, "", "source-fields", "fields: [{name: id, type: Long}]", "source %s has no fields", s.Name)
	}
	seen := map[string]bool{}
	for _, f := range s.Fields {
		if lower := strings.ToLower(f.Name); seen[lower] {
			c.report(s.At, "", "source-fields", "names of columns do not differ by case alone", "source %s has two fields %q", s.Name, f.Name)
		} else {
			seen[lower] = true
		}
	}
	if s.Key != nil && len(s.Key) == 0 {
		c.report(s.KeyAt, "", CodeKey, "name its columns, or leave it out", "the key of source %s is empty", s.Name)
	}
	c.columnsExist("source "+s.Name, "", s.Key, s.Fields.Names(), s.KeyAt)
	if s.TimestampField != "" {
		c.columnsExist("source "+s.Name, "", []string{s.TimestampField}, s.Fields.Names(), s.At)
	}
}

// columnsExist reports the names that are no columns, and those that are listed twice.
func (c *check) columnsExist(what, model string, names, columns []string, at Place) bool {
	ok := true
	for i, name := range names {
		found := false
		for _, column := range columns {
			found = found || strings.EqualFold(column, name)
		}
		if !found {
			c.report(at, model, CodeKey, analyze.DidYouMean(name, columns, "columns"), "%s has no column %q", what, name)
			ok = false
		}
		for _, before := range names[:i] {
			if strings.EqualFold(before, name) {
				c.report(at, model, CodeKey, "keep one of them", "the key of %s names %q twice", what, name)
				ok = false
			}
		}
	}
	return ok
}

// tableWords are the diagnostics of a table that say: this is a statement in event time.
var tableWords = map[string]bool{
	analyze.CodeWindowNotAllowed: true,
	analyze.CodeEmitNotAllowed:   true,
	analyze.CodeJoinWithin:       true,
	analyze.CodeLateness:         true,
}

// program compiles the statement of a model: as a pipeline when it has words that only those have, or when it is
// declared as append and can be one, because the rows of a pipeline keep their order; as a table otherwise.
func (c *check) program(m *Model) (*engine.Program, engine.Mode, []engine.Diagnostic) {
	if m.Materialized == MaterializedAppend {
		if p, ds := engine.Compile(m.SQL, catalog{c}, engine.PipelineMode, engine.Options{}); p != nil && !c.readsKeyed(p) {
			return p, engine.PipelineMode, ds
		}
	}
	p, ds := engine.Compile(m.SQL, catalog{c}, engine.TableMode, engine.Options{})
	for _, d := range ds {
		if tableWords[d.Code] && d.Severity == syntax.Error {
			p, ds = engine.Compile(m.SQL, catalog{c}, engine.PipelineMode, engine.Options{})
			return p, engine.PipelineMode, ds
		}
	}
	return p, engine.TableMode, ds
}

// readsKeyed reports whether a program reads a source with a key. A pipeline reads its changes as rows that stay, which
// is not meant by a statement without a window.
func (c *check) readsKeyed(p *engine.Program) bool {
	for _, in := range p.Inputs() {
		for _, r := range (catalog{c}).Relations(in.Name) {
			if len(r.Key) > 0 {
				return true
			}
		}
	}
	return false
}

// compile compiles a model. nil means that an error was reported.
func (c *check) compile(m *Model) *Compiled {
	p, mode, ds := c.program(m)
	for _, d := range ds {
		c.findings = append(c.findings, Finding{
			Place: m.Text.Place(d.Pos), Severity: d.Severity, Model: m.Name, Code: d.Code, Message: d.Message, Hint: c.hint(d, m),
		})
	}
	if p == nil {
		return nil
	}
	derived := visible(p)
	out := &Compiled{Model: *m, Program: p, Mode: mode, Derived: derived, Effective: derived}
	for _, in := range p.Inputs() {
		out.Reads = append(out.Reads, in.Name)
	}
	if !c.agree(out) {
		return nil
	}
	if mode == engine.PipelineMode {
		c.overModels(out)
	}
	return out
}

// visible is the changelog of a program as a reader of its columns sees it: rows that only their hidden event time tells
// apart have no key.
func visible(p *engine.Program) engine.Changelog {
	d := p.Changelog()
	for _, k := range d.Key {
		if _, ok := p.Output().Find(k); !ok {
			return engine.Changelog{Mode: engine.Retract}
		}
	}
	return d
}

// overModels warns of a pipeline that reads models: it runs here, and a server refuses it.
func (c *check) overModels(m *Compiled) {
	q, _ := syntax.Parse(m.SQL)
	for _, ref := range q.Refs {
		c.report(m.Text.Place(ref.Pos), m.Name, CodePipelineOverModel, "write the statement of "+ref.Name.Name+" as a query of WITH in this one",
			"pipelines of a server read sources only: model %s can be checked and tested, and not deployed", m.Name)
		c.findings[len(c.findings)-1].Severity = Warning
	}
}

// hint improves the hint of a diagnostic by what the project knows: a model that is read without ref.
func (c *check) hint(d syntax.Diagnostic, m *Model) string {
	if d.Code != analyze.CodeUnknownRelation || d.Pos.End > len(m.SQL) {
		return d.Hint
	}
	if name := m.SQL[d.Pos.Offset:d.Pos.End]; c.names[name] == "model" {
		return "it is a model: write ref('" + name + "')"
	}
	return d.Hint
}

// catalog is what the models of a project can read.
type catalog struct{ c *check }

var _ analyze.Models = catalog{}

// Relations finds sources: models are read by ref.
func (x catalog) Relations(name string) (out []engine.Relation) {
	for i := range x.c.project.Sources {
		if s := &x.c.project.Sources[i]; s.Name == name {
			return append(out, s.Relation())
		}
	}
	return out
}

// Relation is the source as statements read it.
func (s *Source) Relation() engine.Relation {
	return engine.Relation{Name: s.Name, Kind: engine.Source, Schema: s.Fields, EventTime: true, AppendOnly: len(s.Key) == 0, Key: s.Key}
}

// Names lists the sources.
func (x catalog) Names() (out []string) {
	for _, s := range x.c.project.Sources {
		out = append(out, s.Name)
	}
	return out
}

// Model finds a model that has compiled.
func (x catalog) Model(name string) (r engine.Relation, found, broken bool) {
	for _, m := range x.c.models {
		if m.Name == name {
			return m.Relation(), true, false
		}
	}
	return r, x.c.broken[name], x.c.broken[name]
}

// ModelNames lists the models.
func (x catalog) ModelNames() (out []string) {
	for _, m := range x.c.project.Models {
		out = append(out, m.Name)
	}
	return out
}

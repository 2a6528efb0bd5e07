package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/project"
	"github.com/streamsforge/streamsforge/engine/simulate"
	"github.com/streamsforge/streamsforge/engine/types"
)

// FileNames are the names that a project file can have. A directory has one of them.
var FileNames = []string{"streamsforge.yml", "streamform.yml", "streamsforge.yaml", "streamform.yaml"}

// Where statements and fixtures are kept beside the project file.
const (
	modelDir   = "models"
	fixtureDir = "fixtures"
)

// maxFile bounds a file of a project.
const maxFile = 8 << 20

// ErrNoProject is returned for a directory without a project file.
var ErrNoProject = errors.New("no streamsforge.yml or streamform.yml")

// Files is a project as its files say it.
type Files struct {
	// Main is the name of the project file.
	Main     string
	Project  project.Project
	Fixtures []simulate.Fixture
	// Expected are the findings that fixtures expect of the check.
	Expected []ExpectedFinding
	// Sinks are the sinks of the models as JSON, by model.
	Sinks map[string][]byte
}

// ExpectedFinding is a finding that a fixture expects.
type ExpectedFinding struct {
	Fixture, Model, Code string
	At                   project.Place
}

// loader reads the files of one directory.
type loader struct {
	fsys     fs.FS
	files    Files
	findings []project.Finding
	sqlFiles map[string]bool // the statements that models use
}

// Load reads a project. The error is about the directory; everything else is a finding.
func Load(fsys fs.FS) (Files, []project.Finding, error) {
	l := &loader{fsys: fsys, files: Files{Sinks: map[string][]byte{}}, sqlFiles: map[string]bool{}}
	main, text, err := l.main()
	if err != nil {
		return Files{}, nil, err
	}
	l.files.Main = main
	d, root := parse(main, text, &l.findings)
	if root != nil {
		l.root(d, root)
	}
	l.undeclared()
	l.fixtureFiles()
	project.Sort(l.findings)
	return l.files, l.findings, nil
}

// main reads the project file.
func (l *loader) main() (name string, text []byte, err error) {
	for _, candidate := range FileNames {
		b, err := readFile(l.fsys, candidate)
		switch {
		case err == nil && name != "":
			at := project.Place{File: candidate, Line: 1, Column: 1}
			l.findings = append(l.findings, project.Finding{Place: at, Code: codeFile, Message: "the directory has a " + name + " too", Hint: "keep one of them"})
		case err == nil:
			name, text = candidate, b
		case !errors.Is(err, fs.ErrNotExist):
			return "", nil, err
		}
	}
	if name == "" {
		return "", nil, ErrNoProject
	}
	return name, text, nil
}

func (l *loader) root(d *document, n *yaml.Node) {
	p := &l.files.Project
	d.mapping(n, "the project",
		field{"name", func(_, v *yaml.Node) { p.Name = d.text(v, "name") }},
		field{"sources", func(_, v *yaml.Node) {
			d.list(v, "sources", func(item *yaml.Node) {
				if s := d.source(item); s.Name != "" {
					p.Sources = append(p.Sources, s)
				}
			})
		}},
		field{"models", func(_, v *yaml.Node) {
			d.list(v, "models", func(item *yaml.Node) { l.model(d, item) })
		}},
		field{"fixtures", func(_, v *yaml.Node) { l.fixtures(d, v) }},
	)
}

func (d *document) source(n *yaml.Node) project.Source {
	s := project.Source{At: d.place(n), KeyAt: d.place(n)}
	d.mapping(n, "a source",
		field{"name", func(_, v *yaml.Node) { s.Name, s.At = d.text(v, "name"), d.place(v) }},
		field{"fields", func(_, v *yaml.Node) { s.Fields = d.fields(v) }},
		field{"key", func(_, v *yaml.Node) { s.Key, s.KeyAt = d.names(v, "key"), d.place(v) }},
		field{"keyFields", func(_, v *yaml.Node) { s.Key, s.KeyAt = d.names(v, "keyFields"), d.place(v) }}, // as the server calls it
		field{"timestampField", func(_, v *yaml.Node) { s.TimestampField = d.text(v, "timestampField") }},
	)
	if s.Name == "" && n.Kind == yaml.MappingNode {
		d.report(d.place(n), codeMissingKey, "write name: orders", "a source has no name")
	}
	return s
}

// fields reads columns: a list of {name, type}, or a mapping of names to types.
func (d *document) fields(n *yaml.Node) (out types.Schema) {
	if n.Kind == yaml.MappingNode {
		d.pairs(n, "fields", func(k, v *yaml.Node) {
			f := types.Field{Name: k.Value}
			f.Kind, f.IsArray = d.kind(v)
			out = append(out, f)
		})
		return out
	}
	d.list(n, "fields", func(item *yaml.Node) {
		var f types.Field
		array := false
		d.mapping(item, "a field",
			field{"name", func(_, v *yaml.Node) { f.Name = d.text(v, "name") }},
			field{"type", func(_, v *yaml.Node) { f.Kind, array = d.kind(v) }},
			field{"isArray", func(_, v *yaml.Node) { f.IsArray = d.boolean(v, "isArray") }},
			field{"children", func(_, v *yaml.Node) { f.Children = d.fields(v) }},
		)
		f.IsArray = f.IsArray || array
		if f.Name == "" && item.Kind == yaml.MappingNode {
			d.report(d.place(item), codeMissingKey, "write name: id", "a field has no name")
			return
		}
		out = append(out, f)
	})
	return out
}

// kind reads a type; Long[] is a list of them.
func (d *document) kind(n *yaml.Node) (k types.Kind, array bool) {
	s := d.text(n, "type")
	s, array = strings.CutSuffix(s, "[]")
	k, err := types.ParseKind(s)
	if err != nil && s != "" {
		d.report(d.place(n), codeWrongValue, analyze.DidYouMean(s, types.KindNames(), "types"), "no type %q", s)
	}
	return k, array
}

func (l *loader) model(d *document, n *yaml.Node) {
	m := project.Model{At: d.place(n), MaterializedAt: d.place(n), KeyAt: d.place(n)}
	var sql, sink *yaml.Node
	ok := d.mapping(n, "a model",
		field{"name", func(_, v *yaml.Node) { m.Name, m.At = d.text(v, "name"), d.place(v) }},
		field{"sql", func(_, v *yaml.Node) { sql = v }},
		field{"materialized", func(_, v *yaml.Node) { m.Materialized, m.MaterializedAt = d.text(v, "materialized"), d.place(v) }},
		field{"key", func(_, v *yaml.Node) { m.Key, m.KeyAt = d.names(v, "key"), d.place(v) }},
		field{"sink", func(_, v *yaml.Node) { sink = v }},
	)
	switch {
	case !ok:
		return
	case m.Name == "":
		d.report(d.place(n), codeMissingKey, "write name: totals", "a model has no name")
		return
	}
	if sink != nil {
		if o, ok := d.object(sink, "sink"); ok {
			l.files.Sinks[m.Name] = o.JSON
		}
	}
	if l.statement(d, &m, n, sql) {
		l.files.Project.Models = append(l.files.Project.Models, m)
	}
}

// statement finds the SQL of a model: inline, in the file that sql names, or in models/<name>.sql.
func (l *loader) statement(d *document, m *project.Model, n, sql *yaml.Node) bool {
	at, file := n, path.Join(modelDir, m.Name+".sql")
	if sql != nil {
		text := d.text(sql, "sql")
		if text == "" {
			return false
		}
		if !isPath(text) {
			m.SQL, m.Text = text, d.where(sql)
			return true
		}
		at, file = sql, path.Clean(text)
	}
	if !fs.ValidPath(file) {
		d.report(d.place(at), codeFile, "keep it inside of the project, and name it relative to the project file", "%q is outside of the project", file)
		return false
	}
	b, err := readFile(l.fsys, file)
	l.sqlFiles[file] = true
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.report(d.place(at), codeFile, "write the statement there, or inline as sql: |", "model %s has no statement: there is no file %s", m.Name, file)
		return false
	case err != nil:
		d.report(d.place(at), codeFile, "", "the statement of model %s cannot be read: %v", m.Name, err)
		return false
	case len(b) > maxFile:
		d.report(d.place(at), codeFile, "", "%s is larger than %d MiB", file, maxFile>>20)
		return false
	}
	m.SQL, m.Text = string(b), project.Text{At: project.Place{File: file, Line: 1, Column: 1}}
	return true
}

// isPath tells a file name from a statement.
func isPath(s string) bool {
	return strings.HasSuffix(strings.ToLower(s), ".sql") && !strings.ContainsAny(s, " \n\t")
}

// where finds the place of inline text in its file.
func (d *document) where(n *yaml.Node) project.Text {
	t := project.Text{At: d.place(n)}
	if n.Style&yaml.LiteralStyle != 0 {
		t.At.Line++ // the content begins on the line after the bar
		for i, line := range strings.Split(n.Value, "\n") {
			if strings.TrimSpace(line) == "" || n.Line+i >= len(d.lines) {
				continue
			}
			t.Indent = max(0, leading(d.lines[n.Line+i])-leading(line))
			break
		}
		t.At.Column = t.Indent + 1
		return t
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		t.At.Column++
	}
	t.Folded = true
	if n.Line <= len(d.lines) && n.Line > 0 {
		if rest := []rune(d.lines[n.Line-1]); t.At.Column-1 <= len(rest) {
			t.Folded = !strings.HasPrefix(string(rest[t.At.Column-1:]), n.Value)
		}
	}
	return t
}

func leading(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// undeclared adds the statements of the model directory that no model uses: the check then says what to declare.
func (l *loader) undeclared() {
	files, err := fs.Glob(l.fsys, modelDir+"/*.sql")
	if err != nil {
		return
	}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".sql")
		if l.sqlFiles[file] || slices.ContainsFunc(l.files.Project.Models, func(m project.Model) bool { return m.Name == name }) {
			continue
		}
		b, err := readFile(l.fsys, file)
		at := project.Place{File: file, Line: 1, Column: 1}
		if err == nil && len(b) > maxFile {
			err = fmt.Errorf("%s is larger than %d MiB", file, maxFile>>20)
		}
		if err != nil {
			l.findings = append(l.findings, project.Finding{Place: at, Code: codeFile, Message: "the statement cannot be read: " + err.Error()})
			continue
		}
		l.files.Project.Models = append(l.files.Project.Models, project.Model{
			Name: name, SQL: string(b), Text: project.Text{At: at}, At: at, MaterializedAt: at, KeyAt: at,
		})
	}
}

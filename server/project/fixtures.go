package project

import (
	"io/fs"
	"path"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/changelog"
	"github.com/streamsforge/streamsforge/engine/project"
	"github.com/streamsforge/streamsforge/engine/simulate"
)

// fixtureFiles reads the files of the fixture directory: a list of fixtures, one fixture, or a mapping with the key
// fixtures. A fixture without a name is named like its file.
func (l *loader) fixtureFiles() {
	for _, pattern := range []string{"/*.yml", "/*.yaml"} {
		files, err := fs.Glob(l.fsys, fixtureDir+pattern)
		if err != nil {
			continue
		}
		for _, file := range files {
			b, err := readFile(l.fsys, file)
			if err != nil {
				at := project.Place{File: file, Line: 1, Column: 1}
				l.findings = append(l.findings, project.Finding{Place: at, Code: codeFile, Message: "the fixture cannot be read: " + err.Error()})
				continue
			}
			d, root := parse(file, b, &l.findings)
			switch {
			case root == nil:
			case root.Kind == yaml.MappingNode && len(root.Content) == 2 && root.Content[0].Value == "fixtures":
				l.fixtures(d, root.Content[1])
			case root.Kind == yaml.MappingNode:
				l.fixture(d, root, strings.TrimSuffix(path.Base(file), path.Ext(file)))
			default:
				l.fixtures(d, root)
			}
		}
	}
}

func (l *loader) fixtures(d *document, n *yaml.Node) {
	d.list(n, "fixtures", func(item *yaml.Node) { l.fixture(d, item, "") })
}

// fixture reads one fixture. input and expect at its top are its only step, or come before and behind its steps.
func (l *loader) fixture(d *document, n *yaml.Node, name string) {
	f := simulate.Fixture{Name: name, At: d.place(n)}
	first := simulate.Step{At: d.place(n)}
	var steps []simulate.Step
	ok := d.mapping(n, "a fixture",
		field{"name", func(_, v *yaml.Node) { f.Name, f.At = d.text(v, "name"), d.place(v) }},
		field{"input", func(k, v *yaml.Node) { first.At = d.place(k); first.Rows = d.input(v) }},
		field{"steps", func(_, v *yaml.Node) {
			d.list(v, "steps", func(item *yaml.Node) { steps = append(steps, d.step(item)) })
		}},
		field{"expect", func(_, v *yaml.Node) { f.Expect = d.expect(v) }},
		field{"findings", func(_, v *yaml.Node) { l.expectFindings(d, &f, v) }},
	)
	if !ok {
		return
	}
	if f.Name == "" {
		d.report(d.place(n), codeMissingKey, "write name: refund", "a fixture has no name")
	}
	if len(first.Rows) > 0 {
		f.Steps = append(f.Steps, first)
	}
	f.Steps = append(f.Steps, steps...)
	for _, other := range l.files.Fixtures {
		if other.Name == f.Name && f.Name != "" {
			d.report(f.At, codeDuplicateKey, "give one of them another name", "two fixtures are called %q; the other one is at %s", f.Name, other.At)
		}
	}
	l.files.Fixtures = append(l.files.Fixtures, f)
}

func (l *loader) expectFindings(d *document, f *simulate.Fixture, n *yaml.Node) {
	d.list(n, "findings", func(item *yaml.Node) {
		e := ExpectedFinding{At: d.place(item)}
		d.mapping(item, "an expected finding",
			field{"model", func(_, v *yaml.Node) { e.Model = d.text(v, "model") }},
			field{"code", func(_, v *yaml.Node) { e.Code = d.text(v, "code") }},
		)
		e.Fixture = f.Name
		l.files.Expected = append(l.files.Expected, e)
	})
}

func (d *document) step(n *yaml.Node) simulate.Step {
	s := simulate.Step{At: d.place(n)}
	d.mapping(n, "a step",
		field{"input", func(_, v *yaml.Node) { s.Rows = d.input(v) }},
		field{"together", func(_, v *yaml.Node) { s.Together = d.boolean(v, "together") }},
		field{"advance", func(_, v *yaml.Node) { s.AdvanceMs = d.duration(v, "advance") }},
		field{"restart", func(_, v *yaml.Node) { s.Restart = d.boolean(v, "restart") }},
		field{"refused", func(_, v *yaml.Node) { s.Refused = int(d.whole(v, "refused")) }},
		field{"expect", func(_, v *yaml.Node) { s.Expect = d.expect(v) }},
	)
	return s
}

// input reads [{source, rows}].
func (d *document) input(n *yaml.Node) (out []simulate.Row) {
	d.list(n, "input", func(item *yaml.Node) {
		var source string
		var rows []simulate.Object
		ok := d.mapping(item, "an input",
			field{"source", func(_, v *yaml.Node) { source = d.text(v, "source") }},
			field{"rows", func(_, v *yaml.Node) {
				d.list(v, "rows", func(row *yaml.Node) {
					if o, ok := d.object(row, "a row"); ok {
						rows = append(rows, o)
					}
				})
			}},
		)
		if ok && source == "" {
			d.report(d.place(item), codeMissingKey, "write source: orders", "an input has no source")
			return
		}
		for _, o := range rows {
			out = append(out, simulate.Row{Source: source, Object: o})
		}
	})
	return out
}

func (d *document) expect(n *yaml.Node) (out []simulate.Expect) {
	d.list(n, "expect", func(item *yaml.Node) {
		e := simulate.Expect{At: d.place(item)}
		ok := d.mapping(item, "an expectation",
			field{"model", func(_, v *yaml.Node) { e.Model = d.text(v, "model") }},
			field{"records", func(_, v *yaml.Node) {
				records := []simulate.Want{}
				d.list(v, "records", func(r *yaml.Node) {
					if w, ok := d.record(r); ok {
						records = append(records, w)
					}
				})
				e.Records = &records
			}},
			field{"rows", func(_, v *yaml.Node) {
				rows := []simulate.Want{}
				d.list(v, "rows", func(r *yaml.Node) {
					if o, ok := d.object(r, "an expected row"); ok {
						rows = append(rows, simulate.Want{Object: o})
					}
				})
				e.Rows = &rows
			}},
			field{"late", func(_, v *yaml.Node) {
				if v.Kind != yaml.SequenceNode {
					late := d.whole(v, "late")
					e.Late = &late
					return
				}
				rows := []simulate.Want{}
				d.list(v, "late", func(r *yaml.Node) {
					if o, ok := d.object(r, "a late row"); ok {
						rows = append(rows, simulate.Want{Object: o})
					}
				})
				e.LateRows = &rows
			}},
			field{"watermark", func(_, v *yaml.Node) { w := d.whole(v, "watermark"); e.Watermark = &w }},
		)
		switch {
		case !ok:
		case e.Model == "":
			d.report(d.place(item), codeMissingKey, "write model: totals", "an expectation has no model")
		case e.Records == nil && e.Rows == nil && e.Late == nil && e.LateRows == nil && e.Watermark == nil:
			d.report(d.place(item), codeMissingKey, "write records: [{op: insert, row: {...}}]", "nothing is expected of model %s", e.Model)
		default:
			out = append(out, e)
		}
	})
	return out
}

// record reads {op, row} or {insert: row}.
func (d *document) record(n *yaml.Node) (w simulate.Want, ok bool) {
	w.At = d.place(n)
	has := false
	row := func(v *yaml.Node) {
		if has {
			d.report(d.place(v), codeDuplicateKey, "make two records of it", "a record has two rows")
		}
		has = true
		w.Object, ok = d.object(v, "an expected row")
		w.At = d.place(n)
	}
	op := ""
	short := func(k, v *yaml.Node) { op = k.Value; row(v) }
	mapped := d.mapping(n, "a record",
		field{"op", func(_, v *yaml.Node) { op = d.text(v, "op") }},
		field{"row", func(_, v *yaml.Node) { row(v) }},
		field{"count", func(_, v *yaml.Node) { w.Count = d.whole(v, "count") }},
		field{"insert", short}, field{"update", short}, field{"delete", short},
	)
	if !mapped {
		return w, false
	}
	if !has {
		d.report(d.place(n), codeMissingKey, "write row: {column: value}", "a record has no row")
	}
	var err error
	if w.Op, err = changelog.ParseOp(op); err != nil {
		h := analyze.DidYouMean(op, changelog.Ops(), "one of")
		if op == "" {
			d.report(d.place(n), codeMissingKey, h, "a record has no op")
		} else {
			d.report(d.place(n), codeWrongValue, h, "no operation %q", op)
		}
		ok = false
	}
	return w, ok
}

// maxAdvance is what a step can let pass: more is a slip of the hand, and would run out of the calendar.
const maxAdvance = 100 * 365 * 24 * time.Hour

// duration reads 10s, 250ms or a number of milliseconds.
func (d *document) duration(n *yaml.Node, what string) int64 {
	if n.Kind == yaml.ScalarNode {
		if n.ShortTag() == "!!int" {
			if ms := d.whole(n, what); ms >= 0 && ms <= maxAdvance.Milliseconds() {
				return ms
			}
		} else if t, err := time.ParseDuration(n.Value); err == nil && t >= 0 && t <= maxAdvance {
			return t.Milliseconds()
		}
	}
	d.wrong(n, what, "a time that passes, as 10s or 250ms")
	return 0
}

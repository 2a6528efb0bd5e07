package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine/changelog"
	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/project"
	"github.com/streamsforge/streamsforge/engine/types"
)

// wanted is an expected record with the place where it is written.
type wanted struct {
	changelog.Record
	at project.Place
}

// wants reads expected records with the kinds of the model's columns. ok is false when one cannot be read: that is a
// problem of the fixture, and comparing the rest would only repeat it.
func (r *runner) wants(m *model, list []Want) (out []wanted, ok bool) {
	schema := m.relation.Schema
	d := decode.New(schema, decode.Options{OnCoercion: decode.DropRow, RejectUnknownFields: true})
	ok = true
	for _, w := range list {
		if name, bad := missing(w.Names, schema.Names()); bad {
			r.problem(w.At, m.def.Name, "no column %q%s", name, hint(name, schema.Names(), "columns"))
			ok = false
			continue
		}
		if name, bad := missing(schema.Names(), w.Names); bad {
			r.problem(w.At, m.def.Name, "the expected row lacks the column %q; write %s: null where it is NULL", name, name)
			ok = false
			continue
		}
		res := d.Append(decode.Message{Payload: w.JSON, ContentType: "application/json"})
		b := d.Take()
		if len(res.Failures) > 0 {
			r.problem(w.At, m.def.Name, "the expected row cannot be read: %s", res.Failures[0].Reason)
			ok = false
			continue
		}
		out = append(out, wanted{changelog.Record{Op: w.Op, Row: b.Row(0)[:len(schema):len(schema)], Count: max(1, w.Count)}, w.At})
	}
	return out, ok
}

// missing finds the first name that is not among others.
func missing(names, others []string) (string, bool) {
	for _, n := range names {
		if !slices.Contains(others, n) {
			return n, true
		}
	}
	return "", false
}

// difference compares records in order.
func (r *runner) difference(e Expect, m *model, want []wanted, got []changelog.Record) {
	want, got = mergeWanted(want), merge(got)
	columns := m.relation.Schema.Names()
	a, b := make([]string, len(want)), make([]string, len(got))
	for i, w := range want {
		a[i] = w.Format(columns)
	}
	for i, g := range got {
		b[i] = g.Format(columns)
	}
	if slices.Equal(a, b) {
		return
	}
	first := 0
	for first < len(a) && first < len(b) && a[first] == b[first] {
		first++
	}
	p := Problem{Place: e.At, Model: e.Model}
	switch {
	case first == len(a):
		p.Message = fmt.Sprintf("%d records more than the %d that are expected", len(b)-first, len(a))
	case first == len(b):
		p.Place = want[first].at
		p.Message = fmt.Sprintf("record %d of %d was not emitted", first+1, len(a))
	default:
		p.Place = want[first].at
		p.Message = fmt.Sprintf("record %d of %d differs: %s", first+1, len(a), changed(columns, want[first].Record, got[first]))
	}
	p.Diff = diff(a, b)
	r.problems = append(r.problems, p)
}

// changed says in which columns two records differ.
func changed(columns []string, want, got changelog.Record) string {
	if want.Op != got.Op {
		return fmt.Sprintf("expected %s, got %s", article(want.Op), article(got.Op))
	}
	var out []string
	for i := range want.Row {
		if !types.Identical(want.Row[i], got.Row[i]) {
			out = append(out, fmt.Sprintf("%s expected %s, got %s", columns[i], want.Row[i], got.Row[i]))
		}
	}
	if want.Count != got.Count {
		out = append(out, fmt.Sprintf("expected %d times, got %d", want.Count, got.Count))
	}
	return strings.Join(out, "; ")
}

func article(o changelog.Op) string {
	if o == changelog.Delete {
		return "a delete"
	}
	return "an " + o.String()
}

// rowsDiffer compares the rows that a model holds.
func (r *runner) rowsDiffer(e Expect, m *model, want []wanted) {
	expected := &model{relation: m.relation, rows: map[string]*held{}}
	for _, w := range want {
		w.Op = changelog.Insert
		expected.hold(w.Record)
	}
	a, b := expected.lines(), m.lines()
	if !slices.Equal(a, b) {
		r.problems = append(r.problems, Problem{
			Place: e.At, Model: e.Model, Diff: diff(a, b),
			Message: fmt.Sprintf("holds %d rows, which are not the %d that are expected", len(b), len(a)),
		})
	}
}

// merge adds up neighbours that are the same insert or delete: two of a row are one of it with count two.
func merge(rs []changelog.Record) []changelog.Record {
	out := make([]changelog.Record, 0, len(rs))
	for _, r := range rs {
		if n := len(out); n > 0 && same(out[n-1], r) {
			out[n-1].Count += r.Count
			continue
		}
		out = append(out, r)
	}
	return out
}

func mergeWanted(ws []wanted) []wanted {
	out := make([]wanted, 0, len(ws))
	for _, w := range ws {
		if n := len(out); n > 0 && same(out[n-1].Record, w.Record) {
			out[n-1].Count += w.Count
			continue
		}
		out = append(out, w)
	}
	return out
}

func same(a, b changelog.Record) bool {
	return a.Op == b.Op && a.Op != changelog.Update && slices.EqualFunc(a.Row, b.Row, types.Identical)
}

// compare holds a variant against the run as written.
func compare(f Fixture, want, got Trace, v Variant) []Problem {
	var out []Problem
	for i, m := range want.Models {
		for s := range m.Steps {
			a, b := want.Models[i].Steps[s], got.Models[i].Steps[s]
			x, y := a.rows, b.rows
			if v == Restarted {
				x, y = formatAll(m.Columns, a.Records), formatAll(m.Columns, b.Records)
			}
			if slices.Equal(x, y) {
				continue
			}
			out = append(out, Problem{
				Place: f.Steps[s].At, Model: m.Model, Diff: diff(x, y),
				Message: fmt.Sprintf("step %d gives something else %s", s+1, v),
			})
			break // what follows from it is no news
		}
	}
	return out
}

func formatAll(columns []string, rs []changelog.Record) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = r.Format(columns)
	}
	return out
}

// maxTable bounds the table of the longest common part of two lists.
const maxTable = 4 << 20

// diff lists two lists of lines as one: "  " for what is in both, "- " for the first only, "+ " for the second only.
func diff(a, b []string) []string {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	var out []string
	add := func(sign string, lines []string) {
		for _, l := range lines {
			out = append(out, sign+l)
		}
	}
	add("  ", a[:start])
	x, y := a[start:endA], b[start:endB]
	if len(x)*len(y) > maxTable {
		add("- ", x)
		add("+ ", y)
	} else {
		out = append(out, aligned(x, y)...)
	}
	add("  ", a[endA:])
	return out
}

// aligned is the difference along the longest common part.
func aligned(x, y []string) []string {
	common := make([][]int32, len(x)+1) // of x[i:] and y[j:]
	for i := range common {
		common[i] = make([]int32, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			out = append(out, "  "+x[i])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+x[i])
			i++
		default:
			out = append(out, "+ "+y[j])
			j++
		}
	}
	return out
}

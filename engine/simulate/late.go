package simulate

import (
	"fmt"
	"slices"

	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/types"
)

// lateDiffer compares the rows that came behind their windows. They have the columns that the window reads, which the
// plan chooses: an expected row says which of them it is about.
func (r *runner) lateDiffer(e Expect, m *model, got [][]types.Value) {
	schema := m.flow.LateSchema()
	if schema == nil {
		r.problem(e.At, e.Model, "has no windows, so no row is late for it")
		return
	}
	d := decode.New(schema, decode.Options{OnCoercion: decode.DropRow, RejectUnknownFields: true})
	a, b := []string{}, []string{}
	for i, w := range *e.LateRows {
		if name, bad := missing(w.Names, schema.Names()); bad {
			r.problem(w.At, e.Model, "late rows have no column %q%s", name, hint(name, schema.Names(), "columns"))
			return
		}
		res := d.Append(decode.Message{Payload: w.JSON, ContentType: "application/json"})
		want := d.Take()
		if len(res.Failures) > 0 {
			r.problem(w.At, e.Model, "the expected row cannot be read: %s", res.Failures[0].Reason)
			return
		}
		a = append(a, part(schema, want.Row(0), w.Names))
		if i < len(got) {
			b = append(b, part(schema, got[i], w.Names))
		}
	}
	for _, row := range got[min(len(got), len(a)):] {
		b = append(b, part(schema, row, schema.Names()))
	}
	if slices.Equal(a, b) {
		return
	}
	r.problems = append(r.problems, Problem{
		Place: e.At, Model: e.Model, Diff: diff(a, b),
		Message: fmt.Sprintf("%d rows are late, which are not the %d that are expected", len(got), len(a)),
	})
}

// part prints the named columns of a row.
func part(s types.Schema, row []types.Value, names []string) string {
	var columns []string
	var values []types.Value
	for i, f := range s {
		if slices.Contains(names, f.Name) {
			columns, values = append(columns, f.Name), append(values, row[i])
		}
	}
	return rowLine(columns, values, 1)
}

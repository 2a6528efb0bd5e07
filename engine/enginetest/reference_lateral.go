package enginetest

import (
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// lateral evaluates a query that reads the relations before it, once for each of their rows.
func (r *reference) lateral(rows []jrow, d *syntax.Derived, j *syntax.Join, e *env, ctes map[string]*table) ([]jrow, error) {
	evaluate := func(row jrow) (*table, error) {
		around := *e
		around.on(row)
		around.ctes = ctes
		saved := r.outer
		r.outer = &around
		defer func() { r.outer = saved }()
		return r.query(d.Query, ctes)
	}
	blank := jrow{parts: make([]int64, len(e.sources))}
	for _, s := range e.sources {
		for _, f := range s.fields {
			blank.vals = append(blank.vals, types.Null(f.Stored()))
		}
	}
	shape, err := evaluate(blank)
	if err != nil {
		return nil, err
	}
	rows = netJoined(rows)
	results := make([][]rrow, len(rows))
	for i, row := range rows {
		t, err := evaluate(row)
		if err != nil {
			return nil, err
		}
		results[i] = net(t.rows, true)
	}
	using := e.usingOf(j, shape)
	e.add(source{alias: d.Alias.Name, fields: shape.fields, label: shape.label, hasTs: shape.hasTs})
	var out []jrow
	for i, row := range rows {
		merged := e.merged
		out = append(out, e.join([]jrow{row}, results[i], j, using)...)
		if i < len(rows)-1 {
			e.merged = merged
		}
	}
	if len(rows) == 0 {
		e.mergeNames(using)
	}
	return out, nil
}

// setOperation is INTERSECT or EXCEPT of two sides of the same columns.
func setOperation(s *syntax.SetOp, left, right []rrow) []rrow {
	has := map[string]int64{}
	for _, row := range net(right, false) {
		has[keyOf(row.vals)] = max(row.w, 0)
	}
	var out []rrow
	for _, row := range net(left, false) {
		l, r := max(row.w, 0), has[keyOf(row.vals)]
		switch {
		case s.Kind == syntax.Intersect:
			row.w = min(l, r)
		case s.All:
			row.w = max(l-r, 0)
		case r > 0:
			row.w = 0
		default:
			row.w = l
		}
		if !s.All {
			row.w = min(row.w, 1)
		}
		row.ts = 0
		if row.w > 0 {
			out = append(out, row)
		}
	}
	return out
}

func textOf(v types.Value) []byte {
	if v.IsNull() {
		return nil
	}
	return []byte(v.Text())
}

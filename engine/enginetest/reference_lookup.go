package enginetest

import (
	"slices"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// isTable reports whether an item of FROM is a table of the catalog.
func (r *reference) isTable(item syntax.TableItem, ctes map[string]*table) bool {
	n, ok := item.(*syntax.TableName)
	if !ok || ctes[n.Name.Name] != nil {
		return false
	}
	found := r.catalog.Relations(n.Name.Name)
	return len(found) == 1 && found[0].Kind == engine.Table
}

// lookup gives each row with every row that the table has at the end of the row's epoch and for which ON is TRUE.
func (r *reference) lookup(left []jrow, all *table, j *syntax.Join, ctes map[string]*table, e *env) ([]jrow, error) {
	right, alias, err := r.relation(j.Item, ctes)
	if err != nil {
		return nil, err
	}
	using := e.usingOf(j, right)
	// A table gives no row its event time.
	e.add(source{alias: alias, fields: right.fields, label: right.label, hasTs: right.hasTs})
	all.label += "," + right.label
	var out []jrow
	for _, l := range left {
		epoch := r.history[l.at].epoch
		var has []rrow
		for _, row := range right.rows {
			if row.epoch <= epoch {
				has = append(has, row)
			}
		}
		has = slices.DeleteFunc(net(has, right.hasTs), func(row rrow) bool { return row.w <= 0 })
		slices.SortFunc(has, func(a, b rrow) int { return older(0, 0, a.vals, b.vals) })
		matched := false
		for _, row := range has {
			pair := l
			pair.vals = append(append([]types.Value(nil), l.vals...), row.vals...)
			pair.parts = append(append([]int64(nil), l.parts...), noTime)
			if j.On != nil && !e.on(pair).truth(j.On) {
				continue
			}
			equal := true
			for _, m := range using {
				e.on(pair)
				eq := compare("=", e.columnValue(m.left), e.columnValue(m.right))
				equal = equal && !eq.IsNull() && eq.Bool()
			}
			if !equal {
				continue
			}
			matched = true
			for range row.w {
				out = append(out, pair)
			}
		}
		if !matched && j.Kind == syntax.JoinLeft {
			pad := l
			pad.vals = append([]types.Value(nil), l.vals...)
			for _, f := range right.fields {
				pad.vals = append(pad.vals, types.Null(f.Stored()))
			}
			pad.parts = append(append([]int64(nil), l.parts...), noTime)
			out = append(out, pad)
		}
	}
	return out, nil
}

package enginetest

import (
	"sort"
	"strconv"

	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// ordered writes every row as often as it is there, sorts them all, and counts off DISTINCT ON, OFFSET and LIMIT.
func (r *reference) ordered(q *syntax.Query, t *table) *table {
	s, _ := q.Body.(*syntax.Select)
	first := s != nil && s.Distinct != nil && len(s.Distinct.On) > 0
	if !first && q.Limit == nil && q.Offset == nil {
		return t
	}
	e := &env{r: r}
	e.add(source{fields: t.fields, label: t.label, hasTs: t.hasTs})
	read := func(row rrow, x syntax.Expr) types.Value {
		if l, ok := x.(*syntax.Literal); ok && l.Kind == syntax.LongLiteral {
			n, _ := strconv.Atoi(l.Text)
			return row.vals[n-1]
		}
		if s != nil {
			for i, it := range s.Items {
				if it.Star {
					break
				}
				if syntax.Format(it.Expr) == syntax.Format(x) {
					return row.vals[i]
				}
			}
		}
		return e.on(jrow{rrow: row, parts: []int64{row.ts}}).value(x)
	}
	type ranked struct {
		row  rrow
		keys []types.Value
		on   string
	}
	var all []ranked
	for _, row := range net(t.rows, t.hasTs) {
		k := ranked{row: row}
		for _, o := range q.OrderBy {
			k.keys = append(k.keys, read(row, o.Expr))
		}
		if first {
			var on []types.Value
			for _, x := range s.Distinct.On {
				on = append(on, read(row, x))
			}
			k.on = keyOf(on)
		}
		k.row.w = 1
		for range row.w {
			all = append(all, k)
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		for k, o := range q.OrderBy {
			if c := orderOf(a.keys[k], b.keys[k], o.Desc, o.Nulls); c != 0 {
				return c < 0
			}
		}
		for k := range a.row.vals {
			if c := orderOf(a.row.vals[k], b.row.vals[k], false, "FIRST"); c != 0 {
				return c < 0
			}
		}
		return a.row.ts < b.row.ts
	})
	out := *t
	out.rows, out.folded = nil, true
	skip, left := 0, len(all)
	if q.Offset != nil {
		skip, _ = strconv.Atoi(q.Offset.(*syntax.Literal).Text)
	}
	if q.Limit != nil {
		left, _ = strconv.Atoi(q.Limit.(*syntax.Literal).Text)
	}
	seen := map[string]bool{}
	for _, k := range all {
		if first {
			if seen[k.on] {
				continue
			}
			seen[k.on] = true
		}
		if skip > 0 {
			skip--
			continue
		}
		if left == 0 {
			break
		}
		left--
		out.rows = append(out.rows, k.row)
	}
	return &out
}

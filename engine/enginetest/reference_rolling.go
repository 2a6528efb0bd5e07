package enginetest

import "github.com/streamsforge/streamsforge/engine/syntax"

// rolling is what a subquery of a pipeline reads for the current row: the rows of the window that was the last to close
// before the row came.
func (e *env) rolling(q *syntax.Query) *table {
	t, ok := e.r.known[q]
	if !ok {
		var err error
		e.r.timed++
		t, err = e.r.query(q, e.ctes)
		e.r.timed--
		if err != nil {
			panic(subqueryError{err})
		}
		if e.r.known == nil {
			e.r.known = map[*syntax.Query]*table{}
		}
		e.r.known[q] = t
	}
	out := &table{fields: t.fields}
	var last *closing
	for i, c := range t.closes {
		if c.at < e.at {
			last = &t.closes[i]
		}
	}
	if last == nil {
		return out
	}
	for _, row := range t.rows {
		if row.ts == last.end && row.at < e.at {
			out.rows = append(out.rows, row)
		}
	}
	return out
}

// touch evaluates the subqueries of a SELECT, also when no row ever reads them: their late rows count.
func (e *env) touch(s *syntax.Select) {
	look := func(x syntax.Expr) {
		syntax.Walk(x, func(x syntax.Expr) bool {
			switch x := x.(type) {
			case *syntax.InQuery:
				e.rolling(x.Query)
			case *syntax.Exists:
				e.rolling(x.Query)
			case *syntax.Subquery:
				e.rolling(x.Query)
			}
			return true
		})
	}
	if s.Where != nil {
		look(s.Where.Expr)
	}
	for _, it := range s.Items {
		look(it.Expr)
	}
}

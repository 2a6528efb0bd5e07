package enginetest

import (
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// subquery evaluates a subquery for the current row: the rows that are there, each once.
func (e *env) subquery(q *syntax.Query) *table {
	if e.r.pipeline {
		return e.rolling(q)
	}
	if t, ok := e.r.known[q]; ok {
		return t
	}
	saved, before := e.r.outer, e.r.outerReads
	e.r.outer = e
	vals, ts, group, window := e.vals, e.ts, e.group, e.window
	t, err := e.r.query(q, e.ctes)
	e.vals, e.ts, e.group, e.window = vals, ts, group, window
	e.r.outer = saved
	if err != nil {
		panic(subqueryError{err})
	}
	out := &table{fields: t.fields}
	for _, row := range net(t.rows, false) {
		if row.w > 0 {
			out.rows = append(out.rows, row)
		}
	}
	if e.r.outerReads == before {
		if e.r.known == nil {
			e.r.known = map[*syntax.Query]*table{}
		}
		e.r.known[q] = out
	}
	return out
}

// hasSubquery reports whether an expression reads a subquery.
func hasSubquery(x syntax.Expr) bool {
	found := false
	syntax.Walk(x, func(x syntax.Expr) bool {
		switch x.(type) {
		case *syntax.InQuery, *syntax.Exists, *syntax.Subquery:
			found = true
		}
		return !found
	})
	return found
}

// subqueryError carries an error out of an expression.
type subqueryError struct{ error }

// inQuery is x IN (SELECT ...): NULL when x is, else whether a row has the value. Strict, NULLs of the subquery count.
func (e *env) inQuery(x *syntax.InQuery) types.Value {
	v := e.value(x.X)
	rows := e.subquery(x.Query).rows
	strict := e.r.options.StrictNotIn
	if strict && len(rows) == 0 {
		return types.BoolOf(false)
	}
	if v.IsNull() {
		return null
	}
	unknown := false
	for _, row := range rows {
		c := compare("=", v, row.vals[0])
		if c.IsNull() {
			unknown = true
		} else if c.Bool() {
			return c
		}
	}
	if unknown && strict {
		return null
	}
	return types.BoolOf(false)
}

// subqueryKind is the kind of a subquery's column. There may be no current row yet: any will do.
func (e *env) subqueryKind(x *syntax.Subquery) types.Kind {
	vals, ts := e.vals, e.ts
	if last := e.sources[len(e.sources)-1]; len(vals) < last.from+len(last.fields) {
		e.vals, e.ts = nil, make([]int64, len(e.sources))
		for _, s := range e.sources {
			for _, f := range s.fields {
				e.vals = append(e.vals, types.Null(f.Stored()))
			}
		}
	}
	k := e.subquery(x.Query).fields[0].Stored()
	e.vals, e.ts = vals, ts
	return k
}

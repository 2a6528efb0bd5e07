package analyze

import (
	"strconv"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// ordered binds ORDER BY, LIMIT and OFFSET over the result of a query. An order alone changes nothing, because the
// rows of a relation have none.
func (a *analyzer) ordered(q *syntax.Query, r *relation) *relation {
	limit, okLimit := a.bound(q.Limit, "LIMIT", -1)
	offset, okOffset := a.bound(q.Offset, "OFFSET", 0)
	s, _ := q.Body.(*syntax.Select)
	first := s != nil && s.Distinct != nil && len(s.Distinct.On) > 0
	if a.mode == Pipeline && (len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil) {
		var at syntax.Node = q.Limit
		if len(q.OrderBy) > 0 {
			at = q.OrderBy[0]
		} else if q.Limit == nil {
			at = q.Offset
		}
		a.report(at, CodeOrder, "make it a table", "ORDER BY, LIMIT and OFFSET are not allowed in a pipeline")
		return nil
	}
	if r == nil || !okLimit || !okOffset {
		return nil
	}
	order, ok := a.orderKeys(q, r)
	if !ok {
		return nil
	}
	bounded := q.Limit != nil || q.Offset != nil
	switch {
	case !bounded && len(order) > 0 && !first:
		a.warn(q.OrderBy[0], CodeOrder, "add LIMIT, or sort where the rows are read", "the rows of a table have no order; ORDER BY without LIMIT changes nothing")
	case q.Limit != nil && limit == 0:
		a.warn(q.Limit, CodeNoRows, "choose a number above 0", "LIMIT 0 keeps no row")
	case bounded && len(order) == 0:
		at := q.Limit
		if at == nil {
			at = q.Offset
		}
		a.warn(at, CodeOrder, "add ORDER BY", "without ORDER BY, LIMIT and OFFSET take the rows that are smallest as a whole")
	}
	out := *r
	if first {
		on, ok := a.distinctOn(s, r)
		if !ok {
			return nil
		}
		out.node = &plan.TopN{In: out.node, Partition: append(a.domain(r), on...), Order: order, Limit: 1}
		out.keyFields, out.wholeRow = keyNames(on, r)
	}
	if bounded {
		out.node = &plan.TopN{In: out.node, Partition: a.domain(r), Order: order, Offset: offset, Limit: limit}
	}
	return &out
}

// domain are the columns of the rows around a correlated subquery, each of which has its own result.
func (a *analyzer) domain(r *relation) []expr.Expr {
	var out []expr.Expr
	for i, f := range r.node.Schema()[:r.outer] {
		out = append(out, &expr.Column{Index: i, Name: f.Name, K: f.Stored()})
	}
	return out
}

// bound reads the number of LIMIT or OFFSET.
func (a *analyzer) bound(e syntax.Expr, clause string, absent int64) (int64, bool) {
	if e == nil {
		return absent, true
	}
	if l, ok := e.(*syntax.Literal); ok && l.Kind == syntax.LongLiteral {
		if n, err := strconv.ParseInt(l.Text, 10, 64); err == nil {
			return n, true
		}
	}
	a.report(e, CodeOrder, "write a number such as 10", "%s takes a constant number of rows", clause)
	return 0, false
}

// orderKeys binds ORDER BY to the columns of the result.
func (a *analyzer) orderKeys(q *syntax.Query, r *relation) ([]agg.OrderKey, bool) {
	var out []agg.OrderKey
	ok := true
	for _, o := range q.OrderBy {
		x, bound := a.resultColumn(q.Body, r, o.Expr, "ORDER BY")
		ok = ok && bound
		if !bound {
			continue
		}
		if x.Kind() == types.Json {
			a.report(o, expr.CodeJSONBare, "take a value out with ->> and convert it with a TO_ function", "ORDER BY cannot compare Json values")
			ok = false
		}
		if x.Kind() == types.Unknown {
			x = expr.As(x, types.String)
		}
		out = append(out, agg.OrderKey{X: x, Desc: o.Desc, NullsFirst: o.NullsFirst()})
	}
	return out, ok
}

// distinctOn binds the expressions of DISTINCT ON.
func (a *analyzer) distinctOn(s *syntax.Select, r *relation) ([]expr.Expr, bool) {
	var out []expr.Expr
	ok := true
	for _, e := range s.Distinct.On {
		x, bound := a.resultColumn(s, r, e, "DISTINCT ON")
		ok = ok && bound
		if bound && x.Kind() == types.Unknown {
			x = expr.As(x, types.String)
		}
		out = append(out, x)
	}
	return out, ok
}

// resultColumn binds an expression over the result of a query: a place in the select list, an item of it as it is
// written, or an expression of its columns and of _ts.
func (a *analyzer) resultColumn(body syntax.Body, r *relation, e syntax.Expr, clause string) (expr.Expr, bool) {
	column := func(i int) expr.Expr {
		f := r.fields[i]
		return &expr.Column{Index: r.outer + i, Name: f.Name, K: f.Stored()}
	}
	if l, ok := e.(*syntax.Literal); ok && l.Kind == syntax.LongLiteral {
		n, err := strconv.Atoi(l.Text)
		if err != nil || n < 1 || n > len(r.fields) {
			a.report(e, CodeOrder, "count the columns from 1", "%s %s is no column of the %d selected ones", clause, l.Text, len(r.fields))
			return nil, false
		}
		return column(n - 1), true
	}
	if s, ok := body.(*syntax.Select); ok && len(s.Items) <= len(r.fields) {
		text := syntax.Format(e)
		for i, it := range s.Items {
			if it.Star {
				break
			}
			if syntax.Format(it.Expr) == text {
				return column(i), true
			}
		}
	}
	in := &input{columns: r.fields, hasTs: r.hasTs, ts: &expr.Literal{V: types.LongOf(0)}, label: r.label, retract: -1, derived: true}
	for i := range r.fields {
		in.at = append(in.at, r.outer+i)
	}
	if r.hasTs {
		in.ts = &expr.Column{Index: r.outer + len(r.fields), Name: types.TsColumn, K: types.Long}
	}
	found := true
	syntax.Walk(e, func(x syntax.Expr) bool {
		c, is := x.(*syntax.ColumnRef)
		if !is {
			return true
		}
		if _, there := in.find(c.Name.Name); !there || c.Qualifier != nil {
			a.report(c, CodeOrder, "select it too, and leave it out where the rows are read", "%s reads selected columns, and %q is none", clause, syntax.Format(c))
			found = false
		}
		return true
	})
	if !found {
		return nil, false
	}
	b := &binder{analyzer: a, scope: &scope{inputs: []*input{in}}, clause: clause}
	return b.bind(e)
}

// keyNames are the names of the result's columns that the expressions read unchanged; whole is true when one is none.
func keyNames(on []expr.Expr, r *relation) (names []string, whole bool) {
	for _, e := range on {
		c, ok := e.(*expr.Column)
		if !ok || c.Index < r.outer || c.Index >= r.outer+len(r.fields) {
			return nil, true
		}
		names = append(names, r.fields[c.Index-r.outer].Name)
	}
	return names, false
}

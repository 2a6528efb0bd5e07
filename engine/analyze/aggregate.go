package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// aggregateArgument is the clause of a binder inside an aggregate.
const aggregateArgument = "the argument of an aggregate"

// aggregate binds an aggregate call to a column of the grouped row.
func (b *binder) aggregate(e *syntax.Call) (expr.Expr, bool) {
	if b.group == nil {
		code, hint := CodeAggregateHere, "filter groups with HAVING"
		switch b.clause {
		case "ON", "FILTER", "GROUP BY", "USING", "UNNEST":
			hint = "aggregate in a query in FROM first"
		case "ORDER BY", "DISTINCT ON":
			hint = "select it too, and name the selected column here"
		case "a query with LATEST BY":
			hint = "aggregate in a second table over this one"
		}
		if b.clause == aggregateArgument {
			code, hint = CodeNestedAggregate, "aggregate in a table of its own, and aggregate that"
		}
		b.report(e, code, hint, "%s cannot stand in %s", strings.ToUpper(e.Name.Name), b.clause)
		return nil, false
	}
	c, ok := b.aggregateCall(e)
	if !ok {
		return nil, false
	}
	return b.group.aggColumn(c), true
}

// aggregateCall binds the parts of an aggregate, which read the rows before the grouping.
func (b *binder) aggregateCall(e *syntax.Call) (agg.Call, bool) {
	return b.written(e, &binder{analyzer: b.analyzer, scope: b.scope, clause: aggregateArgument, ctes: b.ctes, subs: b.group.subs})
}

// written binds the parts of an aggregate with inner.
func (b *binder) written(e *syntax.Call, inner *binder) (agg.Call, bool) {
	w := agg.Written{Star: e.Star, Distinct: e.Distinct}
	args, ok := inner.bindAll(e.Args)
	w.Args = args
	for _, o := range e.OrderBy {
		x, bound := inner.bind(o.Expr)
		ok = ok && bound
		if bound && x.Kind() == types.Unknown {
			x = expr.As(x, types.String)
		}
		w.Order = append(w.Order, agg.OrderKey{X: x, Desc: o.Desc, NullsFirst: o.NullsFirst()})
	}
	if e.Filter != nil {
		inner.clause = "FILTER"
		cond, bound := inner.condition(e.Filter)
		ok = ok && bound
		w.Filter = cond
	}
	a, found := agg.Lookup(e.Name.Name)
	if !ok || !found {
		return agg.Call{}, false
	}
	c, err := a.BindWritten(w)
	if err != nil {
		b.bindError(e, nil, err)
		return agg.Call{}, false
	}
	if c.Arg != nil && c.Arg.Kind() == types.String && numeric[a.Name] {
		b.warn(e.Args[len(e.Args)-1], CodeTextInSum, "use -> instead of ->>, or convert it with TO_DOUBLE", "text contributes nothing to %s", a.Name)
	}
	return c, true
}

// numeric are the aggregates that read numbers only.
var numeric = map[string]bool{"SUM": true, "AVG": true, "VAR_SAMP": true, "VAR_POP": true, "STDDEV_SAMP": true, "STDDEV_POP": true,
	"MEDIAN": true, "PERCENTILE_CONT": true}

package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// distinctWindow reports whether DISTINCT makes the groups of a window: without GROUP BY, HAVING and aggregates each
// different row of the select list is one group, which the window gives out once.
func (q *selecting) distinctWindow(agg *syntax.Call) bool {
	s := q.s
	return s.Distinct != nil && len(s.Distinct.On) == 0 && s.Window != nil && s.GroupBy == nil && s.Having == nil && agg == nil
}

// distinctRules checks DISTINCT with a window. Rows of a grouped window are different when they show all keys, because
// the borders of the window are part of them; then there is nothing to do.
func (q *selecting) distinctRules(agg *syntax.Call) {
	s := q.s
	switch {
	case s.Distinct == nil || q.distinctWindow(agg):
	case len(s.Distinct.On) > 0:
		q.later(s.Distinct, "DISTINCT ON with a window", "aggregate with ARG_MAX, or make it a table")
	case s.GroupBy != nil && !s.GroupBy.All && !q.showsKeys():
		q.report(s.Distinct, CodeOrder, "select all keys of GROUP BY, or aggregate the result in a table",
			"DISTINCT with a window keeps the rows of different groups apart only when they show their keys")
	}
}

// showsKeys reports whether the select list has every key of GROUP BY.
func (q *selecting) showsKeys() bool {
	for _, k := range q.s.GroupBy.Items {
		shown := false
		for _, it := range q.s.Items {
			shown = shown || it.Star || it.Expr != nil && syntax.Format(it.Expr) == syntax.Format(q.aliased(k))
		}
		if !shown {
			return false
		}
	}
	return true
}

// distinctKeys groups by the select list. The borders of the window are the same in all rows of a group.
func (q *selecting) distinctKeys() {
	for _, it := range q.s.Items {
		if !it.Star && !q.readsBorder(it.Expr) && firstOver(it.Expr) == nil {
			q.bindKey(it.Expr)
		}
	}
}

// readsBorder reports whether an expression reads a column that the window adds, which cannot be a key.
func (q *selecting) readsBorder(e syntax.Expr) bool {
	reads := false
	syntax.Walk(e, func(x syntax.Expr) bool {
		c, is := x.(*syntax.ColumnRef)
		if !is || c.Qualifier != nil {
			return !reads
		}
		for _, added := range q.group.visible() {
			reads = reads || strings.EqualFold(c.Name.Name, added.Name)
		}
		for _, in := range q.from.scope.inputs {
			if _, there := in.find(c.Name.Name); there {
				reads = false // the column of an input hides it
			}
		}
		return !reads
	})
	return reads
}

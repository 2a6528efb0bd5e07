package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Warnings about state that grows with every row for as long as the entity runs. A group per symbol is not one of them:
// only what is sure to grow is said, with the operator, what it keeps, and the way out.

const boundHint = "bound it: read a table with LATEST BY, or use a pipeline with "

// warnJoinState says that a join of a table keeps all rows of two inputs that never take one back.
func (a *analyzer) warnJoinState(j *syntax.Join, left, right plan.Node, names string) {
	if !a.opts.StateWarnings || a.mode != Table || j.Asof || !left.AppendOnly() || !right.AppendOnly() || !scans(left) || !scans(right) {
		return
	}
	a.warn(j.KindPos, CodeUnboundedState, boundHint+"WITHIN", "%s keeps every row of %s, which only grow", joinName(j), names)
}

// scans reports whether a node gives the rows of its inputs as they come.
func scans(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Scan:
		return true
	case *plan.Filter, *plan.Project, *plan.Unnest, *plan.Join:
		return scans(n.Children()[0])
	}
	return false
}

// warnGroupState looks at the keys and aggregates of a grouped table.
func (q *selecting) warnGroupState(what string, at syntax.Node, keys []expr.Expr, aggs []agg.Call) {
	if !q.opts.StateWarnings || q.mode != Table || q.node == nil || !q.node.AppendOnly() || q.outer != nil {
		return
	}
	for _, k := range keys {
		if why := endless(k); why != "" {
			q.warn(at, CodeUnboundedState, boundHint+"WINDOW, or group by what repeats", "%s keeps a group for every value of %s, which is %s", what, k, why)
			return
		}
	}
	for _, c := range aggs {
		switch name := c.Agg.Name; {
		case name == "PERCENTILE_CONT" || name == "MEDIAN" || name == "ARRAY_AGG" || name == "STRING_AGG":
			q.warn(at, CodeUnboundedState, boundHint+"WINDOW", "%s keeps every value of its group, and its input only grows", name)
			return
		case c.Distinct && name == "COUNT" && c.Arg != nil && endless(c.Arg) != "":
			q.warn(at, CodeUnboundedState, boundHint+"WINDOW, or APPROX_COUNT_DISTINCT", "COUNT(DISTINCT ...) keeps every value of %s, which is %s", c.Arg, endless(c.Arg))
			return
		}
	}
}

// endless says why a key has new values for as long as rows come; "" when it need not.
func endless(k expr.Expr) string {
	if k.Kind() == types.Timestamp || strings.Contains(k.String(), "."+types.TsColumn) && k.Kind() != types.Bool {
		return "a time"
	}
	if _, column := k.(*expr.Column); column && k.Kind() == types.Double {
		return "a measured number"
	}
	return ""
}

// neverNull reports whether the first column of a query is written so that it cannot be NULL: WHERE asks for IS NOT NULL
// of it, or it is a COUNT or a constant.
func neverNull(q *syntax.Query) bool {
	s, ok := q.Body.(*syntax.Select)
	if !ok || len(s.Items) == 0 || s.Items[0].Expr == nil {
		return false
	}
	switch e := s.Items[0].Expr.(type) {
	case *syntax.Literal:
		return e.Kind != syntax.NullLiteral
	case *syntax.Call:
		if strings.EqualFold(e.Name.Name, "COUNT") {
			return true
		}
	}
	if s.Where == nil {
		return false
	}
	item := syntax.Format(s.Items[0].Expr)
	found := false
	syntax.Walk(s.Where.Expr, func(e syntax.Expr) bool {
		if is, ok := e.(*syntax.Is); ok && is.Not && is.What == "NULL" && syntax.Format(is.X) == item {
			found = true
		}
		b, and := e.(*syntax.Binary)
		return and && b.Op == "AND"
	})
	return found
}

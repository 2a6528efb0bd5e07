package analyze

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// looksUp reports whether a join of a pipeline names a table of the catalog: each row is then completed with what the
// table has when the row comes.
func (a *analyzer) looksUp(j *syntax.Join, ctes *cteScope) bool {
	t, ok := j.Item.(*syntax.TableName)
	if !ok || a.mode != Pipeline || t.Ref {
		return false
	}
	if _, found := a.cte(t, ctes); found {
		return false
	}
	found := a.cat.Relations(t.Name.Name)
	return len(found) == 1 && found[0].Kind == plan.Table
}

// lookupRules checks what a lookup takes of the words of a join.
func (a *analyzer) lookupRules(j *syntax.Join) {
	name := joinName(j)
	table := j.Item.(*syntax.TableName).Name.Name
	switch {
	case j.Asof:
		a.report(j.KindPos, CodeLookup, "write JOIN or LEFT JOIN: a row sees the table as it is when the row comes", "%s cannot read the table %q in a pipeline", name, table)
	case j.Kind == syntax.JoinRight || j.Kind == syntax.JoinFull:
		a.report(j.KindPos, CodeLookup, "write LEFT JOIN, or make a table of this query",
			"%s cannot read the table %q in a pipeline: its rows are looked up and never given out by themselves", name, table)
	case j.Kind == syntax.JoinCross || j.Kind == syntax.JoinComma:
		a.report(j.KindPos, CodeLookup, "write JOIN ... ON stream.column = table.column", "%s cannot read the table %q in a pipeline: rows are looked up by a key", name, table)
	case (j.Natural || len(j.Using) > 0) && j.On != nil:
		a.report(j.KindPos, CodeUsing, "write the columns in ON too", "%s takes no ON", name)
	case j.On == nil && !j.Natural && len(j.Using) == 0:
		a.report(j.KindPos, CodeJoinWithoutOn, "write ON left.column = right.column", "%s needs ON", name)
	}
	if j.Within != nil {
		a.report(j.Within, CodeLookup, "remove WITHIN", "%q is a table: a row sees all of it, whatever its time", table)
	}
}

// lookupJoin adds a table to the FROM of a pipeline.
func (a *analyzer) lookupJoin(j *syntax.Join, ctes *cteScope, f *from) {
	before := len(a.ds)
	a.lookups = true
	node, in := a.relation(j.Item, ctes, f)
	a.lookups = false
	a.lookupRules(j)
	left, leftTs := f.node, f.ts
	if leftTs == nil {
		leftTs = onlyTs(f.scope)
	}
	width := 0
	if left != nil {
		width = len(left.Schema())
	}
	in.shift(width)
	// A table holds no row back and gives none a time: the event time of the result stays that of the stream.
	in.lookedUp, in.padded = true, j.Kind == syntax.JoinLeft
	var columns []usingColumn
	var on expr.Expr
	bound := false
	if j.Natural || len(j.Using) > 0 {
		columns = a.using(j, f.scope, in)
		on, bound = a.usingCondition(j, columns)
	}
	f.scope.inputs = append(f.scope.inputs, in)
	f.summary += joinSummary(j, in)
	if j.On != nil {
		b := &binder{analyzer: a, scope: f.scope, clause: "ON"}
		on, bound = b.condition(j.On)
	}
	for _, c := range columns {
		f.scope.merge(j.Kind, c, in)
	}
	f.node = nil
	if left == nil || node == nil || !bound || syntax.HasErrors(a.ds[before:]) {
		return
	}
	leftKeys, rightKeys, residual := splitOn(on, width)
	if len(leftKeys) == 0 {
		a.report(j.On, CodeJoinNoEquality, "write ON stream.column = table.column", "ON needs an equality between the stream and the table %q", in.alias)
		return
	}
	for i := range leftKeys {
		// Keys of pipelines compare as numbers.
		if l, r := leftKeys[i].Kind(), rightKeys[i].Kind(); l != r && l.IsNumeric() && r.IsNumeric() {
			leftKeys[i], rightKeys[i] = expr.As(leftKeys[i], types.Double), expr.As(rightKeys[i], types.Double)
		}
	}
	f.node = plan.NewLookup(left, node, leftKeys, rightKeys, residual, j.Kind == syntax.JoinLeft)
	f.ts = leftTs
}

package plan

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/types"
)

// pushFilterThroughOver moves a condition on the partition below a window function.
func pushFilterThroughOver(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	o, ok := f.In.(*Over)
	if !ok {
		return nil
	}
	partition := map[int]bool{}
	for _, e := range o.Partition {
		if c, is := e.(*expr.Column); is {
			partition[c.Index] = true
		}
	}
	var below, above expr.Expr
	for _, c := range Conjuncts(f.Pred) {
		if reads(c, func(i int) bool { return partition[i] }) {
			below = And(below, c)
		} else {
			above = And(above, c)
		}
	}
	if below == nil {
		return nil
	}
	return filtered(o.withChildren([]Node{&Filter{In: o.In, Pred: below}}), above)
}

// rowNumberToTopN keeps only the first rows of each partition below a condition on ROW_NUMBER: those that follow cannot
// pass, and the window functions of those that pass do not read them.
func rowNumberToTopN(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	o, ok := f.In.(*Over)
	if !ok {
		return nil
	}
	number := -1
	for i, c := range o.Calls {
		if !c.Prefix() {
			return nil
		}
		if c.What == over.RowNumber {
			number = len(o.In.Schema()) + i
		}
	}
	limit, bounded := int64(0), false
	var above expr.Expr
	for _, c := range Conjuncts(f.Pred) {
		most, exact, is := upperBound(c, number)
		if is && (!bounded || most < limit) {
			limit, bounded = most, true
		}
		if !is || !exact {
			above = And(above, c)
		}
	}
	limit = max(limit, 0)
	if !bounded || number < 0 {
		return nil
	}
	if have, is := o.In.(*TopN); is && have.Limit >= 0 && have.Limit <= limit && have.Offset == 0 {
		return nil // the rule has been here
	}
	return filtered(o.withChildren([]Node{&TopN{In: o.In, Partition: o.Partition, Order: o.Order, Limit: limit}}), above)
}

// upperBound reads a condition that a column of Longs from 1 on passes up to a number only. exact says that it passes
// every number up to there.
func upperBound(e expr.Expr, column int) (most int64, exact, ok bool) {
	c, is := e.(*expr.Call)
	if !is {
		return 0, false, false
	}
	if c.Fn.Name == "BETWEEN" {
		low, isLow := longLiteral(c.Args[1])
		high, isHigh := longLiteral(c.Args[2])
		return high, low <= 1, isLow && isHigh && readsColumn(c.Args[0], column)
	}
	if len(c.Args) != 2 {
		return 0, false, false
	}
	name, left, right := c.Fn.Name, c.Args[0], c.Args[1]
	if readsColumn(right, column) {
		name, left, right = map[string]string{"=": "=", ">": "<", ">=": "<="}[name], right, left
	}
	v, isLong := longLiteral(right)
	if !isLong || !readsColumn(left, column) {
		return 0, false, false
	}
	switch name {
	case "<=":
		return v, true, true
	case "<":
		return max(v, 1) - 1, true, true
	case "=":
		return v, v <= 1, true
	}
	return 0, false, false
}

func readsColumn(e expr.Expr, column int) bool {
	c, ok := e.(*expr.Column)
	return ok && c.Index == column
}

func longLiteral(e expr.Expr) (int64, bool) {
	l, ok := e.(*expr.Literal)
	if !ok || l.V.IsNull() || l.V.Kind() != types.Long {
		return 0, false
	}
	return l.V.Int(), true
}

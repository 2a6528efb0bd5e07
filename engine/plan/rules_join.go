package plan

import (
	"github.com/streamsforge/streamsforge/engine/expr"
)

// Simplify applies the local rules to a tree, as Optimize does, without dropping columns.
func Simplify(n Node) Node { return rewrite(n, map[string]int{}) }

// HasNestedLoop reports whether a join below compares every row of one side with every row of the other. A side of at
// most one row does not count.
func HasNestedLoop(n Node) bool {
	if j, ok := n.(*Join); ok && len(j.LeftKeys) == 0 && !single(j.Left) && !single(j.Right) && (j.Kind.Pairs() || j.Residual != nil) {
		return true
	}
	for _, c := range n.Children() {
		if HasNestedLoop(c) {
			return true
		}
	}
	return false
}

// single reports whether a node has at most one row.
func single(n Node) bool {
	k := n.Key()
	return k != nil && len(k) == 0
}

// keysFromFilter makes keys of the equalities that a filter over an inner join has between both sides.
func keysFromFilter(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	j, ok := f.In.(*Join)
	if !ok || j.Kind != Inner {
		return nil
	}
	left, right, above := sideEqualities(f.Pred, len(j.Left.Schema()))
	if len(left) == 0 {
		return nil
	}
	out := NewNullSafeJoin(j.Left, j.Right, append(j.LeftKeys[:len(j.LeftKeys):len(j.LeftKeys)], left...),
		append(j.RightKeys[:len(j.RightKeys):len(j.RightKeys)], right...), j.NullSafe, j.Residual, j.Kind)
	return filtered(out, above)
}

// sideEqualities takes the equalities between columns of both sides out of a condition. Kinds that differ stay: keys
// are typed, a comparison is not.
func sideEqualities(pred expr.Expr, width int) (left, right []expr.Expr, rest expr.Expr) {
	for _, c := range Conjuncts(pred) {
		call, ok := c.(*expr.Call)
		if ok && call.Fn.Name == "=" && call.Args[0].Kind() == call.Args[1].Kind() {
			l, r := call.Args[0], call.Args[1]
			below := func(e expr.Expr) bool { return reads(e, func(i int) bool { return i < width }) }
			above := func(e expr.Expr) bool { return reads(e, func(i int) bool { return i >= width }) }
			if below(r) && above(l) {
				l, r = r, l
			}
			if below(l) && above(r) {
				left, right = append(left, l), append(right, Shift(r, -width))
				continue
			}
		}
		rest = And(rest, c)
	}
	return left, right, rest
}

// pushResidual moves the parts of a residual condition that read one side only to that side, where a row that fails
// them is as good as absent: the side that is not kept.
func pushResidual(n Node) Node {
	j, ok := n.(*Join)
	if !ok || j.Residual == nil || j.Kind == Full {
		return nil
	}
	width := len(j.Left.Schema())
	var left, right, rest expr.Expr
	for _, c := range Conjuncts(j.Residual) {
		switch {
		case (j.Kind == Inner || j.Kind == Right || j.Kind == Semi) && reads(c, func(i int) bool { return i < width }):
			left = And(left, c)
		case j.Kind != Right && reads(c, func(i int) bool { return i >= width }):
			right = And(right, Shift(c, -width))
		default:
			rest = And(rest, c)
		}
	}
	if left == nil && right == nil {
		return nil
	}
	return NewNullSafeJoin(filtered(j.Left, left), filtered(j.Right, right), j.LeftKeys, j.RightKeys, j.NullSafe, rest, j.Kind)
}

package plan

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// ComparesDomain reports whether a correlated subquery below is computed by comparing every row with every value that
// the outer query has.
func ComparesDomain(n Node) bool {
	if j, ok := n.(*Join); ok && len(j.LeftKeys) == 0 && (isDomain(j.Left) || isDomain(j.Right)) {
		return true
	}
	for _, c := range n.Children() {
		if ComparesDomain(c) {
			return true
		}
	}
	return false
}

// isDomain looks through filters that were pushed down to a domain.
func isDomain(n Node) bool {
	if f, ok := n.(*Filter); ok {
		return isDomain(f.In)
	}
	r, ok := n.(*Reduce)
	return ok && r.Domain
}

// dropDomain takes the keys of the right side instead of the domain, when every column of the domain is a key. Only the
// rows of values that the outer query does not have are added, and nothing above mixes the rows of different values.
func dropDomain(n Node) Node {
	j, ok := n.(*Join)
	if !ok || j.Kind != Inner || j.NullSafe > 0 {
		return nil
	}
	d, ok := j.Left.(*Reduce)
	if !ok || !d.Domain {
		return nil
	}
	width := len(d.Schema())
	values := make([]expr.Expr, width)
	var pred expr.Expr
	for i, k := range j.LeftKeys {
		c, plain := k.(*expr.Column)
		if !plain {
			return nil
		}
		if values[c.Index] == nil {
			values[c.Index] = j.RightKeys[i]
			pred = And(pred, bindTrusted("IS NOT NULL", j.RightKeys[i]))
		} else {
			pred = And(pred, bindTrusted("=", values[c.Index], j.RightKeys[i]))
		}
	}
	for i := range values {
		if values[i] == nil || values[i].Kind() != d.Schema()[i].Stored() {
			return nil
		}
	}
	exprs := values
	names := d.Schema().Names()
	for i, f := range j.Right.Schema() {
		exprs = append(exprs, &expr.Column{Index: i, Name: f.Name, K: f.Stored()})
		names = append(names, f.Name)
	}
	if j.Residual != nil {
		pred = And(pred, substitute(j.Residual, exprs))
	}
	return NewProject(filtered(j.Right, pred), exprs, names)
}

func bindTrusted(name string, args ...expr.Expr) expr.Expr {
	f, ok := expr.Lookup(name)
	if !ok {
		panic("BUG: no operator " + name)
	}
	e, err := f.Bind(args)
	if err != nil {
		panic("BUG: " + name + ": " + err.Error())
	}
	return e
}

// filterOutNull turns CASE WHEN a THEN NULL ELSE b END, and its negation, into NOT a AND b within a filter.
func filterOutNull(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	var out expr.Expr
	changed := false
	for _, c := range Conjuncts(f.Pred) {
		e, not := c, false
		if call, ok := c.(*expr.Call); ok && call.Fn.Name == "NOT" {
			e, not = call.Args[0], true
		}
		if k, ok := e.(*expr.Case); ok && len(k.Whens) == 1 && k.Else != nil && isNull(k.Whens[0].Then) && total(k.Whens[0].Cond) {
			e = k.Else
			if not {
				e = bindTrusted("NOT", e)
			}
			c = And(bindTrusted("NOT", k.Whens[0].Cond), e)
			changed = true
		}
		out = And(out, c)
	}
	if !changed {
		return nil
	}
	return &Filter{In: f.In, Pred: out}
}

// total reports whether a condition is never NULL.
func total(e expr.Expr) bool {
	c, ok := e.(*expr.Call)
	return ok && (c.Fn.Name == "IS NULL" || c.Fn.Name == "IS NOT NULL")
}

func isNull(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	return ok && l.V.IsNull()
}

// markToSemiJoin replaces a mark that a filter wants to be TRUE or FALSE by a semi or anti join.
func markToSemiJoin(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	j, ok := f.In.(*Join)
	if !ok || j.Kind != Mark {
		return nil
	}
	mark := len(j.Left.Schema())
	isMark := func(e expr.Expr) bool {
		c, ok := e.(*expr.Column)
		return ok && c.Index == mark
	}
	kind := Mark
	var rest expr.Expr
	for _, c := range Conjuncts(f.Pred) {
		switch call, ok := c.(*expr.Call); {
		case kind == Mark && isMark(c):
			kind = Semi
		case kind == Mark && ok && call.Fn.Name == "NOT" && isMark(call.Args[0]):
			kind = Anti
		default:
			rest = And(rest, c)
		}
	}
	if kind == Mark {
		return nil
	}
	in := NewNullSafeJoin(j.Left, j.Right, j.LeftKeys, j.RightKeys, j.NullSafe, j.Residual, kind)
	var exprs []expr.Expr
	var names []string
	for i, c := range j.Left.Schema() {
		exprs = append(exprs, &expr.Column{Index: i, Name: c.Name, K: c.Stored()})
		names = append(names, c.Name)
	}
	exprs = append(exprs, &expr.Literal{V: types.BoolOf(kind == Semi)})
	return filtered(NewProject(in, exprs, append(names, MarkColumn)), rest)
}

package analyze

import (
	"strconv"

	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// recursive binds a query of WITH RECURSIVE that reads itself: a base, UNION [ALL], and a step that reads the name. outer
// are the queries before it.
func (a *analyzer) recursive(c *syntax.CTE, outer, inner *cteScope) *relation {
	s, ok := c.Query.Body.(*syntax.SetOp)
	if !ok || s.Kind != syntax.Union || len(c.Query.OrderBy) > 0 || c.Query.Limit != nil || len(c.Query.With) > 0 || mentionsBody(s.Left, c.Name.Name) {
		a.report(c.Name, CodeRecursive, "write base UNION step, where the step alone reads "+c.Name.Name,
			"%q reads itself: it needs a base that does not, UNION, and one step that does", c.Name.Name)
		return nil
	}
	if a.mode == Pipeline {
		a.report(c.Name, CodeRecursive, "make it a table", "WITH RECURSIVE is not allowed in a pipeline")
		return nil
	}
	max := plan.DefaultMaxRecursion
	if c.MaxRecursion != nil {
		n, err := strconv.Atoi(c.MaxRecursion.Text)
		if err != nil || n < 1 || n > maxRecursion {
			a.report(c.MaxRecursion, CodeRecursive, "", "MAX RECURSION is a number from 1 to %d", maxRecursion)
			return nil
		}
		max = n
	}
	base := a.body(s.Left, inner)
	if base == nil {
		return nil
	}
	out := &relation{fields: base.fields.Clone(), wholeRow: true, label: base.label, summary: "RECURSIVE " + base.summary}
	a.recursions++
	id := a.recursions
	self := &relation{fields: out.fields, label: c.Name.Name}
	columns := make(types.Schema, len(out.fields))
	for i, f := range out.fields {
		columns[i] = types.Field{Name: f.Name, Kind: f.Stored()}
	}
	self.node = plan.Self(id, c.Name.Name, c.Name.Name, columns)
	step := a.body(s.Right, &cteScope{name: c.Name.Name, bound: self, next: outer})
	if step == nil {
		return nil
	}
	kinds := out.fields.Clone()
	if !a.unify(s, 1, kinds, step.fields) {
		return nil
	}
	for i := range kinds {
		if kinds[i].Stored() != out.fields[i].Stored() {
			a.report(s.OpPos, CodeRecursive, "convert the column of the base with CAST", "column %d (%s) of %q is %s in the base and becomes %s in the step",
				i+1, kinds[i].Name, c.Name.Name, out.fields[i].Stored(), kinds[i].Stored())
			return nil
		}
	}
	node, bad := plan.NewRecursive(id, c.Name.Name, aligned(base, out), aligned(step, out), s.All, max)
	if bad != "" {
		a.report(s.Right, CodeRecursive, "filter or aggregate where the result is read",
			"the step of %q cannot put the relation that it makes through %s: more rows of it have to make more rows", c.Name.Name, bad)
		return nil
	}
	out.node = node
	return out
}

// maxRecursion is the largest bound that can be written.
const maxRecursion = 10000

// mentions reports whether a query reads a name, at any depth.
func mentions(q *syntax.Query, name string) bool {
	if q == nil {
		return false
	}
	for _, c := range q.With {
		if c.Name.Name == name {
			return false
		}
		if mentions(c.Query, name) {
			return true
		}
	}
	return mentionsBody(q.Body, name)
}

func mentionsBody(b syntax.Body, name string) bool {
	switch b := b.(type) {
	case *syntax.SetOp:
		return mentionsBody(b.Left, name) || mentionsBody(b.Right, name)
	case *syntax.Select:
		if mentionsItem(b.From, name) {
			return true
		}
		for _, j := range b.Joins {
			if mentionsItem(j.Item, name) || mentionsExpr(j.On, name) {
				return true
			}
		}
		for _, it := range b.Items {
			if mentionsExpr(it.Expr, name) {
				return true
			}
		}
		return b.Where != nil && mentionsExpr(b.Where.Expr, name) || b.Having != nil && mentionsExpr(b.Having.Expr, name)
	}
	return false
}

func mentionsItem(t syntax.TableItem, name string) bool {
	switch t := t.(type) {
	case *syntax.TableName:
		return !t.Ref && t.Name.Name == name
	case *syntax.Derived:
		return mentions(t.Query, name)
	}
	return false
}

func mentionsExpr(e syntax.Expr, name string) bool {
	found := false
	syntax.Walk(e, func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.InQuery:
			found = found || mentions(e.Query, name)
		case *syntax.Exists:
			found = found || mentions(e.Query, name)
		case *syntax.Subquery:
			found = found || mentions(e.Query, name)
		}
		return !found
	})
	return found
}

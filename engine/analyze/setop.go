package analyze

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// setOp binds a chain of UNION or UNION ALL.
func (a *analyzer) setOp(s *syntax.SetOp, ctes *cteScope) *relation {
	if s.Kind != syntax.Union {
		return a.intersectOrExcept(s, ctes)
	}
	branches, ops := flatten(s)
	ok := a.unionRules(ops)
	rels := make([]*relation, len(branches))
	for i, b := range branches {
		rels[i] = a.body(b, ctes)
		ok = ok && rels[i] != nil
	}
	if !ok {
		return nil
	}
	first := rels[0]
	out := &relation{fields: first.fields.Clone(), hasTs: true, wholeRow: true, label: first.label, summary: first.summary}
	out.outer = first.outer
	for i, r := range rels {
		out.hasTs = out.hasTs && r.hasTs
		out.windowed = out.windowed || r.windowed
		if i > 0 {
			ok = a.unify(ops[i-1], i, out.fields, r.fields) && ok
			out.summary += " UNION " + r.summary
			if r.label != "" {
				out.label += "," + r.label
			}
		}
	}
	if !ok {
		return nil
	}
	dedup := !ops[0].All
	out.hasTs = out.hasTs && !dedup
	ins := make([]plan.Node, len(rels))
	for i, r := range rels {
		ins[i] = aligned(r, out)
	}
	out.node = &plan.Union{Ins: ins}
	if dedup {
		out.node = distinct(out.node)
	}
	return out
}

// flatten lists the branches of a chain and the operators between them. A branch in parentheses that is a chain of
// its own stays one branch.
func flatten(s *syntax.SetOp) (branches []syntax.Body, ops []*syntax.SetOp) {
	if l, ok := s.Left.(*syntax.SetOp); ok && l.Kind == syntax.Union {
		branches, ops = flatten(l)
	} else {
		branches = []syntax.Body{s.Left}
	}
	return append(branches, s.Right), append(ops, s)
}

func (a *analyzer) unionRules(ops []*syntax.SetOp) bool {
	ok := true
	for _, op := range ops {
		if a.mode == Pipeline && !op.All {
			a.report(op.OpPos, CodeUnion, "write UNION ALL", "UNION without ALL is not allowed in a pipeline")
			a.fix(syntax.Replace(op.OpPos, "UNION", "UNION ALL"))
			ok = false
		}
		if op.All != ops[0].All {
			a.report(op.OpPos, CodeUnion, "use one of them for the whole chain", "UNION and UNION ALL cannot be mixed")
			ok = false
		}
	}
	return ok
}

// unify brings the columns of a branch and of those before it to common kinds.
func (a *analyzer) unify(op *syntax.SetOp, branch int, into, fields types.Schema) bool {
	if len(into) != len(fields) {
		a.report(op.OpPos, CodeUnion, "select the same number of columns in every branch", "the branches of %s have %d and %d columns", op.Kind, len(into), len(fields))
		return false
	}
	ok := true
	for i := range into {
		k, common := expr.Common(into[i].Stored(), fields[i].Stored())
		if !common {
			a.report(op.OpPos, CodeUnion, "convert one of them with CAST", "column %d (%s) of %s is %s, in branch %d it is %s",
				i+1, into[i].Name, op.Kind, into[i].Stored(), branch+1, fields[i].Stored())
			ok = false
			continue
		}
		if k != into[i].Stored() {
			into[i] = types.Field{Name: into[i].Name, Kind: k}
		}
	}
	return ok
}

// intersectOrExcept binds INTERSECT and EXCEPT of two sides.
func (a *analyzer) intersectOrExcept(s *syntax.SetOp, ctes *cteScope) *relation {
	if a.mode == Pipeline {
		a.report(s.OpPos, CodeUnion, "make it a table", "%s is not allowed in a pipeline", s.Kind)
	}
	left, right := a.body(s.Left, ctes), a.body(s.Right, ctes)
	if left == nil || right == nil {
		return nil
	}
	out := &relation{fields: left.fields.Clone(), outer: left.outer, windowed: left.windowed || right.windowed, wholeRow: true, label: left.label}
	out.summary = left.summary + " " + string(s.Kind) + " " + right.summary
	if !a.unify(s, 1, out.fields, right.fields) || a.mode == Pipeline {
		return nil
	}
	out.node = &plan.SetOp{Left: aligned(left, out), Right: aligned(right, out), Except: s.Kind == syntax.Except, All: s.All}
	return out
}

// aligned projects a branch to the kinds and the event time of the union.
func aligned(r *relation, out *relation) plan.Node {
	var exprs []expr.Expr
	var names []string
	for i := range r.outer {
		c := readColumn(r.node, i)
		exprs, names = append(exprs, c), append(names, c.Name)
	}
	for i, f := range out.fields {
		c := &expr.Column{Index: r.outer + i, Name: r.fields[i].Name, K: r.fields[i].Stored()}
		exprs = append(exprs, expr.As(c, f.Stored()))
		names = append(names, f.Name)
	}
	if out.hasTs {
		exprs = append(exprs, &expr.Column{Index: r.outer + len(r.fields), Name: types.TsColumn, K: types.Long})
		names = append(names, types.TsColumn)
	}
	return plan.NewProject(r.node, exprs, names)
}

package syntax

// Walk visits e and the expressions below it, outer ones first, without entering subqueries. It does not go below an
// expression for which visit is false.
func Walk(e Expr, visit func(Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	for _, c := range Operands(e) {
		Walk(c, visit)
	}
}

// Operands are the direct sub-expressions in the order in which they are written. Queries are no operands.
func Operands(e Expr) []Expr {
	switch e := e.(type) {
	case *Unary:
		return []Expr{e.X}
	case *Binary:
		return []Expr{e.L, e.R}
	case *Access:
		return []Expr{e.X, e.Key}
	case *Is:
		return present(e.X, e.Y)
	case *Between:
		return []Expr{e.X, e.Lo, e.Hi}
	case *Like:
		return present(e.X, e.Pattern, e.Escape)
	case *InList:
		return append([]Expr{e.X}, e.List...)
	case *InQuery:
		return []Expr{e.X}
	case *Case:
		out := present(e.Operand)
		for _, w := range e.Whens {
			out = append(out, w.Cond, w.Then)
		}
		return append(out, present(e.Else)...)
	case *Cast:
		return []Expr{e.X}
	case *Call:
		out := append([]Expr(nil), e.Args...)
		for _, o := range e.OrderBy {
			out = append(out, o.Expr)
		}
		return append(append(out, present(e.Filter)...), e.Over.Exprs()...)
	}
	return nil
}

func present(es ...Expr) []Expr {
	var out []Expr
	for _, e := range es {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

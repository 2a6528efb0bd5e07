package syntax

import "strings"

// Precedences, low to high.
const (
	precOr = iota + 1
	precAnd
	precNot
	precCompare
	precAdd
	precMultiply
	precUnary
	precPath
	precPrimary
)

func precedence(e Expr) int {
	switch e := e.(type) {
	case *Binary:
		switch e.Op {
		case "OR":
			return precOr
		case "AND":
			return precAnd
		case "+", "-", "||":
			return precAdd
		case "*", "/", "%":
			return precMultiply
		}
		return precCompare
	case *Unary:
		if e.Op == "NOT" {
			return precNot
		}
		return precUnary
	case *Is, *Between, *Like, *InList, *InQuery:
		return precCompare
	case *Access:
		return precPath
	}
	return precPrimary
}

func (p *printer) exprs(es []Expr) {
	p.list(len(es), func(i int) { p.expr(es[i], 0) })
}

// expr writes e, in parentheses when it binds looser than minimum.
func (p *printer) expr(e Expr, minimum int) {
	if precedence(e) < minimum {
		p.add("(")
		defer p.add(")")
	}
	switch e := e.(type) {
	case *ColumnRef:
		if e.Qualifier != nil {
			p.add(e.Qualifier.Name, ".")
		}
		p.add(e.Name.Name)
	case *Literal:
		p.literal(e)
	case *Unary:
		if e.Op == "NOT" {
			p.add("NOT ")
			p.expr(e.X, precNot)
			return
		}
		p.add("-")
		if x, ok := e.X.(*Unary); ok && x.Op == "-" {
			p.add(" ") // two minus signs would start a comment
		}
		p.expr(e.X, precUnary)
	case *Binary:
		p.binary(e)
	case *Access:
		p.expr(e.X, precPath)
		p.add([]string{" -> ", " ->> "}[boolInt(e.AsText)])
		if u, ok := e.Key.(*Unary); ok && u.Op == "-" {
			p.add("-")
			p.expr(u.X, precPrimary)
			return
		}
		p.expr(e.Key, precPrimary)
	case *Is, *Between, *Like, *InList, *InQuery:
		p.predicate(e)
	case *Exists:
		p.add("EXISTS (")
		p.query(e.Query)
		p.add(")")
	case *Subquery:
		p.add("(")
		p.query(e.Query)
		p.add(")")
	case *Case:
		p.caseExpr(e)
	case *Cast:
		p.add("CAST(")
		p.expr(e.X, 0)
		p.add(" AS ", e.Type.Name, ")")
	case *Call:
		p.call(e)
	}
}

func (p *printer) literal(l *Literal) {
	switch l.Kind {
	case NullLiteral:
		p.add("NULL")
	case TrueLiteral:
		p.add("TRUE")
	case FalseLiteral:
		p.add("FALSE")
	case StringLiteral:
		p.add("'", strings.ReplaceAll(l.Text, "'", "''"), "'")
	default:
		p.add(l.Text)
	}
}

func (p *printer) binary(e *Binary) {
	prec := precedence(e)
	left, right := prec, prec+1
	if prec == precCompare {
		left = precAdd // comparisons do not chain
	}
	p.expr(e.L, left)
	p.add(" ", e.Op, " ")
	p.expr(e.R, right)
}

func (p *printer) predicate(e Expr) {
	not := func(b bool) string { return []string{"", "NOT "}[boolInt(b)] }
	switch e := e.(type) {
	case *Is:
		p.expr(e.X, precAdd)
		p.add(" IS ", not(e.Not), e.What)
		if e.Y != nil {
			p.add(" ")
			p.expr(e.Y, precAdd)
		}
	case *Between:
		p.expr(e.X, precAdd)
		p.add(" ", not(e.Not), "BETWEEN ")
		p.expr(e.Lo, precAdd)
		p.add(" AND ")
		p.expr(e.Hi, precAdd)
	case *Like:
		p.expr(e.X, precAdd)
		p.add(" ", not(e.Not), []string{"LIKE ", "ILIKE "}[boolInt(e.FoldCase)])
		p.expr(e.Pattern, precAdd)
		if e.Escape != nil {
			p.add(" ESCAPE ")
			p.expr(e.Escape, precAdd)
		}
	case *InList:
		p.expr(e.X, precAdd)
		p.add(" ", not(e.Not), "IN (")
		p.exprs(e.List)
		p.add(")")
	case *InQuery:
		p.expr(e.X, precAdd)
		p.add(" ", not(e.Not), "IN (")
		p.query(e.Query)
		p.add(")")
	}
}

func (p *printer) caseExpr(c *Case) {
	p.add("CASE")
	if c.Operand != nil {
		p.add(" ")
		p.expr(c.Operand, 0)
	}
	for _, w := range c.Whens {
		p.add(" WHEN ")
		p.expr(w.Cond, 0)
		p.add(" THEN ")
		p.expr(w.Then, 0)
	}
	if c.Else != nil {
		p.add(" ELSE ")
		p.expr(c.Else, 0)
	}
	p.add(" END")
}

func (p *printer) call(c *Call) {
	p.add(strings.ToUpper(c.Name.Name), "(")
	if c.Star {
		p.add("*")
	}
	if c.Distinct {
		p.add("DISTINCT ")
	}
	p.exprs(c.Args)
	p.orderBy(c.OrderBy)
	p.add(")")
	if c.Filter != nil {
		p.add(" FILTER (WHERE ")
		p.expr(c.Filter, 0)
		p.add(")")
	}
	if c.Over != nil {
		p.over(c.Over)
	}
}

package expr

import "strings"

// Precedences of the operators, low to high, as in the grammar.
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

// String prints the call as canonical SQL, with only the parentheses that the grammar needs.
func (e *Call) String() string {
	f := e.Fn
	if !f.Operator {
		return f.Name + "(" + list(e.Args) + ")"
	}
	switch {
	case f.Name == "IN":
		return operand(e.Args[0], precAdd) + " IN (" + list(e.Args[1:]) + ")"
	case f.Name == "LIKE" && len(e.Args) == 3:
		return operand(e.Args[0], precAdd) + " LIKE " + operand(e.Args[1], precAdd) + " ESCAPE " + operand(e.Args[2], precAdd)
	case f.Name == "IS NULL" || f.Name == "IS NOT NULL":
		return operand(e.Args[0], precAdd) + " " + f.Name
	case f.Name == "NOT":
		return "NOT " + operand(e.Args[0], precNot)
	case len(e.Args) == 1:
		return f.Name + operand(e.Args[0], precPath)
	}
	left, right := f.precedence, f.precedence+1 // left-associative
	if f.precedence == precCompare {
		left = precAdd // comparisons do not chain
		right = precAdd
	}
	return operand(e.Args[0], left) + " " + f.Name + " " + operand(e.Args[1], right)
}

func operand(e Expr, want int) string {
	s := e.String()
	if precedenceOf(e) < want {
		return "(" + s + ")"
	}
	return s
}

func precedenceOf(e Expr) int {
	switch e := e.(type) {
	case *Call:
		if !e.Fn.Operator {
			return precPrimary
		}
		if len(e.Args) == 1 && e.Fn.Name == "-" {
			return precUnary
		}
		return e.Fn.precedence
	case *Literal:
		if strings.HasPrefix(e.String(), "-") {
			return precUnary
		}
	}
	return precPrimary
}

func list(es []Expr) string {
	var b strings.Builder
	for i, e := range es {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(e.String())
	}
	return b.String()
}

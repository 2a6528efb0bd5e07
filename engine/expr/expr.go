package expr

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Expr is a bound scalar expression: names are resolved to positions and every node knows its kind. Expressions
// are immutable. They print as canonical SQL.
type Expr interface {
	Kind() types.Kind
	String() string
}

// Column reads one column of the input batch.
type Column struct {
	Index int
	Name  string // as it prints, for example "t.price"
	K     types.Kind
}

// Literal is a constant.
type Literal struct{ V types.Value }

// Call applies a function or operator of the function table. Operators are functions named by their symbol:
// "+", "=", "AND", "->>".
type Call struct {
	Fn   *Function
	Args []Expr
	K    types.Kind
}

// Case is a searched CASE; IF(c, a, b) binds to the same node.
type Case struct {
	Whens []When
	Else  Expr // nil: NULL
	K     types.Kind
}

// When is one branch of a Case.
type When struct{ Cond, Then Expr }

// Kind returns the column's kind.
func (e *Column) Kind() types.Kind { return e.K }

// Kind returns the constant's kind; Unknown for a bare NULL.
func (e *Literal) Kind() types.Kind { return e.V.Kind() }

// Kind returns the kind of the result.
func (e *Call) Kind() types.Kind { return e.K }

// Kind returns the common kind of the branches.
func (e *Case) Kind() types.Kind { return e.K }

func (e *Column) String() string { return e.Name }

func (e *Literal) String() string {
	if !e.V.IsNull() && e.V.Kind() == types.String {
		return "'" + strings.ReplaceAll(e.V.Text(), "'", "''") + "'"
	}
	return strings.ToUpper(e.V.String())
}

func (e *Case) String() string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, w := range e.Whens {
		b.WriteString(" WHEN " + w.Cond.String() + " THEN " + w.Then.String())
	}
	if e.Else != nil {
		b.WriteString(" ELSE " + e.Else.String())
	}
	b.WriteString(" END")
	return b.String()
}

package agg

import (
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Aggregate is one entry of the table of aggregate functions.
type Aggregate struct {
	// Name is the upper-case name.
	Name string
	// Aliases are other names of the same aggregate.
	Aliases []string
	// Signature shows how it is called, for example "SUM(x)".
	Signature string
	// Result says in words which kind comes out.
	Result string
	// Empty says in words what it gives when there is nothing to aggregate.
	Empty string
	// Doc is one line.
	Doc string

	kind func(arg types.Kind) types.Kind
	what what
}

// Call is an aggregate with its bound argument.
type Call struct {
	Agg *Aggregate
	// Arg is nil for COUNT(*).
	Arg      expr.Expr
	Distinct bool
	// K is the kind of the result.
	K types.Kind
}

// String prints the call as canonical SQL: "SUM(t.qty)", "COUNT(*)", "COUNT(DISTINCT t.x)".
func (c Call) String() string {
	switch {
	case c.Arg == nil:
		return c.Agg.Name + "(*)"
	case c.Distinct:
		return c.Agg.Name + "(DISTINCT " + c.Arg.String() + ")"
	default:
		return c.Agg.Name + "(" + c.Arg.String() + ")"
	}
}

// what is the value that an aggregate reads from the state of a group.
type what uint8

const (
	whatCount what = iota
	whatSum
	whatAvg
	whatMin
	whatMax
)

// aggregates is the table, sorted by name. Documentation, completions and the REST catalog read it.
var aggregates = []*Aggregate{
	{Name: "AVG", Signature: "AVG(x)", Result: "Double", Empty: "NULL", what: whatAvg,
		Doc:  "Mean of the numbers, the exact sum divided by their count.",
		kind: always(types.Double)},
	{Name: "COUNT", Signature: "COUNT(*), COUNT([DISTINCT] x)", Result: "Long", Empty: "0", what: whatCount,
		Doc:  "Number of rows, or of values that are not NULL; with DISTINCT of different values.",
		kind: always(types.Long)},
	{Name: "MAX", Signature: "MAX(x)", Result: "kind of x", Empty: "NULL", what: whatMax,
		Doc: "Largest value that is not NULL.", kind: extremeKind},
	{Name: "MIN", Signature: "MIN(x)", Result: "kind of x", Empty: "NULL", what: whatMin,
		Doc: "Smallest value that is not NULL.", kind: extremeKind},
	{Name: "SUM", Signature: "SUM(x)", Result: "Long for Long, else Double", Empty: "0", what: whatSum,
		Doc: "Exact sum of the numbers; everything that is not a number is ignored. NULL when a Long result leaves 64 bits.",
		kind: func(arg types.Kind) types.Kind {
			if arg == types.Long {
				return types.Long
			}
			return types.Double
		}},
}

func always(k types.Kind) func(types.Kind) types.Kind {
	return func(types.Kind) types.Kind { return k }
}

// extremeKind is the kind of the argument; a Json value is read as a number.
func extremeKind(arg types.Kind) types.Kind {
	if arg == types.Unknown || arg == types.Json {
		return types.Double
	}
	return arg
}

// Lookup finds an aggregate by its name, ignoring case.
func Lookup(name string) (*Aggregate, bool) {
	for _, a := range aggregates {
		if strings.EqualFold(a.Name, name) {
			return a, true
		}
		for _, other := range a.Aliases {
			if strings.EqualFold(other, name) {
				return a, true
			}
		}
	}
	return nil, false
}

// Names lists the aggregates, sorted.
func Names() []string {
	out := make([]string, len(aggregates))
	for i, a := range aggregates {
		out[i] = a.Name
	}
	return out
}

// Aggregates lists the whole table, sorted by name. The caller must not change it.
func Aggregates() []*Aggregate { return aggregates }

// Bind checks the arguments and returns the call. star says that the argument is written as *, distinct that
// DISTINCT stands before it. The error is an *expr.BindError.
func (a *Aggregate) Bind(args []expr.Expr, star, distinct bool) (Call, error) {
	if star {
		if a.what != whatCount || distinct || len(args) > 0 {
			return Call{}, &expr.BindError{Arg: -1, Code: expr.CodeArgumentCount, Message: "only COUNT takes *", Hint: "write " + a.Signature}
		}
		return Call{Agg: a, K: types.Long}, nil
	}
	if len(args) != 1 {
		return Call{}, &expr.BindError{Arg: -1, Code: expr.CodeArgumentCount, Hint: "write " + a.Signature,
			Message: fmt.Sprintf("%s takes 1 argument, found %d", a.Name, len(args))}
	}
	if distinct && a.what != whatCount {
		return Call{}, &expr.BindError{Arg: -1, Code: CodeDistinct, Message: "DISTINCT exists on COUNT only",
			Hint: "remove DISTINCT from " + a.Name}
	}
	arg := args[0]
	if arg.Kind() == types.Unknown {
		arg = expr.As(arg, types.Double)
	}
	return Call{Agg: a, Arg: arg, Distinct: distinct, K: a.kind(arg.Kind())}, nil
}

// CodeDistinct is the code of the binding error for DISTINCT outside COUNT.
const CodeDistinct = "distinct-not-allowed"

package expr

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Function is one entry of the table of scalar functions and operators.
type Function struct {
	// Name is the upper-case name, or the symbol of an operator: "ABS", "+", "AND", "->>", "IS NULL".
	Name string
	// Aliases are other names of the same function.
	Aliases []string
	// Signature shows how it is called, for example "ROUND(x [, digits])".
	Signature string
	// Result says in words which kind comes out, for example "Long for Long, else Double".
	Result string
	// Doc is one line.
	Doc string
	// Example is a condition that is true, which tests evaluate; empty for the basic functions.
	Example string
	// Operator is set for entries that are written with a symbol or a keyword instead of a call.
	Operator bool
	// Plugin is set for functions that were registered.
	Plugin bool
	// Min and Max bound the number of arguments; Max < 0 means any number.
	Min, Max int

	// bind makes the node of checked arguments. The count is checked before.
	bind func(f *Function, args []Expr) (Expr, error)
	// build compiles a call of the function.
	build func(c *compiler, call *Call) node
	// precedence orders infix operators for printing; 0 for calls.
	precedence int
}

// Lookup finds a function by its name, ignoring case, or an operator by its symbol.
func Lookup(name string) (*Function, bool) {
	f, ok := byName[strings.ToUpper(name)]
	return f, ok
}

// Names lists every function that is written as a call, sorted. Operators are left out.
func Names() []string {
	var out []string
	for _, f := range functions {
		if !f.Operator {
			out = append(out, f.Name)
		}
	}
	return out
}

// Functions lists the whole table, operators included, sorted by name. The caller must not change it.
func Functions() []*Function { return functions }

// Bind checks the number and the kinds of the arguments and returns the bound node. IF becomes a *Case, casts of
// a literal stay calls (see Fold). The error is a *BindError.
func (f *Function) Bind(args []Expr) (Expr, error) {
	if len(args) < f.Min || (f.Max >= 0 && len(args) > f.Max) {
		return nil, bindErrorf(-1, CodeArgumentCount, "write "+f.Signature,
			"%s takes %s, found %d", f.Name, countText(f.Min, f.Max), len(args))
	}
	return f.bind(f, args)
}

// Cast returns the function that converts to a kind: CAST(x AS kind) is exactly this call.
func Cast(to types.Kind) (*Function, bool) {
	switch to {
	case types.String:
		return Lookup("TO_STRING")
	case types.Double:
		return Lookup("TO_DOUBLE")
	case types.Long:
		return Lookup("TO_LONG")
	case types.Bool:
		return Lookup("TO_BOOL")
	case types.Timestamp:
		return Lookup("TO_TIMESTAMP")
	default:
		return nil, false
	}
}

package enginetest

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// The functions that compute one value of their arguments alone are proved by their examples and the tables of package
// expr. The reference calls them on constants, one row at a time; it checks what happens around them.

// tableFunction computes a function of the table on the values of its arguments.
func (e *env) tableFunction(c *syntax.Call) types.Value {
	args := make([]expr.Expr, len(c.Args))
	for i, a := range c.Args {
		v := e.value(a)
		if v.IsNull() {
			v = types.Null(e.kind(a))
		}
		args[i] = &expr.Literal{V: widen(v, e.kind(a))}
	}
	return constantOf(c.Name.Name, args)
}

func constantOf(name string, args []expr.Expr) types.Value {
	f, ok := expr.Lookup(name)
	if !ok {
		panic("BUG: the reference has no function " + name)
	}
	bound, err := f.Bind(args)
	if err != nil {
		panic("BUG: " + name + ": " + err.Error())
	}
	v, ok := expr.Constant(bound)
	if !ok {
		panic("BUG: " + name + " of constants is no constant")
	}
	return v
}

// tableKind is the kind that the table gives a call.
func (e *env) tableKind(c *syntax.Call) (types.Kind, bool) {
	if _, is := agg.Lookup(c.Name.Name); is {
		return types.Unknown, false
	}
	f, ok := expr.Lookup(c.Name.Name)
	if !ok {
		return types.Unknown, false
	}
	args := make([]expr.Expr, len(c.Args))
	for i, a := range c.Args {
		args[i] = &expr.Column{Index: i, Name: "c", K: e.kind(a)}
	}
	bound, err := f.Bind(args)
	if err != nil {
		return types.Unknown, false
	}
	return bound.Kind(), true
}

func isInterval(x syntax.Expr) bool {
	c, ok := x.(*syntax.Call)
	return ok && strings.EqualFold(c.Name.Name, "INTERVAL")
}

// addInterval computes a Timestamp plus or minus an INTERVAL.
func (e *env) addInterval(x *syntax.Binary) (types.Value, bool) {
	at, length, name := x.L, x.R, "DATE_ADD"
	switch {
	case x.Op == "-":
		name = "DATE_SUB"
	case x.Op != "+":
		return null, false
	case isInterval(x.L):
		at, length = x.R, x.L
	}
	if !isInterval(length) || e.kind(at) != types.Timestamp {
		return null, false
	}
	text := e.value(length.(*syntax.Call).Args[0])
	return constantOf(name, []expr.Expr{&expr.Literal{V: e.value(at)}, &expr.Literal{V: text}}), true
}

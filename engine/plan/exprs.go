package plan

import (
	"sort"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
)

// Conjuncts splits a condition at its top-level ANDs.
func Conjuncts(e expr.Expr) []expr.Expr {
	if c, ok := e.(*expr.Call); ok && c.Fn.Name == "AND" {
		return append(Conjuncts(c.Args[0]), Conjuncts(c.Args[1])...)
	}
	return []expr.Expr{e}
}

// And joins two conditions; nil is TRUE.
func And(a, b expr.Expr) expr.Expr {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	and, ok := expr.Lookup("AND")
	if !ok {
		panic("BUG: no operator AND")
	}
	e, err := and.Bind([]expr.Expr{a, b})
	if err != nil {
		panic("BUG: AND of two conditions: " + err.Error())
	}
	return e
}

// Columns lists the input positions that an expression reads, sorted, each once.
func Columns(e expr.Expr) []int {
	seen := map[int]bool{}
	collect(e, seen)
	return sorted(seen)
}

func sorted(set map[int]bool) []int {
	out := make([]int, 0, len(set))
	for c := range set {
		out = append(out, c)
	}
	sort.Ints(out)
	return out
}

func collect(e expr.Expr, into map[int]bool) {
	switch e := e.(type) {
	case *expr.Column:
		into[e.Index] = true
	case *expr.Call:
		for _, a := range e.Args {
			collect(a, into)
		}
	case *expr.Case:
		for _, w := range e.Whens {
			collect(w.Cond, into)
			collect(w.Then, into)
		}
		if e.Else != nil {
			collect(e.Else, into)
		}
	}
}

// Rewrite replaces the columns of an expression. What column returns is put in the column's place; parts without
// columns are shared.
func Rewrite(e expr.Expr, column func(*expr.Column) expr.Expr) expr.Expr {
	switch e := e.(type) {
	case *expr.Column:
		return column(e)
	case *expr.Call:
		args := make([]expr.Expr, len(e.Args))
		for i, a := range e.Args {
			args[i] = Rewrite(a, column)
		}
		return &expr.Call{Fn: e.Fn, Args: args, K: e.K}
	case *expr.Case:
		out := &expr.Case{K: e.K, Whens: make([]expr.When, len(e.Whens))}
		for i, w := range e.Whens {
			out.Whens[i] = expr.When{Cond: Rewrite(w.Cond, column), Then: Rewrite(w.Then, column)}
		}
		if e.Else != nil {
			out.Else = Rewrite(e.Else, column)
		}
		return out
	}
	return e
}

// Shift moves every column of an expression by n positions.
func Shift(e expr.Expr, n int) expr.Expr {
	return Rewrite(e, func(c *expr.Column) expr.Expr { return &expr.Column{Index: c.Index + n, Name: c.Name, K: c.K} })
}

// remap gives every column its new position.
func remap(e expr.Expr, to []int) expr.Expr {
	return Rewrite(e, func(c *expr.Column) expr.Expr { return &expr.Column{Index: to[c.Index], Name: c.Name, K: c.K} })
}

func remapAll(es []expr.Expr, to []int) []expr.Expr {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = remap(e, to)
	}
	return out
}

func remapCalls(cs []agg.Call, to []int) []agg.Call {
	out := make([]agg.Call, len(cs))
	for i, c := range cs {
		out[i] = c.Map(func(e expr.Expr) expr.Expr { return remap(e, to) })
	}
	return out
}

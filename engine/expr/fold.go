package expr

import (
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Fold replaces every part of an expression that depends on no column by its value. It is legal because
// expressions have no side effects and never raise.
func Fold(e Expr) Expr {
	switch e := e.(type) {
	case *Call:
		args := make([]Expr, len(e.Args))
		constant, changed := true, false
		for i, a := range e.Args {
			args[i] = Fold(a)
			changed = changed || args[i] != a
			if _, ok := args[i].(*Literal); !ok {
				constant = false
			}
		}
		if isISOText(e) { // its meaning hangs on the inner call
			args, changed = e.Args, false
			inner := e.Args[0].(*Call)
			_, constant = Fold(inner.Args[0]).(*Literal)
		}
		out := e
		if changed {
			out = &Call{Fn: e.Fn, Args: args, K: e.K}
		}
		if constant {
			return evaluate(out)
		}
		return out
	case *Case:
		return foldCase(e)
	default:
		return e
	}
}

func foldCase(e *Case) Expr {
	out := &Case{K: e.K}
	for _, w := range e.Whens {
		cond := Fold(w.Cond)
		if l, ok := cond.(*Literal); ok {
			if l.V.IsNull() || !l.V.Bool() {
				continue // never taken
			}
			out.Else = Fold(w.Then)
			return simpler(out)
		}
		out.Whens = append(out.Whens, When{Cond: cond, Then: Fold(w.Then)})
	}
	if e.Else != nil {
		out.Else = Fold(e.Else)
	}
	return simpler(out)
}

func simpler(e *Case) Expr {
	if len(e.Whens) > 0 {
		return e
	}
	if e.Else == nil {
		return &Literal{V: types.Null(e.K)}
	}
	return e.Else
}

// Constant evaluates an expression that reads no column; ok is false when it does.
func Constant(e Expr) (v types.Value, ok bool) {
	l, ok := Fold(e).(*Literal)
	if !ok {
		return types.Value{}, false
	}
	return l.V, true
}

func evaluate(e *Call) Expr {
	if e.Fn.build == nil {
		return e
	}
	n := e.Fn.build(&compiler{}, e)
	f := frame{b: &zset.Batch{N: 1}, n: 1}
	v := n.eval(&f, nil).Value(0)
	if v.IsNull() {
		v = types.Null(e.K)
	}
	return &Literal{V: v}
}

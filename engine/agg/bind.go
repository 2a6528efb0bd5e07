package agg

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Codes of the binding errors of aggregates.
const (
	CodeDistinct = "distinct-not-allowed" // DISTINCT where it has no meaning
	CodeOrder    = "order-not-allowed"    // ORDER BY inside an aggregate that has no order
	CodeConstant = "constant-wanted"      // a percentile or separator that is no literal
)

// Written is an aggregate call as it is written, with bound parts.
type Written struct {
	Args           []expr.Expr
	Star, Distinct bool
	Order          []OrderKey
	// Filter is the condition of FILTER (WHERE ...); nil without.
	Filter expr.Expr
}

// Bind checks plain arguments and returns the call. star says that the argument is written as *, distinct that
// DISTINCT stands before it. The error is an *expr.BindError.
func (a *Aggregate) Bind(args []expr.Expr, star, distinct bool) (Call, error) {
	return a.BindWritten(Written{Args: args, Star: star, Distinct: distinct})
}

// BindWritten checks a call and returns its bound form. The error is an *expr.BindError; its place counts Args.
func (a *Aggregate) BindWritten(w Written) (Call, error) {
	if err := a.checkShape(w); err != nil {
		return Call{}, err
	}
	if w.Star {
		c := Call{Agg: a, K: types.Long}
		if w.Filter != nil {
			c.Arg = onlyWhere(w.Filter, &expr.Literal{V: types.BoolOf(true)})
		}
		return c, nil
	}
	c := Call{Agg: a, Distinct: w.Distinct && !a.extreme() || a.always, Order: w.Order}
	arg := w.Args[0]
	switch a.what {
	case whatPercentile:
		c.Fraction = 0.5
		if len(w.Args) == 2 {
			p, ok := fraction(w.Args[0])
			if !ok {
				return Call{}, bindError(0, CodeConstant, "write a number from 0 to 1 first, as in PERCENTILE_CONT(0.95, x)",
					"the percentile of PERCENTILE_CONT has to be a constant from 0 to 1")
			}
			c.Fraction, arg = p, w.Args[1]
		}
	case whatStrings:
		arg = expr.As(arg, types.String)
		sep, ok := w.Args[1].(*expr.Literal)
		if !ok || sep.V.Kind() != types.String && !sep.V.IsNull() {
			return Call{}, bindError(1, CodeConstant, "write a text such as ', '", "the separator of %s has to be a constant text", a.Name)
		}
		c.Separator = sep.V.Text()
	case whatArgMin, whatArgMax:
		c.By = w.Args[1]
		if c.By.Kind() == types.Json {
			return Call{}, bindError(1, expr.CodeJSONBare, "take the value out with ->> and convert it with a TO_ function",
				"%s cannot compare Json values", a.Name)
		}
	}
	if k := arg.Kind(); a.bools && k != types.Bool && k != types.Unknown {
		return Call{}, bindError(0, expr.CodeTypeMismatch, "compare it with something", "%s takes a %s, found %s", a.Name, types.Bool, k)
	}
	if arg.Kind() == types.Unknown {
		arg = expr.As(arg, a.unknownAs())
	}
	for _, o := range c.Order {
		if c.Distinct && o.X.String() != arg.String() {
			return Call{}, bindError(-1, CodeOrder, "order by the aggregated value itself, or leave DISTINCT out",
				"ORDER BY in %s(DISTINCT ...) has to name its argument", a.Name)
		}
	}
	c.K = a.kind(arg.Kind())
	c.Arg = arg
	switch {
	case w.Filter == nil:
	case a.what == whatArray:
		c.Keep = w.Filter // it counts NULLs, so the condition cannot make one
	default:
		c.Arg = onlyWhere(w.Filter, arg)
	}
	return c, nil
}

// unknownAs is the kind that a bare NULL gets.
func (a *Aggregate) unknownAs() types.Kind {
	switch {
	case a.bools:
		return types.Bool
	case a.what == whatArray || a.what == whatArgMin || a.what == whatArgMax:
		return types.String
	}
	return types.Double
}

// takesDistinct reports whether the aggregate can read each different value once. For extremes that changes nothing.
func (a *Aggregate) takesDistinct() bool {
	switch a.what {
	case whatCount, whatSum, whatAvg, whatMin, whatMax, whatStrings, whatArray:
		return true
	}
	return false
}

// extreme reports whether the result is one of the values, so that it is the same however often a value is there.
func (a *Aggregate) extreme() bool { return a.what == whatMin || a.what == whatMax }

// checkShape checks what does not depend on kinds: *, DISTINCT, ORDER BY and the number of arguments.
func (a *Aggregate) checkShape(w Written) error {
	if w.Star {
		if a.what != whatCount || a.always || w.Distinct || len(w.Args) > 0 {
			return bindError(-1, expr.CodeArgumentCount, "write "+a.Signature, "only COUNT takes *")
		}
		return nil
	}
	want := "1 argument"
	n := 1
	switch {
	case a.what == whatStrings, a.what == whatArgMin, a.what == whatArgMax, a.what == whatPercentile && a.Name != "MEDIAN":
		n, want = 2, "2 arguments"
	}
	if len(w.Args) != n {
		return bindError(-1, expr.CodeArgumentCount, "write "+a.Signature, "%s takes %s, found %d", a.Name, want, len(w.Args))
	}
	listed := a.what == whatStrings || a.what == whatArray
	if w.Distinct && !a.takesDistinct() {
		return bindError(-1, CodeDistinct, "remove DISTINCT from "+a.Name, "%s takes no DISTINCT", a.Name)
	}
	if len(w.Order) > 0 && !listed {
		return bindError(-1, CodeOrder, "remove ORDER BY from "+a.Name, "ORDER BY exists in STRING_AGG and ARRAY_AGG only")
	}
	return nil
}

func bindError(arg int, code, hint, format string, args ...any) error {
	return &expr.BindError{Arg: arg, Code: code, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// fraction reads the percentile.
func fraction(e expr.Expr) (float64, bool) {
	l, ok := e.(*expr.Literal)
	if !ok || l.V.IsNull() {
		return 0, false
	}
	var p float64
	switch l.V.Kind() {
	case types.Double:
		p = l.V.Float()
	case types.Long:
		p = float64(l.V.Int())
	default:
		return 0, false
	}
	return p, p >= 0 && p <= 1
}

// onlyWhere is x where the condition is TRUE and else NULL, which aggregates ignore.
func onlyWhere(cond, x expr.Expr) expr.Expr {
	out, err := expr.BindCase([]expr.When{{Cond: cond, Then: x}}, nil)
	if err != nil {
		panic("BUG: FILTER takes a Bool: " + err.Error())
	}
	return out
}

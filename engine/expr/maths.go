package expr

import (
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// mathFunctions compute on doubles; what has no value is NULL.
var mathFunctions = []scalar{
	number1("CEIL", "CEIL(x)", "The smallest whole number that is not below x.", "CEIL(1.2) = 2", math.Ceil, "CEILING"),
	number1("EXP", "EXP(x)", "e to the power x.", "EXP(0) = 1", math.Exp),
	number1("FLOOR", "FLOOR(x)", "The largest whole number that is not above x.", "FLOOR(-1.2) = -2", math.Floor),
	number1("LN", "LN(x)", "Natural logarithm; NULL unless x is above 0.", "LN(1) = 0", positive(logarithm(math.Log))),
	number1("LOG10", "LOG10(x)", "Logarithm to base 10; NULL unless x is above 0.", "LOG10(1000) = 3", positive(logarithm(math.Log10)), "LOG"),
	number1("SIGN", "SIGN(x)", "-1, 0 or 1.", "SIGN(-2.5) = -1", func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return 0
	}),
	number1("SQRT", "SQRT(x)", "Square root; NULL for a negative x.", "SQRT(9) = 3", math.Sqrt),
	{name: "POWER", aliases: []string{"POW"}, sign: "POWER(x, y)", doc: "x to the power y; NULL when there is no such number.", example: "POWER(2, 10) = 1024",
		params: kinds(double), min: 2, max: 2, result: double, row: func(r *rowArgs) bool {
			r.f = math.Pow(r.double(0), r.double(1))
			return !math.IsInf(r.f, 0) || math.IsInf(r.double(0), 0) || math.IsInf(r.double(1), 0)
		}},
	{name: "TRUNC", sign: "TRUNC(x [, digits])", doc: "Cuts the decimal digits off, or all behind the given number of them.", example: "TRUNC(-1.29, 1) = -1.2",
		params: kinds(double, long), min: 1, max: 2, result: double, row: func(r *rowArgs) bool {
			x := r.double(0)
			if r.count() == 1 || r.long(1) <= 0 {
				r.f = math.Trunc(x)
				return true
			}
			// Rounding gives the nearest decimal; when it went away from zero, one unit is too many.
			d := float64(min(r.long(1), 300))
			if r.f = Round(x, d); math.Abs(r.f) > math.Abs(x) {
				r.f = Round(r.f-math.Copysign(math.Pow(10, -d), x), d)
			}
			return true
		}},
}

func number1(name, sign, doc, example string, f func(float64) float64, aliases ...string) scalar {
	return scalar{name: name, aliases: aliases, sign: sign, doc: doc, example: example, params: kinds(double), min: 1, max: 1, result: double,
		row: func(r *rowArgs) bool {
			r.f = f(r.double(0))
			return true
		}}
}

// positive is f for numbers above 0, else no number.
func positive(f func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		if x <= 0 {
			return math.NaN()
		}
		return f(x)
	}
}

// logarithm takes a logarithm of numbers that keep all their digits. The one of the standard library is wrong below the
// smallest of them on some machines, and an answer must not depend on the machine.
func logarithm(f func(float64) float64) func(float64) float64 {
	const smallestNormal, up = 0x1p-1022, 0x1p54
	return func(x float64) float64 {
		if x < smallestNormal {
			return f(x*up) - f(up)
		}
		return f(x)
	}
}

// bindExtreme brings the arguments of GREATEST and LEAST to one kind.
func bindExtreme(f *Function, args []Expr) (Expr, error) {
	if err := noJSON(f, args); err != nil {
		return nil, err
	}
	k, bad := CommonKind(args)
	if bad >= 0 {
		return nil, bindErrorf(bad, CodeTypeMismatch, "convert the arguments to one kind with CAST", "the arguments of %s have different kinds: %s and %s", f.Name, k, args[bad].Kind())
	}
	out := make([]Expr, len(args))
	for i, a := range args {
		out[i] = As(a, k)
	}
	return call(f, k, out)
}

func buildExtreme(sign int) func(*compiler, *Call) node {
	return func(c *compiler, e *Call) node {
		n := &extremeNode{args: c.nodes(e.Args), sign: sign, out: chosen{kind: e.K}}
		return n
	}
}

// extremeNode takes the best argument of each row.
type extremeNode struct {
	args []node
	sign int
	best []int
	pick []int32
	out  chosen
}

func (n *extremeNode) eval(f *frame, sel []int32) *zset.Column {
	cols := make([]*zset.Column, len(n.args))
	for k, a := range n.args {
		cols[k] = a.eval(f, sel)
	}
	n.best = grow(n.best, f.n)
	m := int32(selLen(sel, f.n))
	for k := range m {
		i := int(at(sel, k))
		best := -1
		var value types.Value
		for c := range cols {
			if cols[c].IsNull(i) {
				continue
			}
			v := cols[c].Value(i)
			if best < 0 {
				best, value = c, v
			} else if d, ok := types.Compare(v, value); ok && d*n.sign > 0 {
				best, value = c, v
			}
		}
		n.best[i] = best
	}
	n.out.start(f.n)
	for c := range cols {
		n.pick = n.pick[:0]
		for k := range m {
			if i := at(sel, k); n.best[i] == c {
				n.pick = append(n.pick, i)
			}
		}
		n.out.take(cols[c], n.pick, f.n)
	}
	return n.out.done(f.n)
}

// bindNullIf makes CASE WHEN a = b THEN NULL ELSE a END.
func bindNullIf(_ *Function, args []Expr) (Expr, error) {
	same, err := mustLookup("=").Bind(args)
	if err != nil {
		return nil, err
	}
	return BindCase([]When{{Cond: same, Then: &Literal{V: types.Null(args[0].Kind())}}}, args[0])
}

package pricing_test

import (
	"math"
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	_ "github.com/streamsforge/streamsforge/engine/pricing"
	"github.com/streamsforge/streamsforge/engine/types"
	"pgregory.net/rapid"
)

func call(t interface{ Fatalf(string, ...any) }, name string, args ...any) types.Value {
	f, ok := expr.Lookup(name)
	if !ok || !f.Plugin {
		t.Fatalf("%s is not registered", name)
	}
	var es []expr.Expr
	for _, a := range args {
		v := types.Null(types.Unknown)
		switch a := a.(type) {
		case float64:
			v = types.DoubleOf(a)
		case int:
			v = types.LongOf(int64(a))
		case bool:
			v = types.BoolOf(a)
		case string:
			v = types.StringOf(a)
		}
		es = append(es, &expr.Literal{V: v})
	}
	e, err := f.Bind(es)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	l, ok := expr.Fold(e).(*expr.Literal)
	if !ok {
		t.Fatalf("%s of constants is not folded", name)
	}
	return l.V
}

// TestPublishedValues: SQL-074: the worked examples of Hull's book, to the digits that it prints, and values of
// textbooks on bonds.
func TestPublishedValues(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []any
		want   float64
		within float64
	}{
		{"BS_PRICE", []any{42, 40, 0.5, 0.1, 0, 0.2, true}, 4.76, 0.005},
		{"BS_PRICE", []any{42, 40, 0.5, 0.1, 0, 0.2, false}, 0.81, 0.005},
		{"BS_PRICE", []any{930, 900, 2.0 / 12, 0.08, 0.03, 0.2, true}, 51.83, 0.005},
		{"BS_DELTA", []any{49, 50, 0.3846, 0.05, 0, 0.2, true}, 0.522, 0.0005},
		{"BS_GAMMA", []any{49, 50, 0.3846, 0.05, 0, 0.2, true}, 0.066, 0.0005},
		{"BS_VEGA", []any{49, 50, 0.3846, 0.05, 0, 0.2, true}, 12.1, 0.05},
		{"BS_THETA", []any{49, 50, 0.3846, 0.05, 0, 0.2, true}, -4.31, 0.005},
		{"BS_PRICE", []any{50, 40, 0, 0.05, 0, 0.2, true}, 10, 1e-12},
		{"BS_PRICE", []any{50, 40, 0, 0.05, 0, 0.2, false}, 0, 1e-12},
		{"BOND_PRICE", []any{1000, 0.08, 10, 0.1, 1}, 877.11, 0.005},
		{"BOND_PRICE", []any{1000, 0.08, 10, 0.1, 2}, 875.38, 0.005},
		{"BOND_PRICE", []any{100, 0.05, 7, 0.05, 4}, 100, 1e-9},
		{"BOND_DURATION", []any{100, 0, 7, 0.03, 1}, 7, 1e-9},
		{"BOND_DURATION", []any{1000, 0.06, 3, 0.06, 1}, 2.833, 0.0005},
		{"IRS_NPV", []any{1_000_000, 0.05, 5, 0.05, true}, 0, 1e-6},
		{"IRS_NPV", []any{100, 0.04, 2, 0.05, true}, 1.859410, 1e-6},
		{"FX_FWD", []any{0.98, 0.04, 0.03, 2}, 0.98 * math.Exp(0.02), 1e-12},
	} {
		if got := call(t, c.name, c.args...); got.IsNull() || math.Abs(got.Float()-c.want) > c.within {
			t.Errorf("%s%v = %v, want %v", c.name, c.args, got, c.want)
		}
	}
	for _, c := range []struct {
		name string
		args []any
	}{
		{"BS_PRICE", []any{-1, 40, 0.5, 0.1, 0, 0.2, true}}, {"BS_PRICE", []any{42, 0, 0.5, 0.1, 0, 0.2, true}}, {"BS_PRICE", []any{42, 40, -0.5, 0.1, 0, 0.2, true}},
		{"BS_PRICE", []any{42, 40, 0.5, 0.1, 0, -0.2, true}}, {"BS_PRICE", []any{nil, 40, 0.5, 0.1, 0, 0.2, true}}, {"BS_PRICE", []any{"42", 40, 0.5, 0.1, 0, 0.2, true}},
		{"BS_DELTA", []any{42, 40, 0, 0.1, 0, 0.2, true}}, {"BS_PRICE", []any{42, 40, 1e9, -1e9, 0, 0.2, true}},
		{"BOND_PRICE", []any{100, 0.05, 0, 0.05, 1}}, {"BOND_PRICE", []any{100, 0.05, 5, -2, 1}}, {"BOND_PRICE", []any{100, 0.05, 5, 0.05, 1.5}}, {"BOND_PRICE", []any{100, 0.05, 1e12, 0.05, 12}},
		{"IRS_NPV", []any{100, 0.05, 2.5, 0.05, true}}, {"IRS_NPV", []any{100, 0.05, 2, -1, true}}, {"FX_FWD", []any{0, 0.1, 0.1, 1}}, {"FX_FWD", []any{1, 1e9, 0, 1}},
	} {
		if got := call(t, c.name, c.args...); !got.IsNull() {
			t.Errorf("%s%v = %v, want NULL", c.name, c.args, got)
		}
	}
}

// TestLaws: put-call parity, and the Greeks and DV01 as the differences that they stand for.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(lo, hi float64, what string) float64 { return rapid.Float64Range(lo, hi).Draw(t, what) }
		s, k, at := draw(20, 200, "spot"), draw(20, 200, "strike"), draw(0.05, 5, "time")
		r, q, vol := draw(-0.02, 0.15, "rate"), draw(0, 0.1, "dividend"), draw(0.05, 0.9, "volatility")
		isCall := rapid.Bool().Draw(t, "call")
		price := func(s, at, vol float64, isCall bool) float64 {
			return call(t, "BS_PRICE", s, k, at, r, q, vol, isCall).Float()
		}
		near := func(what string, got, want, scale float64) {
			if math.Abs(got-want) > scale {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		near("parity", price(s, at, vol, true)-price(s, at, vol, false), s*math.Exp(-q*at)-k*math.Exp(-r*at), 1e-9*(s+k))
		const h = 1e-4
		greek := func(name string) float64 { return call(t, name, s, k, at, r, q, vol, isCall).Float() }
		near("delta", greek("BS_DELTA"), (price(s+h, at, vol, isCall)-price(s-h, at, vol, isCall))/(2*h), 1e-5)
		near("gamma", greek("BS_GAMMA"), (price(s+0.01, at, vol, isCall)-2*price(s, at, vol, isCall)+price(s-0.01, at, vol, isCall))/1e-4, 1e-4)
		near("vega", greek("BS_VEGA"), (price(s, at, vol+h, isCall)-price(s, at, vol-h, isCall))/(2*h), 1e-3*s)
		near("theta", greek("BS_THETA"), (price(s, at-h, vol, isCall)-price(s, at+h, vol, isCall))/(2*h), 1e-3*s)
		y, years, freq := draw(0.001, 0.2, "yield"), draw(0.3, 30, "years"), rapid.SampledFrom([]float64{1, 2, 4, 12}).Draw(t, "frequency")
		p := call(t, "BOND_PRICE", 100, 0.05, years, y, freq).Float()
		near("dv01", call(t, "BOND_DV01", 100, 0.05, years, y, freq).Float(), p*call(t, "BOND_DURATION", 100, 0.05, years, y, freq).Float()/(1+y/freq)*1e-4, 1e-6*p)
		n := rapid.IntRange(1, 40).Draw(t, "swap years")
		near("swap", call(t, "IRS_NPV", 1000, 0.03, n, y, true).Float(), -call(t, "IRS_NPV", 1000, 0.03, n, y, false).Float(), 1e-9)
	})
}

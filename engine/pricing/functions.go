package pricing

import (
	"math"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

func init() {
	for _, f := range functions {
		expr.Register(f)
	}
}

const (
	number = types.Double
	truth  = types.Bool
)

var (
	optionParams = []types.Kind{number, number, number, number, number, number, truth}
	bondParams   = []types.Kind{number, number, number, number, number}
	swapParams   = []types.Kind{number, number, number, number, truth}
)

const (
	optionArgs = "(spot, strike, t, r, q, vol, isCall)"
	bondArgs   = "(face, coupon, years, yield, freq)"
	swapArgs   = "(notional, fixedRate, years, flat, payFixed)"
)

var functions = []expr.Plugin{
	{Name: "BOND_DURATION", Signature: "BOND_DURATION" + bondArgs, Doc: "Macaulay duration of a bond, in years.", Params: bondParams, Result: number, Row: ofBond(bond.duration)},
	{Name: "BOND_DV01", Signature: "BOND_DV01" + bondArgs, Doc: "What a bond loses when its yield rises by a basis point.", Params: bondParams, Result: number, Row: ofBond(bond.dv01)},
	{Name: "BOND_PRICE", Signature: "BOND_PRICE" + bondArgs, Doc: "Price of a bond with accrued interest.", Params: bondParams, Result: number, Row: ofBond(bond.price)},
	{Name: "BS_DELTA", Signature: "BS_DELTA" + optionArgs, Doc: "Change of an option's price with the spot price.", Params: optionParams, Result: number, Row: ofOption(option.live, option.delta)},
	{Name: "BS_GAMMA", Signature: "BS_GAMMA" + optionArgs, Doc: "Change of an option's delta with the spot price.", Params: optionParams, Result: number, Row: ofOption(option.live, option.gamma)},
	{Name: "BS_PRICE", Signature: "BS_PRICE" + optionArgs, Doc: "Price of a European option (Black-Scholes-Merton).", Params: optionParams, Result: number, Row: ofOption(option.ok, option.price)},
	{Name: "BS_THETA", Signature: "BS_THETA" + optionArgs, Doc: "Change of an option's price with time, a year.", Params: optionParams, Result: number, Row: ofOption(option.live, option.theta)},
	{Name: "BS_VEGA", Signature: "BS_VEGA" + optionArgs, Doc: "Change of an option's price with the volatility, for a change by 1.", Params: optionParams, Result: number, Row: ofOption(option.live, option.vega)},
	{Name: "FX_FWD", Signature: "FX_FWD(spot, rDom, rFor, t)", Doc: "Forward exchange rate by interest parity.", Params: []types.Kind{number, number, number, number}, Result: number,
		Row: func(a []types.Value) types.Value {
			if a[0].Float() <= 0 || a[3].Float() < 0 {
				return null
			}
			return finite(a[0].Float() * math.Exp((a[1].Float()-a[2].Float())*a[3].Float()))
		}},
	{Name: "IRS_DV01", Signature: "IRS_DV01" + swapArgs, Doc: "What an interest rate swap gains when the curve rises by a basis point.", Params: swapParams, Result: number, Row: ofSwap(swap.dv01)},
	{Name: "IRS_NPV", Signature: "IRS_NPV" + swapArgs, Doc: "Present value of an interest rate swap with yearly payments on a flat curve.", Params: swapParams, Result: number, Row: ofSwap(func(s swap) float64 { return s.npv(s.flat) })},
}

var null = types.Null(types.Double)

// finite is a result, or NULL for what is none.
func finite(v float64) types.Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return null
	}
	return types.DoubleOf(v)
}

func ofOption(ok func(option) bool, f func(option) float64) func([]types.Value) types.Value {
	return func(a []types.Value) types.Value {
		o := option{spot: a[0].Float(), strike: a[1].Float(), t: a[2].Float(), r: a[3].Float(), q: a[4].Float(), vol: a[5].Float(), call: a[6].Bool()}
		if !ok(o) {
			return null
		}
		return finite(f(o))
	}
}

func ofBond(f func(bond) float64) func([]types.Value) types.Value {
	return func(a []types.Value) types.Value {
		b := bond{face: a[0].Float(), coupon: a[1].Float(), years: a[2].Float(), yield: a[3].Float(), freq: a[4].Float()}
		if !b.ok() {
			return null
		}
		return finite(f(b))
	}
}

func ofSwap(f func(swap) float64) func([]types.Value) types.Value {
	return func(a []types.Value) types.Value {
		s := swap{notional: a[0].Float(), fixed: a[1].Float(), years: a[2].Float(), flat: a[3].Float(), payFixed: a[4].Bool()}
		if !s.ok() {
			return null
		}
		return finite(f(s))
	}
}

package pricing

import "math"

// option is a European option on an asset with a dividend yield.
type option struct {
	spot, strike, t, r, q, vol float64
	call                       bool
}

func (o option) ok() bool { return o.spot > 0 && o.strike > 0 && o.t >= 0 && o.vol >= 0 }

// live says that the price still depends on chance, which the Greeks need.
func (o option) live() bool { return o.ok() && o.t > 0 && o.vol > 0 }

// d are d1 and d2 of Black, Scholes and Merton.
func (o option) d() (d1, d2 float64) {
	s := o.vol * math.Sqrt(o.t)
	d1 = (math.Log(o.spot/o.strike) + (o.r-o.q+o.vol*o.vol/2)*o.t) / s
	return d1, d1 - s
}

func (o option) sign() float64 {
	if o.call {
		return 1
	}
	return -1
}

// asset and cash are the present values of one unit of the asset and of the strike.
func (o option) asset() float64 { return o.spot * math.Exp(-o.q*o.t) }
func (o option) cash() float64  { return o.strike * math.Exp(-o.r*o.t) }

func (o option) price() float64 {
	z := o.sign()
	if !o.live() {
		return math.Max(z*(o.asset()-o.cash()), 0)
	}
	d1, d2 := o.d()
	return z * (o.asset()*normal(z*d1) - o.cash()*normal(z*d2))
}

func (o option) delta() float64 {
	d1, _ := o.d()
	return o.sign() * math.Exp(-o.q*o.t) * normal(o.sign()*d1)
}

func (o option) gamma() float64 {
	d1, _ := o.d()
	return math.Exp(-o.q*o.t) * density(d1) / (o.spot * o.vol * math.Sqrt(o.t))
}

// vega is for a change of the volatility by 1, which is a hundred points.
func (o option) vega() float64 {
	d1, _ := o.d()
	return o.asset() * density(d1) * math.Sqrt(o.t)
}

// theta is a year.
func (o option) theta() float64 {
	z := o.sign()
	d1, d2 := o.d()
	return -o.asset()*density(d1)*o.vol/(2*math.Sqrt(o.t)) - z*o.r*o.cash()*normal(z*d2) + z*o.q*o.asset()*normal(z*d1)
}

// normal is the distribution function of the standard normal distribution, density its derivative.
func normal(x float64) float64  { return math.Erfc(-x/math.Sqrt2) / 2 }
func density(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

package pricing

import "math"

// bond pays coupon (a fraction of the face a year) freq times a year, and the face at the end.
type bond struct{ face, coupon, years, yield, freq float64 }

// maxPayments bounds the work of one row.
const maxPayments = 12_000

func (b bond) ok() bool {
	return b.years > 0 && b.freq >= 1 && b.freq == math.Trunc(b.freq) && 1+b.yield/b.freq > 0 && b.years*b.freq <= maxPayments
}

// sums returns the price and the price-weighted time of the payments. The next payment is a part of a period away when
// the years are no whole number of periods; the price includes the accrued interest then.
func (b bond) sums(yield float64) (price, weighted float64) {
	periods := b.years * b.freq
	n := math.Ceil(periods - 1e-9)
	growth := 1 + yield/b.freq
	for k := 1.0; k <= n; k++ {
		at := periods - n + k // in periods
		pay := b.face * b.coupon / b.freq
		if k == n {
			pay += b.face
		}
		v := pay * math.Pow(growth, -at)
		price += v
		weighted += v * at / b.freq
	}
	return price, weighted
}

func (b bond) price() float64 {
	p, _ := b.sums(b.yield)
	return p
}

// dv01 is what the price loses when the yield rises by a basis point.
func (b bond) dv01() float64 {
	down, _ := b.sums(b.yield - 0.0001)
	up, _ := b.sums(b.yield + 0.0001)
	return (down - up) / 2
}

// duration is Macaulay's, in years.
func (b bond) duration() float64 {
	p, w := b.sums(b.yield)
	return w / p
}

// swap exchanges yearly fixed for floating payments on a flat curve.
type swap struct {
	notional, fixed, years, flat float64
	payFixed                     bool
}

func (s swap) ok() bool {
	return s.years >= 1 && s.years == math.Trunc(s.years) && s.years <= maxPayments && s.flat > -1
}

// npv is the value to the side that payFixed names: a floating leg is worth the notional less its value at the end.
func (s swap) npv(flat float64) float64 {
	annuity, discount := 0.0, 1.0
	for range int(s.years) {
		discount /= 1 + flat
		annuity += discount
	}
	v := s.notional * (1 - discount - s.fixed*annuity)
	if !s.payFixed {
		v = -v
	}
	return v
}

// dv01 is what the swap gains when the curve rises by a basis point.
func (s swap) dv01() float64 { return (s.npv(s.flat+0.0001) - s.npv(s.flat-0.0001)) / 2 }

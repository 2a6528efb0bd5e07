package generator

import "fmt"

const dayMs = 24 * 60 * 60 * 1000

var currencies = []string{"USD", "EUR", "GBP", "JPY"}

// multileg are trades with a list of legs: half interest rate swaps, half option strategies. Members that do not
// apply to a leg are absent from it.
type multileg struct{ *market }

func (p *multileg) appendRow(dst []byte, nowMs int64) []byte {
	o := object{b: dst}
	o.text("trade_id", fmt.Sprintf("T-%06d", p.r.IntN(1_000_000)))
	if p.r.IntN(2) == 0 {
		return p.swap(o)
	}
	return p.options(o, nowMs)
}

func (p *multileg) swap(o object) []byte {
	ccy := pick(p.r, currencies)
	notional := 1_000_000 * (1 + p.r.Int64N(99))
	o.text("product", "IRS")
	o.text("notional_ccy", ccy)
	o.key("legs")
	o.b = append(o.b, '[')
	for i, leg := range [2]struct{ payRcv, rateType string }{{"PAY", "FIXED"}, {"RCV", "FLOAT"}} {
		l := startLeg(o.b, i)
		l.text("pay_rcv", leg.payRcv)
		l.long("notional", notional)
		l.text("ccy", ccy)
		l.text("rate_type", leg.rateType)
		l.double("rate", float64(p.r.IntN(5001))/1000, 3)
		o.b = append(l.b, '}')
	}
	return append(o.b, ']')
}

func (p *multileg) options(o object, nowMs int64) []byte {
	product, n := "STRADDLE", 2
	switch p.r.IntN(3) {
	case 1:
		product = "STRANGLE"
	case 2:
		product, n = "FLY", 3+p.r.IntN(2)
	}
	_, mid := p.event()
	expiry := nowMs + dayMs*(7+p.r.Int64N(174))
	o.text("product", product)
	o.key("legs")
	o.b = append(o.b, '[')
	for i := range n {
		cp := "CALL"
		if i%2 == 1 {
			cp = "PUT"
		}
		l := startLeg(o.b, i)
		l.text("cp", cp)
		l.double("strike", mid*(1+0.02*(float64(i+1)-float64(n+1)/2)), 2)
		l.long("expiry_ts", expiry)
		l.double("ratio", 1, 1)
		o.b = append(l.b, '}')
	}
	return append(o.b, ']')
}

func startLeg(dst []byte, i int) object {
	if i > 0 {
		dst = append(dst, ',')
	}
	l := object{b: append(dst, '{')}
	l.long("leg_no", int64(i+1))
	return l
}

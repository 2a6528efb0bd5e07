package generator

import "fmt"

// orders are single order events: most are new.
type orders struct{ *market }

func (p *orders) appendRow(dst []byte, _ int64) []byte {
	symbol, mid := p.event()
	o := object{b: dst}
	o.text("symbol", symbol)
	o.text("orderId", fmt.Sprintf("%08x", p.r.Uint32()))
	o.text("side", p.side())
	o.long("qty", p.quantity())
	o.double("limitPrice", p.around(mid, 0.005), 2)
	o.text("status", p.status())
	return o.b
}

func (p *orders) status() string {
	switch x := p.r.IntN(100); {
	case x < 60:
		return "NEW"
	case x < 90:
		return "FILLED"
	default:
		return "CANCELLED"
	}
}

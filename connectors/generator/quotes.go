package generator

// quotes are top-of-book quotes around the mid price.
type quotes struct{ *market }

func (p *quotes) appendRow(dst []byte, _ int64) []byte {
	symbol, mid := p.event()
	half := max(0.01, 0.0005*mid) / 2
	o := object{b: dst}
	o.text("symbol", symbol)
	o.double("bid", mid-half, 4)
	o.double("ask", mid+half, 4)
	o.long("bidSize", p.quantity())
	o.long("askSize", p.quantity())
	o.text("venue", p.venue())
	return o.b
}

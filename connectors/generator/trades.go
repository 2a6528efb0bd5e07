package generator

// trades are trade prints close to the mid price.
type trades struct{ *market }

func (p *trades) appendRow(dst []byte, _ int64) []byte {
	symbol, mid := p.event()
	o := object{b: dst}
	o.text("symbol", symbol)
	o.double("price", p.around(mid, 0.0005), 2)
	o.long("qty", p.quantity())
	o.text("side", p.side())
	o.text("venue", p.venue())
	return o.b
}

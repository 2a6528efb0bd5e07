package generator

import "fmt"

// Bounds of the pool of live orders.
const poolLow, poolHigh = 10, 20

// stages are the states of an order; the rank of a state is its index.
var stages = [...]string{1: "NEW", 2: "ACK", 3: "PART_FILL", 4: "FILLED", 5: "CANCELED"}

const (
	stageNew = 1 + iota
	stageAck
	stagePartFill
	stageFilled
	stageCanceled
)

// lifecycle walks each order of a pool through its states: NEW, ACK, some PART_FILL, then FILLED or CANCELED.
type lifecycle struct {
	*market
	live []*order
}

type order struct {
	id, side    string
	symbol      int
	stage       int
	qty, filled int64
	fillsLeft   int // partial fills before the last step
	cancel      bool
	cost        float64 // sum of fill price times quantity
}

func (p *lifecycle) appendRow(dst []byte, nowMs int64) []byte {
	if n := len(p.live); n < poolLow || n < poolHigh && p.r.IntN(100) < 30 {
		o := p.newOrder()
		p.live = append(p.live, o)
		return o.appendRow(dst, nowMs)
	}
	i := p.r.IntN(len(p.live))
	o := p.live[i]
	p.advance(o)
	if o.stage >= stageFilled {
		p.live[i] = p.live[len(p.live)-1]
		p.live = p.live[:len(p.live)-1]
	}
	return o.appendRow(dst, nowMs)
}

func (p *lifecycle) newOrder() *order {
	o := &order{
		id: fmt.Sprintf("ORD-%08X", p.r.Uint32()), symbol: p.r.IntN(len(symbols)), side: p.side(),
		stage: stageNew, qty: 100 * (2 + p.r.Int64N(49)), fillsLeft: p.r.IntN(4), cancel: p.r.IntN(100) < 15,
	}
	if o.cancel {
		o.fillsLeft = p.r.IntN(o.fillsLeft + 1) // canceled after some of the planned fills
	}
	return o
}

func (p *lifecycle) advance(o *order) {
	switch {
	case o.stage == stageNew:
		o.stage = stageAck
	case o.fillsLeft > 0:
		o.stage = stagePartFill
		o.fillsLeft--
		// Leave at least one lot of ten for each fill to come, the last one included.
		lots := (o.qty-o.filled)/10 - int64(o.fillsLeft) - 1
		p.fill(o, 10*(1+p.r.Int64N(lots)))
	case o.cancel:
		o.stage = stageCanceled
	default:
		o.stage = stageFilled
		p.fill(o, o.qty-o.filled)
	}
}

func (p *lifecycle) fill(o *order, qty int64) {
	o.filled += qty
	o.cost += float64(qty) * p.around(p.walk(o.symbol), 0.0005)
}

func (o *order) appendRow(dst []byte, nowMs int64) []byte {
	px := 0.0
	if o.filled > 0 {
		px = o.cost / float64(o.filled)
	}
	w := object{b: dst}
	w.text("order_id", o.id)
	w.text("symbol", symbols[o.symbol])
	w.text("side", o.side)
	w.text("stage", stages[o.stage])
	w.long("stage_rank", int64(o.stage))
	w.long("stage_ts", nowMs)
	w.long("qty", o.qty)
	w.long("filled_qty", o.filled)
	w.double("px", px, 4)
	return w.b
}

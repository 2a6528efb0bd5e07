package agg

import (
	"math/big"
	"math/bits"
)

// momentPrecision is more than enough for results that are rounded to a double once.
const momentPrecision = 256

// bigSum returns a sum of Longs as an integer.
func bigLongSum(st []uint64) *big.Int { return signed([]uint64{st[1], st[0]}) }

// big returns the sum as n * 2^exp; finite is false when an infinity is counted.
func (p *doubleSumPart) big(st []uint64) (n *big.Int, exp int, finite bool) {
	switch {
	case st[2] == 0:
		return new(big.Int), 0, true
	case st[2]&exactWide != 0:
		s := p.wide.At(uint32(st[2]))
		return signed(s.sum[:]), -1074, s.inf == 0 && s.minusInf == 0
	}
	return signed([]uint64{st[1], st[0]}), int(st[2]) - exactBias, true
}

// readMoment appends a variance or a standard deviation of one group: (n * sum of squares - square of the sum) / n^2,
// computed exactly and rounded at the end, so that it is right however far the values lie from 0.
func (t *Table) readMoment(r *readout, g uint32, col *resultColumn) {
	what := r.call.Agg.what
	st := t.states.at(g)
	n := t.count(r, g)
	divisor := n
	if what == whatVarSamp || what == whatDevSamp {
		divisor--
	}
	if n <= 0 || divisor <= 0 {
		col.null()
		return
	}
	var sum *big.Int
	exp := 0
	switch part := t.parts[r.value].part.(type) {
	case *doubleSumPart:
		finite := false
		if sum, exp, finite = part.big(st[t.parts[r.value].off:]); !finite {
			col.null()
			return
		}
	default:
		sum = bigLongSum(st[t.parts[r.value].off:])
	}
	squares, squareExp := t.parts[r.squares].part.(*squaresPart).sum(st[t.parts[r.squares].off:])
	count := big.NewInt(n)
	a := squares.Mul(squares, count)
	b := new(big.Int).Mul(sum, sum)
	low := min(squareExp, 2*exp)
	a.Lsh(a, uint(squareExp-low))
	b.Lsh(b, uint(2*exp-low))
	a.Sub(a, b)
	if a.Sign() < 0 { // more was taken back than added
		col.null()
		return
	}
	hi, lo := bits.Mul64(uint64(n), uint64(divisor))
	below := signed([]uint64{lo, hi, 0})
	v := new(big.Float).SetPrec(momentPrecision).SetInt(a)
	v.Quo(v, new(big.Float).SetPrec(momentPrecision).SetInt(below))
	v.SetMantExp(v, low)
	if what == whatDevSamp || what == whatDevPop {
		v.Sqrt(v)
	}
	f, _ := v.Float64()
	col.double(f)
}

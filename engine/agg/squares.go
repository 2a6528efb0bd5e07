package agg

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// squaresPart sums the squares of numbers exactly, as doubleSumPart sums the numbers: in 256 bits around the size of
// the first value, or in a fixed-point number that holds the square of every double. Infinities are left to the sum.
//
// Words: the integer, lowest first, and meta as in exact.go.
type squaresPart struct {
	long bool
	wide zset.Slab[wideSquares]
	free []uint32
}

const (
	squareWords = 5
	// squareRoom is how many bits below the first square's last bit the compact form keeps.
	squareRoom = 64
	// wideSquareWords covers 2^-2148 up to 2^2048 with 64 bits for the weights and some for the number of additions.
	wideSquareWords = 68
	wideSquareBias  = 2148
)

type wideSquares [wideSquareWords]uint64

func (*squaresPart) words() int { return squareWords }

func (p *squaresPart) add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, col *zset.Column) {
	for k, g := range groups {
		i := rowAt(sel, k)
		if col.IsNull(i) {
			continue
		}
		var mant uint64
		exp := 0
		if col.Kind == types.Double {
			x := col.F64[i]
			if x == 0 || math.IsInf(x, 0) {
				continue
			}
			mant, exp = split(x)
		} else {
			mant = uint64(col.I64[i])
			if col.I64[i] < 0 {
				mant = -mant
			}
		}
		p.addOne(t.at(g)[off:off+squareWords:off+squareWords], mant, exp, b.W(i))
	}
}

func (p *squaresPart) addOne(st []uint64, mant uint64, exp int, w int64) {
	if mant == 0 || w == 0 {
		return
	}
	negative := w < 0
	u := uint64(w)
	if negative {
		u = -u
	}
	first := 2*exp - squareRoom
	if p.long {
		first = 0
	}
	tz := bits.TrailingZeros64(mant)
	mant >>= uint(tz)
	exp = 2 * (exp + tz)
	hi, lo := bits.Mul64(mant, mant)
	var sq [3]uint64
	var carry, c2 uint64
	carry, sq[0] = bits.Mul64(lo, u)
	sq[2], sq[1] = bits.Mul64(hi, u)
	sq[1], c2 = bits.Add64(sq[1], carry, 0)
	sq[2] += c2

	if st[4]&exactWide == 0 {
		e := first
		if st[4] != 0 {
			e = int(st[4]) - exactBias
		}
		if shift := exp - e; shift >= 0 && length(sq[:])+shift <= 253 {
			var sum [4]uint64
			copy(sum[:], st)
			addShifted(sum[:], sq, shift, negative)
			if top := sum[3] >> 62; top == 0 || top == 3 { // room for one more addition
				copy(st, sum[:])
				st[4] = uint64(e + exactBias)
				if sum == [4]uint64{} {
					st[4] = 0
				}
				return
			}
		}
		id := p.newWide()
		s := p.wide.At(id)
		if st[4] != 0 {
			s.take(st, int(st[4])-exactBias)
		}
		st[0], st[1], st[2], st[3], st[4] = 0, 0, 0, 0, exactWide|uint64(id)
	}
	id := uint32(st[4])
	s := p.wide.At(id)
	addShifted(s[:], sq, exp+wideSquareBias, negative)
	if *s == (wideSquares{}) {
		p.free = append(p.free, id)
		st[4] = 0
	}
}

// take moves a compact sum in.
func (s *wideSquares) take(st []uint64, e int) {
	v := [4]uint64{st[0], st[1], st[2], st[3]}
	negative := v[3]>>63 != 0
	if negative {
		var borrow uint64
		for i := range v {
			v[i], borrow = bits.Sub64(0, v[i], borrow)
		}
	}
	shift := e + wideSquareBias
	for ; shift < 0; shift++ { // every square is a multiple of 2^-2148, so only zeros are shifted out
		for i := range 3 {
			v[i] = v[i]>>1 | v[i+1]<<63
		}
		v[3] >>= 1
	}
	addShifted(s[:], [3]uint64{v[0], v[1], v[2]}, shift, negative)
	addShifted(s[:], [3]uint64{v[3]}, shift+192, negative)
}

// length is the number of bits of an unsigned integer, lowest word first.
func length(v []uint64) int {
	for i := len(v) - 1; i >= 0; i-- {
		if v[i] != 0 {
			return 64*i + bits.Len64(v[i])
		}
	}
	return 0
}

// addShifted adds an integer shifted left by bits to sum, or takes it away.
func addShifted(sum []uint64, v [3]uint64, shift int, negative bool) {
	at, by := shift>>6, uint(shift)&63
	w := [4]uint64{v[0] << by, v[1]<<by | v[0]>>1>>(63-by), v[2]<<by | v[1]>>1>>(63-by), v[2] >> 1 >> (63 - by)}
	var carry uint64
	for i := at; i < len(sum); i++ {
		var x uint64
		if i-at < len(w) {
			x = w[i-at]
		} else if carry == 0 {
			return
		}
		if negative {
			sum[i], carry = bits.Sub64(sum[i], x, carry)
		} else {
			sum[i], carry = bits.Add64(sum[i], x, carry)
		}
	}
}

// sum returns the sum of the squares as n * 2^exp.
func (p *squaresPart) sum(st []uint64) (n *big.Int, exp int) {
	switch {
	case st[4] == 0:
		return new(big.Int), 0
	case st[4]&exactWide != 0:
		return signed(p.wide.At(uint32(st[4]))[:]), -wideSquareBias
	}
	return signed(st[:4]), int(st[4]) - exactBias
}

// signed reads a two's complement integer, lowest word first.
func signed(words []uint64) *big.Int {
	v := append([]uint64(nil), words...)
	negative := v[len(v)-1]>>63 != 0
	if negative {
		var borrow uint64
		for i := range v {
			v[i], borrow = bits.Sub64(0, v[i], borrow)
		}
	}
	b := make([]byte, 8*len(v))
	for i, w := range v {
		binary.BigEndian.PutUint64(b[8*(len(v)-1-i):], w)
	}
	n := new(big.Int).SetBytes(b)
	if negative {
		n.Neg(n)
	}
	return n
}

func (p *squaresPart) newWide() uint32 {
	if n := len(p.free); n > 0 {
		id := p.free[n-1]
		p.free = p.free[:n-1]
		return id
	}
	p.wide.Grow(1)
	return uint32(p.wide.Len() - 1)
}

func (*squaresPart) isEmpty(st []uint64) bool { return st[4] == 0 }

func (p *squaresPart) release(st []uint64) {
	if st[4]&exactWide != 0 {
		id := uint32(st[4])
		*p.wide.At(id) = wideSquares{}
		p.free = append(p.free, id)
	}
}

func (p *squaresPart) bytes() int64 { return p.wide.Bytes() + int64(4*cap(p.free)) }

func (p *squaresPart) appendSnapshot(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.wide.Len()))
	for i := range uint32(p.wide.Len()) {
		for _, w := range p.wide.At(i) {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.free)))
	for _, id := range p.free {
		dst = binary.AppendUvarint(dst, uint64(id))
	}
	return dst
}

func (p *squaresPart) restore(b []byte) error {
	p.wide.Reset()
	p.free = p.free[:0]
	r := reader{b: b}
	n := r.count(wideSquareWords * 8)
	p.wide.Grow(n)
	for i := range uint32(n) {
		s := p.wide.At(i)
		for k := range s {
			s[k] = r.word()
		}
	}
	for range r.count(1) {
		id := r.uvarint()
		if id >= uint64(n) {
			return fmt.Errorf("%w: free sum %d of %d", ErrSnapshot, id, n)
		}
		p.free = append(p.free, uint32(id))
	}
	return r.end()
}

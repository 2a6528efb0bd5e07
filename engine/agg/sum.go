package agg

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// longSumPart sums Longs in 128 bits: words high, low.
type longSumPart struct{ noBeside }

func (longSumPart) words() int { return 2 }

func (longSumPart) add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, col *zset.Column) {
	v := col.I64
	if b.Weight == nil && col.Valid == nil {
		for k, g := range groups {
			x := v[rowAt(sel, k)]
			st := t.at(g)[off : off+2 : off+2]
			var carry uint64
			st[1], carry = bits.Add64(st[1], uint64(x), 0)
			st[0] += uint64(x>>63) + carry
		}
		return
	}
	for k, g := range groups {
		i := rowAt(sel, k)
		if col.IsNull(i) {
			continue
		}
		hi, lo := mulSigned(v[i], b.W(i))
		st := t.at(g)[off : off+2 : off+2]
		var carry uint64
		st[1], carry = bits.Add64(st[1], lo, 0)
		st[0] += hi + carry
	}
}

// mulSigned is the signed 128-bit product.
func mulSigned(x, y int64) (hi, lo uint64) {
	hi, lo = bits.Mul64(uint64(x), uint64(y))
	return hi - uint64(x>>63)&uint64(y) - uint64(y>>63)&uint64(x), lo
}

func (longSumPart) isEmpty(st []uint64) bool { return st[0]|st[1] == 0 }

// readLongSum returns the sum and whether it fits.
func readLongSum(st []uint64) (int64, bool) {
	return int64(st[1]), st[0] == uint64(int64(st[1])>>63)
}

// doubleSumPart sums doubles exactly, see exact.go.
type doubleSumPart struct {
	wide zset.Slab[wide]
	free []uint32
}

func (*doubleSumPart) words() int { return exactWords }

func (p *doubleSumPart) add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, col *zset.Column) {
	v := col.F64
	if b.Weight == nil && col.Valid == nil {
		for k, g := range groups {
			x := v[rowAt(sel, k)]
			st := t.at(g)[off : off+exactWords : off+exactWords]
			if !exactFast(st, x) {
				p.addOne(st, x, 1)
			}
		}
		return
	}
	for k, g := range groups {
		if i := rowAt(sel, k); !col.IsNull(i) {
			p.addOne(t.at(g)[off:off+exactWords:off+exactWords], v[i], b.W(i))
		}
	}
}

// exactFast adds a value of weight 1 that fits the compact form without further thought; it returns false, with
// the state unchanged, when it does not.
func exactFast(st []uint64, x float64) bool {
	u := math.Float64bits(x)
	exp := u >> 52 & 0x7ff
	shift := uint(int(exp) - 1075 - (int(st[2]) - exactBias))
	if shift > 63 || st[2] == 0 || st[2] >= exactWide || exp-1 >= 0x7fe {
		return false // the last: zero, subnormal or infinite
	}
	mant := u&(1<<52-1) | 1<<52
	hi, lo := mant>>1>>(63-shift), mant<<shift
	if sign := uint64(int64(u) >> 63); sign != 0 {
		lo = -lo
		hi = ^hi
		if lo == 0 {
			hi++
		}
	}
	sumLo, carry := bits.Add64(st[1], lo, 0)
	sumHi := st[0] + hi + carry
	if (st[0]^sumHi)&(hi^sumHi)>>63 != 0 || sumHi|sumLo == 0 {
		return false
	}
	st[0], st[1] = sumHi, sumLo
	return true
}

func (p *doubleSumPart) addOne(st []uint64, x float64, w int64) {
	if st[2]&exactWide == 0 {
		if !math.IsInf(x, 0) && exactAdd(st, x, w) {
			return
		}
		id := p.newWide()
		p.wide.At(id).take(st)
		st[0], st[1], st[2] = 0, 0, exactWide|uint64(id)
	}
	id := uint32(st[2])
	s := p.wide.At(id)
	s.add(x, w)
	if s.isZero() {
		p.free = append(p.free, id)
		st[2] = 0
	}
}

func (p *doubleSumPart) newWide() uint32 {
	if n := len(p.free); n > 0 {
		id := p.free[n-1]
		p.free = p.free[:n-1]
		return id
	}
	p.wide.Grow(1)
	return uint32(p.wide.Len() - 1)
}

func (p *doubleSumPart) isEmpty(st []uint64) bool { return st[2] == 0 }

func (p *doubleSumPart) release(st []uint64) {
	if st[2]&exactWide != 0 {
		id := uint32(st[2])
		*p.wide.At(id) = wide{}
		p.free = append(p.free, id)
		st[2] = 0
	}
}

// parts returns the sum as f * 2^exp.
func (p *doubleSumPart) parts(st []uint64) (f float64, exp int) {
	if st[2]&exactWide != 0 {
		return p.wide.At(uint32(st[2])).parts()
	}
	return exactParts(st)
}

func (p *doubleSumPart) bytes() int64 { return p.wide.Bytes() + int64(4*cap(p.free)) }

func (p *doubleSumPart) appendSnapshot(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.wide.Len()))
	for i := range uint32(p.wide.Len()) {
		s := p.wide.At(i)
		for _, w := range s.sum {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.inf))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.minusInf))
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.free)))
	for _, id := range p.free {
		dst = binary.AppendUvarint(dst, uint64(id))
	}
	return dst
}

func (p *doubleSumPart) restore(b []byte) error {
	p.wide.Reset()
	p.free = p.free[:0]
	r := reader{b: b}
	n := r.count((wideWords + 2) * 8)
	p.wide.Grow(n)
	for i := range uint32(n) {
		s := p.wide.At(i)
		for k := range s.sum {
			s.sum[k] = r.word()
		}
		s.inf, s.minusInf = int64(r.word()), int64(r.word())
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

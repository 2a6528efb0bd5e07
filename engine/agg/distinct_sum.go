package agg

import (
	"encoding/binary"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// distinctSumPart gives each different value that is not NULL to a part once, while its weight is positive: SUM and
// AVG with DISTINCT. The part sees a value come when the first row with it comes, and go when the last one is taken
// back, however rows and retractions are ordered.
//
// Words: those of distinctPart, of which the first is the number of values, then those of the part.
type distinctSumPart struct {
	distinctPart
	sum part
	// at and to are the rows whose value comes or goes and their groups; weight says which of both.
	at     []int32
	to     []uint32
	weight []int64
}

func newDistinctSumPart(sum part) *distinctSumPart {
	return &distinctSumPart{distinctPart: *newDistinctPart(), sum: sum}
}

func (p *distinctSumPart) words() int { return distinctWords + p.sum.words() }

func (p *distinctSumPart) add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, col *zset.Column) {
	p.at, p.to, p.weight = p.at[:0], p.to[:0], append(p.weight[:0], make([]int64, b.N)...)
	for k, g := range groups {
		i := rowAt(sel, k)
		if col.IsNull(i) {
			continue
		}
		p.key = binary.LittleEndian.AppendUint32(p.key[:0], g)
		p.key = zset.AppendComparableCell(p.key, col, i)
		st := t.at(g)[off : off+distinctWords : off+distinctWords]
		before := st[0]
		p.addOne(st, b.W(i))
		if st[0] != before {
			p.at, p.to = append(p.at, int32(i)), append(p.to, g)
			p.weight[i] = int64(st[0] - before)
		}
	}
	if len(p.at) > 0 {
		changes := zset.Batch{N: b.N, Cols: b.Cols, Weight: p.weight}
		p.sum.add(t, off+distinctWords, &changes, p.at, p.to, col)
	}
}

func (p *distinctSumPart) isEmpty(st []uint64) bool {
	return p.distinctPart.isEmpty(st) && p.sum.isEmpty(st[distinctWords:])
}

func (p *distinctSumPart) release(st []uint64) {
	p.distinctPart.release(st)
	p.sum.release(st[distinctWords:])
}

func (p *distinctSumPart) bytes() int64 { return p.distinctPart.bytes() + p.sum.bytes() }

func (p *distinctSumPart) appendSnapshot(dst []byte) []byte {
	dst = appendBlock(dst, p.distinctPart.appendSnapshot)
	return appendBlock(dst, p.sum.appendSnapshot)
}

func (p *distinctSumPart) restore(b []byte) error {
	r := &reader{b: b}
	values, sum := r.block(), r.block()
	if err := r.end(); err != nil {
		return err
	}
	if err := p.distinctPart.restore(values); err != nil {
		return err
	}
	return p.sum.restore(sum)
}

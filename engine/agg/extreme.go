package agg

import (
	"bytes"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// plainPart keeps the smallest or largest value of an input that only ever grows: one word. A separate count of
// the values tells whether there is one.
//
// Numbers are kept so that a larger word is a better value and 0 is the worst value there is: the minimum as the
// complement of its order word. Texts are kept as their number in the pool plus one.
type plainPart struct {
	max  bool
	pool *textPool
}

func (*plainPart) words() int { return 1 }

func (p *plainPart) add(t *states, off int, _ *zset.Batch, sel []int32, groups []uint32, col *zset.Column) {
	if p.pool != nil {
		p.addTexts(t, off, sel, groups, col)
		return
	}
	flip := ^uint64(0)
	if p.max {
		flip = 0
	}
	if col.Kind == types.Double {
		for k, g := range groups {
			i := rowAt(sel, k)
			if col.IsNull(i) {
				continue
			}
			if w, st := orderDouble(col.F64[i])^flip, t.at(g); w > st[off] {
				st[off] = w
			}
		}
		return
	}
	for k, g := range groups {
		i := rowAt(sel, k)
		if col.IsNull(i) {
			continue
		}
		if w, st := orderLong(col.I64[i])^flip, t.at(g); w > st[off] {
			st[off] = w
		}
	}
}

func (p *plainPart) addTexts(t *states, off int, sel []int32, groups []uint32, col *zset.Column) {
	for k, g := range groups {
		i := rowAt(sel, k)
		if col.IsNull(i) {
			continue
		}
		st := t.at(g)
		text := col.Text(i)
		if old := st[off]; old != 0 {
			c := bytes.Compare(text, p.pool.text(old-1))
			if c == 0 || c > 0 != p.max {
				continue
			}
			p.pool.drop(old - 1)
		}
		st[off] = p.pool.use(text) + 1
	}
}

// word returns the order word, or the number of the text, of a group that has a value.
func (p *plainPart) word(st []uint64) uint64 {
	switch {
	case p.pool != nil:
		return st[0] - 1
	case p.max:
		return st[0]
	default:
		return ^st[0]
	}
}

// isEmpty is true: the count of the values decides.
func (*plainPart) isEmpty([]uint64) bool { return true }

func (p *plainPart) release(st []uint64) {
	if p.pool != nil && st[0] != 0 {
		p.pool.drop(st[0] - 1)
		st[0] = 0
	}
}

func (p *plainPart) bytes() int64 {
	if p.pool == nil {
		return 0
	}
	return p.pool.bytes()
}

func (p *plainPart) appendSnapshot(dst []byte) []byte {
	if p.pool == nil {
		return dst
	}
	return p.pool.appendSnapshot(dst)
}

func (p *plainPart) restore(b []byte) error {
	if p.pool == nil {
		return wantEnd(b)
	}
	r := &reader{b: b}
	if err := p.pool.restore(r); err != nil {
		return err
	}
	return r.end()
}

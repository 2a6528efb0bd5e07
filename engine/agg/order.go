package agg

import (
	"math"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// Values that MIN and MAX compare are words whose unsigned order is the order of the values. Texts are numbers in a
// pool and are compared by their bytes.

func orderLong(v int64) uint64 { return uint64(v) ^ 1<<63 }

func longOf(w uint64) int64 { return int64(w ^ 1<<63) }

func orderDouble(f float64) uint64 {
	u := math.Float64bits(f)
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}

func doubleOf(w uint64) float64 {
	if w>>63 != 0 {
		return math.Float64frombits(w &^ (1 << 63))
	}
	return math.Float64frombits(^w)
}

// textPool gives texts numbers and counts their uses; a text that nobody uses leaves.
type textPool struct {
	table *zset.KeyTable
	uses  zset.Slab[int64]
}

func newTextPool() *textPool { return &textPool{table: zset.NewKeyTable()} }

// use returns the number of a text and counts one use.
func (p *textPool) use(text []byte) uint64 {
	id, added := p.table.Insert(text)
	if added && int(id) >= p.uses.Len() {
		p.uses.Grow(int(id) + 1 - p.uses.Len())
	}
	*p.uses.At(id)++
	return uint64(id)
}

// drop ends a use.
func (p *textPool) drop(id uint64) {
	n := p.uses.At(uint32(id))
	if *n--; *n == 0 {
		p.table.Remove(uint32(id))
	}
}

func (p *textPool) text(id uint64) []byte { return p.table.Key(uint32(id)) }

func (p *textPool) bytes() int64 { return p.table.Bytes() + p.uses.Bytes() }

func (p *textPool) appendSnapshot(dst []byte) []byte {
	dst = appendBlock(dst, p.table.AppendSnapshot)
	return appendInts(dst, &p.uses)
}

func (p *textPool) restore(r *reader) error {
	if err := p.table.Restore(r.block()); err != nil {
		return err
	}
	return restoreInts(r, &p.uses)
}

package agg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// bagPart keeps the rows of a group as records with net weights: what percentiles, lists and ARG_MIN need. All
// groups share one table of (group, record); the entries of a group are a list. A result sorts the group's records,
// so that it does not depend on their order of arrival.
//
// Words: the number of entries, and the first entry plus one.
type bagPart struct {
	table   *zset.KeyTable
	entries zset.Slab[distinctEntry]
	// present is how many cells, counted from the first, must not be NULL for a row to count.
	present int
	// keep says that the last column is a condition, which is not part of the record.
	keep bool

	key    []byte
	sorted []bagEntry
	text   []byte
}

// bagEntry is a record while a group is read.
type bagEntry struct {
	rec []byte
	w   int64
}

const bagWords = 2

func newBagPart(present int, keep bool) *bagPart {
	return &bagPart{table: zset.NewKeyTable(), present: present, keep: keep}
}

func (*bagPart) words() int { return bagWords }

// add is addMany of one column.
func (p *bagPart) add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, col *zset.Column) {
	p.addMany(t, off, b, sel, groups, []*zset.Column{col})
}

// addMany takes a batch with several columns a row.
func (p *bagPart) addMany(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, cols []*zset.Column) {
	cells := cols
	if p.keep {
		cells = cols[:len(cols)-1]
	}
	for k, g := range groups {
		i := rowAt(sel, k)
		if !p.counts(cols, i) {
			continue
		}
		p.key = binary.LittleEndian.AppendUint32(p.key[:0], g)
		for _, c := range cells {
			p.key = zset.AppendCell(p.key, c, i)
		}
		p.addOne(t.at(g)[off:off+bagWords:off+bagWords], b.W(i))
	}
}

// counts reports whether a row is taken.
func (p *bagPart) counts(cols []*zset.Column, i int) bool {
	for _, c := range cols[:p.present] {
		if c.IsNull(i) {
			return false
		}
	}
	if !p.keep {
		return true
	}
	c := cols[len(cols)-1]
	return !c.IsNull(i) && c.I64[i] != 0
}

// addOne changes the weight of the record in p.key.
func (p *bagPart) addOne(st []uint64, w int64) {
	if w == 0 {
		return
	}
	id, added := p.table.Insert(p.key)
	if added {
		if n := int(id) + 1 - p.entries.Len(); n > 0 {
			p.entries.Grow(n)
		}
		head := uint32(st[1])
		*p.entries.At(id) = distinctEntry{next: head}
		if head != 0 {
			p.entries.At(head - 1).prev = id + 1
		}
		st[0]++
		st[1] = uint64(id + 1)
	}
	e := p.entries.At(id)
	if e.weight += w; e.weight != 0 {
		return
	}
	if e.prev == 0 {
		st[1] = uint64(e.next)
	} else {
		p.entries.At(e.prev - 1).next = e.next
	}
	if e.next != 0 {
		p.entries.At(e.next - 1).prev = e.prev
	}
	st[0]--
	p.table.Remove(id)
}

// read returns the records with positive weight in the order of less, which must decide between different records.
// The result is valid until the next change or read.
func (p *bagPart) read(st []uint64, compare func(a, b []byte) int) []bagEntry {
	p.sorted = p.sorted[:0]
	for at := uint32(st[1]); at != 0; {
		e := p.entries.At(at - 1)
		if e.weight > 0 {
			p.sorted = append(p.sorted, bagEntry{rec: p.table.Key(at - 1)[4:], w: e.weight})
		}
		at = e.next
	}
	slices.SortFunc(p.sorted, func(a, b bagEntry) int { return compare(a.rec, b.rec) })
	return p.sorted
}

// comparison orders records of (value, key, key ...) by the keys and then by the whole record.
func comparison(order []OrderKey) func(a, b []byte) int {
	if len(order) == 0 {
		return bytes.Compare
	}
	return func(a, b []byte) int {
		x, y := zset.SkipCells(a, 1), zset.SkipCells(b, 1)
		for _, o := range order {
			restX, restY := zset.SkipCells(x, 1), zset.SkipCells(y, 1)
			if c := compareCells(x[:len(x)-len(restX)], y[:len(y)-len(restY)], o); c != 0 {
				return c
			}
			x, y = restX, restY
		}
		return bytes.Compare(a, b)
	}
}

// compareCells orders two cells of one column: their bytes order like their values, with NULL first.
func compareCells(a, b []byte, o OrderKey) int {
	c := bytes.Compare(a, b)
	if c == 0 {
		return 0
	}
	if isNullCell(a) != isNullCell(b) {
		if isNullCell(a) == o.NullsFirst {
			return -1
		}
		return 1
	}
	if o.Desc {
		return -c
	}
	return c
}

var nullCell = zset.AppendNullCell(nil)

func isNullCell(cell []byte) bool { return bytes.Equal(cell, nullCell) }

func (*bagPart) isEmpty(st []uint64) bool { return st[0] == 0 }

func (p *bagPart) release(st []uint64) {
	for at := uint32(st[1]); at != 0; {
		next := p.entries.At(at - 1).next
		p.table.Remove(at - 1)
		at = next
	}
}

func (p *bagPart) bytes() int64 { return p.table.Bytes() + p.entries.Bytes() }

func (p *bagPart) appendSnapshot(dst []byte) []byte {
	return appendEntryLists(dst, p.table, &p.entries)
}

func (p *bagPart) restore(b []byte) error { return restoreEntryLists(b, p.table, &p.entries) }

// cell reads the first cell of a record as a value of a kind.
func cell(rec []byte, k types.Kind) types.Value {
	rest := zset.SkipCells(rec, 1)
	vals, err := zset.RecordValues(rec[:len(rec)-len(rest)], []types.Kind{k})
	if err != nil {
		panic(fmt.Sprintf("BUG: a record of an aggregate: %v", err))
	}
	return vals[0]
}

// CompareRecords orders two records of the cells of the order and then others: by the order, then by the whole record.
func CompareRecords(order []OrderKey, a, b []byte) int {
	x, y := a, b
	for _, o := range order {
		restX, restY := zset.SkipCells(x, 1), zset.SkipCells(y, 1)
		if c := compareCells(x[:len(x)-len(restX)], y[:len(y)-len(restY)], o); c != 0 {
			return c
		}
		x, y = restX, restY
	}
	return bytes.Compare(x, y)
}

package agg

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// distinctPart counts different values that are not NULL, by SQL equality: Long 1 and Double 1.0 are one value. All
// groups share one table of (group, value); the entries of a group are a list, so that the group can be forgotten.
//
// Words: the number of values with positive weight, the number of entries, and the first entry plus one.
type distinctPart struct {
	table   *zset.KeyTable
	entries zset.Slab[distinctEntry]
	key     []byte
}

type distinctEntry struct {
	weight     int64
	next, prev uint32 // plus one; 0 none
}

const distinctWords = 3

func newDistinctPart() *distinctPart { return &distinctPart{table: zset.NewKeyTable()} }

func (*distinctPart) words() int { return distinctWords }

func (p *distinctPart) add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, col *zset.Column) {
	for k, g := range groups {
		i := rowAt(sel, k)
		if col.IsNull(i) {
			continue
		}
		p.key = binary.LittleEndian.AppendUint32(p.key[:0], g)
		p.key = zset.AppendComparableCell(p.key, col, i)
		p.addOne(t.at(g)[off:off+distinctWords:off+distinctWords], b.W(i))
	}
}

// addOne changes the weight of the value in p.key.
func (p *distinctPart) addOne(st []uint64, w int64) {
	if w == 0 {
		return
	}
	id, added := p.table.Insert(p.key)
	if added {
		if n := int(id) + 1 - p.entries.Len(); n > 0 {
			p.entries.Grow(n)
		}
		p.link(st, id)
	}
	e := p.entries.At(id)
	if e.weight > 0 {
		st[0]--
	}
	e.weight += w
	if e.weight > 0 {
		st[0]++
	}
	if e.weight == 0 {
		p.unlink(st, id)
		p.table.Remove(id)
	}
}

func (p *distinctPart) link(st []uint64, id uint32) {
	head := uint32(st[2])
	*p.entries.At(id) = distinctEntry{next: head}
	if head != 0 {
		p.entries.At(head - 1).prev = id + 1
	}
	st[1]++
	st[2] = uint64(id + 1)
}

func (p *distinctPart) unlink(st []uint64, id uint32) {
	e := *p.entries.At(id)
	if e.prev == 0 {
		st[2] = uint64(e.next)
	} else {
		p.entries.At(e.prev - 1).next = e.next
	}
	if e.next != 0 {
		p.entries.At(e.next - 1).prev = e.prev
	}
	st[1]--
}

func (*distinctPart) isEmpty(st []uint64) bool { return st[1] == 0 }

func (p *distinctPart) release(st []uint64) {
	for at := uint32(st[2]); at != 0; {
		next := p.entries.At(at - 1).next
		p.table.Remove(at - 1)
		at = next
	}
}

func (p *distinctPart) bytes() int64 { return p.table.Bytes() + p.entries.Bytes() }

func (p *distinctPart) appendSnapshot(dst []byte) []byte {
	return appendEntryLists(dst, p.table, &p.entries)
}

func (p *distinctPart) restore(b []byte) error { return restoreEntryLists(b, p.table, &p.entries) }

// appendEntryLists writes a table of keys whose entries are linked in one list a group.
func appendEntryLists(dst []byte, table *zset.KeyTable, entries *zset.Slab[distinctEntry]) []byte {
	dst = appendBlock(dst, table.AppendSnapshot)
	dst = binary.AppendUvarint(dst, uint64(entries.Len()))
	for i := range uint32(entries.Len()) {
		e := entries.At(i)
		dst = binary.AppendVarint(dst, e.weight)
		dst = binary.AppendUvarint(dst, uint64(e.next))
		dst = binary.AppendUvarint(dst, uint64(e.prev))
	}
	return dst
}

func restoreEntryLists(b []byte, table *zset.KeyTable, entries *zset.Slab[distinctEntry]) error {
	r := &reader{b: b}
	if err := table.Restore(r.block()); err != nil {
		return err
	}
	entries.Reset()
	n := r.count(3)
	entries.Grow(n)
	for i := range uint32(n) {
		e := distinctEntry{weight: r.varint(), next: uint32(r.uvarint()), prev: uint32(r.uvarint())}
		if e.next > uint32(n) || e.prev > uint32(n) {
			return fmt.Errorf("%w: a list of values leads to entry %d or %d of %d", ErrSnapshot, e.next, e.prev, n)
		}
		*entries.At(i) = e
	}
	return r.end()
}

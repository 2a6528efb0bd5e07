package agg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// logPart keeps MIN and MAX of one argument under retraction. Every change of a group is an entry (value, weight)
// in the group's log; the log is sorted and merged only when it is full, or when the smallest or largest value
// itself has been taken back and the next one must be found.
//
// For each end the group keeps the best value with its exact net weight. Rules that make it right:
//
//   - The best value is the best one with positive net weight.
//   - A value that arrives and is better becomes the best, unless the log may hold a debt (a negative net weight)
//     among the values that are better than the best: then the end is dirty.
//   - An end is dirty when its best value's weight falls to zero or below. A dirty end is found again from the log
//     when the group is read.
//
// Words: ref to the log and flags; then value and weight of the minimum, value and weight of the maximum.
type logPart struct {
	pool  *textPool // texts; nil for numbers
	small smallLogs
	large []*runs
	free  []uint32 // unused positions of large
	merge []entry
}

const (
	logWords = 5

	// Layout of the first word: the flags, the kind of log, its length and its place.
	dirtyMin uint64 = 1 << 63
	dirtyMax uint64 = 1 << 62
	debtMin  uint64 = 1 << 61
	debtMax  uint64 = 1 << 60
	isLarge  uint64 = 1 << 59
	flags           = dirtyMin | dirtyMax | debtMin | debtMax
	lenShift        = 40
	lenMask  uint64 = 0xff << lenShift
	ofClass  uint64 = 0x3 << (lenShift + 8)
)

// entry is one change of the weight of a value.
type entry struct {
	v uint64
	w int64
}

func newLogPart(text bool) *logPart {
	p := &logPart{}
	if text {
		p.pool = newTextPool()
	}
	return p
}

func (*logPart) words() int { return logWords }

func (p *logPart) add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, col *zset.Column) {
	isDouble := col.Kind == types.Double
	for k, g := range groups {
		i := rowAt(sel, k)
		if col.IsNull(i) {
			continue
		}
		var v uint64
		switch {
		case p.pool != nil:
			v = p.pool.use(col.Text(i))
		case isDouble:
			v = orderDouble(col.F64[i])
		default:
			v = orderLong(col.I64[i])
		}
		p.addOne(t.at(g)[off:off+logWords:off+logWords], v, b.W(i))
	}
}

// addOne adds a change. A text value brings one use with it, which the entry keeps.
func (p *logPart) addOne(st []uint64, v uint64, w int64) {
	if w == 0 {
		p.drop(v)
		return
	}
	p.noteEnd(st, 1, dirtyMin, debtMin, v, w, p.compare(v, st[1]))
	p.noteEnd(st, 3, dirtyMax, debtMax, v, w, -p.compare(v, st[3]))
	if st[0]&isLarge != 0 {
		p.large[uint32(st[0])].add(p, entry{v, w})
		return
	}
	p.addSmall(st, entry{v, w})
}

// noteEnd keeps one end up to date. c is negative when v is better than the best value.
func (p *logPart) noteEnd(st []uint64, at int, dirty, debt uint64, v uint64, w int64, c int) {
	if st[0]&dirty != 0 {
		return
	}
	have := st[at+1] != 0
	switch {
	case have && c == 0:
		n := int64(st[at+1]) + w
		st[at+1] = uint64(n)
		if n <= 0 {
			st[0] |= dirty
		}
	case have && c > 0:
		// Worse than the best: it decides nothing now.
	case st[0]&debt != 0:
		st[0] |= dirty
	case w < 0:
		st[0] |= debt
	default:
		st[at], st[at+1] = v, uint64(w)
	}
}

func (p *logPart) compare(a, b uint64) int {
	if a == b {
		return 0
	}
	if p.pool != nil {
		return bytes.Compare(p.pool.text(a), p.pool.text(b))
	}
	if a < b {
		return -1
	}
	return 1
}

// drop ends the use that an entry has of a text.
func (p *logPart) drop(v uint64) {
	if p.pool != nil {
		p.pool.drop(v)
	}
}

// min returns the smallest value; ok is false when there is none.
func (p *logPart) min(st []uint64) (v uint64, ok bool) {
	if st[0]&dirtyMin != 0 {
		p.find(st)
	}
	return st[1], st[2] != 0
}

// max returns the largest value.
func (p *logPart) max(st []uint64) (v uint64, ok bool) {
	if st[0]&dirtyMax != 0 {
		p.find(st)
	}
	return st[3], st[4] != 0
}

// find sets both ends from the log.
func (p *logPart) find(st []uint64) {
	var lo, hi end
	if st[0]&isLarge != 0 {
		id := uint32(st[0])
		lo, hi = p.large[id].ends(p)
		if p.large[id].empty() {
			p.large[id] = nil
			p.free = append(p.free, id)
			st[0] = 0
		}
	} else {
		ents := p.settle(st)
		lo = firstEnd(len(ents), func(i int) entry { return ents[i] })
		hi = firstEnd(len(ents), func(i int) entry { return ents[len(ents)-1-i] })
	}
	st[0] &^= flags
	if lo.debt {
		st[0] |= debtMin
	}
	if hi.debt {
		st[0] |= debtMax
	}
	st[1], st[2] = lo.v, uint64(lo.w)
	st[3], st[4] = hi.v, uint64(hi.w)
}

// end is one end of a log: the best value with positive weight (w 0: none), and whether a better one is in debt.
type end struct {
	entry
	debt bool
}

func firstEnd(n int, at func(i int) entry) (e end) {
	for i := range n {
		x := at(i)
		if x.w > 0 {
			e.entry = x
			return e
		}
		e.debt = true
	}
	return e
}

// isEmpty settles the log: changes that cancel out are nothing.
func (p *logPart) isEmpty(st []uint64) bool {
	if st[0]&^flags == 0 {
		return true
	}
	if st[0]&isLarge == 0 {
		p.settle(st)
	}
	p.find(st)
	return st[0]&^flags == 0
}

// settle sorts and merges a small log and returns it.
func (p *logPart) settle(st []uint64) []entry {
	ents := p.small.entries(st[0])
	n := p.mergeSorted(ents)
	st[0] = st[0]&^lenMask | uint64(n)<<lenShift
	if n == 0 && st[0]&^flags != 0 {
		p.small.release(st[0])
		st[0] &= flags
	}
	return ents[:n]
}

// mergeSorted sorts entries by value, adds up equal ones and removes what is zero. It returns the new length.
func (p *logPart) mergeSorted(ents []entry) int {
	switch {
	case p.pool != nil:
		slices.SortFunc(ents, func(a, b entry) int { return p.compare(a.v, b.v) })
	case len(ents) <= 12:
		for i := 1; i < len(ents); i++ {
			for j := i; j > 0 && ents[j].v < ents[j-1].v; j-- {
				ents[j], ents[j-1] = ents[j-1], ents[j]
			}
		}
	default:
		slices.SortFunc(ents, func(a, b entry) int {
			if a.v < b.v {
				return -1
			}
			if a.v > b.v {
				return 1
			}
			return 0
		})
	}
	n := 0
	for i := 0; i < len(ents); {
		e := ents[i]
		for i++; i < len(ents) && ents[i].v == e.v; i++ {
			e.w += ents[i].w
			p.drop(e.v)
		}
		if e.w == 0 {
			p.drop(e.v)
			continue
		}
		ents[n] = e
		n++
	}
	return n
}

// addSmall appends to a small log, settles it when it is full, and makes it large when that does not help.
func (p *logPart) addSmall(st []uint64, e entry) {
	if st[0]&^flags == 0 {
		st[0] |= p.small.take(0)
	}
	ents := p.small.entries(st[0])
	if class := st[0] & ofClass >> (lenShift + 8); len(ents) == smallSize(int(class)) {
		settled := p.mergeSorted(ents)
		if settled > len(ents)*3/4 {
			p.growSmall(st, ents[:settled], int(class)+1)
			if st[0]&isLarge != 0 {
				p.large[uint32(st[0])].add(p, e)
				return
			}
		} else {
			st[0] = st[0]&^lenMask | uint64(settled)<<lenShift
		}
	}
	n := st[0] & lenMask >> lenShift
	st[0] = st[0]&^lenMask | (n+1)<<lenShift
	p.small.entries(st[0])[n] = e
}

// growSmall moves a log to the next size.
func (p *logPart) growSmall(st []uint64, ents []entry, class int) {
	keep := st[0] & flags
	if class == smallClasses {
		r := &runs{}
		r.push(p, append([]entry(nil), ents...))
		p.small.release(st[0])
		st[0] = keep | isLarge | uint64(p.newLarge(r))
		return
	}
	ref := p.small.take(class)
	ref |= uint64(len(ents)) << lenShift
	copy(p.small.entries(ref), ents)
	p.small.release(st[0])
	st[0] = keep | ref
}

func (p *logPart) newLarge(r *runs) uint32 {
	if n := len(p.free); n > 0 {
		id := p.free[n-1]
		p.free = p.free[:n-1]
		p.large[id] = r
		return id
	}
	p.large = append(p.large, r)
	return uint32(len(p.large) - 1)
}

func (p *logPart) release(st []uint64) {
	switch {
	case st[0]&^flags == 0:
	case st[0]&isLarge != 0:
		id := uint32(st[0])
		p.large[id].each(func(e entry) { p.drop(e.v) })
		p.large[id] = nil
		p.free = append(p.free, id)
	default:
		for _, e := range p.small.entries(st[0]) {
			p.drop(e.v)
		}
		p.small.release(st[0])
	}
	st[0] = 0
}

func (p *logPart) bytes() int64 {
	n := p.small.bytes() + int64(8*cap(p.large)+4*cap(p.free)+16*cap(p.merge))
	if p.pool != nil {
		n += p.pool.bytes()
	}
	for _, r := range p.large {
		if r != nil {
			n += r.bytes()
		}
	}
	return n
}

func (p *logPart) appendSnapshot(dst []byte) []byte {
	if p.pool != nil {
		dst = p.pool.appendSnapshot(dst)
	}
	dst = p.small.appendSnapshot(dst)
	dst = binary.AppendUvarint(dst, uint64(len(p.large)))
	for _, r := range p.large {
		dst = r.appendSnapshot(dst)
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.free)))
	for _, id := range p.free {
		dst = binary.AppendUvarint(dst, uint64(id))
	}
	return dst
}

func (p *logPart) restore(b []byte) error {
	r := &reader{b: b}
	if p.pool != nil {
		if err := p.pool.restore(r); err != nil {
			return err
		}
	}
	if err := p.small.restore(r); err != nil {
		return err
	}
	p.large = make([]*runs, r.count(1))
	for i := range p.large {
		p.large[i] = restoreRuns(r)
	}
	p.free = p.free[:0]
	for range r.count(1) {
		id := r.uvarint()
		if id >= uint64(len(p.large)) {
			return fmt.Errorf("%w: free log %d of %d", ErrSnapshot, id, len(p.large))
		}
		p.free = append(p.free, uint32(id))
	}
	return r.end()
}

package agg

import "encoding/binary"

// runs is the log of a group with many values: a buffer of new changes and sorted runs, each less than half as long
// as the one before, so that a change is merged about log2(n) times in its life. Within a run every value is there
// once, with a weight that is not zero.
//
// The best value is found by looking at the ends of the runs. What cancels out at an end is cut off for good, so
// that a stream that always takes its smallest value back stays cheap.
type runs struct {
	list []run
	buf  []entry
}

type run struct {
	ents   []entry
	lo, hi int // the part that is left
}

const runBuffer = 64

func (r *runs) add(p *logPart, e entry) {
	r.buf = append(r.buf, e)
	if len(r.buf) >= runBuffer {
		r.settle(p)
	}
}

// settle makes a run of the buffer.
func (r *runs) settle(p *logPart) {
	n := p.mergeSorted(r.buf)
	if n > 0 {
		r.push(p, append([]entry(nil), r.buf[:n]...))
	}
	r.buf = r.buf[:0]
}

// push adds a sorted run and merges runs until each is at most half as long as the one before.
func (r *runs) push(p *logPart, ents []entry) {
	r.list = append(r.list, run{ents: ents, hi: len(ents)})
	for n := len(r.list); n > 1 && r.list[n-2].len() < 2*r.list[n-1].len(); n = len(r.list) {
		merged := r.mergeRuns(p, &r.list[n-2], &r.list[n-1])
		r.list = r.list[:n-2]
		if len(merged) > 0 {
			r.list = append(r.list, run{ents: merged, hi: len(merged)})
		}
	}
}

func (u *run) len() int { return u.hi - u.lo }

func (r *runs) mergeRuns(p *logPart, a, b *run) []entry {
	x, y := a.ents[a.lo:a.hi], b.ents[b.lo:b.hi]
	out := p.merge[:0]
	for len(x) > 0 && len(y) > 0 {
		switch c := p.compare(x[0].v, y[0].v); {
		case c < 0:
			out = append(out, x[0])
			x = x[1:]
		case c > 0:
			out = append(out, y[0])
			y = y[1:]
		default:
			p.drop(x[0].v)
			if w := x[0].w + y[0].w; w != 0 {
				out = append(out, entry{x[0].v, w})
			} else {
				p.drop(x[0].v)
			}
			x, y = x[1:], y[1:]
		}
	}
	out = append(append(out, x...), y...)
	p.merge = out[:0]
	if cap(a.ents) >= len(out) {
		return append(a.ents[:0], out...)
	}
	return append(make([]entry, 0, len(out)+len(out)/4), out...)
}

func (r *runs) empty() bool { return len(r.list) == 0 && len(r.buf) == 0 }

// ends finds both ends.
func (r *runs) ends(p *logPart) (lo, hi end) {
	if len(r.buf) > 0 {
		r.settle(p)
	}
	lo, hi = r.first(p), r.last(p)
	kept := r.list[:0]
	for _, u := range r.list {
		if u.len() > 0 {
			kept = append(kept, u)
		}
	}
	clear(r.list[len(kept):])
	r.list = kept
	return lo, hi
}

// first returns the smallest value with positive weight. Values before it that cancel out are cut off, until one
// with negative weight must be kept.
func (r *runs) first(p *logPart) (e end) {
	at := make([]int, len(r.list))
	for i := range r.list {
		at[i] = r.list[i].lo
	}
	for {
		best := -1
		for i := range r.list {
			if at[i] < r.list[i].hi && (best < 0 || p.compare(r.list[i].ents[at[i]].v, r.list[best].ents[at[best]].v) < 0) {
				best = i
			}
		}
		if best < 0 {
			return e
		}
		v, w := r.list[best].ents[at[best]].v, int64(0)
		for i := range r.list {
			if at[i] < r.list[i].hi && r.list[i].ents[at[i]].v == v {
				w += r.list[i].ents[at[i]].w
			}
		}
		if w > 0 {
			e.entry = entry{v, w}
			return e
		}
		e.debt = e.debt || w < 0
		for i := range r.list {
			if u := &r.list[i]; at[i] < u.hi && u.ents[at[i]].v == v {
				at[i]++
				if !e.debt {
					u.lo = at[i]
					p.drop(v)
				}
			}
		}
	}
}

// last is first from the other end.
func (r *runs) last(p *logPart) (e end) {
	at := make([]int, len(r.list))
	for i := range r.list {
		at[i] = r.list[i].hi
	}
	for {
		best := -1
		for i := range r.list {
			if at[i] > r.list[i].lo && (best < 0 || p.compare(r.list[i].ents[at[i]-1].v, r.list[best].ents[at[best]-1].v) > 0) {
				best = i
			}
		}
		if best < 0 {
			return e
		}
		v, w := r.list[best].ents[at[best]-1].v, int64(0)
		for i := range r.list {
			if at[i] > r.list[i].lo && r.list[i].ents[at[i]-1].v == v {
				w += r.list[i].ents[at[i]-1].w
			}
		}
		if w > 0 {
			e.entry = entry{v, w}
			return e
		}
		e.debt = e.debt || w < 0
		for i := range r.list {
			if u := &r.list[i]; at[i] > u.lo && u.ents[at[i]-1].v == v {
				at[i]--
				if !e.debt {
					u.hi = at[i]
					p.drop(v)
				}
			}
		}
	}
}

func (r *runs) each(f func(entry)) {
	for _, u := range r.list {
		for _, e := range u.ents[u.lo:u.hi] {
			f(e)
		}
	}
	for _, e := range r.buf {
		f(e)
	}
}

func (r *runs) bytes() int64 {
	n := int64(16 * cap(r.buf))
	for _, u := range r.list {
		n += int64(16*cap(u.ents)) + 40
	}
	return n
}

// appendSnapshot writes the runs; a nil r is written as nothing.
func (r *runs) appendSnapshot(dst []byte) []byte {
	if r == nil {
		return binary.AppendUvarint(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.list)+1))
	for _, u := range r.list {
		dst = binary.AppendUvarint(dst, uint64(u.len()))
		dst = appendEntries(dst, u.ents[u.lo:u.hi])
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.buf)))
	return appendEntries(dst, r.buf)
}

func restoreRuns(rd *reader) *runs {
	n := rd.count(1)
	if n == 0 {
		return nil
	}
	r := &runs{}
	for range n - 1 {
		ents := make([]entry, rd.count(16))
		rd.entries(ents)
		r.list = append(r.list, run{ents: ents, hi: len(ents)})
	}
	r.buf = make([]entry, rd.count(16))
	rd.entries(r.buf)
	return r
}

package op

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// Session groups the rows of a key into sessions: a row extends the key's newest open session when its time is at most
// a gap behind the session's end, else it opens another. A session starts at the time of its first row and ends at the
// largest; it is given out when the watermark is past its end and the gap. Open sessions are not merged.
//
// Sessions close in order of their ends, then in the order in which they were opened. A late row that may amend goes
// to the newest session of its key that it is not further than a gap away from.
type Session struct {
	windowBase
	gap      int64
	groups   *zset.KeyTable // number and key -> group
	sessions zset.Slab[session]
	keyTable *zset.KeyTable    // key -> list
	newest   zset.Slab[uint32] // by key: the session opened last
	closing  timeHeap          // by the end as it was when the entry was made
	leaving  timeHeap          // closed sessions that can be amended, in the same way
	seq      uint64
	key      []byte
	rec      []byte
	sel      []int32
	ids      []uint32
}

var _ Operator = (*Session)(nil)

// session is one session; its number is that of its group.
type session struct {
	start, end   int64
	seq          uint64
	key          uint32
	older, newer uint32 // of the same key, by the order of opening
	closed       bool
}

// NewSession makes sessions that end gap milliseconds after their last row.
func NewSession(gap int64, spec WindowSpec) *Session {
	return &Session{windowBase: newWindowBase(spec), gap: gap, groups: zset.NewKeyTable(), keyTable: zset.NewKeyTable()}
}

// Apply folds rows into their sessions.
func (w *Session) Apply(_ int, d Delta, emit Emit) {
	w.every = w.every[:0]
	var behind []int32
	for k := range d.Len() {
		i := d.At(k)
		drop, late := w.tooLate(d, i)
		if drop {
			continue
		}
		if late {
			behind = append(behind, int32(i))
		}
		w.every = append(w.every, int32(i))
	}
	w.giveLate(d)
	if len(w.every) == 0 {
		return
	}
	w.keyColumns(d.B, w.every)
	w.sel, w.ids = w.sel[:0], w.ids[:0]
	for _, i := range w.every {
		at := int(i)
		ts, mark := d.B.Cols[w.spec.Ts].I64[at], w.mark(d, at)
		late := len(behind) > 0 && behind[0] == i
		if late {
			w.foldBatch(d.B)
			w.closeTo(mark, emit)
			behind = behind[1:]
			w.Amended++
		}
		g, was := w.place(at, ts, mark, late)
		s := w.sessions.At(g)
		key := w.groups.Key(g)[seqPrefix:]
		now := windowRow{start: s.start, end: s.end}
		switch {
		case w.spec.Amend > 0 && *w.revs.At(g) > 0:
			w.foldBatch(d.B)
			w.fold(d.B, at, g, key, now, func() windowRow { return w.published(g, windowRow{start: s.start, end: was}) })
		case late && passed(s.end, w.gap, mark):
			// A session that begins and ends behind the watermark is given out at once.
			w.one[0], w.group[0] = i, g
			w.add(d.B, w.one[:], w.group[:])
			w.close(g)
		case w.spec.Changes:
			w.fold(d.B, at, g, key, now, nil)
		default:
			w.sel, w.ids = append(w.sel, i), append(w.ids, g)
		}
	}
	w.foldBatch(d.B)
	w.give(emit)
}

func (w *Session) foldBatch(b *zset.Batch) {
	if len(w.sel) > 0 {
		w.add(b, w.sel, w.ids)
		w.sel, w.ids = w.sel[:0], w.ids[:0]
	}
}

// place finds the session of a row and extends it, or opens one; was is the end before.
func (w *Session) place(i int, ts, mark int64, late bool) (g uint32, was int64) {
	w.key = zset.AppendRecord(w.key[:0], &w.cols, i, nil)
	k, added := w.keyTable.Insert(w.key)
	if need := w.keyTable.Cap() - w.newest.Len(); need > 0 {
		w.newest.Grow(need)
	}
	if added {
		*w.newest.At(k) = zset.NoID
	}
	for g = *w.newest.At(k); g != zset.NoID; g = w.sessions.At(g).older {
		s := w.sessions.At(g)
		if !late {
			if passed(s.end, w.gap, mark) {
				continue // closed, also when the epoch has not ended yet
			}
			if passed(s.end, w.gap, ts) {
				break
			}
		} else if passed(s.end, w.gap, ts) || passed(ts, w.gap, s.start) {
			continue
		}
		was = s.end
		s.end = max(s.end, ts)
		return g, was
	}
	w.rec = binary.BigEndian.AppendUint64(w.rec[:0], w.seq)
	w.rec = append(w.rec, w.key...)
	g, _ = w.groups.Insert(w.rec)
	w.grow(w.groups.Cap())
	if need := w.groups.Cap() - w.sessions.Len(); need > 0 {
		w.sessions.Grow(need)
	}
	head := w.newest.At(k)
	*w.sessions.At(g) = session{start: ts, end: ts, seq: w.seq, key: k, older: *head, newer: zset.NoID}
	if *head != zset.NoID {
		w.sessions.At(*head).newer = g
	}
	*head = g
	w.closing.push(timeEntry{ts: ts, seq: w.seq, id: g})
	w.seq++
	return g, ts
}

// Advance closes the sessions that the watermark is past, and forgets those that nothing can amend any more.
func (w *Session) Advance(watermark int64, emit Emit) {
	if watermark <= w.closed {
		return
	}
	w.closed = watermark
	w.closeTo(watermark, emit)
	for {
		g, ok := w.first(&w.leaving, w.gap+w.spec.Amend, watermark)
		if !ok {
			return
		}
		w.forget(g)
	}
}

// closeTo gives the sessions out that the watermark is past.
func (w *Session) closeTo(watermark int64, emit Emit) {
	for {
		g, ok := w.first(&w.closing, w.gap, watermark)
		if !ok {
			break
		}
		if !w.sessions.At(g).closed {
			w.close(g)
		}
		if w.spec.OnClose != nil {
			w.give(emit) // each end is a moment of its own
		}
	}
	w.give(emit)
}

// first takes the session with the smallest end out of a queue, if the watermark is past the end and a while.
func (w *Session) first(h *timeHeap, after, watermark int64) (g uint32, ok bool) {
	for len(*h) > 0 {
		e := (*h)[0]
		if !passed(e.ts, after, watermark) {
			return 0, false
		}
		h.pop()
		if end := w.sessions.At(e.id).end; end != e.ts {
			e.ts = end
			h.push(e)
			continue
		}
		return e.id, true
	}
	return 0, false
}

// close gives a session out.
func (w *Session) close(g uint32) {
	s := w.sessions.At(g)
	s.closed = true
	w.Closed++
	if w.spec.OnClose != nil {
		w.spec.OnClose(s.end)
	}
	w.final(g, w.groups.Key(g)[seqPrefix:], windowRow{start: s.start, end: s.end})
	if w.spec.Amend > 0 {
		w.leaving.push(timeEntry{ts: s.end, seq: s.seq, id: g})
		return
	}
	w.forget(g)
}

// forget removes a session.
func (w *Session) forget(g uint32) {
	s := w.sessions.At(g)
	if s.newer != zset.NoID {
		w.sessions.At(s.newer).older = s.older
	} else {
		*w.newest.At(s.key) = s.older
	}
	if s.older != zset.NoID {
		w.sessions.At(s.older).newer = s.newer
	}
	if *w.newest.At(s.key) == zset.NoID {
		w.keyTable.Remove(s.key)
	}
	w.release(g)
	w.groups.Remove(g)
}

// Flush does nothing: a session is given out when it closes.
func (*Session) Flush(Emit) {}

// Waits reports whether a session is open.
func (w *Session) Waits() bool { return len(w.closing) > 0 || len(w.leaving) > 0 }

const sessionVersion = 1

// AppendSnapshot appends the sessions.
func (w *Session) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, sessionVersion)
	dst = w.appendBooks(dst, w.groups.Cap())
	dst = binary.AppendUvarint(dst, w.seq)
	dst = appendBlock(dst, w.groups.AppendSnapshot)
	dst = appendBlock(dst, w.keyTable.AppendSnapshot)
	dst = appendBlock(dst, func(dst []byte) []byte { return w.states.AppendSnapshot(dst, w.groups.Cap()) })
	dst = binary.AppendUvarint(dst, uint64(w.groups.Len()))
	w.groups.Each(func(g uint32, _ []byte) bool {
		s := w.sessions.At(g)
		dst = binary.AppendUvarint(dst, uint64(g))
		dst = binary.AppendVarint(dst, s.start)
		dst = binary.AppendVarint(dst, s.end)
		dst = binary.AppendUvarint(dst, s.seq)
		for _, id := range [3]uint32{s.key, s.older, s.newer} {
			dst = binary.AppendUvarint(dst, uint64(id+1)) // NoID becomes 0
		}
		appendBool(&dst, s.closed)
		return true
	})
	return dst
}

// Restore replaces the state.
func (w *Session) Restore(b []byte) error {
	r, err := openSnapshot(b, sessionVersion)
	if err != nil {
		return err
	}
	w.restoreBooks(r)
	w.seq = r.uvarint()
	for what, restore := range []func([]byte) error{w.groups.Restore, w.keyTable.Restore, w.states.Restore} {
		if err := restore(r.block()); err != nil {
			return fmt.Errorf("sessions, part %d: %w", what, err)
		}
	}
	w.grow(w.groups.Cap())
	w.sessions.Grow(w.groups.Cap())
	w.newest.Grow(w.keyTable.Cap())
	there := func(g uint32) bool { return g == zset.NoID || len(w.groups.Key(g)) >= seqPrefix }
	for range r.count() {
		g := uint32(r.uvarint())
		s := session{start: r.varint(), end: r.varint(), seq: r.uvarint()}
		s.key, s.older, s.newer = uint32(r.uvarint())-1, uint32(r.uvarint())-1, uint32(r.uvarint())-1
		s.closed = r.uvarint() != 0
		if g == zset.NoID || !there(g) || !there(s.older) || !there(s.newer) || w.keyTable.Key(s.key) == nil {
			return fmt.Errorf("%w: a session names another that is not there", ErrSnapshot)
		}
		*w.sessions.At(g) = s
		if s.newer == zset.NoID {
			*w.newest.At(s.key) = g
		}
		e := timeEntry{ts: s.end, seq: s.seq, id: g}
		if s.closed {
			w.leaving.push(e)
		} else {
			w.closing.push(e)
		}
	}
	return r.end()
}

// StateBytes is the memory of the sessions.
func (w *Session) StateBytes() int64 {
	return w.groups.StateBytes() + w.keyTable.StateBytes() + w.states.Bytes() + w.sessions.Bytes() + w.newest.Bytes() +
		w.revs.Bytes() + 24*int64(cap(w.closing)+cap(w.leaving))
}

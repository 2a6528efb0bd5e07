package op

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// Window groups rows by key and window of event time, and gives a window's rows out when the watermark passes its
// end: keys, aggregates, window_start, window_end and _ts (the end). Windows of one size start at every multiple of an
// advance: an advance as long as the size makes tumbling windows, a shorter one hopping windows that overlap.
//
// Windows close in order of their ends; within a window groups come in the order in which they were first seen. A
// row is late when its time is below the watermark that the rows before it had reached. Lateness is judged row by
// row, so that it does not depend on how rows are cut into batches; for the same reason a window that a late row
// amends is closed right before it, when its end of the epoch is still to come.
type Window struct {
	windowBase
	size    int64
	advance int64
	table   *zset.KeyTable // window start and key -> group
	batch   zset.KeyBatch
	ids     []uint32
	sel     []int32
	starts  []int64
	passSel []int32
	passIDs []uint32

	open []openWindow // by start
}

var _ Operator = (*Window)(nil)

// windowPrefix is the length of the window's start before the key.
const windowPrefix = 8

// openWindow is a window with its groups in order of first sight.
type openWindow struct {
	start  int64
	closed bool // given out, and kept to be amended
	groups []uint32
}

// NewWindow makes windows of size milliseconds that start every advance milliseconds.
func NewWindow(size, advance int64, spec WindowSpec) *Window {
	return &Window{windowBase: newWindowBase(spec), size: size, advance: advance, table: zset.NewKeyTable()}
}

// Apply folds rows into their windows.
func (w *Window) Apply(_ int, d Delta, emit Emit) {
	w.sel, w.starts = w.sel[:0], w.starts[:0]
	w.every = w.every[:0]
	var behind []int32
	for k := range d.Len() {
		i := d.At(k)
		if col := &d.B.Cols[w.spec.Ts]; !col.IsNull(i) && w.atTheEnd(col.I64[i]) {
			w.drop(i, 0)
			continue
		}
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
	for _, i := range w.every {
		at := int(i)
		late := len(behind) > 0 && behind[0] == i
		if late {
			w.foldBatch(d.B)
			w.give(emit)
			w.closeTo(w.mark(d, at), emit)
			behind = behind[1:]
			w.Amended++
		}
		w.eachStart(d.B.Cols[w.spec.Ts].I64[at], func(start int64) {
			if late || w.spec.Changes {
				w.foldOne(d.B, at, start, late && start+w.size <= w.mark(d, at))
				return
			}
			w.sel = append(w.sel, i)
			w.starts = append(w.starts, start)
		})
	}
	w.foldBatch(d.B)
	w.give(emit)
}

// atTheEnd reports whether a window that holds the time would begin or end at no time any more.
func (w *Window) atTheEnd(ts int64) bool {
	return ts > math.MaxInt64-w.size-w.advance || ts < math.MinInt64+w.size+w.advance
}

// eachStart visits the starts of the windows that hold a time, from the oldest.
func (w *Window) eachStart(ts int64, visit func(start int64)) {
	rest := ts % w.advance
	if rest < 0 {
		rest += w.advance
	}
	newest := ts - rest
	if rest >= w.size {
		return // between two windows
	}
	for n := (w.size - rest - 1) / w.advance; n >= 0; n-- { // windows before the newest one that still hold ts
		visit(newest - n*w.advance)
	}
}

// foldBatch adds the collected rows to their groups.
func (w *Window) foldBatch(b *zset.Batch) {
	if len(w.sel) == 0 {
		return
	}
	w.batch.Reset()
	for k, i := range w.sel {
		w.batch.Bytes = binary.BigEndian.AppendUint64(w.batch.Bytes, uint64(w.starts[k]))
		w.batch.Bytes = zset.AppendRecord(w.batch.Bytes, &w.cols, int(i), nil)
		w.batch.Mark()
	}
	w.batch.HashAll()
	w.ids = grow(w.ids, len(w.sel))
	for k := range w.sel {
		w.ids[k] = w.enter(w.batch.Hash[k], w.batch.Key(k), w.starts[k])
	}
	w.grow(w.table.Cap())
	w.addUnique(b)
	w.sel, w.starts = w.sel[:0], w.starts[:0]
}

// addUnique folds the rows in passes that hold each row at most once: the n-th window of every row.
func (w *Window) addUnique(b *zset.Batch) {
	for rest := len(w.sel); rest > 0; {
		kept := 0
		w.passSel, w.passIDs = w.passSel[:0], w.passIDs[:0]
		last := int32(-1)
		for k, i := range w.sel[:rest] {
			if i != last {
				w.passSel, w.passIDs = append(w.passSel, i), append(w.passIDs, w.ids[k])
				last = i
				continue
			}
			w.sel[kept], w.ids[kept] = i, w.ids[k]
			kept++
		}
		w.add(b, w.passSel, w.passIDs)
		rest = kept
	}
}

// foldOne adds one row to one window. closed says that the window has been given out.
func (w *Window) foldOne(b *zset.Batch, i int, start int64, closed bool) {
	w.batch.Reset()
	w.batch.Bytes = binary.BigEndian.AppendUint64(w.batch.Bytes, uint64(start))
	w.batch.Bytes = zset.AppendRecord(w.batch.Bytes, &w.cols, i, nil)
	key := w.batch.Bytes
	g := w.enter(zset.Hash(key), key, start)
	w.grow(w.table.Cap())
	at := windowRow{start: start, end: start + w.size}
	if !closed {
		w.fold(b, i, g, key[windowPrefix:], at, nil)
		return
	}
	if win := w.window(start); !win.closed {
		win.closed = true
		w.Closed++
		if w.spec.OnClose != nil {
			w.spec.OnClose(at.end)
		}
	}
	if *w.revs.At(g) > 0 {
		w.fold(b, i, g, key[windowPrefix:], at, func() windowRow { return w.published(g, at) })
		return
	}
	w.one[0], w.group[0] = int32(i), g
	w.add(b, w.one[:], w.group[:])
	w.final(g, key[windowPrefix:], at)
}

// enter finds the group of a window and a key, or makes it.
func (w *Window) enter(hash uint64, key []byte, start int64) uint32 {
	id, added := w.table.InsertHash(hash, key)
	if added {
		win := w.window(start)
		win.groups = append(win.groups, id)
	}
	return id
}

// window finds an open window, or opens it.
func (w *Window) window(start int64) *openWindow {
	// The newest window is the likely one.
	i := len(w.open)
	for i > 0 && w.open[i-1].start >= start {
		i--
		if w.open[i].start == start {
			return &w.open[i]
		}
	}
	w.open = slices.Insert(w.open, i, openWindow{start: start})
	return &w.open[i]
}

// Advance closes the windows that end at or before the watermark, and forgets those that nothing can amend any more.
func (w *Window) Advance(watermark int64, emit Emit) {
	if watermark <= w.closed {
		return
	}
	w.closed = watermark
	w.closeTo(watermark, emit)
	n := 0
	for n < len(w.open) && w.open[n].closed && uint64(watermark)-uint64(w.open[n].start+w.size) >= uint64(w.spec.Amend) {
		for _, g := range w.open[n].groups {
			w.release(g)
			w.table.Remove(g)
		}
		n++
	}
	w.open = slices.Delete(w.open, 0, n)
}

// closeTo gives the windows out that end at or before the watermark.
func (w *Window) closeTo(watermark int64, emit Emit) {
	for n := range w.open {
		win := &w.open[n]
		if win.start+w.size > watermark {
			return
		}
		if win.closed {
			continue
		}
		win.closed = true
		w.Closed++
		if w.spec.OnClose != nil {
			w.spec.OnClose(win.start + w.size)
		}
		for _, g := range win.groups {
			w.final(g, w.table.Key(g)[windowPrefix:], windowRow{start: win.start, end: win.start + w.size})
		}
		w.give(emit)
	}
}

// Flush does nothing: a window is given out when it closes.
func (*Window) Flush(Emit) {}

// Waits reports whether a window is open.
func (w *Window) Waits() bool { return len(w.open) > 0 }

const windowVersion = 2

// AppendSnapshot appends the open windows.
func (w *Window) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, windowVersion)
	dst = w.appendBooks(dst, w.table.Cap())
	dst = binary.AppendUvarint(dst, uint64(len(w.open)))
	for _, win := range w.open {
		dst = binary.AppendVarint(dst, win.start)
		appendBool(&dst, win.closed)
		dst = binary.AppendUvarint(dst, uint64(len(win.groups)))
		for _, g := range win.groups {
			dst = binary.AppendUvarint(dst, uint64(g))
		}
	}
	dst = appendBlock(dst, w.table.AppendSnapshot)
	return appendBlock(dst, func(dst []byte) []byte { return w.states.AppendSnapshot(dst, w.table.Cap()) })
}

// Restore replaces the state.
func (w *Window) Restore(b []byte) error {
	s, err := openSnapshot(b, windowVersion)
	if err != nil {
		return err
	}
	w.restoreBooks(s)
	w.open = make([]openWindow, s.count())
	for i := range w.open {
		w.open[i].start = s.varint()
		w.open[i].closed = s.uvarint() != 0
		w.open[i].groups = make([]uint32, s.count())
		for k := range w.open[i].groups {
			w.open[i].groups[k] = uint32(s.uvarint())
		}
	}
	keys, states := s.block(), s.block()
	if err := s.end(); err != nil {
		return err
	}
	if err := w.table.Restore(keys); err != nil {
		return fmt.Errorf("windows: %w", err)
	}
	for _, win := range w.open {
		for _, g := range win.groups {
			if len(w.table.Key(g)) < windowPrefix {
				return fmt.Errorf("%w: a window names group %d, which is not there", ErrSnapshot, g)
			}
		}
	}
	if err := w.states.Restore(states); err != nil {
		return fmt.Errorf("windows: %w", err)
	}
	w.grow(w.table.Cap())
	return nil
}

// StateBytes is the memory of the open windows.
func (w *Window) StateBytes() int64 {
	n := w.table.StateBytes() + w.states.Bytes() + w.revs.Bytes()
	for _, win := range w.open {
		n += int64(4*cap(win.groups)) + 40
	}
	return n
}

package op

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Window groups rows by key and tumbling window of event time, and gives a window's rows out when the watermark
// passes its end: keys, aggregates, window_start, window_end and _ts (the end).
//
// Windows close in order of their ends; within a window groups come in the order in which they were first seen. A
// row is late when its time is below the watermark that the rows before it had reached, or when its window has been
// given out; late rows are counted and handed to the late output. Lateness is judged row by row, so that it does not
// depend on how rows are cut into batches.
type Window struct {
	ts       int
	size     int64
	kernels  []*expr.Kernel
	keyKinds []types.Kind
	cols     zset.Batch
	table    *zset.KeyTable // window start and key -> group
	keys     zset.KeyBatch
	states   *agg.Table
	results  *agg.Results
	ids      []uint32
	sel      []int32
	late     []int32
	starts   []int64

	open   []openWindow // by start
	closed int64        // windows that end at or before this are closed
	onLate Emit

	// Late are the books of late rows.
	Late Lateness
	// Closed counts the windows given out.
	Closed int64
}

var _ Operator = (*Window)(nil)

// windowPrefix is the length of the window's start before the key.
const windowPrefix = 8

// openWindow is a window with its groups in order of first sight.
type openWindow struct {
	start  int64
	groups []uint32
}

// NewWindow makes a tumbling window of size milliseconds over the time column ts. onLate takes late rows with the
// columns of the input; nil drops them.
func NewWindow(ts int, size int64, keys []expr.Expr, calls []agg.Call, appendOnly bool, onLate Emit) *Window {
	w := &Window{ts: ts, size: size, table: zset.NewKeyTable(), states: agg.NewTable(calls, appendOnly),
		cols: zset.Batch{Cols: make([]zset.Column, len(keys))}, closed: math.MinInt64, onLate: onLate}
	w.results = w.states.NewResults()
	for _, k := range keys {
		w.kernels = append(w.kernels, expr.Compile(k))
		w.keyKinds = append(w.keyKinds, storedKind(k.Kind()))
	}
	return w
}

// Apply folds rows into their windows.
func (w *Window) Apply(_ int, d Delta, _ Emit) {
	w.admit(d)
	if len(w.late) > 0 && w.onLate != nil {
		w.onLate(Delta{B: d.B, Sel: w.late, Stable: d.Stable})
	}
	if len(w.sel) == 0 {
		return
	}
	w.cols.N = d.B.N
	for i, k := range w.kernels {
		w.cols.Cols[i] = *k.Aligned(d.B, w.sel)
	}
	w.keys.Reset()
	for k, i := range w.sel {
		w.keys.Bytes = binary.BigEndian.AppendUint64(w.keys.Bytes, uint64(w.starts[k]))
		w.keys.Bytes = zset.AppendRecord(w.keys.Bytes, &w.cols, int(i), nil)
		w.keys.Mark()
	}
	w.keys.HashAll()
	w.ids = grow(w.ids, len(w.sel))
	for k := range w.sel {
		id, added := w.table.InsertHash(w.keys.Hash[k], w.keys.Key(k))
		w.ids[k] = id
		if added {
			win := w.window(w.starts[k])
			win.groups = append(win.groups, id)
		}
	}
	w.states.Grow(w.table.Cap())
	w.states.Add(d.B, w.sel, w.ids)
}

// admit parts the rows into those that count, with the starts of their windows, and late ones. A row without a
// time belongs to no window and is late.
func (w *Window) admit(d Delta) {
	w.sel, w.late, w.starts = w.sel[:0], w.late[:0], w.starts[:0]
	col := &d.B.Cols[w.ts]
	for k := range d.Len() {
		i := d.At(k)
		ts, by, late := int64(0), int64(0), true
		if !col.IsNull(i) {
			mark := w.closed
			if d.Marks != nil {
				mark = d.Marks[i]
			}
			ts = col.I64[i]
			by, late = lateBy(ts, mark)
		}
		start, ok := windowStart(ts, w.size)
		if late || !ok {
			w.Late.add(by)
			w.late = append(w.late, int32(i))
			continue
		}
		w.sel = append(w.sel, int32(i))
		w.starts = append(w.starts, start)
	}
}

// windowStart is floor(ts / size) * size; ok is false when the window's end is no time any more.
func windowStart(ts, size int64) (start int64, ok bool) {
	rest := ts % size
	if rest < 0 {
		rest += size
	}
	start = ts - rest
	return start, start <= ts && start+size > start
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

// Advance closes the windows that end at or before the watermark.
func (w *Window) Advance(watermark int64, emit Emit) {
	if watermark <= w.closed {
		return
	}
	w.closed = watermark
	n := 0
	for n < len(w.open) && w.open[n].start+w.size <= watermark {
		w.close(&w.open[n], emit)
		n++
	}
	w.open = slices.Delete(w.open, 0, n)
}

func (w *Window) close(win *openWindow, emit Emit) {
	w.Closed++
	w.ids = w.ids[:0]
	for _, g := range win.groups {
		if w.states.Rows(g) > 0 {
			w.ids = append(w.ids, g)
		}
	}
	if len(w.ids) > 0 {
		w.results.Reset()
		w.states.Read(w.ids, w.results)
		emit(Delta{B: w.build(win.start), Stable: true})
	}
	for _, g := range win.groups {
		w.states.Release(g)
		w.table.Remove(g)
	}
}

func (w *Window) build(start int64) *zset.Batch {
	n := len(w.ids)
	rows := make([]agg.Pick, n)
	for k := range rows {
		rows[k] = agg.New(int32(k))
	}
	b := &zset.Batch{N: n, Cols: decodeKeys(w.keyKinds, n, func(k int) []byte { return w.table.Key(w.ids[k])[windowPrefix:] })}
	for c := range w.results.Width() {
		b.Cols = append(b.Cols, agg.Column(c, [2]*agg.Results{w.results, w.results}, rows))
	}
	for _, v := range [3]int64{start, start + w.size, start + w.size} {
		col := zset.Column{Kind: types.Long, I64: make([]int64, n)}
		for k := range col.I64 {
			col.I64[k] = v
		}
		b.Cols = append(b.Cols, col)
	}
	return b
}

// Flush does nothing: a window is given out when it closes.
func (*Window) Flush(Emit) {}

// Waits reports whether a window is open.
func (w *Window) Waits() bool { return len(w.open) > 0 }

const windowVersion = 2

// AppendSnapshot appends the open windows.
func (w *Window) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, windowVersion)
	dst = w.Late.append(dst)
	dst = binary.AppendVarint(dst, w.Closed)
	dst = binary.AppendVarint(dst, w.closed)
	dst = binary.AppendUvarint(dst, uint64(len(w.open)))
	for _, win := range w.open {
		dst = binary.AppendVarint(dst, win.start)
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
	w.Late.restore(s)
	w.Closed, w.closed = s.varint(), s.varint()
	w.open = make([]openWindow, s.count())
	for i := range w.open {
		w.open[i].start = s.varint()
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
			if w.table.Key(g) == nil {
				return fmt.Errorf("%w: a window names group %d, which is not there", ErrSnapshot, g)
			}
		}
	}
	if err := w.states.Restore(states); err != nil {
		return fmt.Errorf("windows: %w", err)
	}
	w.states.Grow(w.table.Cap())
	return nil
}

// StateBytes is the memory of the open windows.
func (w *Window) StateBytes() int64 {
	n := w.table.StateBytes() + w.states.Bytes()
	for _, win := range w.open {
		n += int64(4*cap(win.groups)) + 32
	}
	return n
}

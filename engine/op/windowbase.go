package op

import (
	"encoding/binary"
	"math"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// WindowSpec is what the windows of event time have in common.
type WindowSpec struct {
	// Ts is the position of the event time in the input.
	Ts   int
	Keys []expr.Expr
	Aggs []agg.Call
	// AppendOnly says that the input never takes a row back.
	AppendOnly bool
	// Changes gives a running row out for every row that comes, marked as not final.
	Changes bool
	// Amend is how far behind the watermark a row may be and still change a window that was given out: the old row is
	// taken back and the new one given with the next revision. 0 drops such rows.
	Amend int64
	// OnLate takes late rows with the columns of the input; nil drops them.
	OnLate Emit
	// OnClose is told the end of every window before its rows are given out; nil: nobody asks.
	OnClose func(end int64)
}

// windowBase is the part of a window operator that does not know the shape of the windows: the groups' states, late
// rows, and the rows given out: keys, aggregates, window_start, window_end, _final (with Changes), _revision (with
// Amend) and _ts.
type windowBase struct {
	spec     WindowSpec
	kernels  []*expr.Kernel
	keyKinds []types.Kind
	cols     zset.Batch // the key columns of the batch at hand
	states   *agg.Table
	results  *agg.Results
	closed   int64            // the watermark of the last Advance
	revs     zset.Slab[int64] // by group: how often its row was given out as final

	keys  zset.KeyBatch // keys of the rows to give out
	rows  []windowRow
	read  []uint32 // groups of the last rows, whose aggregates are not read yet
	late  []int32
	every []int32
	one   [1]int32
	group [1]uint32

	// Late are the books of the rows that were too late.
	Late Lateness
	// Amended counts late rows that changed windows which were closed, or were given out by one.
	Amended int64
	// Closed counts the windows given out.
	Closed int64
	// Overflows counts SUMs of Longs that were given out and do not fit 64 bits.
	Overflows int64
}

// windowRow is what stands in a row beside keys and aggregates.
type windowRow struct {
	start, end int64
	final      bool
	revision   int64
	weight     int64
}

func newWindowBase(spec WindowSpec) windowBase {
	w := windowBase{spec: spec, states: agg.NewTable(spec.Aggs, spec.AppendOnly), closed: math.MinInt64,
		cols: zset.Batch{Cols: make([]zset.Column, len(spec.Keys))}}
	w.results = w.states.NewResults()
	for _, k := range spec.Keys {
		w.kernels = append(w.kernels, expr.Compile(k))
		w.keyKinds = append(w.keyKinds, storedKind(k.Kind()))
	}
	return w
}

// keyColumns computes the keys of the selected rows of a batch.
func (w *windowBase) keyColumns(b *zset.Batch, sel []int32) {
	w.cols.N = b.N
	for i, k := range w.kernels {
		w.cols.Cols[i] = *k.Aligned(b, sel)
	}
}

// mark is the watermark that the rows before a row had reached.
func (w *windowBase) mark(d Delta, i int) int64 {
	if d.Marks == nil {
		return w.closed
	}
	return d.Marks[i]
}

// tooLate counts a row that is behind the watermark by more than may be amended. behind says that the row is late and
// counts all the same. A row without a time is too late.
func (w *windowBase) tooLate(d Delta, i int) (drop, behind bool) {
	col := &d.B.Cols[w.spec.Ts]
	if col.IsNull(i) {
		w.drop(i, 0)
		return true, false
	}
	by, late := lateBy(col.I64[i], w.mark(d, i))
	if by > w.spec.Amend {
		w.drop(i, by)
		return true, false
	}
	return false, late
}

func (w *windowBase) drop(i int, by int64) {
	w.Late.add(by)
	w.late = append(w.late, int32(i))
}

// giveLate hands the late rows of a batch on.
func (w *windowBase) giveLate(d Delta) {
	if len(w.late) > 0 && w.spec.OnLate != nil {
		w.spec.OnLate(Delta{B: d.B, Sel: w.late, Stable: d.Stable})
	}
	w.late = w.late[:0]
}

// grow makes room for groups below n.
func (w *windowBase) grow(n int) {
	w.states.Grow(n)
	if w.spec.Amend > 0 && n > w.revs.Len() {
		w.revs.Grow(n - w.revs.Len())
	}
}

// fold adds one row to one group. A group that was given out before is amended at once; a running row follows when
// they are asked for.
func (w *windowBase) fold(b *zset.Batch, i int, g uint32, key []byte, at windowRow, published func() windowRow) {
	amend := w.spec.Amend > 0 && *w.revs.At(g) > 0
	if amend {
		w.row(g, key, published(), -1)
	}
	w.one[0], w.group[0] = int32(i), g
	w.add(b, w.one[:], w.group[:])
	switch {
	case amend:
		w.final(g, key, at)
	case w.spec.Changes:
		at.final = false
		w.row(g, key, at, 1)
	}
}

// final gives the row of a group out as that of a closed window.
func (w *windowBase) final(g uint32, key []byte, at windowRow) {
	at.final = true
	if w.spec.Amend > 0 {
		rev := w.revs.At(g)
		at.revision = *rev
		*rev++
	}
	w.row(g, key, at, 1)
}

// published is the row of a group as it was last given out.
func (w *windowBase) published(g uint32, at windowRow) windowRow {
	at.final, at.revision = true, *w.revs.At(g)-1
	return at
}

func (w *windowBase) row(g uint32, key []byte, at windowRow, weight int64) {
	if w.states.Rows(g) <= 0 {
		return
	}
	w.read = append(w.read, g)
	w.keys.Append(key)
	at.weight = weight
	w.rows = append(w.rows, at)
}

// settle reads the aggregates of the collected rows before their groups change.
func (w *windowBase) settle() {
	if len(w.read) > 0 {
		w.Overflows += int64(w.states.Read(w.read, w.results))
		w.read = w.read[:0]
	}
}

// add folds rows into groups.
func (w *windowBase) add(b *zset.Batch, sel []int32, groups []uint32) {
	w.settle()
	w.states.Add(b, sel, groups)
}

// release forgets a group.
func (w *windowBase) release(g uint32) {
	w.settle()
	w.states.Release(g)
	if w.spec.Amend > 0 {
		*w.revs.At(g) = 0
	}
}

// give emits the collected rows.
func (w *windowBase) give(emit Emit) {
	n := len(w.rows)
	if n == 0 {
		return
	}
	w.settle()
	picks := make([]agg.Pick, n)
	for k := range picks {
		picks[k] = agg.New(int32(k))
	}
	b := &zset.Batch{N: n, Cols: decodeKeys(w.keyKinds, n, w.keys.Key)}
	for c := range w.results.Width() {
		b.Cols = append(b.Cols, agg.Column(c, [2]*agg.Results{w.results, w.results}, picks))
	}
	long := func(kind types.Kind, of func(*windowRow) int64) {
		col := zset.Column{Kind: kind, I64: make([]int64, n)}
		for k := range col.I64 {
			col.I64[k] = of(&w.rows[k])
		}
		b.Cols = append(b.Cols, col)
	}
	long(types.Long, func(r *windowRow) int64 { return r.start })
	long(types.Long, func(r *windowRow) int64 { return r.end })
	if w.spec.Changes {
		long(types.Bool, func(r *windowRow) int64 {
			if r.final {
				return 1
			}
			return 0
		})
	}
	if w.spec.Amend > 0 {
		long(types.Long, func(r *windowRow) int64 { return r.revision })
	}
	long(types.Long, func(r *windowRow) int64 { return r.end })
	for k := range w.rows {
		if w.rows[k].weight != 1 && b.Weight == nil {
			b.Weight = make([]int64, n)
			for j := range b.Weight {
				b.Weight[j] = w.rows[j].weight
			}
		}
	}
	w.rows = w.rows[:0]
	w.keys.Reset()
	w.results.Reset()
	emit(Delta{B: b, Stable: true})
}

// appendBooks writes the counters and revisions of a snapshot; groups is the number of group ids.
func (w *windowBase) appendBooks(dst []byte, groups int) []byte {
	dst = w.Late.append(dst)
	for _, v := range [4]int64{w.Amended, w.Closed, w.Overflows, w.closed} {
		dst = binary.AppendVarint(dst, v)
	}
	if w.spec.Amend > 0 {
		dst = binary.AppendUvarint(dst, uint64(groups))
		for g := range groups {
			dst = binary.AppendVarint(dst, *w.revs.At(uint32(g)))
		}
	}
	return dst
}

func (w *windowBase) restoreBooks(s *snapReader) {
	w.Late.restore(s)
	w.Amended, w.Closed, w.Overflows, w.closed = s.varint(), s.varint(), s.varint(), s.varint()
	if w.spec.Amend > 0 {
		n := s.count()
		w.revs.Grow(n)
		for g := range n {
			*w.revs.At(uint32(g)) = s.varint()
		}
	}
}

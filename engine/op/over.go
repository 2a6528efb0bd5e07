package op

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Over adds the values of window functions to the rows of each partition. Rows that the order does not tell apart
// follow by their whole record, so that the result depends on the rows alone.
//
// Every row of the input is kept; the rows of a partition are a sorted list. At the flush the functions are computed for
// the rows as they were and as they are, and rows whose values differ are given out. When every function of a row looks
// back only (Call.Running), the rows before the first change are not computed, and aggregates from the first row on are
// kept for each partition: what a change costs is the rows behind it.
type Over struct {
	parts   *groups
	kernels []*expr.Kernel
	order   []agg.OrderKey

	table  *zset.KeyTable // partition, order cells, row cells -> row
	weight zset.Slab[int64]
	was    zset.Slab[int64] // the weight at the last flush
	lists  [][]uint32       // rows of a partition in order
	fresh  [][]uint32       // rows that came since the last flush

	touched []uint32
	dirty   []uint32 // rows whose weight has changed since the last flush; one can be here twice
	seen    []bool
	folded  []bool // the partition's kept aggregates hold its rows; false after a restore until they are read
	values  *overValues
	old     overRows
	now     overRows
	changes *zset.Builder
	width   int // columns of the input
	key     []byte
	merged  []uint32
}

var _ Operator = (*Over)(nil)

// NewOver makes the operator over rows of the given columns. Arguments of calls are columns and constants.
func NewOver(in types.Schema, partition []expr.Expr, order []agg.OrderKey, calls []over.Call) *Over {
	kinds := kindsOf(in)
	for _, c := range calls {
		kinds = append(kinds, c.K)
	}
	o := &Over{parts: newGroups(partition), order: order, table: zset.NewKeyTable(), changes: zset.NewBuilder(kinds), width: len(in)}
	for _, k := range order {
		o.kernels = append(o.kernels, expr.Compile(k.X))
	}
	o.values = newOverValues(kinds[:len(in)], order, calls)
	o.values.peerOf, o.values.rowOf = o.peer, o.row
	return o
}

// Apply enters rows into their partitions.
func (o *Over) Apply(_ int, d Delta, _ Emit) {
	ids := o.parts.of(d)
	if len(ids) == 0 {
		return
	}
	o.grow()
	cols := make([]*zset.Column, len(o.kernels))
	for i, k := range o.kernels {
		cols[i] = k.Aligned(d.B, d.Sel)
	}
	for k, g := range ids {
		i := d.At(k)
		if !o.seen[g] {
			o.seen[g] = true
			o.touched = append(o.touched, g)
		}
		o.key = binary.LittleEndian.AppendUint32(o.key[:0], g)
		for _, c := range cols {
			o.key = zset.AppendCell(o.key, c, i)
		}
		o.key = zset.AppendRecord(o.key, d.B, i, nil)
		id, added := o.table.Insert(o.key)
		if added {
			if n := int(id) + 1 - o.weight.Len(); n > 0 {
				o.weight.Grow(n)
				o.was.Grow(n)
			}
			*o.weight.At(id), *o.was.At(id) = 0, 0
			o.fresh[g] = append(o.fresh[g], id)
		}
		if w := o.weight.At(id); *w == *o.was.At(id) {
			o.dirty = append(o.dirty, id)
		}
		*o.weight.At(id) += d.B.W(i)
	}
}

func (o *Over) grow() {
	for n := o.parts.table.Cap(); len(o.lists) < n; {
		o.lists = append(o.lists, nil)
		o.fresh = append(o.fresh, nil)
		o.seen = append(o.seen, false)
		o.folded = append(o.folded, true)
	}
	o.values.grow(len(o.lists))
}

// Advance does nothing: windows of rows do not depend on time.
func (*Over) Advance(int64, Emit) {}

// Flush gives out what changed.
func (o *Over) Flush(emit Emit) {
	if len(o.touched) == 0 {
		return
	}
	for _, g := range o.touched {
		o.merge(g)
		o.compare(g, o.merged)
		o.settle(g)
		o.seen[g] = false
	}
	for _, id := range o.dirty {
		*o.was.At(id) = *o.weight.At(id)
	}
	o.dirty = o.dirty[:0]
	removed := false
	for _, g := range o.touched {
		if len(o.lists[g]) == 0 {
			o.lists[g] = nil
			o.values.release(g)
			o.folded[g] = true
			o.parts.table.Remove(g)
			removed = true
		}
	}
	if removed {
		o.parts.forget()
	}
	o.touched = o.touched[:0]
	if b := zset.Consolidate(o.changes.Build()); b.N > 0 {
		emit(Delta{B: b, Stable: true})
	}
}

// merge makes the list of all rows of a partition, as it was and as it is.
func (o *Over) merge(g uint32) {
	list, fresh := o.lists[g], o.fresh[g]
	slices.SortFunc(fresh, o.less)
	o.merged = o.merged[:0]
	for few := 8*len(fresh) < len(list); few && len(fresh) > 0; fresh = fresh[1:] {
		at, _ := slices.BinarySearchFunc(list, fresh[0], o.less)
		o.merged = append(append(o.merged, list[:at]...), fresh[0])
		list = list[at:]
	}
	for len(list)+len(fresh) > 0 {
		if len(fresh) == 0 || len(list) > 0 && o.less(list[0], fresh[0]) < 0 {
			o.merged, list = append(o.merged, list[0]), list[1:]
		} else {
			o.merged, fresh = append(o.merged, fresh[0]), fresh[1:]
		}
	}
	o.fresh[g] = o.fresh[g][:0]
}

// settle keeps the rows that did not cancel out.
func (o *Over) settle(g uint32) {
	out := o.lists[g][:0]
	for _, id := range o.merged {
		if *o.weight.At(id) == 0 {
			o.table.Remove(id)
			continue
		}
		out = append(out, id)
	}
	o.lists[g] = out
}

// less orders two rows of one partition.
func (o *Over) less(a, b uint32) int {
	if a == b {
		return 0
	}
	return agg.CompareRecords(o.order, o.table.Key(a)[4:], o.table.Key(b)[4:])
}

// compare computes the rows of a partition before and after the changes and gives out what differs.
func (o *Over) compare(g uint32, rows []uint32) {
	from := slices.IndexFunc(rows, func(id uint32) bool { return *o.weight.At(id) != *o.was.At(id) })
	if from < 0 {
		return
	}
	if !o.values.running {
		from = 0
	}
	for from > 0 && bytes.Equal(o.peer(rows[from-1]), o.peer(rows[from])) {
		from--
	}
	if !o.folded[g] {
		o.enter(&o.old, rows, len(rows), &o.was)
		o.values.fold(g)
		o.folded[g] = true
	}
	o.values.compute(g, o.enter(&o.old, rows, from, &o.was), true, &o.old)
	o.values.compute(g, o.enter(&o.now, rows, from, &o.weight), false, &o.now)
	i, j := 0, 0
	for i < len(o.old.place) || j < len(o.now.place) {
		switch {
		case j == len(o.now.place) || i < len(o.old.place) && o.old.place[i] < o.now.place[j]:
			o.change(rows, &o.old, i, -1)
			i++
		case i == len(o.old.place) || o.now.place[j] < o.old.place[i]:
			o.change(rows, &o.now, j, 1)
			j++
		default:
			if !bytes.Equal(o.old.value(i), o.now.value(j)) {
				o.change(rows, &o.old, i, -1)
				o.change(rows, &o.now, j, 1)
			}
			i, j = i+1, j+1
		}
	}
}

func (o *Over) change(rows []uint32, r *overRows, i int, w int64) {
	o.changes.Record(o.row(rows[r.place[i]]), 0)
	o.changes.Record(r.value(i), o.width)
	o.changes.EndRow(w)
}

// enter gives the rows of a partition to the functions and returns how many are before a place in the list. r gets the
// places of those from there on. What is taken back more often than it was added is a debt and no row; what is there
// several times is several rows.
func (o *Over) enter(r *overRows, rows []uint32, from int, weight *zset.Slab[int64]) (first int) {
	r.reset()
	o.values.reset()
	for at, id := range rows {
		for range max(*weight.At(id), 0) {
			o.values.ids = append(o.values.ids, id)
			if at >= from {
				r.place = append(r.place, at)
			} else {
				first++
			}
		}
	}
	return first
}

// peer is the cells by which a row is ordered.
func (o *Over) peer(id uint32) []byte {
	rec := o.table.Key(id)[4:]
	return rec[:len(rec)-len(zset.SkipCells(rec, len(o.order)))]
}

// row is the cells of a row.
func (o *Over) row(id uint32) []byte { return zset.SkipCells(o.table.Key(id)[4:], len(o.order)) }

// Waits is false.
func (*Over) Waits() bool { return false }

const overVersion = 1

// AppendSnapshot appends partitions, rows and their order.
func (o *Over) AppendSnapshot(dst []byte) []byte {
	if len(o.touched) > 0 {
		panic("BUG: snapshot of window functions between Apply and Flush")
	}
	dst = append(dst, overVersion)
	return appendOrdered(dst, o.parts, o.table, o.lists, &o.weight)
}

// Restore replaces the state.
func (o *Over) Restore(b []byte) error {
	s, err := openSnapshot(b, overVersion)
	if err != nil {
		return err
	}
	if o.lists, err = restoreOrdered(s, o.parts, o.table, &o.weight); err != nil {
		return err
	}
	n := len(o.lists)
	o.fresh, o.seen = make([][]uint32, n), make([]bool, n)
	o.folded = make([]bool, n)
	o.was.Reset()
	o.was.Grow(o.table.Cap())
	for _, list := range o.lists {
		for _, id := range list {
			*o.was.At(id) = *o.weight.At(id)
		}
	}
	o.grow()
	return nil
}

// StateBytes is the memory of rows and lists.
func (o *Over) StateBytes() int64 {
	n := o.parts.table.StateBytes() + o.table.StateBytes() + o.weight.Bytes() + o.was.Bytes() + o.values.bytes()
	for g := range o.lists {
		n += int64(4*(cap(o.lists[g])+cap(o.fresh[g])) + 49)
	}
	return n
}

package op

import (
	"encoding/binary"
	"slices"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// TopN keeps the first rows of each partition: ORDER BY with LIMIT and OFFSET, and DISTINCT ON. Rows that the order
// does not tell apart follow by their whole record, so that the result depends on the rows alone.
//
// Every row of the input is kept, because any of them can move up when others are taken back. The rows of a partition
// are a sorted list; new ones are sorted by themselves and merged into it at the flush. The output of a partition is
// read before its first change and at the flush, and the difference is given out.
type TopN struct {
	parts         *groups
	kernels       []*expr.Kernel
	order         []agg.OrderKey
	offset, limit int64 // limit < 0: none

	table  *zset.KeyTable // partition, order cells, row cells -> row
	weight zset.Slab[int64]
	lists  [][]uint32 // rows of a partition in order
	fresh  [][]uint32 // rows that came since the last flush

	touched []uint32
	seen    []bool
	changes *zset.Builder
	key     []byte
	merged  []uint32
}

var _ Operator = (*TopN)(nil)

// NewTopN makes the operator over rows of the given columns. A negative limit is none.
func NewTopN(in types.Schema, partition []expr.Expr, order []agg.OrderKey, offset, limit int64) *TopN {
	t := &TopN{parts: newGroups(partition), order: order, offset: offset, limit: limit, table: zset.NewKeyTable(), changes: zset.NewBuilder(kindsOf(in))}
	for _, o := range order {
		t.kernels = append(t.kernels, expr.Compile(o.X))
	}
	return t
}

// Apply enters rows into their partitions.
func (t *TopN) Apply(_ int, d Delta, _ Emit) {
	ids := t.parts.of(d)
	if len(ids) == 0 {
		return
	}
	t.grow()
	cols := make([]*zset.Column, len(t.kernels))
	for i, k := range t.kernels {
		cols[i] = k.Aligned(d.B, d.Sel)
	}
	for k, g := range ids {
		i := d.At(k)
		if !t.seen[g] {
			t.seen[g] = true
			t.touched = append(t.touched, g)
			t.render(g, -1)
		}
		t.key = binary.LittleEndian.AppendUint32(t.key[:0], g)
		for _, c := range cols {
			t.key = zset.AppendCell(t.key, c, i)
		}
		t.key = zset.AppendRecord(t.key, d.B, i, nil)
		id, added := t.table.Insert(t.key)
		if added {
			if n := int(id) + 1 - t.weight.Len(); n > 0 {
				t.weight.Grow(n)
			}
			*t.weight.At(id) = 0
			t.fresh[g] = append(t.fresh[g], id)
		}
		*t.weight.At(id) += d.B.W(i)
	}
}

func (t *TopN) grow() {
	for n := t.parts.table.Cap(); len(t.lists) < n; {
		t.lists = append(t.lists, nil)
		t.fresh = append(t.fresh, nil)
		t.seen = append(t.seen, false)
	}
}

// Advance does nothing: order does not depend on time.
func (*TopN) Advance(int64, Emit) {}

// Flush gives out what changed.
func (t *TopN) Flush(emit Emit) {
	if len(t.touched) == 0 {
		return
	}
	for _, g := range t.touched {
		t.settle(g)
		t.render(g, 1)
		t.seen[g] = false
	}
	removed := false
	for _, g := range t.touched {
		if len(t.lists[g]) == 0 {
			t.lists[g] = nil
			t.parts.table.Remove(g)
			removed = true
		}
	}
	if removed {
		t.parts.forget()
	}
	t.touched = t.touched[:0]
	if b := zset.Consolidate(t.changes.Build()); b.N > 0 {
		emit(Delta{B: b, Stable: true})
	}
}

// settle merges the new rows of a partition into its list and drops those that cancelled out.
func (t *TopN) settle(g uint32) {
	fresh := t.fresh[g]
	slices.SortFunc(fresh, t.compare)
	t.merged = t.merged[:0]
	list := t.lists[g]
	for len(list)+len(fresh) > 0 {
		var id uint32
		if len(fresh) == 0 || len(list) > 0 && t.compare(list[0], fresh[0]) < 0 {
			id, list = list[0], list[1:]
		} else {
			id, fresh = fresh[0], fresh[1:]
		}
		t.merged = append(t.merged, id)
	}
	out := t.lists[g][:0]
	for _, id := range t.merged {
		if *t.weight.At(id) == 0 {
			t.table.Remove(id)
			continue
		}
		out = append(out, id)
	}
	t.lists[g] = out
	t.fresh[g] = t.fresh[g][:0]
}

// compare orders two rows of one partition.
func (t *TopN) compare(a, b uint32) int {
	if a == b {
		return 0
	}
	return agg.CompareRecords(t.order, t.table.Key(a)[4:], t.table.Key(b)[4:])
}

// render adds the rows that a partition shows to the changes. What is taken back more often than it was added is a
// debt and not shown.
func (t *TopN) render(g uint32, sign int64) {
	skip, left := t.offset, t.limit
	for _, id := range t.lists[g] {
		w := *t.weight.At(id)
		if w <= skip {
			skip -= max(w, 0)
			continue
		}
		w -= skip
		skip = 0
		if t.limit >= 0 {
			if left == 0 {
				return
			}
			w = min(w, left)
			left -= w
		}
		if w > 0 {
			t.changes.Record(zset.SkipCells(t.table.Key(id)[4:], len(t.order)), 0)
			t.changes.EndRow(sign * w)
		}
	}
}

// Waits is false.
func (*TopN) Waits() bool { return false }

const topNVersion = 1

// AppendSnapshot appends partitions, rows and their order.
func (t *TopN) AppendSnapshot(dst []byte) []byte {
	if len(t.touched) > 0 {
		panic("BUG: snapshot of a TopN between Apply and Flush")
	}
	dst = append(dst, topNVersion)
	return appendOrdered(dst, t.parts, t.table, t.lists, &t.weight)
}

// Restore replaces the state.
func (t *TopN) Restore(b []byte) error {
	s, err := openSnapshot(b, topNVersion)
	if err != nil {
		return err
	}
	if t.lists, err = restoreOrdered(s, t.parts, t.table, &t.weight); err != nil {
		return err
	}
	n := len(t.lists)
	t.fresh, t.seen = make([][]uint32, n), make([]bool, n)
	t.grow()
	return nil
}

// StateBytes is the memory of rows and lists.
func (t *TopN) StateBytes() int64 {
	n := t.parts.table.StateBytes() + t.table.StateBytes() + t.weight.Bytes()
	for g := range t.lists {
		n += int64(4*(cap(t.lists[g])+cap(t.fresh[g])) + 49)
	}
	return n
}

package op

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Reduce groups rows by key and keeps one row per group: the keys, then the aggregates. A group is shown while its
// net number of rows is positive; a negative number is a debt. Without keys there is at most one group.
//
// When a group is touched for the first time since the last flush, its old results are read; the flush reads the
// new ones and gives out -old and +new where they differ.
type Reduce struct {
	groups *groups
	states *agg.Table

	touched  []uint32
	seen     []uint64 // bit g: group g is among touched
	fresh    []uint32
	old, new *agg.Results
	wasShown []bool

	// Output columns: positions among keys and aggregates.
	cols     []int
	aggCols  []int // the aggregates among them, counted from 0
	keyKinds []types.Kind

	keys   [][]byte // of the touched groups
	sorter keySorter
	picks  []agg.Pick

	// Overflows counts results of SUM that did not fit 64 bits.
	Overflows int64
}

var _ Operator = (*Reduce)(nil)

// NewReduce makes a grouping. appendOnly promises that no input row is ever retracted. cols chooses and orders the
// output columns, counted over the keys and then the aggregates; nil means all.
func NewReduce(keys []expr.Expr, calls []agg.Call, appendOnly bool, cols []int) *Reduce {
	r := &Reduce{groups: newGroups(keys), states: agg.NewTable(calls, appendOnly), cols: cols}
	r.old, r.new = r.states.NewResults(), r.states.NewResults()
	for _, k := range keys {
		r.keyKinds = append(r.keyKinds, storedKind(k.Kind()))
	}
	if cols == nil {
		for c := range len(keys) + len(calls) {
			r.cols = append(r.cols, c)
		}
	}
	for _, c := range r.cols {
		if c >= len(keys) {
			r.aggCols = append(r.aggCols, c-len(keys))
		}
	}
	return r
}

// Sorted reports whether the output of a flush is sorted and consolidated as it is: the keys come first.
func (r *Reduce) Sorted() bool {
	for k := range r.keyKinds {
		if k >= len(r.cols) || r.cols[k] != k {
			return false
		}
	}
	for _, c := range r.cols[len(r.keyKinds):] {
		if c < len(r.keyKinds) {
			return false // a key again: what follows it would not decide
		}
	}
	return true
}

// Apply folds rows into their groups.
func (r *Reduce) Apply(_ int, d Delta, _ Emit) {
	ids := r.groups.of(d)
	if len(ids) == 0 {
		return
	}
	r.grow()
	r.fresh = r.fresh[:0]
	for _, g := range ids {
		w, bit := &r.seen[g>>6], uint64(1)<<(g&63)
		if *w&bit == 0 {
			*w |= bit
			r.fresh = append(r.fresh, g)
		}
	}
	if len(r.fresh) > 0 {
		r.states.Read(r.fresh, r.old)
		for _, g := range r.fresh {
			r.wasShown = append(r.wasShown, r.states.Rows(g) > 0)
		}
		r.touched = append(r.touched, r.fresh...)
	}
	r.states.Add(d.B, d.Sel, ids)
}

// grow makes room for all groups that have a number.
func (r *Reduce) grow() {
	n := r.groups.table.Cap()
	r.states.Grow(n)
	if w := (n + 63) >> 6; w > len(r.seen) {
		r.seen = append(r.seen, make([]uint64, max(w-len(r.seen), len(r.seen)/2))...)
	}
}

// Advance does nothing: groups do not depend on time.
func (*Reduce) Advance(int64, Emit) {}

// Flush gives out what changed.
func (r *Reduce) Flush(emit Emit) {
	if len(r.touched) == 0 {
		return
	}
	r.new.Reset()
	r.Overflows += int64(r.states.Read(r.touched, r.new))
	r.choose()
	if len(r.picks) > 0 {
		emit(Delta{B: r.build(), Stable: true})
	}
	removed := false
	for _, g := range r.touched {
		r.seen[g>>6] &^= 1 << (g & 63)
		if r.states.Rows(g) == 0 && r.states.Empty(g) {
			r.states.Release(g)
			r.groups.table.Remove(g)
			removed = true
		}
	}
	if removed {
		r.groups.forget()
	}
	r.touched, r.wasShown = r.touched[:0], r.wasShown[:0]
	r.old.Reset()
}

// choose lists the output rows in the order of their canonical records.
func (r *Reduce) choose() {
	r.keys = r.keys[:0]
	for _, g := range r.touched {
		r.keys = append(r.keys, r.groups.table.Key(g))
	}
	r.picks = r.picks[:0]
	for _, t := range r.sorter.sort(r.keys) {
		was, is := r.wasShown[t], r.states.Rows(r.touched[t]) > 0
		switch {
		case was && is:
			c := r.old.Compare(int(t), r.new, int(t), r.aggCols)
			if c < 0 {
				r.picks = append(r.picks, agg.Old(t), agg.New(t))
			} else if c > 0 {
				r.picks = append(r.picks, agg.New(t), agg.Old(t))
			}
		case was:
			r.picks = append(r.picks, agg.Old(t))
		case is:
			r.picks = append(r.picks, agg.New(t))
		}
	}
}

// build makes the output batch, which owns its memory.
func (r *Reduce) build() *zset.Batch {
	b := &zset.Batch{N: len(r.picks), Cols: make([]zset.Column, len(r.cols))}
	for _, p := range r.picks {
		if !p.IsNew() {
			b.Weight = make([]int64, len(r.picks))
			for k, p := range r.picks {
				b.Weight[k] = 1
				if !p.IsNew() {
					b.Weight[k] = -1
				}
			}
			break
		}
	}
	keys := decodeKeys(r.keyKinds, len(r.picks), func(k int) []byte { return r.keys[r.picks[k].Row()] })
	for i, c := range r.cols {
		if c < len(r.keyKinds) {
			b.Cols[i] = keys[c]
		} else {
			b.Cols[i] = agg.Column(c-len(r.keyKinds), [2]*agg.Results{r.old, r.new}, r.picks)
		}
	}
	return b
}

// Waits is false.
func (*Reduce) Waits() bool { return false }

const reduceVersion = 1

// AppendSnapshot appends the keys and the states.
func (r *Reduce) AppendSnapshot(dst []byte) []byte {
	if len(r.touched) > 0 {
		panic("BUG: snapshot of a grouping between Apply and Flush")
	}
	dst = append(dst, reduceVersion)
	dst = binary.AppendVarint(dst, r.Overflows)
	dst = appendBlock(dst, r.groups.table.AppendSnapshot)
	return appendBlock(dst, func(dst []byte) []byte { return r.states.AppendSnapshot(dst, r.groups.table.Cap()) })
}

// Restore replaces the state.
func (r *Reduce) Restore(b []byte) error {
	s, err := openSnapshot(b, reduceVersion)
	if err != nil {
		return err
	}
	r.Overflows = s.varint()
	keys, states := s.block(), s.block()
	if err := s.end(); err != nil {
		return err
	}
	if err := r.groups.table.Restore(keys); err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	r.groups.forget()
	if err := r.states.Restore(states); err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	r.grow()
	return nil
}

// StateBytes is the memory of keys and states.
func (r *Reduce) StateBytes() int64 {
	return r.groups.table.StateBytes() + r.states.Bytes() + int64(8*cap(r.seen))
}

package op

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Step is the recursive part of a query: a function of the recursive relation (input 0) and of other relations (inputs
// from 1), that takes changes and gives out what they change.
type Step interface {
	Push(input int, b *zset.Batch)
	// Flush returns the net change since the last call, nil when there is none.
	Flush() *zset.Batch
}

// Recursive is WITH RECURSIVE: the least relation that holds the base and everything that the step makes of it, up to a
// number of rounds. With UNION each row is there once, and a round takes the rows that are new; with UNION ALL a round
// takes all rows of the round before it.
//
// It keeps what it reads and what it gave out. A commit in which something changed computes the relation anew from the
// base, and gives out the difference: deletions are exact, and such a commit costs as much as the whole relation.
type Recursive struct {
	all     bool
	max     int
	newStep func() Step
	kinds   [][]types.Kind   // of the base and of the other relations
	inputs  []*zset.Multiset // the base, then the other relations
	result  *zset.Multiset
	recs    zset.KeyBatch
	changed bool
	out     *zset.Builder

	// Cut counts commits at which rounds were left out because of the bound.
	Cut int64
}

var _ Operator = (*Recursive)(nil)

// NewRecursive makes a recursion over relations of the given columns, the base first. newStep makes the step with nothing
// in it; max bounds the rounds.
func NewRecursive(inputs []types.Schema, newStep func() Step, all bool, max int) *Recursive {
	r := &Recursive{all: all, max: max, newStep: newStep, result: zset.NewMultiset()}
	for _, s := range inputs {
		r.kinds = append(r.kinds, kindsOf(s))
		r.inputs = append(r.inputs, zset.NewMultiset())
	}
	r.out = zset.NewBuilder(r.kinds[0])
	return r
}

// Apply keeps changes of the base (port 0) or of another relation.
func (r *Recursive) Apply(port int, d Delta, _ Emit) {
	if d.Len() == 0 {
		return
	}
	r.changed = true
	r.recs.Reset()
	r.recs.Encode(d.B, nil, d.Sel)
	for k := range d.Len() {
		r.inputs[port].Add(r.recs.Key(k), d.B.W(d.At(k)))
	}
}

// Flush computes the relation and gives out what changed.
func (r *Recursive) Flush(emit Emit) {
	if !r.changed {
		return
	}
	r.changed = false
	next := r.fixpoint()
	r.result.Each(func(rec []byte, w int64) bool {
		r.add(rec, next.Weight(rec)-w)
		return true
	})
	next.Each(func(rec []byte, w int64) bool {
		if r.result.Weight(rec) == 0 {
			r.add(rec, w)
		}
		return true
	})
	if r.out.Len() == 0 {
		return
	}
	b := r.out.Build()
	r.recs.Reset()
	r.recs.Encode(b, nil, nil)
	for i := range b.N {
		r.result.Add(r.recs.Key(i), b.W(i))
	}
	emit(Delta{B: b, Stable: true})
}

func (r *Recursive) add(rec []byte, w int64) {
	if w == 0 {
		return
	}
	r.out.Record(rec, 0)
	r.out.EndRow(w)
}

// fixpoint computes the relation from what is kept.
func (r *Recursive) fixpoint() *zset.Multiset {
	step := r.newStep()
	for i, in := range r.inputs[1:] {
		if b := present(in, r.kinds[i+1]); b.N > 0 {
			step.Push(i+1, b)
		}
	}
	step.Flush() // what the step makes of nothing is nothing
	out, made := zset.NewMultiset(), zset.NewMultiset()
	level := present(r.inputs[0], r.kinds[0])
	for round := 0; ; round++ {
		if level = r.take(out, level); level.N == 0 {
			return out
		}
		if round == r.max {
			r.Cut++
			return out
		}
		step.Push(0, level)
		level = r.made(made, step.Flush())
	}
}

// take adds the rows of a round to the relation and returns those that go into the next one.
func (r *Recursive) take(out *zset.Multiset, level *zset.Batch) *zset.Batch {
	recs := zset.KeyBatch{}
	recs.Encode(level, nil, nil)
	fresh := zset.NewBuilder(r.kinds[0])
	for i := range level.N {
		rec, w := recs.Key(i), level.W(i)
		if r.all {
			out.Add(rec, w)
		} else {
			if out.Weight(rec) > 0 {
				continue
			}
			w = 1
			out.Add(rec, 1)
		}
		fresh.Record(rec, 0)
		fresh.EndRow(w)
	}
	return fresh.Build()
}

// made returns what the step made of a round: with ALL what it gave out, else the rows that it now has.
func (r *Recursive) made(made *zset.Multiset, delta *zset.Batch) *zset.Batch {
	if delta == nil {
		return zset.Empty(r.kinds[0])
	}
	if r.all {
		return delta
	}
	recs := zset.KeyBatch{}
	recs.Encode(delta, nil, nil)
	out := zset.NewBuilder(r.kinds[0])
	for i := range delta.N {
		if before, after := made.Add(recs.Key(i), delta.W(i)); crossing(before, after) > 0 {
			out.Record(recs.Key(i), 0)
			out.EndRow(1)
		}
	}
	return out.Build()
}

// present is the rows of a relation that are there.
func present(m *zset.Multiset, kinds []types.Kind) *zset.Batch {
	b := zset.NewBuilder(kinds)
	m.Each(func(rec []byte, w int64) bool {
		if w > 0 {
			b.Record(rec, 0)
			b.EndRow(w)
		}
		return true
	})
	return b.Build()
}

// Advance does nothing: relations do not depend on time.
func (*Recursive) Advance(int64, Emit) {}

// Waits is false.
func (*Recursive) Waits() bool { return false }

const recursiveVersion = 1

// AppendSnapshot appends what is read and what was given out.
func (r *Recursive) AppendSnapshot(dst []byte) []byte {
	if r.changed {
		panic("BUG: snapshot of a recursion between Apply and Flush")
	}
	dst = append(dst, recursiveVersion)
	dst = binary.AppendVarint(dst, r.Cut)
	for _, in := range r.inputs {
		dst = appendBlock(dst, in.AppendSnapshot)
	}
	return appendBlock(dst, r.result.AppendSnapshot)
}

// Restore replaces the state.
func (r *Recursive) Restore(b []byte) error {
	s, err := openSnapshot(b, recursiveVersion)
	if err != nil {
		return err
	}
	r.Cut = s.varint()
	blocks := make([][]byte, len(r.inputs)+1)
	for i := range blocks {
		blocks[i] = s.block()
	}
	if err := s.end(); err != nil {
		return err
	}
	for i, in := range append(r.inputs[:len(r.inputs):len(r.inputs)], r.result) {
		if err := in.Restore(blocks[i]); err != nil {
			return fmt.Errorf("relation %d: %w", i, err)
		}
	}
	return nil
}

// StateBytes is the memory of what is kept.
func (r *Recursive) StateBytes() int64 {
	n := r.result.StateBytes()
	for _, in := range r.inputs {
		n += in.StateBytes()
	}
	return n
}

package op

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// SetRule is how often a row is in the result, by how often it is on the left and on the right side.
type SetRule uint8

// The rules. A negative weight counts as absence.
const (
	// Intersect: once when both sides have it. IntersectAll: as often as both sides have it.
	Intersect SetRule = iota
	IntersectAll
	// Except: once when the left side has it and the right side does not. ExceptAll: as often as the left side has it
	// more often.
	Except
	ExceptAll
)

// weight applies the rule.
func (r SetRule) weight(left, right int64) int64 {
	left, right = max(left, 0), max(right, 0)
	switch r {
	case Intersect:
		return min(left, right, 1)
	case IntersectAll:
		return min(left, right)
	case Except:
		if left > 0 && right == 0 {
			return 1
		}
		return 0
	}
	return max(left-right, 0)
}

// SetOp is INTERSECT and EXCEPT. It keeps how often each side has each row; a change of one side gives out what the rule
// changes by.
type SetOp struct {
	rule  SetRule
	sides [2]*zset.Multiset
	recs  zset.KeyBatch
	out   *zset.Builder
}

var _ Operator = (*SetOp)(nil)

// NewSetOp combines two relations of the same columns.
func NewSetOp(s types.Schema, rule SetRule) *SetOp {
	return &SetOp{rule: rule, sides: [2]*zset.Multiset{zset.NewMultiset(), zset.NewMultiset()}, out: zset.NewBuilder(kindsOf(s))}
}

// Apply takes changes of one side (port 0 left, 1 right).
func (s *SetOp) Apply(port int, d Delta, emit Emit) {
	own, other := s.sides[port], s.sides[1-port]
	s.recs.Reset()
	s.recs.Encode(d.B, nil, d.Sel)
	s.recs.HashAll()
	for k := range d.Len() {
		i, rec := d.At(k), s.recs.Key(k)
		before, after := own.AddHash(s.recs.Hash[k], rec, d.B.W(i))
		has := other.Weight(rec)
		var w int64
		if port == 0 {
			w = s.rule.weight(after, has) - s.rule.weight(before, has)
		} else {
			w = s.rule.weight(has, after) - s.rule.weight(has, before)
		}
		if w == 0 {
			continue
		}
		for c := range d.B.Cols {
			s.out.Cell(c, &d.B.Cols[c], i)
		}
		s.out.EndRow(w)
	}
	if s.out.Len() > 0 {
		emit(Delta{B: s.out.Build(), Stable: true})
	}
}

// Advance does nothing: relations do not depend on time.
func (*SetOp) Advance(int64, Emit) {}

// Flush does nothing: changes are given out at once.
func (*SetOp) Flush(Emit) {}

// Waits is false.
func (*SetOp) Waits() bool { return false }

const setOpVersion = 1

// AppendSnapshot appends both sides.
func (s *SetOp) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, setOpVersion)
	dst = binary.AppendUvarint(dst, uint64(s.rule))
	dst = appendBlock(dst, s.sides[0].AppendSnapshot)
	return appendBlock(dst, s.sides[1].AppendSnapshot)
}

// Restore replaces both sides.
func (s *SetOp) Restore(b []byte) error {
	r, err := openSnapshot(b, setOpVersion)
	if err != nil {
		return err
	}
	rule := r.uvarint()
	left, right := r.block(), r.block()
	if err := r.end(); err != nil {
		return err
	}
	if rule != uint64(s.rule) {
		return fmt.Errorf("%w: another set operation", ErrSnapshot)
	}
	if err := s.sides[0].Restore(left); err != nil {
		return fmt.Errorf("left side: %w", err)
	}
	if err := s.sides[1].Restore(right); err != nil {
		return fmt.Errorf("right side: %w", err)
	}
	return nil
}

// StateBytes is the memory of both sides.
func (s *SetOp) StateBytes() int64 { return s.sides[0].StateBytes() + s.sides[1].StateBytes() }

package op

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Join is the inner equi-join. Both sides are kept, keyed; changes of a side meet the other side as it is, and are
// then added to their own:
//
//	Δ(A⋈B) = ΔA⋈B + (A+ΔA)⋈ΔB = ΔA⋈B + A⋈ΔB + ΔA⋈ΔB
//
// so that any order of changes of both sides gives the same sum, and weights multiply. Keys are typed (Long 1 is
// not Double 1.0); a row with a NULL in its key matches nothing and is not kept.
type Join struct {
	sides    [2]joinSide
	residual *expr.Kernel
	out      *zset.Builder
	weight   []int64
	// Filtered counts pairs that the residual condition dropped.
	Filtered int64
}

var _ Operator = (*Join)(nil)

// joinSide is one input. Its rows are kept as records of all columns, key columns first where the key is plain
// columns, so that a key is stored once.
type joinSide struct {
	kernels []*expr.Kernel
	order   []int // columns in the order of the record
	first   int   // the side's first column in the output
	rows    *zset.Arrangement
	keys    zset.KeyBatch
	recs    zset.KeyBatch
	cols    zset.Batch // the key columns of the batch at hand
	safe    int        // keys in which NULL equals NULL: the first ones
	sel     []int32    // the rows whose other keys have no NULL
}

// maxJoinBatch bounds the rows of one output batch.
const maxJoinBatch = 4096

// NewJoin makes a join of rows of two schemas. In the first nullSafe keys NULL equals NULL; without keys every row
// matches. residual, over the columns of both, may be nil.
func NewJoin(left, right types.Schema, leftKeys, rightKeys []expr.Expr, nullSafe int, residual expr.Expr) *Join {
	j := &Join{out: zset.NewBuilder(append(kindsOf(left), kindsOf(right)...))}
	j.sides[0] = newJoinSide(leftKeys, nullSafe, len(left), 0)
	j.sides[1] = newJoinSide(rightKeys, nullSafe, len(right), len(left))
	if residual != nil {
		j.residual = expr.Compile(residual)
	}
	return j
}

func newJoinSide(keys []expr.Expr, nullSafe, width, first int) joinSide {
	s := joinSide{first: first, safe: nullSafe, rows: zset.NewArrangement(), cols: zset.Batch{Cols: make([]zset.Column, len(keys))}}
	used := make([]bool, width)
	for _, k := range keys {
		s.kernels = append(s.kernels, expr.Compile(k))
		if c, ok := k.(*expr.Column); ok && !used[c.Index] {
			used[c.Index] = true
			s.order = append(s.order, c.Index)
		}
	}
	for c := range width {
		if !used[c] {
			s.order = append(s.order, c)
		}
	}
	return s
}

// Apply joins changes of one side (port 0 left, 1 right) with the other side and keeps them.
func (j *Join) Apply(port int, d Delta, emit Emit) {
	own, other := &j.sides[port], &j.sides[1-port]
	own.encode(d)
	if len(own.sel) == 0 {
		return
	}
	other.rows.TouchBatch(&own.keys)
	for k, i := range own.sel {
		m := other.rows.FindHash(own.keys.Hash[k], own.keys.Key(k))
		w := d.B.W(int(i))
		for {
			rec, x, ok := m.Next()
			if !ok {
				break
			}
			for c := range d.B.Cols {
				j.out.Cell(own.first+c, &d.B.Cols[c], int(i))
			}
			other.decode(j.out, rec)
			j.out.EndRow(w * x)
			if j.out.Len() == maxJoinBatch {
				j.give(emit)
			}
		}
	}
	if j.out.Len() > 0 {
		j.give(emit)
	}
	var weight []int64
	if d.B.Weight != nil {
		j.weight = j.weight[:0]
		for _, i := range own.sel {
			j.weight = append(j.weight, d.B.Weight[i])
		}
		weight = j.weight
	}
	own.rows.AddBatch(&own.keys, &own.recs, weight, nil, nil)
}

// encode writes keys and records of the rows that can match.
func (s *joinSide) encode(d Delta) {
	s.cols.N = d.B.N
	nullable := false
	for i, k := range s.kernels {
		s.cols.Cols[i] = *k.Aligned(d.B, d.Sel)
		nullable = nullable || i >= s.safe && s.cols.Cols[i].Valid != nil
	}
	s.sel = s.sel[:0]
	for k := range d.Len() {
		i := d.At(k)
		if nullable && s.hasNull(i) {
			continue
		}
		s.sel = append(s.sel, int32(i))
	}
	s.keys.Reset()
	s.recs.Reset()
	s.keys.Encode(&s.cols, nil, s.sel)
	s.recs.Encode(d.B, s.order, s.sel)
}

func (s *joinSide) hasNull(i int) bool {
	for c := s.safe; c < len(s.cols.Cols); c++ {
		if s.cols.Cols[c].IsNull(i) {
			return true
		}
	}
	return false
}

// decode writes a kept row into the columns of its side.
func (s *joinSide) decode(b *zset.Builder, rec []byte) {
	for _, c := range s.order {
		cell, rest, err := zset.ReadCell(rec)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		rec = rest
		switch at := s.first + c; cell.Kind {
		case types.Unknown:
			b.Null(at)
		case types.String, types.Json:
			b.Text(at, cell.Text)
		case types.Double:
			b.Double(at, cell.F)
		default:
			b.Long(at, cell.I)
		}
	}
}

// give emits the pairs that satisfy the residual condition.
func (j *Join) give(emit Emit) {
	d := Delta{B: j.out.Build(), Stable: true}
	if j.residual != nil {
		sel := j.residual.Filter(d.B, nil)
		j.Filtered += int64(d.B.N - len(sel))
		if len(sel) == 0 {
			return
		}
		if len(sel) < d.B.N {
			d.Sel = sel
		}
	}
	emit(d)
}

// Advance does nothing: relations do not depend on time.
func (*Join) Advance(int64, Emit) {}

// Flush does nothing: pairs are given out at once.
func (*Join) Flush(Emit) {}

// Waits is false.
func (*Join) Waits() bool { return false }

const joinVersion = 1

// AppendSnapshot appends both sides.
func (j *Join) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, joinVersion)
	dst = binary.AppendVarint(dst, j.Filtered)
	dst = appendBlock(dst, j.sides[0].rows.AppendSnapshot)
	return appendBlock(dst, j.sides[1].rows.AppendSnapshot)
}

// Restore replaces both sides.
func (j *Join) Restore(b []byte) error {
	s, err := openSnapshot(b, joinVersion)
	if err != nil {
		return err
	}
	j.Filtered = s.varint()
	left, right := s.block(), s.block()
	if err := s.end(); err != nil {
		return err
	}
	if err := j.sides[0].rows.Restore(left); err != nil {
		return fmt.Errorf("left side: %w", err)
	}
	if err := j.sides[1].rows.Restore(right); err != nil {
		return fmt.Errorf("right side: %w", err)
	}
	return nil
}

// StateBytes is the memory of both sides.
func (j *Join) StateBytes() int64 {
	return j.sides[0].rows.StateBytes() + j.sides[1].rows.StateBytes()
}

package op

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Project computes one column per expression. It is linear: a row's weight goes over to its image, and rows that
// become equal add up when they are consolidated.
type Project struct {
	linear
	kernels []*expr.Kernel
	plain   bool // columns only: nothing is computed
	out     zset.Batch
}

var _ Operator = (*Project)(nil)

// NewProject makes a projection.
func NewProject(exprs []expr.Expr) *Project {
	p := &Project{kernels: make([]*expr.Kernel, len(exprs)), plain: true, out: zset.Batch{Cols: make([]zset.Column, len(exprs))}}
	for i, e := range exprs {
		p.kernels[i] = expr.Compile(e)
		_, isColumn := e.(*expr.Column)
		p.plain = p.plain && isColumn
	}
	return p
}

// Apply computes aligned columns; the selection stays.
func (p *Project) Apply(_ int, d Delta, emit Emit) {
	d.Stable = d.Stable && p.plain
	out := reuse(&p.out, d)
	for i, k := range p.kernels {
		out.Cols[i] = *k.Aligned(d.B, d.Sel)
	}
	d.B = out
	emit(d)
}

// reuse prepares a batch for as many rows as d has: buf again, or a new one when the receiver may keep it.
func reuse(buf *zset.Batch, d Delta) *zset.Batch {
	if d.Stable {
		buf = &zset.Batch{Cols: make([]zset.Column, len(buf.Cols))}
	}
	buf.N, buf.Weight = d.B.N, d.B.Weight
	return buf
}

// Scan reads columns of an input's batches, without copying. It is linear.
type Scan struct {
	linear
	cols []int
	all  bool
	out  zset.Batch
}

var _ Operator = (*Scan)(nil)

// NewScan reads the given positions of batches with n columns.
func NewScan(cols []int, n int) *Scan {
	s := &Scan{cols: cols, all: len(cols) == n, out: zset.Batch{Cols: make([]zset.Column, len(cols))}}
	for i, c := range cols {
		s.all = s.all && i == c
	}
	return s
}

// Apply passes the columns on.
func (s *Scan) Apply(_ int, d Delta, emit Emit) {
	if !s.all {
		out := reuse(&s.out, d)
		for i, c := range s.cols {
			out.Cols[i] = d.B.Cols[c]
		}
		d.B = out
	}
	emit(d)
}

// Union passes the rows of all its inputs on; equal rows add up when they are consolidated. It is linear.
type Union struct{ linear }

var _ Operator = (*Union)(nil)

// Apply passes the rows on.
func (*Union) Apply(_ int, d Delta, emit Emit) { emit(d) }

package op

import (
	"encoding/binary"

	"github.com/streamsforge/streamsforge/engine/expr"
)

// Filter passes the rows for which a condition is exactly TRUE. It is linear.
type Filter struct {
	linear
	pred *expr.Kernel
	// Dropped is the number of rows that did not pass.
	Dropped int64
}

var _ Operator = (*Filter)(nil)

// NewFilter makes a filter.
func NewFilter(pred expr.Expr) *Filter { return &Filter{pred: expr.Compile(pred)} }

// Apply narrows the selection.
func (f *Filter) Apply(_ int, d Delta, emit Emit) {
	sel := f.pred.Filter(d.B, d.Sel)
	f.Dropped += int64(d.Len() - len(sel))
	if len(sel) == 0 {
		return
	}
	if len(sel) < d.Len() {
		d.Sel = sel
	}
	emit(d)
}

// AppendSnapshot appends the counter.
func (f *Filter) AppendSnapshot(dst []byte) []byte { return binary.AppendVarint(dst, f.Dropped) }

// Restore sets the counter.
func (f *Filter) Restore(b []byte) error {
	s := &snapReader{b: b}
	f.Dropped = s.varint()
	return s.end()
}

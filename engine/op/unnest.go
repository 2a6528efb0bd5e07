package op

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Unnest gives one row per element of a Json array: the input's columns, then the element. A JSON null element is
// a NULL; a value that is not an array has no elements. It is linear: retracting a row retracts its elements.
type Unnest struct {
	linear
	arg   *expr.Kernel
	width int
	out   *zset.Builder
	marks []int64
}

var _ Operator = (*Unnest)(nil)

// NewUnnest flattens arg over rows of the given columns.
func NewUnnest(in types.Schema, arg expr.Expr) *Unnest {
	return &Unnest{arg: expr.Compile(arg), width: len(in), out: zset.NewBuilder(append(kindsOf(in), types.Json))}
}

// Apply writes the elements of every row, in order.
func (u *Unnest) Apply(_ int, d Delta, emit Emit) {
	arrays := u.arg.Aligned(d.B, d.Sel)
	u.marks = u.marks[:0]
	for k := range d.Len() {
		i := d.At(k)
		if arrays.IsNull(i) {
			continue
		}
		types.JsonElements(arrays.Text(i), func(node []byte) bool {
			for c := range u.width {
				u.out.Cell(c, &d.B.Cols[c], i)
			}
			if types.JsonIsNull(node) {
				u.out.Null(u.width)
			} else {
				u.out.Text(u.width, node)
			}
			u.out.EndRow(d.B.W(i))
			if d.Marks != nil {
				u.marks = append(u.marks, d.Marks[i])
			}
			return true
		})
	}
	if u.out.Len() == 0 {
		return
	}
	next := Delta{B: u.out.Build(), Stable: true}
	if d.Marks != nil {
		next.Marks = u.marks
	}
	emit(next)
}

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
	outer bool
	out   *zset.Builder
	marks []int64
}

var _ Operator = (*Unnest)(nil)

// NewUnnest flattens arg over rows of the given columns. outer keeps rows without elements, with a NULL element.
func NewUnnest(in types.Schema, arg expr.Expr, outer bool) *Unnest {
	return &Unnest{outer: outer, arg: expr.Compile(arg), width: len(in), out: zset.NewBuilder(append(kindsOf(in), types.Json))}
}

// Apply writes the elements of every row, in order.
func (u *Unnest) Apply(_ int, d Delta, emit Emit) {
	arrays := u.arg.Aligned(d.B, d.Sel)
	u.marks = u.marks[:0]
	for k := range d.Len() {
		i := d.At(k)
		before := u.out.Len()
		if !arrays.IsNull(i) {
			u.elements(d, i, arrays.Text(i))
		}
		if u.outer && u.out.Len() == before {
			u.row(d, i, nil)
		}
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

// elements writes a row per element of an array.
func (u *Unnest) elements(d Delta, i int, array []byte) {
	types.JsonElements(array, func(node []byte) bool {
		if types.JsonIsNull(node) {
			node = nil
		}
		u.row(d, i, node)
		return true
	})
}

// row writes a row with an element; nil is NULL.
func (u *Unnest) row(d Delta, i int, element []byte) {
	for c := range u.width {
		u.out.Cell(c, &d.B.Cols[c], i)
	}
	if element == nil {
		u.out.Null(u.width)
	} else {
		u.out.Text(u.width, element)
	}
	u.out.EndRow(d.B.W(i))
	if d.Marks != nil {
		u.marks = append(u.marks, d.Marks[i])
	}
}

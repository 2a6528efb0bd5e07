package zset

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Builder makes batches row by row: set every column of a row once, in any order, then call EndRow.
//
//	b := zset.NewBuilder([]types.Kind{types.String, types.Long})
//	b.Text(0, []byte("AAPL")); b.Long(1, 5); b.EndRow(1)
//	batch := b.Build()
//
// Nothing is allocated a row: the columns grow by doubling, and a second row makes room for as many as the last
// batch had.
// A Builder belongs to one goroutine.
type Builder struct {
	cols   []builderColumn
	n      int
	hint   int     // rows of the last batch
	weight []int64 // nil while every row has weight +1
}

// builderColumn is one open column. NULLs are kept as a list of positions and become a bitmap in Build, so that
// setting a value does no work for validity.
type builderColumn struct {
	kind  types.Kind
	coded bool // the cells are codes of dict or of intern
	f64   []float64
	i64   []int64
	offs  []uint32
	bytes []byte
	codes []uint32
	nulls []uint32

	lastBytes int // of the text in the last batch, and some more
	retry     int // rows until a column that lost its dictionary tries again

	dict   *Dict     // borrowed: every cell so far came from a column with this dictionary or an older part of it
	intern *Interner // own: the column makes its dictionary itself (see Intern)
}

// NewBuilder returns a builder for rows of the kinds. The list may be empty: such rows have only a weight.
func NewBuilder(kinds []types.Kind) *Builder {
	b := &Builder{cols: make([]builderColumn, len(kinds))}
	for c, k := range kinds {
		b.cols[c].kind = k
		if k.IsText() {
			b.cols[c].offs = []uint32{0}
		}
	}
	return b
}

// Kinds returns the kinds of the columns.
func (b *Builder) Kinds() []types.Kind {
	out := make([]types.Kind, len(b.cols))
	for c := range b.cols {
		out[c] = b.cols[c].kind
	}
	return out
}

// Len returns the number of finished rows.
func (b *Builder) Len() int { return b.n }

// Bytes returns the size of the values of the finished rows.
func (b *Builder) Bytes() int {
	n := 8 * len(b.weight)
	for c := range b.cols {
		col := &b.cols[c]
		n += 8*(len(col.f64)+len(col.i64)) + 4*(len(col.offs)+len(col.codes)) + len(col.bytes)
	}
	return n
}

// Long sets a Long or Timestamp column.
func (b *Builder) Long(c int, v int64) { col := &b.cols[c]; col.i64 = append(col.i64, v) }

// Double sets a Double column.
func (b *Builder) Double(c int, v float64) {
	col := &b.cols[c]
	col.f64 = append(col.f64, types.CanonicalDouble(v))
}

// Bool sets a Bool column.
func (b *Builder) Bool(c int, v bool) {
	i := int64(0)
	if v {
		i = 1
	}
	b.Long(c, i)
}

// Text sets a String or Json column; the bytes are copied.
func (b *Builder) Text(c int, v []byte) {
	col := &b.cols[c]
	if col.coded {
		col.codedText(v)
		return
	}
	col.bytes = append(col.bytes, v...)
	col.offs = append(col.offs, uint32(len(col.bytes)))
}

// Null sets a column to NULL.
func (b *Builder) Null(c int) {
	col := &b.cols[c]
	col.nulls = append(col.nulls, uint32(b.n))
	col.zero()
}

// Value sets a column from a boxed value. The value's kind is the column's, or any kind when it is NULL.
func (b *Builder) Value(c int, v types.Value) {
	if v.IsNull() {
		b.Null(c)
		return
	}
	switch k := b.cols[c].kind; {
	case k.IsText():
		b.Text(c, []byte(v.Text()))
	case k == types.Double:
		b.Double(c, v.Float())
	default:
		b.Long(c, v.Int())
	}
}

// Cell copies a cell of another batch's column of the same kind. A column that is filled from one dictionary
// column shares its dictionary.
func (b *Builder) Cell(c int, from *Column, row int) {
	if from.IsNull(row) {
		b.Null(c)
		return
	}
	col := &b.cols[c]
	switch {
	case col.kind == types.Double:
		col.f64 = append(col.f64, from.F64[row])
	case !col.kind.IsText():
		col.i64 = append(col.i64, from.I64[row])
	case from.Dict != nil && col.borrow(from.Dict):
		col.codes = append(col.codes, from.Codes[row])
	default:
		b.Text(c, from.Text(row))
	}
}

// Record sets columns from first on to the cells of a canonical record and returns the column after the last one
// set. The record is one of our own making (AppendRecord): a damaged one is a broken invariant and panics.
func (b *Builder) Record(rec []byte, first int) int {
	for len(rec) > 0 {
		cell, rest, err := ReadCell(rec)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		rec = rest
		if cell.Kind == types.Unknown {
			b.Null(first)
			first++
			continue
		}
		if !cellFits(cell.Kind, b.cols[first].kind) {
			panic(fmt.Sprintf("BUG: the record has a %v for column %d of kind %v", cell.Kind, first, b.cols[first].kind))
		}
		switch cell.Kind {
		case types.String, types.Json:
			b.Text(first, cell.Text)
		case types.Double:
			b.cols[first].f64 = append(b.cols[first].f64, cell.F)
		default:
			b.Long(first, cell.I)
		}
		first++
	}
	return first
}

// EndRow finishes the row with a weight.
func (b *Builder) EndRow(w int64) {
	if w != 1 || b.weight != nil {
		b.setWeight(w)
	}
	if b.n++; b.n == 1 && b.hint > 1 {
		for c := range b.cols {
			b.cols[c].reserve(b.hint)
		}
	}
}

func (b *Builder) setWeight(w int64) {
	if b.weight == nil {
		b.weight = make([]int64, b.n, max(64, 2*b.n+1))
		for i := range b.weight {
			b.weight[i] = 1
		}
	}
	b.weight = append(b.weight, w)
}

// AbortRow forgets the cells of the unfinished row.
func (b *Builder) AbortRow() { b.Truncate(b.n) }

// Truncate forgets the unfinished row and every finished row from n on.
func (b *Builder) Truncate(n int) {
	b.n = n
	if b.weight != nil {
		b.weight = b.weight[:n]
	}
	for c := range b.cols {
		b.cols[c].truncate(n)
	}
}

// Reset forgets all rows and keeps the memory.
func (b *Builder) Reset() {
	b.Truncate(0)
	b.weight = nil
}

// Intern makes a text column dictionary-encoded: its texts become codes of a dictionary that grows from batch to
// batch. A column whose texts turn out to be mostly distinct becomes plain by itself, and tries again much later.
// The call comes before the first row.
func (b *Builder) Intern(c int) {
	col := &b.cols[c]
	if !col.kind.IsText() || b.n != 0 {
		panic("BUG: only an empty text column can start to intern")
	}
	col.intern, col.coded = NewInterner(), true
}

// Build returns the rows as a batch and leaves the builder empty. The batch owns its memory.
func (b *Builder) Build() *Batch {
	out := &Batch{N: b.n, Cols: make([]Column, len(b.cols)), Weight: b.weight}
	for c := range b.cols {
		if got := b.cols[c].rows(); got != b.n {
			panic(fmt.Sprintf("BUG: column %d has %d cells in a batch of %d rows", c, got, b.n))
		}
		out.Cols[c] = b.cols[c].build(b.n)
	}
	b.n, b.weight, b.hint = 0, nil, out.N
	return out
}

package zset

import (
	"github.com/streamsforge/streamsforge/engine/types"
)

// Batch is a list of rows as columns.
//
// Weight nil means +1 for every row. A batch that was handed over is immutable: readers on several goroutines
// share it. The batch does not name its columns; the schema travels beside it, once for a stream of batches.
type Batch struct {
	N      int
	Cols   []Column
	Weight []int64
}

// W returns the weight of row i.
func (b *Batch) W(i int) int64 {
	if b.Weight == nil {
		return 1
	}
	return b.Weight[i]
}

// Row boxes row i.
func (b *Batch) Row(i int) []types.Value {
	out := make([]types.Value, len(b.Cols))
	for c := range b.Cols {
		out[c] = b.Cols[c].Value(i)
	}
	return out
}

// Bytes returns the size of the batch's values in memory. A dictionary counts for every batch that shares it.
func (b *Batch) Bytes() int {
	n := 8 * len(b.Weight)
	for c := range b.Cols {
		col := &b.Cols[c]
		n += 8*(len(col.Valid)+len(col.F64)+len(col.I64)) + 4*(len(col.Offs)+len(col.Codes))
		switch {
		case col.Dict != nil:
			n += 4*len(col.Dict.Offs) + len(col.Dict.Bytes)
		case len(col.Offs) > 0:
			n += int(col.Offs[len(col.Offs)-1] - col.Offs[0])
		}
	}
	return n
}

// Kinds returns the kinds of the columns.
func (b *Batch) Kinds() []types.Kind {
	out := make([]types.Kind, len(b.Cols))
	for c := range b.Cols {
		out[c] = b.Cols[c].Kind
	}
	return out
}

// Empty returns a batch without rows.
func Empty(kinds []types.Kind) *Batch { return NewBuilder(kinds).Build() }

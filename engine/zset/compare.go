package zset

import (
	"bytes"
	"cmp"

	"github.com/streamsforge/streamsforge/engine/types"
)

// CompareRows orders two rows of one batch as their canonical records order: column by column, NULL first.
func CompareRows(b *Batch, i, j int) int {
	for c := range b.Cols {
		if r := b.Cols[c].Compare(i, j); r != 0 {
			return r
		}
	}
	return 0
}

// Compare orders two cells of the column as their canonical records order.
func (c *Column) Compare(i, j int) int {
	if c.Valid != nil {
		x, y := c.IsNull(i), c.IsNull(j)
		switch {
		case x && y:
			return 0
		case x:
			return -1
		case y:
			return 1
		}
	}
	switch {
	case c.Dict != nil:
		if c.Codes[i] == c.Codes[j] {
			return 0
		}
		return bytes.Compare(c.Dict.At(c.Codes[i]), c.Dict.At(c.Codes[j]))
	case c.Kind.IsText():
		return bytes.Compare(c.Bytes[c.Offs[i]:c.Offs[i+1]], c.Bytes[c.Offs[j]:c.Offs[j+1]])
	case c.Kind == types.Double:
		return types.CompareDoubles(c.F64[i], c.F64[j])
	}
	return cmp.Compare(c.I64[i], c.I64[j])
}

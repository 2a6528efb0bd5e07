package wire

import (
	"encoding/binary"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// The row form: one byte that says whether there are weights, then row by row the weight (varint) when there are,
// and the canonical record of the row (see zset.AppendRecord), which ends by itself.

func appendRows(dst []byte, b *zset.Batch) []byte {
	weighted := byte(0)
	if b.Weight != nil {
		weighted = 1
	}
	dst = append(dst, weighted)
	for i := range b.N {
		if weighted == 1 {
			dst = binary.AppendVarint(dst, b.Weight[i])
		}
		dst = zset.AppendRecord(dst, b, i, nil)
	}
	return dst
}

func (r *reader) rows(kinds []types.Kind, n int) *zset.Batch {
	weighted := r.byte()
	if weighted > 1 {
		r.bad("the mark of the weights is neither 0 nor 1")
	}
	// Every row takes a byte at least, unless it has no columns and no weight.
	if r.fail == "" && n >= blockFrom {
		r.bad("it has more rows than the row form holds")
	}
	if r.fail != "" {
		return nil
	}
	b := zset.NewBuilder(kinds)
	var weights []int64
	for range n {
		if weighted == 1 {
			weights = append(weights, r.varint())
		}
		for c, k := range kinds {
			cell, rest, err := zset.ReadCell(r.p)
			if err != nil || !fits(cell.Kind, k) {
				r.bad("a row does not have the cells of its columns")
				return nil
			}
			r.p = rest
			switch {
			case cell.Kind == types.Unknown:
				b.Null(c)
			case k.IsText():
				b.Text(c, cell.Text)
			case k == types.Double:
				b.Double(c, cell.F)
			default:
				b.Long(c, cell.I)
			}
		}
		b.EndRow(1)
	}
	out := b.Build()
	if weighted == 1 {
		out.Weight = weights
	}
	return out
}

// fits reports whether a cell can stand in a column: a NULL has no kind, and a Timestamp is written as a Long.
func fits(cell, column types.Kind) bool {
	return cell == types.Unknown || cell == column || cell == types.Long && column == types.Timestamp
}

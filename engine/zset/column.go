package zset

import (
	"github.com/streamsforge/streamsforge/engine/types"
)

// Column is one column of a batch. Its slices hold no pointers, so a batch costs the garbage collector nothing.
//
// Which value slice is filled depends on the kind: Double F64; Long and Timestamp I64; Bool I64 (0 or 1); String
// and Json either plain text (Offs and Bytes) or dictionary codes (Codes and Dict). A NULL keeps a zero in the
// value slice (empty text, code 0 with a one-entry dictionary at least), so that positions agree.
//
// A Column is immutable once its batch has been handed over.
type Column struct {
	Kind types.Kind
	// Valid has bit i set when row i is not NULL; nil means that no row is NULL.
	Valid []uint64
	F64   []float64
	I64   []int64
	// Offs has n+1 entries; row i is Bytes[Offs[i]:Offs[i+1]].
	Offs  []uint32
	Bytes []byte
	// Codes index Dict when it is set; Offs and Bytes are then empty.
	Codes []uint32
	Dict  *Dict
}

// Dict is an immutable list of distinct texts shared by the columns that use its codes. Batches of one stream
// often carry the same *Dict or one that extends it, so that work done once a code can be kept (see Extends).
type Dict struct {
	Offs  []uint32
	Bytes []byte
	root  *lineage // set when an Interner made it
}

// Len returns the number of entries.
func (d *Dict) Len() int {
	if len(d.Offs) == 0 {
		return 0
	}
	return len(d.Offs) - 1
}

// Extends reports whether every code of old has the same text here.
func (d *Dict) Extends(old *Dict) bool {
	return d == old || d.root != nil && d.root == old.root && len(d.Offs) >= len(old.Offs)
}

// At returns the text of a code. The caller must not change it.
func (d *Dict) At(code uint32) []byte { return d.Bytes[d.Offs[code]:d.Offs[code+1]] }

// IsNull reports whether row i is NULL.
func (c *Column) IsNull(i int) bool {
	return c.Valid != nil && c.Valid[i>>6]&(1<<(uint(i)&63)) == 0
}

// Text returns the bytes of row i of a String or Json column. The caller must not change them.
func (c *Column) Text(i int) []byte {
	if c.Dict != nil {
		return c.Dict.At(c.Codes[i])
	}
	return c.Bytes[c.Offs[i]:c.Offs[i+1]]
}

// Value boxes row i.
func (c *Column) Value(i int) types.Value {
	if c.IsNull(i) {
		return types.Null(c.Kind)
	}
	switch c.Kind {
	case types.Double:
		return types.DoubleOf(c.F64[i])
	case types.Bool:
		return types.BoolOf(c.I64[i] != 0)
	case types.Timestamp:
		return types.TimestampOf(c.I64[i])
	case types.String:
		return types.StringOf(string(c.Text(i)))
	case types.Json:
		return types.JsonOf(string(c.Text(i)))
	default:
		return types.LongOf(c.I64[i])
	}
}

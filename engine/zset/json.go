package zset

import (
	"math"
	"strconv"

	"github.com/streamsforge/streamsforge/engine/types"
)

// AppendJSON appends one row as a JSON object in schema order: NULL, NaN and the infinities as null, Json columns
// as they are, Long and Timestamp as numbers.
func AppendJSON(dst []byte, s types.Schema, b *Batch, row int) []byte {
	dst = append(dst, '{')
	for c := range s {
		if c > 0 {
			dst = append(dst, ',')
		}
		dst = types.AppendJSONString(dst, s[c].Name)
		dst = append(dst, ':')
		dst = AppendJSONCell(dst, &b.Cols[c], row)
	}
	return append(dst, '}')
}

// AppendJSONCell appends one cell as a JSON value.
func AppendJSONCell(dst []byte, c *Column, row int) []byte {
	if c.IsNull(row) {
		return append(dst, "null"...)
	}
	switch c.Kind {
	case types.Double:
		f := c.F64[row]
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return append(dst, "null"...)
		}
		return types.AppendDouble(dst, f)
	case types.Bool:
		return strconv.AppendBool(dst, c.I64[row] != 0)
	case types.String:
		return types.AppendJSONString(dst, c.Text(row))
	case types.Json:
		return append(dst, c.Text(row)...)
	default:
		return strconv.AppendInt(dst, c.I64[row], 10)
	}
}

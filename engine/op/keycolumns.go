package op

import (
	"bytes"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// decodeKeys turns n canonical key records into columns that own their memory. Equal records often follow each
// other (the old and the new row of a group).
func decodeKeys(kinds []types.Kind, n int, key func(k int) []byte) []zset.Column {
	if len(kinds) == 1 && kinds[0].IsText() {
		if col, ok := decodeTextKeys(kinds[0], n, key); ok {
			return []zset.Column{col}
		}
	}
	b := zset.NewBuilder(kinds)
	for k := range n {
		b.Record(key(k), 0)
		b.EndRow(1)
	}
	return b.Build().Cols
}

// decodeTextKeys is the case of one text column: the text stands in the record between its tag and its end. It
// declines NULLs and texts with a NUL byte, which are written in another way.
func decodeTextKeys(kind types.Kind, n int, key func(k int) []byte) (zset.Column, bool) {
	col := zset.Column{Kind: kind, Offs: make([]uint32, n+1)}
	if n == 0 {
		return col, true
	}
	col.Bytes = make([]byte, 0, n*len(key(0)))
	var last []byte
	for k := range n {
		rec := key(k)
		if len(last) == 0 || &rec[0] != &last[0] {
			if len(rec) < 2 || bytes.IndexByte(rec, 0) != len(rec)-1 {
				return zset.Column{}, false
			}
			last = rec
		}
		col.Bytes = append(col.Bytes, rec[1:len(rec)-1]...)
		col.Offs[k+1] = uint32(len(col.Bytes))
	}
	return col, true
}

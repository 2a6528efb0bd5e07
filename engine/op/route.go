package op

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Route says to which of several partitions a row goes: by the hash of its keys, encoded as operators encode them, so
// that rows that one operator calls equal are in one partition. NULL is a key like any other.
type Route struct {
	kernels []*expr.Kernel
	keys    zset.KeyBatch
	cols    zset.Batch
	sel     [][]int32
}

// NewRoute makes a route by keys to a number of partitions.
func NewRoute(keys []expr.Expr, partitions int) *Route {
	r := &Route{cols: zset.Batch{Cols: make([]zset.Column, len(keys))}, sel: make([][]int32, partitions)}
	for _, k := range keys {
		r.kernels = append(r.kernels, expr.Compile(k))
	}
	return r
}

// Split gives the rows of each partition, in the order in which they are in b; nil where there are none.
func (r *Route) Split(b *zset.Batch) []*zset.Batch {
	out := make([]*zset.Batch, len(r.sel))
	for i, k := range r.kernels {
		r.cols.Cols[i] = *k.Aligned(b, nil)
	}
	r.cols.N = b.N
	r.keys.Reset()
	r.keys.Encode(&r.cols, nil, nil)
	r.keys.HashAll()
	for p := range r.sel {
		r.sel[p] = r.sel[p][:0]
	}
	for i, h := range r.keys.Hash {
		// The tables of the operators are laid out by the same hash: its bits are mixed again, or each partition would
		// fill a part of its tables only.
		p := zset.HashUint64(h) % uint64(len(r.sel))
		r.sel[p] = append(r.sel[p], int32(i))
	}
	for p, sel := range r.sel {
		switch len(sel) {
		case 0:
		case b.N:
			out[p] = b
		default:
			out[p] = zset.Gather(b, sel)
		}
	}
	return out
}

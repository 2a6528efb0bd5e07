package zset

import (
	"bytes"
	"slices"
)

// Consolidate returns the batch as a Z-set delta: sorted by canonical record, equal rows merged into one with the
// sum of their weights, rows of weight zero gone. A batch that is one already is returned as it is.
//
// Invariant 3: every delta batch at a package border went through here.
func Consolidate(b *Batch) *Batch {
	if b.N == 0 {
		return b
	}
	var keys KeyBatch
	keys.Encode(b, nil, nil)
	if b.N == 1 || consolidated(b, &keys) {
		if b.N == 1 && b.W(0) == 0 {
			return Slice(b, 0, 0)
		}
		return b
	}
	order := sortedOrder(&keys)
	sel := make([]int32, 0, b.N)
	weight := make([]int64, 0, b.N)
	for i := 0; i < len(order); {
		first := order[i]
		rec := keys.Key(int(first))
		w := b.W(int(first))
		for i++; i < len(order) && bytes.Equal(rec, keys.Key(int(order[i]))); i++ {
			w += b.W(int(order[i]))
		}
		if w != 0 {
			sel = append(sel, first)
			weight = append(weight, w)
		}
	}
	out := Gather(&Batch{N: b.N, Cols: b.Cols}, sel)
	for _, w := range weight {
		if w != 1 {
			out.Weight = weight
			break
		}
	}
	return out
}

// IsConsolidated reports whether the batch is sorted, without equal rows and without zero weights.
func IsConsolidated(b *Batch) bool {
	var keys KeyBatch
	keys.Encode(b, nil, nil)
	return consolidated(b, &keys)
}

func consolidated(b *Batch, keys *KeyBatch) bool {
	for i := range b.N {
		if b.W(i) == 0 || i > 0 && bytes.Compare(keys.Key(i-1), keys.Key(i)) >= 0 {
			return false
		}
	}
	return true
}

// sortedOrder returns the row numbers in the order of their keys; equal keys keep their order.
func sortedOrder(keys *KeyBatch) []int32 {
	order := make([]int32, keys.Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int {
		return bytes.Compare(keys.Key(int(x)), keys.Key(int(y)))
	})
	return order
}

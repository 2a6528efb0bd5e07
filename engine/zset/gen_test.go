package zset_test

import (
	"fmt"
	"math"
	"strings"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

var kindGen = rapid.SampledFrom([]types.Kind{types.String, types.Double, types.Long, types.Bool, types.Timestamp, types.Json})

// valueGen draws values that are often equal and often on an edge.
func valueGen(k types.Kind) *rapid.Generator[types.Value] {
	return rapid.Custom(func(t *rapid.T) types.Value {
		if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
			return types.Null(k)
		}
		ints := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{
			math.MinInt64, math.MaxInt64, math.MinInt64 + 1, 255, 256, -255, -256, 1 << 32, -1 << 32, 1<<56 - 1, -1 << 56}), rapid.Int64())
		switch k {
		case types.String:
			return types.StringOf(rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "ab", "a\x00", "a\x00b", "\x00", "\x00\x00", "a\xff"}), rapid.String()).Draw(t, "s"))
		case types.Json:
			return types.JsonOf(rapid.SampledFrom([]string{"{}", "[]", "null", "1", `""`, `{"a":[1,2]}`}).Draw(t, "j"))
		case types.Double:
			return types.DoubleOf(rapid.OneOf(rapid.SampledFrom([]float64{
				0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64}), rapid.Float64()).Draw(t, "f"))
		case types.Bool:
			return types.BoolOf(rapid.Bool().Draw(t, "b"))
		case types.Timestamp:
			return types.TimestampOf(ints.Draw(t, "t"))
		default:
			return types.LongOf(ints.Draw(t, "l"))
		}
	})
}

// drawBatch draws a batch of the kinds; text columns are plain, interned or borrowed from an interned column.
func drawBatch(t *rapid.T, kinds []types.Kind, rows int) *zset.Batch {
	b := zset.NewBuilder(kinds)
	for c, k := range kinds {
		if k.IsText() && rapid.Bool().Draw(t, "intern") {
			b.Intern(c)
		}
	}
	weighted := rapid.Bool().Draw(t, "weighted")
	for range rows {
		for c, k := range kinds {
			b.Value(c, valueGen(k).Draw(t, "v"))
		}
		w := int64(1)
		if weighted {
			w = rapid.Int64Range(-2, 2).Draw(t, "w")
		}
		b.EndRow(w)
	}
	return b.Build()
}

var batchGen = rapid.Custom(func(t *rapid.T) *zset.Batch {
	kinds := rapid.SliceOfN(kindGen, 0, 4).Draw(t, "kinds")
	return drawBatch(t, kinds, rapid.SampledFrom([]int{0, 1, 2, 5, 64, 70, 150}).Draw(t, "rows"))
})

// text prints the rows of a batch in order, with their weights.
func text(b *zset.Batch) string {
	var s strings.Builder
	for i := range b.N {
		fmt.Fprintln(&s, b.W(i), b.Row(i))
	}
	return s.String()
}

// weights is the batch as a map from row to weight: what a Z-set is.
func weights(b *zset.Batch) map[string]int64 {
	m := map[string]int64{}
	for i := range b.N {
		key := fmt.Sprint(b.Row(i))
		if m[key] += b.W(i); m[key] == 0 {
			delete(m, key)
		}
	}
	return m
}

package op_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

var topColumns = types.Schema{{Name: "g", Kind: types.Long}, {Name: "v", Kind: types.Long}, {Name: "tie", Kind: types.Long}}

func newTop(offset, limit int64) *op.TopN {
	g, v := &expr.Column{Index: 0, Name: "g", K: types.Long}, &expr.Column{Index: 1, Name: "v", K: types.Long}
	return op.NewTopN(topColumns, []expr.Expr{g}, []agg.OrderKey{{X: v, Desc: true}}, offset, limit)
}

// TestTopNEqualsRecompute: the sum of all deltas is the first rows of every partition, under random additions and
// retractions (also of rows that are not there yet), with restarts; and nothing is left when all is taken back.
func TestTopNEqualsRecompute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offset := rapid.Int64Range(0, 2).Draw(t, "offset")
		limit := rapid.Int64Range(-1, 3).Draw(t, "limit")
		n := newTop(offset, limit)
		empty := n.AppendSnapshot(nil)
		net, shown := map[[3]int64]int64{}, map[[3]int64]int64{}
		push := func(rows [][3]int64, ws []int64) {
			b := zset.NewBuilder([]types.Kind{types.Long, types.Long, types.Long})
			for i, r := range rows {
				for c, v := range r {
					b.Long(c, v)
				}
				b.EndRow(ws[i])
				net[r] += ws[i]
			}
			n.Apply(0, op.Delta{B: b.Build()}, nil)
		}
		flushed := func() {
			n.Flush(func(d op.Delta) {
				if !zset.IsConsolidated(d.B) {
					t.Fatal("the delta is not consolidated")
				}
				for i := range d.B.N {
					r := [3]int64{d.B.Cols[0].I64[i], d.B.Cols[1].I64[i], d.B.Cols[2].I64[i]}
					if shown[r] += d.B.W(i); shown[r] == 0 {
						delete(shown, r)
					}
				}
			})
			if want := firstRows(net, offset, limit); fmt.Sprint(want) != fmt.Sprint(shown) {
				t.Fatalf("shows %v, want %v of %v", shown, want, net)
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "epochs") {
			for range rapid.IntRange(1, 3).Draw(t, "batches") {
				var rows [][3]int64
				var ws []int64
				for range rapid.IntRange(0, 8).Draw(t, "rows") {
					rows = append(rows, [3]int64{rapid.Int64Range(0, 2).Draw(t, "g"), rapid.Int64Range(0, 4).Draw(t, "v"), rapid.Int64Range(0, 1).Draw(t, "tie")})
					ws = append(ws, rapid.SampledFrom([]int64{1, 1, 2, -1, -1, -2}).Draw(t, "weight"))
				}
				push(rows, ws)
			}
			flushed()
			if rapid.IntRange(0, 2).Draw(t, "restart") == 0 {
				snap := n.AppendSnapshot(nil)
				n = newTop(offset, limit)
				if err := n.Restore(snap); err != nil {
					t.Fatal(err)
				}
			}
		}
		for r, w := range net {
			push([][3]int64{r}, []int64{-w})
		}
		flushed()
		if after := newTop(offset, limit); len(shown) > 0 || after.Restore(n.AppendSnapshot(nil)) != nil || len(empty) == 0 {
			t.Fatalf("left: %v", shown)
		}
	})
}

// firstRows sorts the net rows of each partition and counts off.
func firstRows(net map[[3]int64]int64, offset, limit int64) map[[3]int64]int64 {
	out := map[[3]int64]int64{}
	for g := range int64(3) {
		var rows [][3]int64
		for r, w := range net {
			for range max(w, 0) {
				if r[0] == g {
					rows = append(rows, r)
				}
			}
		}
		slices.SortFunc(rows, func(a, b [3]int64) int {
			return cmp.Or(cmp.Compare(b[1], a[1]), cmp.Compare(a[2], b[2]))
		})
		rows = rows[min(offset, int64(len(rows))):]
		if limit >= 0 {
			rows = rows[:min(limit, int64(len(rows)))]
		}
		for _, r := range rows {
			out[r]++
		}
	}
	return out
}

// BenchmarkTopN enters 1,000 rows at a time into 10,000 partitions of which the first 3 rows are shown.
func BenchmarkTopN(b *testing.B) {
	n := newTop(0, 3)
	rows, seed := 0, uint64(1)
	for b.Loop() {
		if rows == 1_000_000 {
			n, rows = newTop(0, 3), 0
		}
		in := zset.NewBuilder([]types.Kind{types.Long, types.Long, types.Long})
		for range 1000 {
			seed = seed*6364136223846793005 + 1442695040888963407
			in.Long(0, int64(seed>>33%10_000))
			in.Long(1, int64(seed>>20%1_000_000))
			in.Long(2, 0)
			in.EndRow(1)
		}
		n.Apply(0, op.Delta{B: in.Build()}, nil)
		n.Flush(func(op.Delta) {})
		rows += 1000
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "rows/s")
}

package op_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

// newOver numbers, ranks, sums and looks back; ahead adds a function that needs the rows that follow.
func newOver(ahead bool) *op.Over {
	g, v := &expr.Column{Index: 0, Name: "g", K: types.Long}, &expr.Column{Index: 1, Name: "v", K: types.Long}
	bind := func(name string, args ...expr.Expr) over.Call {
		f, _ := over.Lookup(name)
		c, err := f.Bind(args)
		if err != nil {
			panic(err)
		}
		return c
	}
	sum, _ := agg.Lookup("SUM")
	total, err := sum.Bind([]expr.Expr{v}, false, false)
	if err != nil {
		panic(err)
	}
	calls := []over.Call{bind("ROW_NUMBER"), bind("RANK"), bind("LAG", v), {What: over.Aggregate, Name: "SUM", Agg: total, K: total.K, Frame: over.Default()}}
	if ahead {
		calls = append(calls, bind("CUME_DIST"))
	}
	return op.NewOver(topColumns, []expr.Expr{g}, []agg.OrderKey{{X: v, Desc: true}}, calls)
}

// TestOverEqualsRecompute: the sum of all deltas is every row with the values of its functions, under random additions
// and retractions (also of rows that are not there yet), with restarts; and nothing is left when all is taken back.
func TestOverEqualsRecompute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ahead := rapid.Bool().Draw(t, "ahead")
		n := newOver(ahead)
		net, shown := map[[3]int64]int64{}, map[string]int64{}
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
					var row []any
					for c := range d.B.Cols {
						switch col := &d.B.Cols[c]; {
						case col.IsNull(i):
							row = append(row, nil)
						case col.Kind == types.Double:
							row = append(row, col.F64[i])
						default:
							row = append(row, col.I64[i])
						}
					}
					k := fmt.Sprint(row...)
					if shown[k] += d.B.W(i); shown[k] == 0 {
						delete(shown, k)
					}
				}
			})
			if want := numberedRows(net, ahead); fmt.Sprint(want) != fmt.Sprint(shown) {
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
				n = newOver(ahead)
				if err := n.Restore(snap); err != nil {
					t.Fatal(err)
				}
				if again := n.AppendSnapshot(nil); string(again) != string(snap) {
					t.Fatal("a restored snapshot has other bytes")
				}
			}
		}
		for r, w := range net {
			push([][3]int64{r}, []int64{-w})
		}
		flushed()
		if len(shown) > 0 {
			t.Fatalf("left: %v", shown)
		}
	})
}

// numberedRows sorts the net rows of each partition and computes every function from its definition.
func numberedRows(net map[[3]int64]int64, ahead bool) map[string]int64 {
	out := map[string]int64{}
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
		for i, r := range rows {
			rank, sum, upTo := 1, int64(0), 0
			for _, other := range rows {
				if other[1] > r[1] {
					rank++
				}
				if other[1] >= r[1] {
					sum += other[1]
					upTo++
				}
			}
			row := []any{r[0], r[1], r[2], int64(i + 1), int64(rank), nil, sum}
			if i > 0 {
				row[5] = rows[i-1][1]
			}
			if ahead {
				row = append(row, float64(upTo)/float64(len(rows)))
			}
			out[fmt.Sprint(row...)]++
		}
	}
	return out
}

// TestOverRefusesDamage: a snapshot that is cut off is an error and no panic.
func TestOverRefusesDamage(t *testing.T) {
	n := newOver(false)
	b := zset.NewBuilder([]types.Kind{types.Long, types.Long, types.Long})
	for i := range int64(5) {
		b.Long(0, i%2)
		b.Long(1, i)
		b.Long(2, 0)
		b.EndRow(1)
	}
	n.Apply(0, op.Delta{B: b.Build()}, nil)
	n.Flush(func(op.Delta) {})
	snap := n.AppendSnapshot(nil)
	for i := range snap {
		if err := newOver(false).Restore(snap[:i]); err == nil {
			t.Fatalf("%d of %d bytes are taken", i, len(snap))
		}
	}
}

// BenchmarkOver appends rows at the end of the order, one at a time, to partitions of 1,000 rows on average.
func BenchmarkOver(b *testing.B) {
	for _, ahead := range []bool{false, true} {
		b.Run(map[bool]string{false: "running", true: "whole"}[ahead], func(b *testing.B) {
			n, rows := newOver(ahead), int64(0)
			for b.Loop() {
				in := zset.NewBuilder([]types.Kind{types.Long, types.Long, types.Long})
				if rows == 10_000 {
					n, rows = newOver(ahead), 0
				}
				in.Long(0, rows%10)
				in.Long(1, -rows)
				in.Long(2, 0)
				in.EndRow(1)
				n.Apply(0, op.Delta{B: in.Build()}, nil)
				n.Flush(func(op.Delta) {})
				rows++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

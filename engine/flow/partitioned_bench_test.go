package flow_test

import (
	"fmt"
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
)

// tradeJoin joins trades with the sums of their symbols.
func tradeJoin() *plan.Query {
	q := tradeQuery(true, true)
	cols := tradeColumns()
	all := make([]int, len(cols))
	for i := range all {
		all[i] = i
	}
	left := plan.NewScan(0, "trades", "t", cols, all, true, nil)
	key := &expr.Column{Index: 0, Name: "symbol", K: types.String}
	q.Root = plan.NewJoin(left, q.Root, []expr.Expr{tradeColumn("symbol")}, []expr.Expr{key}, nil, plan.Semi)
	return q
}

// BenchmarkPartitions runs one query in one partition and in two, on goroutines: compare the rows per second of wall
// time. On a machine that is busy with other work two partitions gain less.
func BenchmarkPartitions(b *testing.B) {
	const rows = 8000
	for name, q := range map[string]*plan.Query{"groupby": tradeQuery(true, true), "join": tradeJoin()} {
		for _, n := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/partitions=%d", name, n), func(b *testing.B) {
				r := rng(1)
				in := tradeBatches(&r, 64, rows, 20_000)
				f := flow.Runner(flow.New(q))
				if n > 1 {
					cut, err := plan.Cut(q, n)
					if err != nil {
						b.Fatal(err)
					}
					f = flow.NewPartitioned(cut, goroutines)
				}
				m := start(b)
				for i := range b.N {
					f.Push(0, in[i%len(in)])
					f.Advance(int64(i))
					f.Flush()
				}
				m.rows(rows)
			})
		}
	}
}

package flow_test

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Example runs SELECT symbol, SUM(qty) FROM trades GROUP BY symbol over two epochs: an update is a retraction and an
// assertion.
func Example() {
	trades := types.Schema{{Name: "symbol", Kind: types.String}, {Name: "qty", Kind: types.Long}}
	symbol := &expr.Column{Index: 0, Name: "symbol", K: types.String}
	qty := &expr.Column{Index: 1, Name: "qty", K: types.Long}
	sum, _ := agg.Lookup("SUM")
	total, err := sum.Bind([]expr.Expr{qty}, false, false)
	if err != nil {
		panic(err)
	}
	scan := plan.NewScan(0, "trades", "trades", trades, []int{0, 1}, true, nil)
	f := flow.New(&plan.Query{
		Inputs: []plan.Input{{Name: "trades", Columns: trades}},
		Root:   plan.NewReduce(scan, []expr.Expr{symbol}, []agg.Call{total}),
	})
	for epoch, rows := range [][]int64{{5, 7}, {1}} {
		b := zset.NewBuilder([]types.Kind{types.String, types.Long})
		for _, n := range rows {
			b.Text(0, []byte("AAPL"))
			b.Long(1, n)
			b.EndRow(1)
		}
		f.Push(0, b.Build())
		f.Advance(int64(epoch) * 100)
		delta := f.Flush().Delta
		for i := range delta.N {
			fmt.Printf("epoch %d: %+d %v\n", epoch, delta.W(i), delta.Row(i))
		}
	}
	// Output:
	// epoch 0: +1 ["AAPL" 12]
	// epoch 1: -1 ["AAPL" 12]
	// epoch 1: +1 ["AAPL" 13]
}

package zset_test

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

func ExampleConsolidate() {
	b := zset.NewBuilder([]types.Kind{types.String, types.Long})
	row := func(symbol string, qty, weight int64) {
		b.Text(0, []byte(symbol))
		b.Long(1, qty)
		b.EndRow(weight)
	}
	row("MSFT", 2, 1)
	row("AAPL", 5, -1)
	row("AAPL", 7, 1)
	row("MSFT", 2, -1)
	delta := zset.Consolidate(b.Build())
	for i := range delta.N {
		fmt.Println(delta.W(i), delta.Row(i))
	}
	// Output:
	// -1 ["AAPL" 5]
	// 1 ["AAPL" 7]
}

func ExampleArrangement() {
	side := zset.NewArrangement()
	side.Add([]byte("AAPL"), []byte("AAPL|row 1"), 1)
	side.Add([]byte("AAPL"), []byte("AAPL|row 2"), 2)
	side.Add([]byte("AAPL"), []byte("AAPL|row 1"), -1)
	m := side.Find([]byte("AAPL"))
	for {
		rec, w, ok := m.Next()
		if !ok {
			break
		}
		fmt.Printf("%d %s\n", w, rec)
	}
	// Output: 2 AAPL|row 2
}

package wire_test

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/streams/wire"
)

func Example() {
	b := zset.NewBuilder([]types.Kind{types.String, types.Long})
	b.Text(0, []byte("AAPL"))
	b.Long(1, 7)
	b.EndRow(-1)
	batch := b.Build()

	p := wire.Encode(nil, batch.Kinds(), batch)
	kinds, got, err := wire.Decode(p)
	fmt.Println(len(p), kinds, got.Row(0), got.W(0), err)
	// Output: 22 [String Long] ["AAPL" 7] -1 <nil>
}

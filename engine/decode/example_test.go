package decode_test

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/types"
)

func ExampleDecoder() {
	fields := types.Schema{{Name: "symbol", Kind: types.String}, {Name: "qty", Kind: types.Long}}
	d := decode.New(fields, decode.Options{OnCoercion: decode.DropRow})
	r := d.Append(decode.Message{
		Payload: []byte("{\"symbol\":\"AAPL\",\"qty\":5}\n{\"symbol\":\"MSFT\",\"qty\":\"many\"}\n{\"symbol\":\"MSFT\",\"qty\":\"2\"}\n"),
		TimeMs:  1700000000000,
	})
	fmt.Println(r.Rows, "rows;", r.Failures[0].Reason)
	b := d.Take()
	for i := range b.N {
		fmt.Println(b.Row(i))
	}
	// Output:
	// 2 rows; field "qty": "many" is not a Long
	// ["AAPL" 5 1700000000000 false]
	// ["MSFT" 2 1700000000000 false]
}

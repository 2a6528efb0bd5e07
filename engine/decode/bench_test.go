package decode_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/types"
)

// tradeFields is the reference row of the performance goals: 128 bytes of JSON.
var tradeFields = types.Schema{
	{Name: "symbol", Kind: types.String},
	{Name: "price", Kind: types.Double},
	{Name: "qty", Kind: types.Long},
	{Name: "side", Kind: types.String},
	{Name: "_ts", Kind: types.Long},
	{Name: "trade_id", Kind: types.String},
}

func appendTrade(dst []byte, i int, shuffled bool) []byte {
	x := uint64(i)*0x9e3779b97f4a7c15 + 42
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x ^= x >> 27
	side := "BUY"
	if x>>63 == 1 {
		side = "SELL"
	}
	price := strconv.FormatFloat(float64(100+(x>>8)%20000)/100, 'g', -1, 64)
	id := fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012d", uint32(x>>16), x&0xffff, x>>52, x>>20&0xfff, i)
	ts := 1700000000000 + int64(i)*3 + int64(x>>40&7)
	if shuffled && i&1 == 1 {
		return fmt.Appendf(dst, `{"trade_id":"%s","qty":%d,"venue":"X","symbol":"SYM%03d","_ts":%d,"side":"%s","price":%s}`,
			id, 1+(x>>32)%1000, x%200, ts, side, price)
	}
	return fmt.Appendf(dst, `{"symbol":"SYM%03d","price":%s,"qty":%d,"side":"%s","_ts":%d,"trade_id":"%s"}`,
		x%200, price, 1+(x>>32)%1000, side, ts, id)
}

func trades(rows int, array, shuffled bool) []byte {
	var b []byte
	for i := range rows {
		switch {
		case array && i == 0:
			b = append(b, '[')
		case array:
			b = append(b, ',')
		}
		b = appendTrade(b, i, shuffled)
		if !array {
			b = append(b, '\n')
		}
	}
	if array {
		b = append(b, ']')
	}
	return b
}

// BenchmarkDecode is the goal "JSON decode to columns": 6 Mrow/s and more, no allocation a row.
func BenchmarkDecode(b *testing.B) {
	const rows = 1000
	for _, c := range []struct {
		name            string
		array, shuffled bool
	}{{"ndjson", false, false}, {"array", true, false}, {"ndjson-shuffled", false, true}} {
		b.Run(c.name, func(b *testing.B) {
			m := decode.Message{Payload: trades(rows, c.array, c.shuffled), TimeMs: 1}
			if !c.array {
				m.ContentType = "application/x-ndjson"
			}
			d := decode.New(tradeFields, decode.Options{})
			b.SetBytes(int64(len(m.Payload)))
			b.ReportAllocs()
			for b.Loop() {
				if r := d.Append(m); r.Rows != rows {
					b.Fatal(r)
				}
				d.Take()
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds()/1e6, "Mrow/s")
		})
	}
}

// BenchmarkDecodeShapes are rows that are not as plain as the reference row.
func BenchmarkDecodeShapes(b *testing.B) {
	const rows = 1000
	fields := types.Schema{{Name: "id", Kind: types.Long}, {Name: "name", Kind: types.String}, {Name: "payload", Kind: types.Json}}
	for name, row := range map[string]string{
		"json column":         `{"id":%d,"name":"n","payload":{"user":{"id":7,"tier":"gold"},"order":{"symbol":"AAPL","qty":10,"price":101.25},"tags":["a","b"]}}`,
		"json with spaces":    `{"id": %d, "name": "n", "payload": {"user": {"id": 7, "tier": "gold"}, "order": {"symbol": "AAPL", "qty": 10}, "tags": ["a", "b"]}}`,
		"not ascii":           `{"id":%d,"name":"Größe für Zürich 東京都","payload":1}`,
		"escapes":             `{"id":%d,"name":"a \"quoted\" text\nand a line","payload":1}`,
		"numbers as text":     `{"id":"%d","name":5,"payload":1}`,
		"many undeclared":     `{"id":%d,"a":1,"b":"x","c":[1,2,3],"d":{"e":null},"f":true,"g":1.5,"name":"n"}`,
		"repeated (slow)":     `{"id":%d,"name":"a","name":"b","payload":1}`,
		"escaped name (slow)": `{"id":%d,"n\u0061me":"a","payload":1}`,
	} {
		b.Run(name, func(b *testing.B) {
			var p []byte
			for i := range rows {
				p = append(fmt.Appendf(p, row, i), '\n')
			}
			d := decode.New(fields, decode.Options{})
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				if r := d.Append(decode.Message{Payload: p, ContentType: "application/x-ndjson"}); r.Rows != rows {
					b.Fatal(r)
				}
				d.Take()
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds()/1e6, "Mrow/s")
		})
	}
}

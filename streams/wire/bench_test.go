package wire_test

import (
	"fmt"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// tradeBatch makes rows of the reference row: symbol, price, qty, side, _ts, trade_id.
func tradeBatch(rows int) *zset.Batch {
	b := zset.NewBuilder([]types.Kind{types.String, types.Double, types.Long, types.String, types.Long, types.String})
	b.Intern(0)
	b.Intern(3)
	for i := range rows {
		x := uint64(i)*0x9e3779b97f4a7c15 + 42
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x ^= x >> 27
		b.Text(0, fmt.Appendf(nil, "SYM%03d", x%200))
		b.Double(1, float64(100+(x>>8)%20000)/100)
		b.Long(2, int64(1+(x>>32)%1000))
		b.Text(3, []byte([]string{"BUY", "SELL"}[x>>63]))
		b.Long(4, 1700000000000+int64(i)*3+int64(x>>40&7))
		b.Text(5, fmt.Appendf(nil, "%08x-%04x-4%03x-a%03x-%012d", uint32(x>>16), x&0xffff, x>>52, x>>20&0xfff, i))
		b.EndRow(1)
	}
	return b.Build()
}

// BenchmarkEncode and BenchmarkDecode are the goals of the log format for 1,000 rows: encode 40 Mrow/s, decode 60.
func BenchmarkEncode(b *testing.B) {
	for _, rows := range []int{1, 10, 100, 1000, 8192} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			batch := tradeBatch(rows)
			kinds := batch.Kinds()
			var p []byte
			b.ReportAllocs()
			for b.Loop() {
				p = wire.Encode(p[:0], kinds, batch)
			}
			b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds()/1e6, "Mrow/s")
			b.ReportMetric(float64(len(p))/float64(rows), "B/row")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, rows := range []int{1, 10, 100, 1000, 8192} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			batch := tradeBatch(rows)
			p := wire.Encode(nil, batch.Kinds(), batch)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := wire.Decode(p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds()/1e6, "Mrow/s")
		})
	}
}

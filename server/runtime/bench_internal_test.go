package runtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/engine/types"
)

// quotes makes messages of JSON rows of about 128 bytes over 200 symbols.
func quotes(messages, rows int) [][]byte {
	out := make([][]byte, messages)
	n := 0
	for i := range out {
		var b strings.Builder
		b.WriteByte('[')
		for r := range rows {
			if r > 0 {
				b.WriteByte(',')
			}
			n++
			fmt.Fprintf(&b, `{"symbol":"SYM%03d","price":%d.25,"qty":%d,"side":"BUY","_ts":%d,"trade_id":"00000000-0000-%012d"}`,
				n*7919%200, 100+n%50, n%90, 1_700_000_000_000+n, n)
		}
		b.WriteByte(']')
		out[i] = []byte(b.String())
	}
	return out
}

func (w *world) quotes() {
	w.source("quotes", field("symbol", types.String), field("price", types.Double), field("qty", types.Long),
		field("side", types.String), field("trade_id", types.String))
}

const bySymbol = "SELECT symbol, COUNT(*) AS n, SUM(qty) AS qty, AVG(price) AS avg, MIN(price) AS low, MAX(price) AS high FROM quotes GROUP BY symbol"

// BenchmarkEndToEnd publishes into the source stream and waits until the table reflects the last row: log, clock,
// decode, GROUP BY 200 keys, journal, served rows.
func BenchmarkEndToEnd(b *testing.B) {
	for _, rows := range []int{1, 100} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			w := newWorld(b, func(o *Options) { o.CheckpointEvery = 5 * time.Second })
			w.quotes()
			w.table("by_symbol", bySymbol)
			w.rows("by_symbol", "quotes", w.raw("quotes", quotes(1, 1)[0]))
			msgs := quotes(256, rows)
			st := w.rt.env.source("quotes").stream
			ctx := w.ctx()
			b.SetBytes(int64(len(msgs[0])))
			b.ResetTimer()
			var last uint64
			for i := range b.N {
				a, err := st.PublishAsync(ctx, msgs[i%len(msgs)], nil)
				if err != nil {
					b.Fatal(err)
				}
				if i == b.N-1 {
					if last, err = a.Wait(ctx); err != nil {
						b.Fatal(err)
					}
				}
			}
			w.rows("by_symbol", "quotes", last)
			b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds()/1e6, "Mrow/s")
			b.StopTimer()
			s, _ := w.rt.ClockStats("")
			b.ReportMetric(float64(s.Records), "epochs")
		})
	}
}

// BenchmarkLatency publishes single rows at a low rate and measures from before the append until a subscriber has the
// delta.
func BenchmarkLatency(b *testing.B) {
	for _, hops := range []int{1, 3} {
		b.Run(fmt.Sprintf("hops=%d", hops), func(b *testing.B) {
			w := newWorld(b)
			w.quotes()
			w.table("t1", bySymbol)
			name := "t1"
			for h := 2; h <= hops; h++ {
				next := fmt.Sprintf("t%d", h)
				w.table(next, fmt.Sprintf("SELECT symbol, n, qty FROM %s WHERE n > 0", name))
				name = next
			}
			w.rows(name, "quotes", w.raw("quotes", quotes(1, 1)[0]))
			sub, err := w.rt.Subscribe(w.ctx(), "", w.ids[name])
			if err != nil {
				b.Fatal(err)
			}
			defer sub.Close()
			msgs := quotes(256, 1)
			st := w.rt.env.source("quotes").stream
			ctx := w.ctx()
			took := make([]time.Duration, 0, b.N)
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			b.ResetTimer()
			for i := range b.N {
				<-tick.C
				began := time.Now()
				if _, err := st.PublishAsync(ctx, msgs[i%len(msgs)], nil); err != nil {
					b.Fatal(err)
				}
				if _, err := sub.Next(ctx); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}

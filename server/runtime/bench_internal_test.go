package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/view"
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

// manyGroups fills a source with messages of 1,000 rows over a number of keys.
func (w *world) manyGroups(b *testing.B, rows, keys int) uint64 {
	st := w.rt.env.source("quotes").stream
	ctx := context.Background()
	var last uint64
	for at := 0; at < rows; {
		var m strings.Builder
		m.WriteByte('[')
		for i := range 1000 {
			if i > 0 {
				m.WriteByte(',')
			}
			fmt.Fprintf(&m, `{"symbol":"S%08d","price":1.5,"qty":%d,"side":"BUY","_ts":%d,"trade_id":"00000000-0000-%012d"}`, at%keys, at%90, 1_700_000_000_000+at, at)
			at++
		}
		m.WriteByte(']')
		a, err := st.PublishAsync(ctx, []byte(m.String()), nil)
		if err != nil {
			b.Fatal(err)
		}
		if at >= rows {
			if last, err = a.Wait(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	return last
}

// BenchmarkRecovery kills a runtime with a table of a million groups and measures the time until its rows are served
// and until it has caught up.
func BenchmarkRecovery(b *testing.B) {
	const groups = 1_000_000
	w := newWorld(b)
	w.quotes()
	w.table("groups", "SELECT symbol, COUNT(*) AS n, SUM(qty) AS qty FROM quotes GROUP BY symbol")
	last := w.manyGroups(b, groups, groups)
	w.awaitRows(b, "groups", last)
	w.stop()
	last = w.manyGroups(b, 200_000, groups)
	w.awaitRows(b, "groups", last)
	b.ResetTimer()
	var served, caught time.Duration
	for range b.N {
		w.rt.abandon()
		began := time.Now()
		w.start()
		r, err := w.rt.TableRows(context.Background(), "", w.ids["groups"], view.RowsQuery{Limit: 1})
		if err != nil || r.TotalRows != groups {
			b.Fatalf("%d rows, %v", r.TotalRows, err)
		}
		served += time.Since(began)
		w.awaitRows(b, "groups", last)
		caught += time.Since(began)
	}
	b.ReportMetric(served.Seconds()/float64(b.N), "served-s")
	b.ReportMetric(caught.Seconds()/float64(b.N), "caught-up-s")
	if m, err := w.rt.TableMetrics("", w.ids["groups"]); err == nil {
		b.ReportMetric(float64(m.StateBytes)/groups, "B/group")
	}
}

func (w *world) awaitRows(b *testing.B, table string, seq uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, err := w.rt.TableRows(ctx, "", w.ids[table], view.RowsQuery{Limit: 1, MinPositions: map[string]uint64{"quotes": seq}})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBackfill starts COUNT(*) over retained rows, beside a bare read and decode of the same stream.
func BenchmarkBackfill(b *testing.B) {
	const rows = 3_000_000
	w := newWorld(b)
	w.quotes()
	last := w.manyGroups(b, rows, 1000)
	w.await("the reader", func() bool { m, err := w.rt.SourceMetrics("", "quotes"); return err == nil && m.RowsTotal == rows })
	src := w.rt.env.source("quotes")
	b.ResetTimer()
	var bare, built time.Duration
	for i := range b.N {
		began := time.Now()
		c := newSourceCursor(src, 0)
		n := 0
		for c.at < last {
			segs, err := c.upTo(context.Background(), min(last, c.at+8))
			if err != nil {
				b.Fatal(err)
			}
			for _, g := range segs {
				n += g.Batch.N
			}
		}
		c.stop()
		bare += time.Since(began)
		if n != rows {
			b.Fatalf("%d rows", n)
		}
		name := fmt.Sprintf("count%d", i)
		began = time.Now()
		w.table(name, "SELECT COUNT(*) AS n FROM quotes")
		w.awaitRows(b, name, last)
		built += time.Since(began)
	}
	b.ReportMetric(float64(rows)*float64(b.N)/bare.Seconds()/1e6, "bare-Mrow/s")
	b.ReportMetric(float64(rows)*float64(b.N)/built.Seconds()/1e6, "built-Mrow/s")
	b.ReportMetric(built.Seconds()/bare.Seconds(), "ratio")
}

// BenchmarkLoadedLatency measures the age of rows when they are served, at a fixed rate of messages.
func BenchmarkLoadedLatency(b *testing.B) {
	for _, load := range []struct{ perSecond, rows int }{{10_000, 1}, {200_000, 100}} {
		b.Run(fmt.Sprintf("rows=%d", load.perSecond), func(b *testing.B) {
			w := newWorld(b)
			w.quotes()
			w.table("t", bySymbol)
			w.rows("t", "quotes", w.raw("quotes", quotes(1, 1)[0]))
			sub, err := w.rt.Subscribe(w.ctx(), "", w.ids["t"])
			if err != nil {
				b.Fatal(err)
			}
			defer sub.Close()
			msgs := quotes(256, load.rows)
			st := w.rt.env.source("quotes").stream
			ctx := context.Background()
			n := max(b.N, 2*load.perSecond/load.rows)
			sent := make([]time.Time, n+2)
			done := make(chan []time.Duration, 1)
			go func() {
				var took []time.Duration
				next := 2 // position of the message that is waited for; the first one has been seen
				for next < n+2 {
					c, err := sub.Next(ctx)
					if err != nil {
						break
					}
					now := time.Now()
					at, ok := w.rt.env.clk.PositionAt(w.rt.env.source("quotes").track, c.Epoch)
					for ; ok && next <= int(at.Seq) && next < n+2; next++ {
						took = append(took, now.Sub(sent[next]))
					}
				}
				done <- took
			}()
			b.ResetTimer()
			tick := time.NewTicker(time.Millisecond) // a producer that wakes up a thousand times a second
			defer tick.Stop()
			began := time.Now()
			for i := 0; i < n; {
				now := <-tick.C
				due := int(now.Sub(began) * time.Duration(load.perSecond) / time.Second / time.Duration(load.rows))
				for ; i < min(due, n); i++ {
					sent[i+2] = time.Now()
					if _, err := st.PublishAsync(ctx, msgs[i%len(msgs)], nil); err != nil {
						b.Fatal(err)
					}
				}
			}
			took := <-done
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}

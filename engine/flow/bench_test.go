package flow_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// The benchmarks use the row of the performance page: {symbol, price, qty, side, _ts, trade_id}, 128 bytes of JSON.
var tradeFields = types.Schema{
	{Name: "symbol", Kind: types.String}, {Name: "price", Kind: types.Double}, {Name: "qty", Kind: types.Long},
	{Name: "side", Kind: types.String}, {Name: "trade_id", Kind: types.String},
}

type rng uint64

func (r *rng) next(n int) int {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int(uint64(*r) >> 33 % uint64(n))
}

func tradeColumns() types.Schema { return decode.Schema(tradeFields) }

func tradeJSON(r *rng, symbols int) []byte {
	return fmt.Appendf(nil, `{"symbol":"SYM%06d","price":%d.%02d,"qty":%d,"side":"%s","_ts":17000000%05d,"trade_id":"%08x-%04x-4000-8000-%012x"}`,
		r.next(symbols), 10+r.next(500), r.next(100), 10+r.next(50)*10, [2]string{"BUY", "SELL"}[r.next(2)], r.next(100000),
		r.next(1<<31), r.next(1<<16), r.next(1<<31))
}

// messages makes JSON array payloads of n rows.
func messages(r *rng, count, n, symbols int) [][]byte {
	out := make([][]byte, count)
	for i := range out {
		out[i] = append(out[i], '[')
		for k := range n {
			if k > 0 {
				out[i] = append(out[i], ',')
			}
			out[i] = append(out[i], tradeJSON(r, symbols)...)
		}
		out[i] = append(out[i], ']')
	}
	return out
}

// tradeDecoder has seen enough rows to know which columns repeat.
func tradeDecoder() *decode.Decoder {
	d := decode.New(tradeFields, decode.Options{})
	r := rng(2)
	d.Append(decode.Message{Payload: messages(&r, 1, 1000, 3)[0], ContentType: "application/json"})
	d.Take()
	return d
}

func tradeBatches(r *rng, count, n, symbols int) []*zset.Batch {
	d := tradeDecoder()
	var out []*zset.Batch
	for _, m := range messages(r, count, n, symbols) {
		d.Append(decode.Message{Payload: m, ContentType: "application/json"})
		out = append(out, d.Take())
	}
	return out
}

func tradeColumn(name string) *expr.Column {
	s := tradeColumns()
	i, _ := s.Find(name)
	return &expr.Column{Index: i, Name: name, K: s[i].Stored()}
}

func aggregates(names ...string) []agg.Call {
	var out []agg.Call
	for _, n := range names {
		a, _ := agg.Lookup(n)
		var c agg.Call
		var err error
		switch n {
		case "COUNT":
			c, err = a.Bind(nil, true, false)
		case "SUM":
			c, err = a.Bind([]expr.Expr{tradeColumn("qty")}, false, false)
		default:
			c, err = a.Bind([]expr.Expr{tradeColumn("price")}, false, false)
		}
		if err != nil {
			panic(err)
		}
		out = append(out, c)
	}
	return out
}

// tradeQuery is WHERE side = 'BUY' AND price > 50 GROUP BY symbol with the aggregates of the seed table.
func tradeQuery(filter, appendOnly bool) *plan.Query {
	cols := tradeColumns()
	all := make([]int, len(cols))
	for i := range all {
		all[i] = i
	}
	n := plan.Node(plan.NewScan(0, "trades", "trades", cols, all, appendOnly, nil))
	if filter {
		n = &plan.Filter{In: n, Pred: call("AND",
			call("=", tradeColumn("side"), &expr.Literal{V: types.StringOf("BUY")}), call(">", tradeColumn("price"), long(50)))}
	}
	r := plan.NewReduce(n, []expr.Expr{tradeColumn("symbol")}, aggregates("COUNT", "SUM", "AVG", "MIN", "MAX"))
	return &plan.Query{Inputs: []plan.Input{{Name: "trades", Columns: cols}}, Root: r, Time: plan.Time{WatermarkLag: 1000, Idle: 5000}}
}

// meter reports rows per second of processor time beside the wall clock: other work may share the machine.
type meter struct {
	b           *testing.B
	since, used float64
}

func start(b *testing.B) *meter {
	b.ReportAllocs()
	b.ResetTimer()
	return &meter{b: b, since: cpuSeconds()}
}

func (m *meter) pause() {
	m.b.StopTimer()
	m.used += cpuSeconds() - m.since
}

func (m *meter) resume() {
	m.since = cpuSeconds()
	m.b.StartTimer()
}

func (m *meter) rows(n int) {
	m.pause()
	total := float64(n) * float64(m.b.N) / 1e6
	m.b.ReportMetric(total/m.b.Elapsed().Seconds(), "Mrow/s")
	m.b.ReportMetric(total/m.used, "Mrow/cpu-s")
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkGroupBy200: columnar batches -> filter -> GROUP BY 200 keys -> delta, by rows an epoch.
func BenchmarkGroupBy200(b *testing.B) {
	for _, rows := range []int{1, 10, 100, 1000, 8000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			r := rng(1)
			in := tradeBatches(&r, max(64, 4000/rows), rows, 200)
			f := flow.New(tradeQuery(true, true))
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

// BenchmarkGroupBy200JSON is the same from JSON text.
func BenchmarkGroupBy200JSON(b *testing.B) {
	for _, rows := range []int{1, 1000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			r := rng(1)
			in := messages(&r, max(64, 4000/rows), rows, 200)
			d := tradeDecoder()
			f := flow.New(tradeQuery(true, true))
			m := start(b)
			for i := range b.N {
				d.Append(decode.Message{Payload: in[i%len(in)], ContentType: "application/json"})
				f.Push(0, d.Take())
				f.Advance(int64(i))
				f.Flush()
			}
			m.rows(rows)
		})
	}
}

// BenchmarkGroupBy1M: 1 M groups with their deltas, in 1,000-row epochs.
func BenchmarkGroupBy1M(b *testing.B) {
	const groups, rows = 1_000_000, 1000
	for _, appendOnly := range []bool{true, false} {
		b.Run(fmt.Sprintf("appendOnly=%v", appendOnly), func(b *testing.B) {
			r := rng(1)
			in := tradeBatches(&r, 2000, rows, groups)
			f := flow.New(tradeQuery(false, appendOnly))
			for _, x := range in {
				f.Push(0, x)
				f.Flush()
			}
			m := start(b)
			for i := range b.N {
				f.Push(0, in[i%len(in)])
				f.Advance(int64(i))
				f.Flush()
			}
			m.rows(rows)
			b.ReportMetric(float64(f.StateBytes())/groups, "B/group")
		})
	}
}

// BenchmarkJoin1M: an inner join of two relations of 1 M rows, one match a row.
func BenchmarkJoin1M(b *testing.B) { benchmarkJoin(b, plan.Inner) }

// BenchmarkLeftJoin1M: the same as a left join: every insert takes a pad back, every retraction gives one.
func BenchmarkLeftJoin1M(b *testing.B) { benchmarkJoin(b, plan.Left) }

// BenchmarkSemiJoin1M: the same as a semi join.
func BenchmarkSemiJoin1M(b *testing.B) { benchmarkJoin(b, plan.Semi) }

func benchmarkJoin(b *testing.B, kind plan.JoinKind) {
	const size, rows = 1_000_000, 1000
	cols := types.Schema{{Name: "id", Kind: types.String}, {Name: "x", Kind: types.Double}, {Name: "n", Kind: types.Long},
		{Name: "s", Kind: types.String}}
	side := func(r *rng) []*zset.Batch {
		var out []*zset.Batch
		bld := zset.NewBuilder(kindsOf(cols))
		bld.Intern(3)
		for i := 0; i < size; i += rows {
			for k := range rows {
				id := uint64(i+k) * 0x9E3779B97F4A7C15
				bld.Text(0, fmt.Appendf(nil, "%08x-%04x-4000-8000-%012x", id>>32, id>>16&0xffff, id&0xffffffffffff))
				bld.Double(1, float64(r.next(100000))/100)
				bld.Long(2, int64(r.next(1000)))
				bld.Text(3, fmt.Appendf(nil, "SYM%d", r.next(200)))
				bld.EndRow(1)
			}
			out = append(out, bld.Build())
		}
		return out
	}
	key := []expr.Expr{&expr.Column{Index: 0, Name: "id", K: types.String}}
	scan := func(i int) plan.Node {
		return plan.NewScan(i, fmt.Sprint("r", i), fmt.Sprint("r", i), cols, []int{0, 1, 2, 3}, false, nil)
	}
	q := &plan.Query{Inputs: []plan.Input{{Name: "r0", Columns: cols}, {Name: "r1", Columns: cols}},
		Root: plan.NewProject(plan.NewJoin(scan(0), scan(1), key, key, nil, kind),
			[]expr.Expr{&expr.Column{Index: 2, Name: "n", K: types.Long}}, []string{"n"})}
	r := rng(1)
	left, right := side(&r), side(&r)
	var gone []*zset.Batch
	for _, x := range right {
		gone = append(gone, zset.Negate(x))
	}
	b.Run("insert", func(b *testing.B) {
		f := flow.New(q)
		for _, x := range left {
			f.Push(0, x)
		}
		m := start(b)
		at := 0
		for range b.N {
			if at == len(right) {
				m.pause()
				for _, x := range gone {
					f.Push(1, x)
					f.Flush()
				}
				at = 0
				m.resume()
			}
			f.Push(1, right[at])
			f.Flush()
			at++
		}
		m.rows(rows)
		b.ReportMetric(float64(f.StateBytes())/float64(size+at*rows), "B/row")
	})
	b.Run("retract", func(b *testing.B) {
		f := flow.New(q)
		for _, x := range left {
			f.Push(0, x)
		}
		at := len(gone)
		m := start(b)
		for range b.N {
			if at == len(gone) {
				m.pause()
				for _, x := range right {
					f.Push(1, x)
					f.Flush()
				}
				at = 0
				m.resume()
			}
			f.Push(1, gone[at])
			f.Flush()
			at++
		}
		m.rows(rows)
	})
}

// BenchmarkExtremes: MIN and MAX under retraction: each step adds a row and takes the oldest of 1 M back.
func BenchmarkExtremes(b *testing.B) {
	const live, rows = 1_000_000, 1000
	for _, groups := range []int{1, 200, 100_000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			r := rng(1)
			in := tradeBatches(&r, live/rows, rows, groups)
			f := flow.New(&plan.Query{Inputs: tradeQuery(false, false).Inputs, Root: plan.NewReduce(
				plan.NewScan(0, "t", "t", tradeColumns(), []int{0, 1, 2, 3, 4, 5, 6}, false, nil),
				[]expr.Expr{tradeColumn("symbol")}, aggregates("MIN", "MAX"))})
			gone := make([]*zset.Batch, len(in))
			for i, x := range in {
				f.Push(0, x)
				f.Flush()
				gone[i] = zset.Negate(x)
			}
			m := start(b)
			for i := range b.N {
				f.Push(0, in[i%len(in)])
				f.Push(0, gone[i%len(in)])
				f.Flush()
			}
			m.rows(2 * rows)
			b.ReportMetric(float64(f.StateBytes())/live, "B/live-row")
		})
	}
}

// BenchmarkLatestBy: 100 k keys, 1,000-row epochs.
func BenchmarkLatestBy(b *testing.B) {
	const rows = 1000
	r := rng(1)
	in := tradeBatches(&r, 500, rows, 100_000)
	cols := tradeColumns()
	ts, _ := cols.Find("_ts")
	q := &plan.Query{Inputs: []plan.Input{{Name: "t", Columns: cols}}, Root: &plan.LatestBy{
		In: plan.NewScan(0, "t", "t", cols, []int{0, 1, 2, 3, 4, 5, 6}, true, nil), Keys: []int{0}, Ts: ts, Retract: -1}}
	f := flow.New(q)
	m := start(b)
	for i := range b.N {
		f.Push(0, in[i%len(in)])
		f.Advance(int64(i))
		f.Flush()
	}
	m.rows(rows)
}

// BenchmarkWindow: tumbling windows of 200 keys, 1,000-row epochs.
func BenchmarkWindow(b *testing.B) {
	const rows = 1000
	r := rng(1)
	in := tradeBatches(&r, 64, rows, 200)
	cols := tradeColumns()
	ts, _ := cols.Find("_ts")
	for k, x := range in {
		for i := range x.N {
			x.Cols[ts].I64[i] = int64(k*500 + i/2)
		}
	}
	scan := plan.NewScan(0, "t", "t", cols, []int{0, 1, 2, 3, 4, 5, 6}, true, nil)
	q := &plan.Query{Pipeline: true, Time: plan.Time{WatermarkLag: 1000, Idle: 5000}, Inputs: []plan.Input{{Name: "t", Columns: cols}},
		Root: plan.NewWindow(scan, ts, 5000, []expr.Expr{tradeColumn("symbol")}, aggregates("COUNT", "SUM", "AVG"))}
	f := flow.New(q)
	m := start(b)
	for i := range b.N {
		if i%len(in) == 0 {
			m.pause()
			f = flow.New(q)
			m.resume()
		}
		f.Push(0, in[i%len(in)])
		f.Advance(int64(i))
		f.Flush()
	}
	m.rows(rows)
}

package expr_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// benchBatch has a symbol of 200 texts, a price, a quantity and a side, the latter two columns of codes.
func benchBatch(n int, nulls bool) *zset.Batch {
	b := zset.NewBuilder([]types.Kind{types.String, types.Double, types.Long, types.String})
	b.Intern(3)
	x := uint64(1)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
		b.Text(0, fmt.Appendf(nil, "SYM%03d", x>>40%200))
		if nulls && x>>50%10 == 0 {
			b.Null(1)
		} else {
			b.Double(1, float64(x>>33%10000)/100)
		}
		b.Long(2, int64(x>>20%1000))
		b.Text(3, [][]byte{[]byte("BUY"), []byte("SELL")}[x>>60&1])
		b.EndRow(1)
	}
	return b.Build()
}

func bind(name string, args ...expr.Expr) expr.Expr {
	f, ok := expr.Lookup(name)
	if !ok {
		panic("no function " + name)
	}
	e, err := f.Bind(args)
	if err != nil {
		panic(err)
	}
	return e
}

// BenchmarkFilterProject: price * qty WHERE side = 'BUY' AND price > 50, data in the cache; rows of input per
// second of processor time.
func BenchmarkFilterProject(b *testing.B) {
	price := &expr.Column{Index: 1, Name: "price", K: types.Double}
	qty := &expr.Column{Index: 2, Name: "qty", K: types.Long}
	side := &expr.Column{Index: 3, Name: "side", K: types.String}
	where := expr.Compile(bind("AND", bind("=", side, text("BUY")), bind(">", price, long(50))))
	what := expr.Compile(bind("*", price, qty))
	for _, n := range []int{64, 1024, 8192} {
		for _, nulls := range []bool{false, true} {
			b.Run(fmt.Sprintf("rows=%d/nulls=%v", n, nulls), func(b *testing.B) {
				batch := benchBatch(n, nulls)
				b.ReportAllocs()
				b.ResetTimer()
				from := cpuSeconds()
				for range b.N {
					what.Aligned(batch, where.Filter(batch, nil))
				}
				b.ReportMetric(float64(n)*float64(b.N)/1e6/(cpuSeconds()-from), "Mrow/cpu-s")
			})
		}
	}
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

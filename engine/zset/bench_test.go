package zset_test

import (
	"fmt"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// tradeID makes a key of 36 bytes, as a uuid has.
func tradeID(buf []byte, i uint64) []byte {
	r := rng(i)
	x := r.next()
	return fmt.Appendf(buf[:0], "%08x-%04x-4%03x-a%03x-%012d", uint32(x>>16), x&0xffff, x>>52, x>>20&0xfff, i)
}

// sideBatch makes rows {trade_id, symbol, price, qty, side, _ts}, the key first.
func sideBatch(from, rows int) *zset.Batch {
	b := zset.NewBuilder([]types.Kind{types.String, types.String, types.Double, types.Long, types.String, types.Long})
	var buf []byte
	for i := from; i < from+rows; i++ {
		r := rng(i)
		x := r.next()
		buf = tradeID(buf, uint64(i))
		b.Text(0, buf)
		b.Text(1, fmt.Appendf(nil, "SYM%03d", x%200))
		b.Double(2, float64(100+(x>>8)%20000)/100)
		b.Long(3, int64(1+(x>>32)%1000))
		b.Text(4, []byte([]string{"BUY", "SELL"}[x>>63]))
		b.Long(5, 1700000000000+int64(i)*3)
		b.EndRow(1)
	}
	return b.Build()
}

// rate reports million rows a second.
func rate(b *testing.B, rows int) {
	b.ReportMetric(float64(b.N)*float64(rows)/b.Elapsed().Seconds()/1e6, "Mrow/s")
}

// deltaBatch is what a GROUP BY emits: old and new row of the groups, in the order in which they were touched.
func deltaBatch(groups, of int) *zset.Batch {
	b := zset.NewBuilder([]types.Kind{types.String, types.Long, types.Double, types.Double})
	for i := range groups {
		r := rng(i)
		x := r.next()
		for w := int64(-1); w <= 1; w += 2 {
			b.Text(0, fmt.Appendf(nil, "SYM%06d", int(x)%of&0x7fffffff))
			b.Long(1, int64(i)+w)
			b.Double(2, float64(x%1000)+float64(w))
			b.Double(3, float64(x%1000))
			b.EndRow(w)
		}
	}
	return b.Build()
}

func BenchmarkConsolidate(b *testing.B) {
	for _, groups := range []int{1, 10, 200, 1000, 10000} {
		b.Run(fmt.Sprint(2*groups), func(b *testing.B) {
			batch := deltaBatch(groups, 1000000)
			b.ReportAllocs()
			for b.Loop() {
				zset.Consolidate(batch)
			}
			rate(b, batch.N)
		})
	}
}

func BenchmarkConsolidateSorted(b *testing.B) {
	batch := zset.Consolidate(deltaBatch(1000, 1000000))
	for b.Loop() {
		zset.Consolidate(batch)
	}
	rate(b, batch.N)
}

func BenchmarkEncodeKeys(b *testing.B) {
	batch := sideBatch(0, 1000)
	var keys zset.KeyBatch
	for b.Loop() {
		keys.Reset()
		keys.Encode(batch, nil, nil)
		keys.HashAll()
	}
	rate(b, 1000)
}

// BenchmarkKeyTable looks up batches of 1,000 keys: the group keys of an aggregation.
func BenchmarkKeyTable(b *testing.B) {
	for _, groups := range []int{200, 1000000} {
		b.Run(fmt.Sprint(groups), func(b *testing.B) {
			table := zset.NewKeyTable()
			var keys zset.KeyBatch
			ids := make([]uint32, 1000)
			for i := range groups {
				table.Insert(zset.AppendStringCell(nil, fmt.Appendf(nil, "SYM%06d", i)))
			}
			r := rng(3)
			batches := make([]zset.KeyBatch, 64)
			for k := range batches {
				for range 1000 {
					batches[k].Append(zset.AppendStringCell(nil, fmt.Appendf(nil, "SYM%06d", r.next()%uint64(groups))))
				}
			}
			i := 0
			for b.Loop() {
				keys = batches[i&63]
				keys.Hash = keys.Hash[:0]
				table.InsertBatch(&keys, ids)
				i++
			}
			rate(b, 1000)
			b.ReportMetric(float64(table.Bytes())/float64(groups), "B/key")
		})
	}
}

// BenchmarkArrangement is one side of a join with a million rows: insert, look up, retract.
func BenchmarkArrangement(b *testing.B) {
	const n = 1 << 20
	const step = 1024
	var arr *zset.Arrangement
	type part struct{ keys, recs zset.KeyBatch }
	parts := make([]part, n/step)
	for k := range parts {
		batch := sideBatch(k*step, step)
		parts[k].keys.Encode(batch, []int{0}, nil)
		parts[k].recs.Encode(batch, nil, nil)
	}
	fill := func() {
		arr = zset.NewArrangement()
		for k := range parts {
			parts[k].keys.Hash = parts[k].keys.Hash[:0]
			arr.AddBatch(&parts[k].keys, &parts[k].recs, nil, nil, nil)
		}
	}
	b.Run("insert", func(b *testing.B) {
		for b.Loop() {
			fill()
		}
		rate(b, n)
		b.ReportMetric(float64(arr.StateBytes())/n, "B/row")
	})
	ensure := func() {
		if arr == nil || arr.Len() == 0 {
			fill()
		}
	}
	b.Run("match", func(b *testing.B) {
		ensure()
		sum := int64(0)
		for b.Loop() {
			for k := range parts {
				p := &parts[(k*577)%len(parts)]
				p.keys.Hash = p.keys.Hash[:0]
				arr.TouchBatch(&p.keys)
				for i, h := range p.keys.Hash {
					m := arr.FindHash(h, p.keys.Key(i))
					for {
						rec, w, ok := m.Next()
						if !ok {
							break
						}
						sum += w + int64(rec[0])
					}
				}
			}
		}
		rate(b, n)
	})
	b.Run("retract", func(b *testing.B) {
		minus := make([]int64, step)
		for i := range minus {
			minus[i] = -1
		}
		for b.Loop() {
			b.StopTimer()
			ensure()
			b.StartTimer()
			for k := range parts {
				p := &parts[(k*577)%len(parts)]
				p.keys.Hash = p.keys.Hash[:0]
				arr.AddBatch(&p.keys, &p.recs, minus, nil, nil)
			}
		}
		rate(b, n)
	})
	b.Run("snapshot", func(b *testing.B) {
		ensure()
		var snap []byte
		for b.Loop() {
			snap = arr.AppendSnapshot(snap[:0])
		}
		rate(b, n)
		b.ReportMetric(float64(len(snap))/n, "B/row")
	})
	b.Run("restore", func(b *testing.B) {
		ensure()
		snap := arr.AppendSnapshot(nil)
		for b.Loop() {
			if err := arr.Restore(snap); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, n)
	})
}

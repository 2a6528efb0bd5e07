package flow_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

// TestRetain drives bounded tables with random rows, retractions and times. However epochs are cut into commits and
// restarts, the sum of what was given out is what a list has that is searched through after every epoch; and what is
// marked as evicted is what left without being taken back.
func TestRetain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := plan.Retention{
			MaxRows: int64(rapid.IntRange(0, 6).Draw(t, "rows")), TTLMs: int64(rapid.SampledFrom([]int{0, 1, 1500, 5000}).Draw(t, "ttl")),
		}
		input := rapid.SampledFrom([]int{0, 2}).Draw(t, "input")
		var root plan.Node = &plan.Retain{In: scanOf(input), Ts: 4, Retention: bounds}
		latest := rapid.Bool().Draw(t, "latest")
		if latest {
			root = &plan.LatestBy{In: scanOf(input), Keys: []int{0}, Ts: 4, Retract: 5, Retention: bounds}
		}
		q := &plan.Query{Root: root}
		for i := range inputs {
			q.Inputs = append(q.Inputs, plan.Input{Name: fmt.Sprint("i", i), Columns: inputColumns, Ts: 4})
		}
		epochs := drawEpochs(t)
		each := flow.New(q)
		some := flow.New(q)
		sumEach, sumSome := map[string]int64{}, map[string]int64{}
		model := newRetainModel(bounds)
		for _, e := range epochs {
			for _, ev := range e.events {
				ev.row = slices.Clone(ev.row)
				ev.row[4] = types.LongOf(ev.row[4].Int() / 500 * 500) // times that meet
				b := batchOf(inputColumns, []event{ev})
				each.Push(ev.input, b)
				some.Push(ev.input, b)
				if ev.input == input && !latest {
					model.change(record(b, 0), ev.row[4].Int(), ev.w)
				}
			}
			each.Advance(e.time)
			some.Advance(e.time)
			model.end()
			before := len(sumEach)
			out := each.Flush()
			if !latest && appendOnly(input) && out.Delta != nil {
				for i := range out.Delta.N {
					if evicted := out.Evicted != nil && out.Evicted[i]; evicted != (out.Delta.W(i) < 0) {
						t.Fatalf("row %v with weight %d, evicted %v", out.Delta.Row(i), out.Delta.W(i), evicted)
					}
				}
			}
			add(sumEach, out.Delta)
			if bounds.MaxRows > 0 && total(sumEach) > bounds.MaxRows {
				t.Fatalf("%d rows are kept, at most %d may be (%d before)", total(sumEach), bounds.MaxRows, before)
			}
			if !latest {
				if got, want := lines(sumEach), model.lines(); got != want {
					t.Fatalf("kept:\n%swant:\n%s", got, want)
				}
			}
			if rapid.Bool().Draw(t, "commit") {
				add(sumSome, some.Flush().Delta)
				if got, want := lines(sumSome), lines(sumEach); got != want {
					t.Fatalf("committed together:\n%sone by one:\n%s", got, want)
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
				snapshot := each.Snapshot(nil)
				each = flow.New(q)
				if err := each.Restore(snapshot); err != nil {
					t.Fatal(err)
				}
				if again := each.Snapshot(nil); !bytes.Equal(again, snapshot) {
					t.Fatal("the restored flow has another snapshot")
				}
			}
		}
	})
}

func record(b *zset.Batch, i int) string { return string(zset.AppendRecord(nil, b, i, nil)) }

func add(sum map[string]int64, b *zset.Batch) {
	if b == nil {
		return
	}
	for i := range b.N {
		k := record(b, i)
		if sum[k] += b.W(i); sum[k] == 0 {
			delete(sum, k)
		}
	}
}

func total(sum map[string]int64) (n int64) {
	for _, w := range sum {
		n += w
	}
	return n
}

func lines(sum map[string]int64) string {
	var b bytes.Buffer
	keys := make([]string, 0, len(sum))
	for k := range sum {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		fmt.Fprintf(&b, "%d %q\n", sum[k], k)
	}
	return b.String()
}

// retainModel is the obvious way to keep the newest rows.
type retainModel struct {
	bounds plan.Retention
	held   map[string]int64
	times  map[string]int64
	newest int64
}

func newRetainModel(bounds plan.Retention) *retainModel {
	return &retainModel{bounds: bounds, held: map[string]int64{}, times: map[string]int64{}, newest: math.MinInt64}
}

func (m *retainModel) change(rec string, ts, w int64) {
	m.held[rec] += w
	m.times[rec] = ts
	if w > 0 {
		m.newest = max(m.newest, ts)
	}
}

// end ends an epoch.
func (m *retainModel) end() {
	for rec, w := range m.held {
		if w <= 0 || m.bounds.TTLMs > 0 && m.times[rec] < m.newest-m.bounds.TTLMs {
			delete(m.held, rec)
		}
	}
	for m.bounds.MaxRows > 0 && total(m.held) > m.bounds.MaxRows {
		first := ""
		for rec := range m.held {
			if first == "" || m.times[rec] < m.times[first] || m.times[rec] == m.times[first] && rec < first {
				first = rec
			}
		}
		if m.held[first]--; m.held[first] == 0 {
			delete(m.held, first)
		}
	}
}

func (m *retainModel) lines() string { return lines(m.held) }

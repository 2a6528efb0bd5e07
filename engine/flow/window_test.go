package flow_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

// drawPipeline draws a query over event time: filters and projections, and mostly a window over them.
func drawPipeline(t *rapid.T) plan.Node {
	n := scanOf(rapid.IntRange(0, 1).Draw(t, "source"))
	if rapid.Bool().Draw(t, "union") {
		n = &plan.Union{Ins: []plan.Node{scanOf(0), scanOf(1)}}
	}
	if rapid.Bool().Draw(t, "filter") {
		n = &plan.Filter{In: n, Pred: drawPredicate(t, n)}
	}
	if rapid.IntRange(0, 3).Draw(t, "window") == 0 {
		return drawProject(t, n, false)
	}
	var keys []expr.Expr
	for range rapid.IntRange(0, 2).Draw(t, "keys") {
		keys = append(keys, anyColumn(t, n))
	}
	w := plan.Node(plan.NewWindow(n, 4, rapid.SampledFrom([]int64{500, 2000, 5000}).Draw(t, "size"), keys, drawAggs(t, n)))
	if rapid.Bool().Draw(t, "above") {
		return drawProject(t, w, false)
	}
	return w
}

// windows computes a window over one or two sources from the rules: row by row, with the watermark of the rows
// before.
type windows struct {
	w      *plan.Window
	newest map[int]int64
	last   map[int]int64
	idle   map[int]bool
	mark   int64
	open   map[int64][]*grouped
	out    [][]types.Value
	late   [][]types.Value
}

func (r *windows) row(input int, row []types.Value, passes bool) {
	ts := row[4].Int()
	if passes {
		if ts < r.mark {
			r.late = append(r.late, row)
		} else {
			start := int64(math.Floor(float64(ts)/float64(r.w.SizeMs))) * r.w.SizeMs
			key := values(r.w.Keys, row, inputColumns)
			var g *grouped
			for _, have := range r.open[start] {
				if keyOf(have.key) == keyOf(key) {
					g = have
				}
			}
			if g == nil {
				g = &grouped{key: key}
				r.open[start] = append(r.open[start], g)
			}
			g.members = append(g.members, &weighted{row, 1})
		}
	}
	if have, ok := r.newest[input]; !ok || ts > have {
		r.newest[input] = ts
	}
	r.idle[input] = false
	r.follow()
}

func (r *windows) follow() {
	least := int64(math.MaxInt64)
	for in, ts := range r.newest {
		if !r.idle[in] {
			least = min(least, ts-1000)
		}
	}
	if least != math.MaxInt64 {
		r.mark = max(r.mark, least)
	}
}

func (r *windows) tick(e epoch, read []int) {
	for _, ev := range e.events {
		if slices.Contains(read, ev.input) {
			r.last[ev.input] = e.time
		}
	}
	best := int64(math.MinInt64)
	all := true
	for in, ts := range r.newest {
		r.idle[in] = e.time-r.last[in] >= 3000
		all = all && r.idle[in]
		best = max(best, ts-1000+e.time-r.last[in])
	}
	if all {
		r.mark = max(r.mark, best)
	}
	r.follow()
	var starts []int64
	for s := range r.open {
		if s+r.w.SizeMs <= r.mark {
			starts = append(starts, s)
		}
	}
	slices.Sort(starts)
	for _, s := range starts {
		for _, g := range r.open[s] {
			row := append(slices.Clone(g.key), results(r.w.Aggs, inputColumns, g.members)...)
			end := types.LongOf(s + r.w.SizeMs)
			r.out = append(r.out, append(row, types.LongOf(s), end, end))
		}
		delete(r.open, s)
	}
}

// TestWindowEqualsRules: rows, their order, late rows and the watermark are those of the rules.
func TestWindowEqualsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		read := []int{0}
		n := scanOf(0)
		if rapid.Bool().Draw(t, "two sources") {
			read = []int{0, 1}
			n = &plan.Union{Ins: []plan.Node{scanOf(0), scanOf(1)}}
		}
		pred := drawPredicate(t, n)
		n = &plan.Filter{In: n, Pred: pred}
		var keys []expr.Expr
		for range rapid.IntRange(0, 2).Draw(t, "keys") {
			keys = append(keys, anyColumn(t, n))
		}
		w := plan.NewWindow(n, 4, rapid.SampledFrom([]int64{500, 2000, 5000}).Draw(t, "size"), keys, drawAggs(t, n))
		f := flow.New(queryOf(w, true))
		ref := &windows{w: w, newest: map[int]int64{}, last: map[int]int64{}, idle: map[int]bool{}, mark: math.MinInt64, open: map[int64][]*grouped{}}
		var out, late []string
		take := func(b *zset.Batch, to *[]string) {
			for i := 0; b != nil && i < b.N; i++ {
				*to = append(*to, keyOf(b.Row(i)))
			}
		}
		for i, e := range drawEpochs(t) {
			for _, ev := range e.events {
				if slices.Contains(read, ev.input) {
					v := value(pred, ev.row, kindsOf(inputColumns))
					ref.row(ev.input, ev.row, !v.IsNull() && v.Bool())
				}
			}
			ref.tick(e, read)
			push(f, e, never)
			o := f.Flush()
			take(o.Delta, &out)
			take(o.Late, &late)
			want := make([]string, len(ref.out))
			for k, row := range ref.out {
				want[k] = keyOf(row)
			}
			if !slices.Equal(out, want) {
				t.Fatalf("%s\nepoch %d\ngot  %q\nwant %q", explain(w), i, out, want)
			}
			if len(late) != len(ref.late) || f.Counters().Late != int64(len(ref.late)) {
				t.Fatalf("%s\nepoch %d: late %q, want %v", explain(w), i, late, ref.late)
			}
			if f.WaitsForTime() != (len(ref.open) > 0) {
				t.Fatalf("epoch %d: waits %v with %d windows open", i, f.WaitsForTime(), len(ref.open))
			}
		}
	})
}

// TestIdleInputsCloseTheLastWindow: with every input idle the watermark goes on by elapsed epoch time, not to the
// wall clock.
func TestIdleInputsCloseTheLastWindow(t *testing.T) {
	n := scanOf(0)
	w := plan.NewWindow(n, 4, 5000, nil, drawCount())
	f := flow.New(queryOf(w, true))
	row := []types.Value{types.Null(types.String), types.LongOf(1), types.Null(types.Double), types.Null(types.Json),
		types.LongOf(12000), types.Null(types.Bool)}
	f.Push(0, batchOf(inputColumns, []event{{0, row, 1}}))
	f.Advance(1_000_000)
	for _, tt := range []struct{ at, watermark int64 }{
		{1_000_000, 11000}, {1_002_999, 11000}, {1_003_000, 14000}, {1_003_999, 14999},
	} {
		f.Advance(tt.at)
		if got := f.Watermark(); got != tt.watermark {
			t.Errorf("at %d: watermark %d, want %d", tt.at, got, tt.watermark)
		}
		if !f.WaitsForTime() {
			t.Errorf("at %d: the open window does not wait", tt.at)
		}
	}
	if o := f.Flush(); o.Delta != nil {
		t.Fatalf("%d rows before the window's end", o.Delta.N)
	}
	f.Advance(1_004_000)
	o := f.Flush()
	if o.Delta == nil || fmt.Sprint(o.Delta.Row(0)) != "[1 10000 15000 15000]" || f.WaitsForTime() {
		t.Fatalf("the last window did not close: %v, watermark %d", o.Delta, f.Watermark())
	}
}

// TestRestoreRefuses: damaged bytes and snapshots of other plans are errors, not states.
func TestRestoreRefuses(t *testing.T) {
	q := queryOf(plan.NewReduce(scanOf(0), nil, drawCount()), false)
	f := flow.New(q)
	f.Push(0, batchOf(inputColumns, nil))
	snap := f.Snapshot(nil)
	other := queryOf(plan.NewReduce(scanOf(1), nil, drawCount()), false)
	if err := flow.New(other).Restore(snap); !errors.Is(err, flow.ErrOtherPlan) {
		t.Errorf("snapshot of another plan: %v", err)
	}
	for i := range snap {
		bad := slices.Clone(snap)
		bad[i] ^= 0x40
		if err := flow.New(q).Restore(bad); err == nil {
			t.Errorf("byte %d changed: no error", i)
		}
		if err := flow.New(q).Restore(snap[:i]); err == nil {
			t.Errorf("cut at %d: no error", i)
		}
	}
}

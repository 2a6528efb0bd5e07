package flow_test

import (
	"bytes"
	"testing"

	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

// push hands an epoch over, cut as the cut function says: consecutive rows of one input are one batch until it says
// true.
func push(f *flow.Flow, e epoch, cut func() bool) {
	from := 0
	for i := 1; i <= len(e.events); i++ {
		if i == len(e.events) || e.events[i].input != e.events[from].input || cut() {
			f.Push(e.events[from].input, batchOf(inputColumns, e.events[from:i]))
			from = i
		}
	}
	f.Advance(e.time)
}

func never() bool { return false }

// TestTableEqualsRecompute: the sum of all deltas equals the query over everything that has arrived, whenever it is
// flushed, and every delta is consolidated.
func TestTableEqualsRecompute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := drawPlan(t, rapid.IntRange(1, 3).Draw(t, "depth"))
		epochs := drawEpochs(t)
		f := flow.New(queryOf(root, false))
		have := relation{}
		for i, e := range epochs {
			push(f, e, never)
			if i < len(epochs)-1 && rapid.Bool().Draw(t, "coalesce") {
				continue
			}
			delta := f.Flush().Delta
			if delta != nil && (delta.N == 0 || !zset.IsConsolidated(delta)) {
				t.Fatalf("%s\nthe delta is empty or not consolidated", explain(root))
			}
			have.addBatch(delta)
			if want := evaluate(root, epochs[:i+1]); !have.equal(want) {
				t.Fatalf("%s\nafter epoch %d\nhave %q\nwant %q", explain(root), i, have.sorted(), want.sorted())
			}
		}
		books(t, f, epochs)
	})
}

// books checks that what came in is accounted for.
func books(t *rapid.T, f *flow.Flow, epochs []epoch) {
	in := make([]int64, inputs)
	for _, e := range epochs {
		for _, ev := range e.events {
			in[ev.input]++
		}
	}
	c := f.Counters()
	for i, n := range in {
		if c.RowsIn[i] != n {
			t.Fatalf("input %d: %d rows counted, %d pushed", i, c.RowsIn[i], n)
		}
	}
	for _, p := range c.Paths {
		if p.Rows != in[p.Input] || p.Rows != p.Filtered+p.Late+p.Ignored+p.Passed {
			t.Fatalf("the books do not balance: %+v of %d rows", p, in[p.Input])
		}
	}
}

func explain(n plan.Node) string {
	s := n.Name() + "[" + n.Detail() + "]"
	for i, c := range n.Children() {
		if i == 0 {
			s += "("
		} else {
			s += ", "
		}
		s += explain(c)
	}
	if len(n.Children()) > 0 {
		s += ")"
	}
	return s
}

// encode is the bytes of an output, to compare runs.
func encode(s types.Schema, b *zset.Batch) []byte {
	if b == nil {
		return nil
	}
	var out []byte
	for i := range b.N {
		out = zset.AppendRecord(out, b, i, nil)
		out = append(out, byte(b.W(i)), byte(b.W(i)>>8), '\n')
	}
	return out
}

func drawAnyQuery(t *rapid.T) *plan.Query {
	if rapid.Bool().Draw(t, "pipeline") {
		return queryOf(drawPipeline(t), true)
	}
	return queryOf(drawPlan(t, rapid.IntRange(1, 3).Draw(t, "depth")), false)
}

// TestSplitsChangeNothing: cutting the rows of an epoch into batches in another way gives the same bytes at every
// flush, the same watermark and the same counters.
func TestSplitsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawAnyQuery(t)
		a, b := flow.New(q), flow.New(q)
		for i, e := range drawEpochs(t) {
			push(a, e, never)
			push(b, e, func() bool { return rapid.Bool().Draw(t, "cut") })
			compareRuns(t, q, i, a, b)
		}
	})
}

func compareRuns(t *rapid.T, q *plan.Query, i int, a, b *flow.Flow) {
	x, y := a.Flush(), b.Flush()
	if got, want := encode(q.Root.Schema(), y.Delta), encode(q.Root.Schema(), x.Delta); !bytes.Equal(got, want) {
		t.Fatalf("%s\nepoch %d: outputs differ:\n%q\n%q", explain(q.Root), i, want, got)
	}
	if got, want := encode(a.LateSchema(), y.Late), encode(a.LateSchema(), x.Late); !bytes.Equal(got, want) {
		t.Fatalf("%s\nepoch %d: late rows differ:\n%q\n%q", explain(q.Root), i, want, got)
	}
	if a.Watermark() != b.Watermark() || a.WaitsForTime() != b.WaitsForTime() {
		t.Fatalf("%s\nepoch %d: watermarks %d and %d", explain(q.Root), i, a.Watermark(), b.Watermark())
	}
	ca, cb := a.Counters(), b.Counters()
	for p := range ca.Paths {
		if ca.Paths[p] != cb.Paths[p] {
			t.Fatalf("%s\nepoch %d: counters %+v and %+v", explain(q.Root), i, ca, cb)
		}
	}
}

// TestRestoreChangesNothing: a flow that is restored from a snapshot goes on like one that never stopped, and gives
// the same snapshot.
func TestRestoreChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawAnyQuery(t)
		a, b := flow.New(q), flow.New(q)
		for i, e := range drawEpochs(t) {
			push(a, e, never)
			push(b, e, never)
			compareRuns(t, q, i, a, b)
			if !rapid.Bool().Draw(t, "restart") {
				continue
			}
			snap := b.Snapshot(nil)
			b = flow.New(q)
			if err := b.Restore(snap); err != nil {
				t.Fatalf("%s\nepoch %d: %v", explain(q.Root), i, err)
			}
			if again := b.Snapshot(nil); !bytes.Equal(again, snap) {
				t.Fatalf("%s\nepoch %d: the snapshot of the restored flow differs", explain(q.Root), i)
			}
		}
	})
}

// TestSameInputSameBytes: two runs give the same bytes, snapshots included.
func TestSameInputSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawAnyQuery(t)
		a, b := flow.New(q), flow.New(q)
		for i, e := range drawEpochs(t) {
			push(a, e, never)
			push(b, e, never)
			compareRuns(t, q, i, a, b)
			if !bytes.Equal(a.Snapshot(nil), b.Snapshot(nil)) {
				t.Fatalf("%s\nepoch %d: snapshots differ", explain(q.Root), i)
			}
		}
	})
}

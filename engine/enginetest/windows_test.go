package enginetest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/enginetest"
)

// TestWindowsUnderDisorder makes random windows, interval joins and subqueries of pipelines over rows in wild disorder,
// with silences, and holds that rows, revisions and the books of late rows are those of the reference, and that they
// do not depend on how the rows are cut.
func TestWindowsUnderDisorder(t *testing.T) {
	n := *rounds
	if testing.Short() {
		n = min(n, 100)
	}
	late, amended := int64(0), int64(0)
	for i := range n {
		s := *seed + uint64(i)
		l, a, ok := disorder(t, s)
		if late, amended = late+l, amended+a; !ok {
			t.Logf("again with -run TestWindowsUnderDisorder -args -seed=%d -rounds=1", s)
			return
		}
	}
	t.Logf("%d rows were late, %d late rows amended", late, amended)
	if late == 0 || amended == 0 {
		t.Error("no row was late, or none amended a window: the test is too tame")
	}
}

func disorder(t *testing.T, s uint64) (late, amended int64, ok bool) {
	g := &generator{Rand: rand.New(rand.NewPCG(s, 11))}
	sql := g.statement(engine.PipelineMode)
	o := engine.Options{LatenessMs: pick(g, int64(0), 300, 2000), AllowedLatenessMs: pick(g, int64(0), 0, 1500, 5000)}
	var steps [][]enginetest.Event
	now := int64(5000)
	for range 3 + g.IntN(4) {
		var rows []enginetest.Event
		for range g.IntN(12) {
			now += int64(g.IntN(700))
			r := relations[g.IntN(2)]
			e := enginetest.Event{Relation: r.Name, Ts: now - int64(g.IntN(pick(g, 200, 2000, 6000)))}
			for _, f := range r.Schema {
				e.Values = append(e.Values, g.cell(f))
			}
			rows = append(rows, e)
		}
		steps = append(steps, rows)
	}
	silence := int64(g.IntN(9000))
	var want []enginetest.Row
	for _, v := range enginetest.Variants() {
		o := o
		if v != enginetest.Oracle {
			o.IdleMs = 1 << 40 // when an input falls idle depends on how epochs are cut
		}
		w := enginetest.NewWorld(v)
		for _, r := range relations {
			w.Declare(r)
		}
		if p, problems := w.Define("q", sql, engine.PipelineMode, o); p == nil {
			t.Errorf("seed %d: %s\ndoes not compile: %v", s, sql, problems)
			return late, amended, false
		}
		for i, rows := range steps {
			err := w.Step(append([]enginetest.Event(nil), rows...))
			if err == nil && v == enginetest.Oracle && i%2 == 1 {
				err = w.Advance(silence)
			}
			if err != nil {
				t.Errorf("seed %d, %s, %+v: %s\n%v\n%s", s, v, o, sql, err, describe(steps))
				return late, amended, false
			}
		}
		have, err := w.Rows("q")
		if err != nil {
			t.Errorf("seed %d, %s: %s\n%v", s, v, sql, err)
			return late, amended, false
		}
		switch v {
		case enginetest.Oracle:
			c := w.Counters("q")
			late, amended = c.Late, c.Amended
		case enginetest.AsWritten:
			want = have
		default:
			if diff := enginetest.Difference(want, have); diff != "" {
				t.Errorf("seed %d, %s, %+v: %s\nthe reference is the run as written\n%s\n%s", s, v, o, sql, diff, describe(steps))
				return late, amended, false
			}
		}
	}
	return late, amended, true
}

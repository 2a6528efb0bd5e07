package flow_test

import (
	"testing"

	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
)

// TestDroppedLateRowsAreCounted: LIM-004, ALLOWED LATENESS ... DROP keeps late rows nowhere, and counts them all the same.
func TestDroppedLateRowsAreCounted(t *testing.T) {
	at := func(ts int64) event {
		return event{0, []types.Value{types.Null(types.String), types.LongOf(1), types.Null(types.Double), types.Null(types.Json),
			types.LongOf(ts), types.Null(types.Bool)}, 1}
	}
	for _, drop := range []bool{false, true} {
		w := plan.NewWindow(scanOf(0), 4, 5000, nil, drawCount())
		w.DropLate = drop
		f := flow.New(queryOf(w, true))
		f.Push(0, batchOf(inputColumns, []event{at(12000), at(10500), at(3000), at(11000)}))
		f.Advance(20_000)
		late := f.Flush().Late
		if (late == nil) != drop || (f.LateSchema() == nil) != drop {
			t.Errorf("drop %v: late rows %v with the columns %v", drop, late, f.LateSchema())
		}
		if c := f.Counters(); c.Late != 2 || c.LateBy.MaxMs != 8000 {
			t.Errorf("drop %v: %d late rows, at most %d ms, want 2 and 8000", drop, c.Late, c.LateBy.MaxMs)
		}
	}
}

package runtime

import (
	"testing"

	"github.com/streamsforge/streamsforge/server/catalog"
)

// TestExplainOfARunningTable holds that a running table tells what its operators have done, and one that the runtime
// does not run tells nothing.
func TestExplainOfARunningTable(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	w.rows("totals", "trades", w.publish("trades", trade{"a", 1}, trade{"b", 2}))
	e, running, err := w.rt.Explain(w.ctx(), "", catalog.InputTable, w.ids["totals"])
	if err != nil || !running || !e.Running {
		t.Fatalf("%+v, %v, %v", e, running, err)
	}
	if top := e.Physical[0].Work; top == nil || top.RowsIn != 2 || top.RowsOut != 2 || top.StateBytes == 0 || top.TimeNs == 0 {
		t.Errorf("%s", e)
	}
	if _, running, err = w.rt.Explain(w.ctx(), "", catalog.InputTable, "nope"); running || err != nil {
		t.Errorf("an unknown table: %v, %v", running, err)
	}
}

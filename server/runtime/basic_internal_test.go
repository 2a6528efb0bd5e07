package runtime

import (
	"fmt"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
)

type trade struct {
	Symbol string `json:"symbol"`
	Qty    int64  `json:"qty"`
}

func (w *world) trades() {
	w.t.Helper()
	w.source("trades", field("symbol", types.String), field("qty", types.Long))
}

const totals = "SELECT symbol, COUNT(*) AS n, SUM(qty) AS total FROM trades GROUP BY symbol"

func totalRow(symbol string, n, total int64) string {
	return fmt.Sprintf(`{"symbol":%q,"n":%d,"total":%d}`, symbol, n, total)
}

// TestOneSourceOneTable is the thin path: rows in, a grouped table out, across a stop, a kill and a rebuild.
func TestOneSourceOneTable(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	seq := w.publish("trades", trade{"a", 1}, trade{"b", 2}, trade{"a", 3})
	want := map[string]int64{totalRow("a", 2, 4): 1, totalRow("b", 1, 2): 1}
	same(t, "live", w.rows("totals", "trades", seq), want)

	w.stop()
	same(t, "after a stop", w.rows("totals", "trades", seq), want)
	seq = w.publish("trades", trade{"b", 5})
	want = map[string]int64{totalRow("a", 2, 4): 1, totalRow("b", 2, 7): 1}
	same(t, "live after a stop", w.rows("totals", "trades", seq), want)

	w.kill()
	same(t, "after a kill", w.rows("totals", "trades", seq), want)
	seq = w.publish("trades", trade{"c", 1})
	want[totalRow("c", 1, 1)] = 1
	same(t, "live after a kill", w.rows("totals", "trades", seq), want)

	if err := w.rt.checkpoints.Remove("table/" + w.ids["totals"]); err != nil {
		t.Fatal(err)
	}
	w.kill()
	same(t, "after a rebuild", w.rows("totals", "trades", seq), want)
	seq = w.publish("trades", trade{"a", 1})
	delete(want, totalRow("a", 2, 4))
	want[totalRow("a", 3, 5)] = 1
	same(t, "live after a rebuild", w.rows("totals", "trades", seq), want)
}

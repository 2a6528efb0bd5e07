package runtime

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// TestPartitions holds that a table in four partitions serves what a table in one does, and says what its partitions
// did. TBL-020, TBL-021, TBL-022.
func TestPartitions(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.spreadRows = 1 })
	w.source("trades", field("symbol", types.String), field("account", types.String), field("qty", types.Long))
	w.source("accounts", field("account", types.String), field("region", types.String))
	queries := []string{
		"SELECT symbol, SUM(qty) AS total, COUNT(DISTINCT account) AS accounts FROM trades GROUP BY symbol",
		"SELECT account, region FROM accounts LATEST BY (account)",
		"SELECT a.region, SUM(t.qty) AS total FROM trades t JOIN accounts a ON a.account = t.account GROUP BY a.region",
		"SELECT symbol, qty FROM trades WHERE qty > (SELECT AVG(qty) FROM trades)",
		"SELECT symbol FROM trades WHERE account NOT IN (SELECT account FROM accounts)",
	}
	for i, q := range queries {
		w.parallelism = 1
		w.table(fmt.Sprintf("one%d", i), q)
		w.parallelism = 4
		w.table(fmt.Sprintf("four%d", i), q)
	}
	r := rand.New(rand.NewPCG(3, 4))
	var trades, accounts uint64
	for range 30 {
		var rows []any
		for range 1 + r.IntN(40) {
			rows = append(rows, map[string]any{"symbol": fmt.Sprint(r.IntN(9)), "account": fmt.Sprint(r.IntN(7)), "qty": r.IntN(100)})
		}
		trades = w.publish("trades", rows...)
		accounts = w.publish("accounts", map[string]any{"account": fmt.Sprint(r.IntN(6)), "region": fmt.Sprint(r.IntN(3))})
	}
	for i := range queries {
		at := map[string]uint64{"trades": trades, "accounts": accounts}
		one, four := w.rowsAt(fmt.Sprintf("one%d", i), at), w.rowsAt(fmt.Sprintf("four%d", i), at)
		same(t, queries[i], four, one)
	}
	m, err := w.rt.TableMetrics("", w.ids["four0"])
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]int64{}
	for _, p := range m.Partitions {
		in[p.Kind] += p.DeltasIn
		if p.FrontierEpoch != m.Partitions[0].FrontierEpoch || p.Partition < 0 || p.Partition > 3 {
			t.Errorf("partition %+v: all partitions are at one epoch", p)
		}
	}
	if len(m.Partitions) != 8 || in["Ingest"] == 0 || in["Ingest"] != in["Reduce"] || in["Ingest"] != m.DeltasIn {
		t.Errorf("partitions %+v of %d rows", m.Partitions, m.DeltasIn)
	}
	if m, _ := w.rt.TableMetrics("", w.ids["one0"]); m.Partitions != nil {
		t.Errorf("a table with one partition lists %+v", m.Partitions)
	}
}

// rowsAt are the rows of a table that reflect a position of every source it reads.
func (w *world) rowsAt(table string, at map[string]uint64) map[string]int64 {
	w.t.Helper()
	least := map[string]uint64{}
	for _, in := range w.rt.env.entity(kindTable, w.ids[table]).worker().prog.Inputs() {
		least[in.Name] = at[in.Name]
	}
	r, err := w.rt.TableRows(w.ctx(), "", w.ids[table], view.RowsQuery{Limit: 1 << 30, MinPositions: least})
	if err != nil {
		w.t.Fatalf("rows of %s: %v", table, err)
	}
	if r.FrontierEpoch == nil || *r.FrontierEpoch <= 0 {
		w.t.Errorf("%s has no frontier", table)
	}
	out := map[string]int64{}
	for _, x := range r.Rows {
		out[string(x.Row)] += x.Weight
	}
	return out
}

// TestAnotherParallelism holds that a table goes on with the same rows when it is told to run in more or fewer
// partitions. TBL-013.
func TestAnotherParallelism(t *testing.T) {
	w := newWorld(t)
	w.source("trades", field("symbol", types.String), field("qty", types.Long))
	w.table("totals", "SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol")
	want := map[string]int64{}
	total := 0
	for round, parallelism := range []int{4, 2, 1, 16} {
		total += round + 1
		seq := w.publish("trades", map[string]any{"symbol": "A", "qty": round + 1})
		want = map[string]int64{fmt.Sprintf(`{"symbol":"A","total":%d}`, total): 1}
		same(t, "before", w.rows("totals", "trades", seq), want)
		sn, err := w.catalog.Snapshot("")
		if err != nil {
			t.Fatal(err)
		}
		old, _ := sn.TableNamed("totals")
		d := old.Table
		d.Parallelism = parallelism
		r, err := w.catalog.UpdateTable(w.ctx(), "", "test", w.ids["totals"], d)
		if err != nil {
			t.Fatal(err)
		}
		w.running(catalog.InputTable, r.ID, r.Run.Revision)
		w.await(fmt.Sprintf("%d partitions", parallelism), func() bool {
			wk := w.rt.env.entity(kindTable, r.ID).worker()
			return wk != nil && wk.def.parallelism == parallelism && wk.stats.live.Load()
		})
	}
	w.kill()
	seq := w.publish("trades", map[string]any{"symbol": "B", "qty": 1})
	want[`{"symbol":"B","total":1}`] = 1
	same(t, "after a kill", w.rows("totals", "trades", seq), want)
}

// TestTogetherPanics holds that a panic of a task reaches the caller with the stack of the task, after all goroutines
// have ended.
func TestTogetherPanics(t *testing.T) {
	defer func() {
		p := asPanic(recover())
		if p.value != "boom" || !strings.Contains(string(p.stack), "partitions_internal_test") {
			t.Errorf("panic %v with stack %s", p.value, p.stack)
		}
	}()
	tasks := make([]func(), 16)
	for i := range tasks {
		tasks[i] = func() {
			if i == 5 {
				panic("boom")
			}
		}
	}
	together(1)(10, tasks)
	t.Error("no panic")
}

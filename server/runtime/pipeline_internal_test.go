package runtime

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

const perSecond = "SELECT symbol, COUNT(*) AS n FROM ticks GROUP BY symbol WINDOW TUMBLING(SIZE 1 SECONDS)"

// TestTheLastWindowClosesWithoutRows publishes rows and then nothing: the clock goes on by heartbeats, the input counts
// as idle, and the last window closes.
func TestTheLastWindowClosesWithoutRows(t *testing.T) {
	w := newWorld(t)
	w.idleMs = 300
	w.stop()
	w.source("ticks", field("symbol", types.String), field("qty", types.Long))
	id := w.pipeline("windows", perSecond)
	now := time.Now().UnixMilli()
	w.publish("ticks", tick{"a", 1, now}, tick{"a", 2, now})
	w.await("the window", func() bool {
		m, err := w.rt.PipelineMetrics("", id)
		return err == nil && m.WindowsClosed == 1 && m.TotalRowsOut == 1
	})
	got, err := w.rt.PipelineResults(w.ctx(), "", id, 10)
	if err != nil || len(got) != 1 || got[0].Seq != 1 || got[0].PipelineID != id {
		t.Fatalf("results: %+v, %v", got, err)
	}
	m, _ := w.rt.PipelineMetrics("", id)
	if m.TotalEventsIn != 2 || m.LastEventTsMs != now || m.Status != view.Running {
		t.Fatalf("metrics: %+v", m)
	}
	w.await("the clock to rest", func() bool { return !w.rt.env.clk.Waiting() })
	w.kill()
	again, err := w.rt.PipelineResults(w.ctx(), "", id, 10)
	if err != nil || !reflect.DeepEqual(got, again) {
		t.Fatalf("results after a kill: %+v (%v), before %+v", again, err, got)
	}
}

// TestANewPipelineQueryBeginsAnew restarts a pipeline with another query: a fresh executor, results numbered from 1.
func TestANewPipelineQueryBeginsAnew(t *testing.T) {
	w := newWorld(t)
	w.source("ticks", field("symbol", types.String), field("qty", types.Long))
	id := w.pipeline("plain", "SELECT symbol, qty FROM ticks WHERE qty > 0")
	results := func(n int) []view.ResultEnvelope {
		t.Helper()
		var got []view.ResultEnvelope
		w.await(fmt.Sprint(n, " results"), func() bool {
			var err error
			got, err = w.rt.PipelineResults(w.ctx(), "", id, 100)
			return err == nil && len(got) == n
		})
		return got
	}
	for i := range 150 {
		w.publish("ticks", tick{"a", int64(i), 1000 + int64(i)})
	}
	w.await("all results", func() bool {
		m, err := w.rt.PipelineMetrics("", id)
		return err == nil && m.TotalRowsOut == 149
	})
	got := results(100)
	if got[0].Seq != 50 || got[99].Seq != 149 {
		t.Fatalf("the newest hundred are %d..%d", got[0].Seq, got[99].Seq)
	}
	w.stop()
	if again := results(100); !reflect.DeepEqual(again, got) {
		t.Fatal("other results after a stop")
	}
	all, err := w.rt.PipelineResults(w.ctx(), "", id, 10_000)
	if err != nil || len(all) != 149 || all[0].Seq != 1 {
		t.Fatalf("%d stored results, %v", len(all), err)
	}
	sn, _ := w.catalog.Snapshot("")
	rec, _ := sn.Pipeline(id)
	d := rec.Pipeline
	d.SQL = "SELECT symbol, qty FROM ticks WHERE qty > 147"
	if _, err := w.catalog.UpdatePipeline(w.ctx(), "", "test", id, d); err != nil {
		t.Fatal(err)
	}
	got = results(2)
	if got[0].Seq != 1 || got[1].Seq != 2 {
		t.Fatalf("results of the new query are numbered %d, %d", got[0].Seq, got[1].Seq)
	}
	w.kill()
	if again := results(2); !reflect.DeepEqual(again, got) {
		t.Fatal("other results after a kill")
	}
}

// TestMemoryOnlyIsBuiltAgain keeps nothing of a table on disk, and has its rows again after a kill.
func TestMemoryOnlyIsBuiltAgain(t *testing.T) {
	w := newWorld(t)
	w.trades()
	d := catalog.NewTable()
	d.Name, d.SQL, d.Persistence = "totals", totals, catalog.MemoryOnly
	r, err := w.catalog.CreateTable(w.ctx(), "", "test", d)
	if err != nil {
		t.Fatal(err)
	}
	w.ids["totals"] = r.ID
	w.startTable("totals")
	w.table("over", "SELECT SUM(total) AS total FROM totals")
	seq := w.publish("trades", trade{"a", 1}, trade{"a", 2})
	want := map[string]int64{totalRow("a", 2, 3): 1}
	same(t, "live", w.rows("totals", "trades", seq), want)
	same(t, "over", w.rows("over", "trades", seq), map[string]int64{`{"total":3}`: 1})
	if st := w.rt.env.entity(kindTable, r.ID).stream; !st.Memory() {
		t.Fatal("its journal is on disk")
	}
	w.kill()
	seq = w.publish("trades", trade{"a", 3})
	same(t, "after a kill", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", 3, 6): 1})
	same(t, "over after a kill", w.rows("over", "trades", seq), map[string]int64{`{"total":6}`: 1})
	if l, err := w.rt.checkpoints.List(kindTable + "/" + r.ID); err != nil || len(l) != 0 {
		t.Fatalf("it has %d checkpoints (%v)", len(l), err)
	}
}

func TestReadsOverNATS(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	seq := w.publish("trades", trade{"a", 1})
	w.rows("totals", "trades", seq)
	a, err := w.rt.Answer("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ask := func(subject, body string, into any) (code string) {
		t.Helper()
		m, err := w.streams.Conn().RequestWithContext(w.ctx(), subject, []byte(body))
		if err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		if code = m.Header.Get("Nats-Service-Error-Code"); code == "" {
			if err := json.Unmarshal(m.Data, into); err != nil {
				t.Fatal(err)
			}
		}
		return code
	}
	var rows view.TableRows
	if code := ask(streams.TableReadSubject("default", "totals", "rows"), fmt.Sprintf(`{"limit":10,"minPosition":"trades:%d"}`, seq), &rows); code != "" || len(rows.Rows) != 1 {
		t.Fatalf("rows: %q %+v", code, rows)
	}
	var m view.TableMetrics
	if code := ask(streams.TableReadSubject("default", "totals", "metrics"), "", &m); code != "" || m.RowCount != 1 || m.DeltasIn != 1 {
		t.Fatalf("metrics: %q %+v", code, m)
	}
	var info view.ReplayInfo
	if code := ask(streams.TableReadSubject("default", "totals", "replay"), "", &info); code != "" || info.LastSeq == 0 {
		t.Fatalf("replay: %q %+v", code, info)
	}
	for subject, want := range map[string]string{
		streams.TableReadSubject("default", "nobody", "rows"):       "404",
		streams.TableReadSubject("default", "totals", "search"):     "501",
		streams.PipelineReadSubject("default", "nobody", "metrics"): "404",
	} {
		if code := ask(subject, "", nil); code != want {
			t.Fatalf("%s answers %q, want %s", subject, code, want)
		}
	}
	if code := ask(streams.TableReadSubject("default", "totals", "rows"), "{", nil); code != "400" {
		t.Fatalf("a broken request answers %q", code)
	}
}

func TestEventsOfASource(t *testing.T) {
	w := newWorld(t)
	w.trades()
	var seq uint64
	for i := range 30 {
		seq = w.publish("trades", tick{"a", int64(2 * i), 1}, tick{"b", int64(2*i + 1), 2})
	}
	check := func(what string) {
		t.Helper()
		w.await(what, func() bool {
			m, err := w.rt.SourceMetrics("", "trades")
			return err == nil && m.LastSeq == int64(seq) && m.RowsTotal == 60
		})
		got, err := w.rt.SourceEvents(w.ctx(), "", "trades", 50)
		if err != nil || len(got) != 50 {
			t.Fatalf("%s: %d events, %v", what, len(got), err)
		}
		if string(got[0]) != `{"symbol":"b","qty":59,"_ts":2,"_source":"trades"}` ||
			string(got[49]) != `{"symbol":"a","qty":10,"_ts":1,"_source":"trades"}` {
			t.Fatalf("%s: newest %s, oldest %s", what, got[0], got[49])
		}
	}
	check("live")
	w.stop()
	check("after a stop")
	w.kill()
	check("after a kill")
	info, err := w.rt.SourceReplay(w.ctx(), "", "trades")
	if err != nil || info.FirstSeq != 1 || info.LastSeq != int64(seq) || !info.Persisted || info.RetainedBytes == 0 {
		t.Fatalf("replay: %+v, %v", info, err)
	}
}

package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

func (w *world) stopTable(name string) {
	w.t.Helper()
	r, err := w.catalog.StopTable(w.ctx(), "", w.ids[name])
	if err != nil {
		w.t.Fatal(err)
	}
	st, err := w.rt.Await(w.ctx(), "", catalog.InputTable, r.ID, r.Run.Revision)
	if err != nil || st.Status != view.Stopped {
		w.t.Fatalf("%s is %+v after a stop (%v)", name, st, err)
	}
}

func (w *world) editTable(name string, change func(*catalog.Table)) {
	w.t.Helper()
	sn, err := w.catalog.Snapshot("")
	if err != nil {
		w.t.Fatal(err)
	}
	r, ok := sn.Table(w.ids[name])
	if !ok {
		w.t.Fatalf("no table %s", name)
	}
	d := r.Table
	change(&d)
	r, err = w.catalog.UpdateTable(w.ctx(), "", "test", w.ids[name], d)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.rt.Await(w.ctx(), "", catalog.InputTable, r.ID, r.Run.Revision); err != nil {
		w.t.Fatal(err)
	}
}

// failWorker makes the worker of a table fail between two steps, as a fault in the engine does.
func (w *world) failWorker(name string) {
	w.t.Helper()
	e := w.rt.env.entity(kindTable, w.ids[name])
	select {
	case e.worker().probe <- func() { panic("a fault in the engine") }:
	case <-w.ctx().Done():
		w.t.Fatalf("%s does not come to rest: %+v", name, e.observed())
	}
	w.await(name+" to fail", func() bool { return e.observed().Status == view.Failed })
}

func TestAStandbyWorkerCannotAppend(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	seq := w.publish("trades", trade{"a", 1})
	w.rows("totals", "trades", seq)
	e := w.rt.env.entity(kindTable, w.ids["totals"])

	// The stand-by opens the journal at its present tail, with the same right.
	standby, err := streams.OpenJournal(w.ctx(), e.stream, w.rt.env.term)
	if err != nil {
		t.Fatal(err)
	}
	seq = w.publish("trades", trade{"a", 2})
	want := map[string]int64{totalRow("a", 2, 3): 1}
	same(t, "the owner", w.rows("totals", "trades", seq), want)
	_, err = standby.Append(w.ctx(), streams.Entry{Epoch: 1 << 40, Generation: 1, Data: []byte("x")})
	if !errors.Is(err, streams.ErrFenced) {
		t.Fatalf("the stand-by appended: %v", err)
	}

	// An entry that gets in between makes the owner start from the log; it never answers from memory.
	other, err := streams.OpenJournal(w.ctx(), e.stream, w.rt.env.term)
	if err != nil {
		t.Fatal(err)
	}
	last, _ := other.Last()
	if _, err := other.Append(w.ctx(), streams.Entry{Kind: streams.Marker, Epoch: last.Epoch, Generation: last.Generation, Plan: last.Plan, SeqNo: last.SeqNo}); err != nil {
		t.Fatal(err)
	}
	seq = w.publish("trades", trade{"b", 5})
	want[totalRow("b", 1, 5)] = 1
	same(t, "the owner after a foreign entry", w.rows("totals", "trades", seq), want)
}

func TestASecondRuntimeTakesTheClockAway(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	w.rows("totals", "trades", w.publish("trades", trade{"a", 1}))
	o := w.opt
	o.Streams, o.Catalog = w.streams, w.catalog
	second, err := Open(w.ctx(), o)
	if err != nil {
		t.Fatal(err)
	}
	first := w.rt
	w.rt = second
	seq := w.publish("trades", trade{"a", 2})
	same(t, "the new owner", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", 2, 3): 1})
	select {
	case err := <-first.Failed():
		if !errors.Is(err, streams.ErrFenced) {
			t.Fatalf("the old owner ended with %v", err)
		}
	case <-w.ctx().Done():
		t.Fatal("the old owner does not notice that it lost the clock")
	}
	if err := first.Close(w.ctx()); err != nil {
		t.Fatal(err)
	}
}

// TestAnInputLeavesAndComesBack makes one side of a join fail under load. The other side and the join go on and say
// what is stale; when it is started again it joins with one delta, and everything is exact again.
func TestAnInputLeavesAndComesBack(t *testing.T) {
	w := newWorld(t)
	w.bank()
	r := rand.New(rand.NewPCG(3, 4))
	w.rows("total", "transfers", w.publish("transfers", randomTransfers(r, 10)...))
	credits := w.rt.env.entity(kindTable, w.ids["credits"])
	before, _ := w.rt.env.clk.Frontier(credits.node)
	w.failWorker("credits")
	st := credits.observed()
	if !strings.Contains(st.Error, "a fault in the engine") || !strings.Contains(st.Error, "epoch") {
		t.Fatalf("the failure says %q: it must name the fault and the epoch", st.Error)
	}
	// Debits go on alone.
	seq := w.publish("transfers", transfer{"0", "1", 1_000_000})
	w.await("debits to go on", func() bool {
		rows := w.rows("debits", "transfers", seq)
		for k := range rows {
			if strings.Contains(k, `"account":"0"`) && strings.Contains(k, "100") {
				return true
			}
		}
		return false
	})
	w.await("balances to name the stale input", func() bool {
		st := w.rt.Observed("", catalog.InputTable, w.ids["balances"])
		return st.Status == view.Running && fmt.Sprint(st.StaleInputs) == "[credits]"
	})
	w.await("balances to go on with the last state", func() bool {
		f, _ := w.rt.env.clk.Frontier(w.rt.env.entity(kindTable, w.ids["balances"]).node)
		return f > before+1
	})
	at, err := w.rt.RowsAtEpoch(w.ctx(), "", []string{w.ids["credits"], w.ids["debits"]}, 100)
	if err != nil || len(at.Excluded) != 1 || at.Excluded[0].Table != "credits" || len(at.Tables) != 1 {
		t.Fatalf("a read at one epoch gave %+v, %v: the failed table must be named", at, err)
	}
	w.startTable("credits")
	seq = w.publish("transfers", randomTransfers(r, 10)...)
	same(t, "after it has come back", w.rows("total", "transfers", seq), map[string]int64{fmt.Sprintf(`{"total":0,"n":%d}`, accounts): 1})
	if st := w.rt.Observed("", catalog.InputTable, w.ids["balances"]); len(st.StaleInputs) != 0 {
		t.Fatalf("still stale: %v", st.StaleInputs)
	}
	w.kill()
	seq = w.publish("transfers", randomTransfers(r, 10)...)
	same(t, "after a kill", w.rows("total", "transfers", seq), map[string]int64{fmt.Sprintf(`{"total":0,"n":%d}`, accounts): 1})
}

// TestADeletedSourceIsNamed deletes the source under a running table: the table goes on with the rows it has and says
// which input is stale, until the source is back; then it counts on.
func TestADeletedSourceIsNamed(t *testing.T) {
	w := newWorld(t)
	w.trades()
	id := w.table("totals", totals)
	w.rows("totals", "trades", w.publish("trades", trade{"a", 1}))
	stale := func() []string { return w.rt.Observed("", catalog.InputTable, id).StaleInputs }
	if names := stale(); len(names) != 0 {
		t.Fatalf("stale before anything was deleted: %v", names)
	}
	if err := w.catalog.DeleteSource(w.ctx(), "", "trades"); err != nil {
		t.Fatal(err)
	}
	w.await("the deleted source to be named", func() bool { return fmt.Sprint(stale()) == "[trades]" })
	if st := w.rt.Observed("", catalog.InputTable, id); st.Status != view.Running {
		t.Fatalf("the table is %s (%s), want Running on its last state", st.Status, st.Error)
	}
	w.trades()
	w.await("the source to take part again", func() bool { return len(stale()) == 0 })
	same(t, "after the source came back", w.rows("totals", "trades", w.publish("trades", trade{"a", 2})), map[string]int64{totalRow("a", 2, 3): 1})
}

func TestStopAndStartResumes(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	w.rows("totals", "trades", w.publish("trades", trade{"a", 1}))
	e := w.rt.env.entity(kindTable, w.ids["totals"])
	gen := e.gen
	w.stopTable("totals")
	same(t, "a stopped table serves its last state", w.rows("totals", "", 0), map[string]int64{totalRow("a", 1, 1): 1})
	seq := w.publish("trades", trade{"a", 2}, trade{"b", 1})
	w.startTable("totals")
	same(t, "after the start", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", 2, 3): 1, totalRow("b", 1, 1): 1})
	if e.gen != gen {
		t.Fatalf("a start after a stop began generation %d, it must go on with %d", e.gen, gen)
	}
	w.stopTable("totals")
	w.kill()
	same(t, "stopped, after a kill", w.rows("totals", "", 0), map[string]int64{totalRow("a", 2, 3): 1, totalRow("b", 1, 1): 1})
	if st := w.rt.Observed("", catalog.InputTable, w.ids["totals"]); st.Status != view.Stopped {
		t.Fatalf("it is %s after a kill, it was stopped", st.Status)
	}
}

func TestASourceIsDeletedAndMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	seq := w.publish("trades", trade{"a", 1}, trade{"a", 2})
	w.rows("totals", "trades", seq)
	old := w.rt.env.source("trades")
	if err := w.catalog.DeleteSource(w.ctx(), "", "trades"); err != nil {
		t.Fatal(err)
	}
	w.await("the source to go", func() bool { return w.rt.env.source("trades") == nil })
	same(t, "the table goes on with what it has", w.rows("totals", "", 0), map[string]int64{totalRow("a", 2, 3): 1})
	w.trades()
	if w.rt.env.source("trades").stream.Incarnation() == old.stream.Incarnation() {
		t.Fatal("the new stream has the incarnation of the old one")
	}
	seq = w.publish("trades", trade{"b", 7})
	if seq != 1 {
		t.Fatalf("positions of the new source begin at %d", seq)
	}
	want := map[string]int64{totalRow("a", 2, 3): 1, totalRow("b", 1, 7): 1}
	w.await("the row of the new source", func() bool { return len(w.rows("totals", "", 0)) == 2 })
	same(t, "with the new source", w.rows("totals", "", 0), want)
	w.stop()
	seq = w.publish("trades", trade{"b", 1})
	want = map[string]int64{totalRow("a", 2, 3): 1, totalRow("b", 2, 8): 1}
	same(t, "after a stop", w.rows("totals", "trades", seq), want)
}

func TestATableIsDeletedAndMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	seq := w.publish("trades", trade{"a", 1})
	w.rows("totals", "trades", seq)
	w.stopTable("totals")
	if err := w.catalog.DeleteTable(w.ctx(), "", w.ids["totals"]); err != nil {
		t.Fatal(err)
	}
	key := kindTable + "/" + w.ids["totals"]
	w.await("the table to go", func() bool { return w.rt.env.entity(kindTable, w.ids["totals"]) == nil })
	w.await("its stream to go", func() bool {
		_, err := w.streams.Stream(w.ctx(), streams.TableStream("default", w.ids["totals"]))
		return errors.Is(err, streams.ErrNotFound)
	})
	w.await("its checkpoints to go", func() bool { l, err := w.rt.checkpoints.List(key); return err == nil && len(l) == 0 })
	w.table("totals", totals)
	same(t, "the new table has the retained rows", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", 1, 1): 1})
}

// TestASchemaEditDecodesByPosition adds a field between messages. A replay reads each message with the layout of its
// position, and running queries keep their shape.
func TestASchemaEditDecodesByPosition(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	seq := w.raw("trades", []byte(`{"symbol":"a","qty":1,"note":"x"}`))
	w.rows("totals", "trades", seq)
	sn, _ := w.catalog.Snapshot("")
	rec, _ := sn.Source("trades")
	s := rec.Source
	s.Fields = append(append([]catalog.Field{}, s.Fields...), field("note", types.String))
	if _, err := w.catalog.UpdateSource(w.ctx(), "", "test", "trades", s, true); err != nil {
		t.Fatal(err)
	}
	w.await("the layout to begin", func() bool {
		sn, _ := w.catalog.Snapshot("")
		rec, _ := sn.Source("trades")
		return len(rec.Layouts) == 2 && rec.Layouts[1].FromSeq == seq+1
	})
	seq = w.raw("trades", []byte(`{"symbol":"a","qty":2,"note":"y"}`))
	same(t, "totals", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", 2, 3): 1})
	notes := "SELECT note, COUNT(*) AS n FROM trades GROUP BY note"
	w.table("notes", notes)
	want := map[string]int64{`{"note":null,"n":1}`: 1, `{"note":"y","n":1}`: 1}
	same(t, "the old message has no note", w.rows("notes", "trades", seq), want)
	w.kill()
	same(t, "after a kill", w.rows("notes", "trades", seq), want)
}

// TestANewQueryIsSwappedIn edits a running table with a dependent. The old version serves until the new one takes over
// at one epoch; the dependent gets the difference.
func TestANewQueryIsSwappedIn(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	w.table("grand", "SELECT SUM(total) AS grand, SUM(n) AS n FROM totals")
	seq := w.publish("trades", trade{"a", 1}, trade{"b", 2}, trade{"b", 30})
	same(t, "before", w.rows("grand", "trades", seq), map[string]int64{`{"grand":33,"n":3}`: 1})
	e := w.rt.env.entity(kindTable, w.ids["totals"])
	sub, err := w.rt.Subscribe(w.ctx(), "", w.ids["totals"])
	if err != nil {
		t.Fatal(err)
	}
	w.editTable("totals", func(d *catalog.Table) {
		d.SQL = strings.Replace(totals, "FROM trades", "FROM trades WHERE qty < 10", 1)
	})
	w.await("the swap", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.gen == 2 && e.side == nil })
	same(t, "the new version", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", 1, 1): 1, totalRow("b", 1, 2): 1})
	w.await("the dependent to follow", func() bool { return w.rows("grand", "trades", seq)[`{"grand":3,"n":2}`] == 1 })
	if _, err := sub.Next(w.ctx()); err == nil {
		t.Fatal("a subscriber of the old version was not told to read again")
	}
	sub.Close()
	seq = w.publish("trades", trade{"a", 4}, trade{"a", 40})
	same(t, "live", w.rows("grand", "trades", seq), map[string]int64{`{"grand":7,"n":3}`: 1})
	for range 2 {
		w.kill()
		same(t, "after a kill", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", 2, 5): 1, totalRow("b", 1, 2): 1})
		same(t, "the dependent after a kill", w.rows("grand", "trades", seq), map[string]int64{`{"grand":7,"n":3}`: 1})
		w.rt.abandon()
		for _, name := range []string{"totals", "grand"} {
			if err := w.rt.checkpoints.Remove(kindTable + "/" + w.ids[name]); err != nil {
				t.Fatal(err)
			}
		}
		w.start()
	}
	// A query that cannot be built leaves the old one serving, and says why.
	w.editTable("totals", func(d *catalog.Table) { d.SQL = "SELECT nothing FROM trades" })
	if st := w.rt.Observed("", catalog.InputTable, w.ids["totals"]); st.Status != view.Failed || !strings.Contains(st.Error, "nothing") {
		t.Fatalf("a query that does not compile: %+v", st)
	}
}

func TestOneFailureStaysWhereItIs(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	w.table("other", "SELECT symbol, MAX(qty) AS top FROM trades GROUP BY symbol")
	seq := w.publish("trades", trade{"a", 1})
	w.rows("totals", "trades", seq)
	w.failWorker("totals")
	seq = w.publish("trades", trade{"a", 5})
	same(t, "the other table", w.rows("other", "trades", seq), map[string]int64{`{"symbol":"a","top":5}`: 1})
	same(t, "the failed table serves its last state", w.rows("totals", "", 0), map[string]int64{totalRow("a", 1, 1): 1})
	// Edit, stop, start and delete work on it.
	w.editTable("totals", func(d *catalog.Table) { d.Description = "still editable" })
	w.stopTable("totals")
	w.startTable("totals")
	same(t, "started again", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", 2, 6): 1})
	w.failWorker("totals")
	if err := w.catalog.DeleteTable(w.ctx(), "", w.ids["totals"]); err != nil {
		t.Fatal(err)
	}
	w.await("it to go", func() bool { return w.rt.env.entity(kindTable, w.ids["totals"]) == nil })
}

// TestQuarantineHoldsEachRowOnce mixes rows that cannot be read into the load and kills the runtime between reading
// and storing its counters: the quarantine holds each of them once, and the books balance.
func TestQuarantineHoldsEachRowOnce(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	r := rand.New(rand.NewPCG(5, 6))
	good, bad := int64(0), int64(0)
	var seq uint64
	for range 6 {
		for range 50 {
			if r.IntN(4) == 0 {
				seq = w.raw("trades", []byte(`{"symbol":"a","qty":`))
				bad++
			} else {
				seq = w.raw("trades", []byte("{\"symbol\":\"a\",\"qty\":1}\nnot a row\n{\"symbol\":\"b\",\"qty\":1}\n"))
				good, bad = good+2, bad+1
			}
		}
		if r.IntN(2) == 0 {
			w.rt.env.saveBooks()
		}
		w.kill()
	}
	w.rows("totals", "trades", seq)
	w.await("the counters", func() bool {
		m, err := w.rt.SourceMetrics("", "trades")
		return err == nil && m.LastSeq == int64(seq)
	})
	m, _ := w.rt.SourceMetrics("", "trades")
	if m.RowsTotal != good || m.QuarantinedTotal != bad {
		t.Fatalf("counted %d rows and %d in quarantine, want %d and %d", m.RowsTotal, m.QuarantinedTotal, good, bad)
	}
	n, err := w.rt.env.source("trades").quar.Count(w.ctx())
	if err != nil || int64(n) != bad {
		t.Fatalf("the quarantine holds %d entries (%v), want %d", n, err, bad)
	}
	rows := w.rows("totals", "trades", seq)
	if len(rows) != 2 || rows[totalRow("a", good/2, good/2)] != 1 {
		t.Fatalf("the table has %v after %d good rows", rows, good)
	}
}

// TestALateTableStartsFromRetainedRows attaches tables to a source and to another table that have been running.
func TestALateTableStartsFromRetainedRows(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	var seq uint64
	for i := range 500 {
		seq = w.publish("trades", trade{fmt.Sprint("s", i%7), 1})
	}
	w.table("late", "SELECT COUNT(*) AS n FROM trades")
	same(t, "late", w.rows("late", "trades", seq), map[string]int64{`{"n":500}`: 1})
	w.table("over", "SELECT SUM(n) AS n, COUNT(*) AS symbols FROM totals")
	same(t, "over", w.rows("over", "trades", seq), map[string]int64{`{"n":500,"symbols":7}`: 1})
	id := w.pipeline("windows", "SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 1 SECONDS)")
	w.await("the pipeline to have every row", func() bool {
		m, err := w.rt.PipelineMetrics("", id)
		return err == nil && m.TotalEventsIn == 500
	})
	d := catalog.NewTable()
	from := int64(400)
	d.Name, d.SQL, d.ReplayFrom = "part", "SELECT COUNT(*) AS n FROM trades", map[string]catalog.ReplayFrom{"trades": {Seq: &from}}
	r, err := w.catalog.CreateTable(w.ctx(), "", "test", d)
	if err != nil {
		t.Fatal(err)
	}
	w.ids["part"] = r.ID
	w.startTable("part")
	same(t, "from a position", w.rows("part", "trades", seq), map[string]int64{`{"n":101}`: 1})
}

// TestATrimmedEpochLogIsBridged recovers a worker whose checkpoint is older than the epoch log.
func TestATrimmedEpochLogIsBridged(t *testing.T) {
	var ahead atomic.Int64
	w := newWorld(t, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	w.trades()
	w.table("totals", totals)
	n := int64(0)
	var seq uint64
	put := func(k int) {
		for range k {
			seq = w.publish("trades", trade{"a", 1})
			n++
		}
		w.rows("totals", "trades", seq)
	}
	put(20)
	w.stop() // a checkpoint
	put(60)
	ahead.Store(int64(11 * time.Second)) // the next record is a full one
	put(10)
	env := w.rt.env
	w.await("a full record", func() bool {
		if err := env.epochLog.Trim(w.ctx(), env.clk.Head().Epoch); err != nil {
			t.Fatal(err)
		}
		s, err := env.epochs.State(w.ctx())
		return err == nil && s.First > 1
	})
	w.kill()
	same(t, "after the kill", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", n, n): 1})
	put(3)
	same(t, "live", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", n, n): 1})
}

// TestMissingInputIsDegraded purges rows that no checkpoint reflects: the entity says which, and does not start over.
func TestMissingInputIsDegraded(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	seq := w.publish("trades", trade{"a", 1})
	for range 10 {
		seq = w.publish("trades", trade{"a", 1})
	}
	w.rows("totals", "trades", seq)
	w.rt.abandon()
	if err := w.rt.checkpoints.Remove(kindTable + "/" + w.ids["totals"]); err != nil {
		t.Fatal(err)
	}
	st, err := w.streams.Stream(w.ctx(), streams.SourceStream("default", "trades"))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Purge(w.ctx(), 6); err != nil {
		t.Fatal(err)
	}
	w.start()
	e := w.rt.env.entity(kindTable, w.ids["totals"])
	w.await("it to be degraded", func() bool { return e.observed().Degraded != nil })
	s := e.observed()
	if s.Status != view.Failed || len(s.Degraded.Missing) != 1 || s.Degraded.Missing[0] != (view.MissingInput{Input: "trades", From: 1, To: 5}) {
		t.Fatalf("%+v %+v", s, s.Degraded)
	}
	same(t, "its rows are still served", w.rows("totals", "", 0), map[string]int64{totalRow("a", 11, 11): 1})
}

// TestReadYourOwnWrite waits through a chain, and gives up when the time is over.
func TestReadYourOwnWrite(t *testing.T) {
	w := newWorld(t)
	w.bank()
	seq := w.publish("transfers", transfer{"0", "1", 7})
	w.rows("total", "transfers", seq)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err := w.rt.TableRows(ctx, "", w.ids["total"], view.RowsQuery{Limit: 1, MinPositions: map[string]uint64{"transfers": seq + 1000}})
	if view.CodeOf(err) != view.Timeout {
		t.Fatalf("a position that does not come: %v", err)
	}
	_, err = w.rt.TableRows(w.ctx(), "", w.ids["total"], view.RowsQuery{Limit: 1, MinPositions: map[string]uint64{"nobody": 1}})
	if view.CodeOf(err) != view.Invalid {
		t.Fatalf("an input that is none: %v", err)
	}
	r, err := w.rt.TableRows(w.ctx(), "", w.ids["debits"], view.RowsQuery{Limit: 2, Offset: 3, MinPositions: map[string]uint64{"transfers": seq}})
	if err != nil || len(r.Rows) != 2 || r.TotalRows != accounts || r.Position == 0 || r.Seq == 0 {
		t.Fatalf("a page: %+v, %v", r, err)
	}
}

// TestJournalIsCompacted drives a journal over the limit of its deltas: it gets a base, what is behind it goes, and a
// worker that starts afterwards has every row.
func TestJournalIsCompacted(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.CheckpointEvery = 5 * time.Millisecond })
	w.source("big", field("k", types.String), field("v", types.String))
	w.table("newest", "SELECT k, v FROM big LATEST BY (k)")
	w.table("plain", "SELECT k, MAX(v) AS v FROM big GROUP BY k")
	text := strings.Repeat("x", 20_000)
	type kv struct {
		K string `json:"k"`
		V string `json:"v"`
	}
	var seq uint64
	e := w.rt.env.entity(kindTable, w.ids["newest"])
	p := w.rt.env.entity(kindTable, w.ids["plain"])
	for i := range 60 {
		var rows []any
		for k := range 20 {
			rows = append(rows, kv{fmt.Sprint(k), fmt.Sprintf("%06d%s", i, text)})
		}
		seq = w.publish("big", rows...)
		w.rows("newest", "big", seq)
		w.rows("plain", "big", seq)
	}
	for _, x := range []*entity{e, p} {
		w.await("a base in "+x.label(), func() bool {
			seq = w.publish("big", kv{"0", fmt.Sprintf("999999%s", text)}, kv{"1", fmt.Sprint(seq)})
			w.rows("newest", "big", seq)
			w.rows("plain", "big", seq)
			l, ok := x.worker().journal.Last()
			return ok && l.BaseSeq > 0
		})
	}
	want, wantPlain := w.rows("newest", "big", seq), w.rows("plain", "big", seq)
	w.kill()
	same(t, "after a kill", w.rows("newest", "big", seq), want)
	w.rt.abandon()
	for _, x := range []*entity{e, p} {
		if err := w.rt.checkpoints.Remove(x.key); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	same(t, "newest without checkpoints", w.rows("newest", "big", seq), want)
	same(t, "plain without checkpoints", w.rows("plain", "big", seq), wantPlain)
}

// TestACheckpointOfAnotherEngineIsNotUsed replaces the state in a checkpoint that is whole otherwise.
func TestACheckpointOfAnotherEngineIsNotUsed(t *testing.T) {
	w := newWorld(t)
	w.trades()
	w.table("totals", totals)
	seq := w.publish("trades", trade{"a", 1})
	want := map[string]int64{totalRow("a", 1, 1): 1}
	same(t, "live", w.rows("totals", "trades", seq), want)
	if err := w.rt.Close(w.ctx()); err != nil {
		t.Fatal(err)
	}
	key := kindTable + "/" + w.ids["totals"]
	m, state, _, err := w.rt.checkpoints.Load(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	state[0] ^= 0xff
	if _, err := w.rt.checkpoints.Save(key, m, state); err != nil {
		t.Fatal(err)
	}
	w.start()
	same(t, "after the start", w.rows("totals", "trades", seq), want)
	seq = w.publish("trades", trade{"a", 2})
	same(t, "live again", w.rows("totals", "trades", seq), map[string]int64{totalRow("a", 2, 3): 1})
}

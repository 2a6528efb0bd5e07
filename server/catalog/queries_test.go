package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/catalog/catalogtest"
	"github.com/streamsforge/streamsforge/server/view"
)

func TestTableDefaults(t *testing.T) {
	s := open(t, func(o *catalog.Options) {
		o.Now, o.NewID = clockAt(1700000000000), func() string { return "0123456789abcdef0123456789abcdef" }
	})
	s.source(trades)
	r := s.table("t", "SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol")
	sn := s.snapshot()
	want := `{"name":"t","description":"","sql":"SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol",` +
		`"searchEnabled":false,"searchMode":"Exact","historyEnabled":false,"historyMode":"All","historyLimit":10,"historyByField":null,"historyWindowMs":0,` +
		`"tags":[],"metadata":{},"parallelism":1,"persistence":"Batched","flushMs":0,"journalMaxEntries":0,"retentionMaxRows":0,"retentionTtlMs":0,` +
		`"shardBy":[],"sinks":[],"dependsOn":[],"replayFrom":{},"replay":null,"id":"0123456789abcdef0123456789abcdef","status":"Stopped","error":null,` +
		`"createdBy":"ann","createdAtMs":1700000000000,"updatedAtMs":1700000000000,"updatedBy":"ann",` +
		`"outputFields":[{"name":"symbol","type":"String","children":null,"isArray":false},{"name":"total","type":"Long","children":null,"isArray":false}],` +
		`"streamInputs":["trades"],"tableInputs":[],"pipelineInputs":[],"keyFields":["symbol"],"revision":1,"schemaRevision":1,"staleReason":null,"environment":"","degraded":null,"staleInputs":[]}`
	if got := asJSON(t, s.ShowTable(sn, r)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPipelineDefaults(t *testing.T) {
	s := open(t, func(o *catalog.Options) {
		o.Now, o.NewID = clockAt(1700000000000), func() string { return "0123456789abcdef0123456789abcdef" }
	})
	s.source(trades)
	r := s.pipeline("p", "SELECT symbol FROM trades")
	want := `{"name":"p","description":"","sql":"SELECT symbol FROM trades","tags":[],"metadata":{},"sinks":[],"dependsOn":[],"replayFrom":{},"replay":null,"allowedLatenessMs":0,` +
		`"id":"0123456789abcdef0123456789abcdef","status":"Stopped","error":null,"createdBy":"ann","createdAtMs":1700000000000,"updatedAtMs":1700000000000,"updatedBy":"ann",` +
		`"sourceNames":["trades"],"tableInputs":[],"outputFields":[{"name":"symbol","type":"String","children":null,"isArray":false}],"revision":1,"staleReason":null,"environment":"","degraded":null,"staleInputs":[]}`
	if got := asJSON(t, s.ShowPipeline(s.snapshot(), r)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestKeyFieldsHaveThreeStates(t *testing.T) {
	s := open(t)
	s.source(trades)
	for sql, want := range map[string]string{
		"SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol": `["symbol"]`,
		"SELECT COUNT(*) AS n FROM trades":                         `[]`,
		"SELECT symbol, qty FROM trades":                           `null`,
		"SELECT symbol, qty FROM trades LATEST BY (symbol)":        `["symbol"]`,
		"SELECT nope FROM trades":                                  `null`,
	} {
		r := s.table("t"+s.tableCount(), sql)
		if got := asJSON(t, r.KeyFields); got != want {
			t.Errorf("%s: keyFields %s, want %s", sql, got, want)
		}
	}
}

func (s *store) tableCount() string { return string(rune('a' + len(s.snapshot().Tables()))) }

func TestDraftsAreStoredAndCompileOnceTheirInputExists(t *testing.T) {
	s := open(t)
	r := s.table("late", "SELECT symbol FROM trades")
	if r.Facts.Compiled || len(r.OutputFields) != 0 || len(r.Facts.Diagnostics) == 0 {
		t.Fatalf("facts %+v", r.Facts)
	}
	p := s.pipeline("draft", "SELEC")
	s.source(trades)
	if r := s.tableNow(r.ID); !r.Facts.Compiled || len(r.OutputFields) != 1 || r.Revision != 1 {
		t.Errorf("the draft does not follow: %+v", r.Facts)
	}
	if p, _ := s.snapshot().Pipeline(p.ID); p.Facts.Compiled {
		t.Error("nonsense compiles")
	}
}

func TestUpstreamSchemaChangeRefreshesDependentsWithoutARestart(t *testing.T) {
	s := open(t)
	s.source(trades)
	a := s.table("a", "SELECT * FROM trades")
	b := s.table("b", "SELECT * FROM a")
	for _, id := range []string{a.ID, b.ID} {
		if _, err := s.StartTable(t.Context(), env, id); err != nil {
			t.Fatal(err)
		}
	}
	run := s.tableNow(b.ID).Run
	if _, err := s.UpdateSource(t.Context(), env, "ann", "trades", source(t, strings.Replace(trades, `]}`, `,{"name":"venue","type":"String"}]}`, 1)), true); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{a.ID, b.ID} {
		r := s.tableNow(id)
		if len(r.OutputFields) != 4 || r.SchemaRevision != 2 || r.Revision != 1 {
			t.Errorf("%s: %d columns, schemaRevision %d, revision %d", r.Name, len(r.OutputFields), r.SchemaRevision, r.Revision)
		}
	}
	if got := s.tableNow(b.ID).Run; got != run {
		t.Errorf("the dependent restarts: %+v, was %+v", got, run)
	}
	// A field that is gone leaves the dependent on the plan it has.
	if err := s.DeleteSource(t.Context(), env, "trades"); err != nil {
		t.Fatal(err)
	}
	reopened := catalogtest.Open(t, s.bucket)
	sn, _ := reopened.Snapshot(env)
	r, _ := sn.Table(a.ID)
	if len(r.OutputFields) != 4 || r.Run.Desired != catalog.DesiredRunning {
		t.Errorf("after the source is gone and a restart: %d columns, %+v", len(r.OutputFields), r.Run)
	}
}

func TestStartAndStop(t *testing.T) {
	s := open(t)
	s.source(trades)
	base := s.table("base", "SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol")
	top := s.table("top", "SELECT symbol FROM base WHERE n > 1")
	draft := s.table("draft", "SELECT nope FROM trades")

	show := func(r *catalog.TableRecord) catalog.Table { return s.ShowTable(s.snapshot(), r) }
	start := func(id string) catalog.Table {
		r, err := s.StartTable(t.Context(), env, id)
		if err != nil {
			t.Fatal(err)
		}
		return show(r)
	}
	if got := start(top.ID); got.Status != view.Failed || got.Error == nil || *got.Error != "table input(s) not running: base" {
		t.Errorf("start without its input: %s %v", got.Status, got.Error)
	}
	if got := start(draft.ID); got.Status != view.Failed || got.Error == nil || !strings.HasPrefix(*got.Error, "1:8 ") {
		t.Errorf("start a draft: %s %v", got.Status, got.Error)
	}
	if got := start(base.ID); got.Status != view.Running || got.Error != nil {
		t.Errorf("start: %s %v", got.Status, got.Error)
	}
	before := s.tableNow(base.ID).Run.Revision
	if start(base.ID); s.tableNow(base.ID).Run.Revision != before {
		t.Error("starting a running table restarts it")
	}
	if got := start(top.ID); got.Status != view.Running || got.Error != nil {
		t.Errorf("start with its input: %s %v", got.Status, got.Error)
	}
	_, err := s.StopTable(t.Context(), env, base.ID)
	refused(t, err, view.Conflict, "Cannot stop 'base': running table(s) depend on it: top")
	refused(t, s.DeleteTable(t.Context(), env, base.ID), view.Conflict, "Cannot delete 'base': running table(s) depend on it: top")
	if r, err := s.StopTable(t.Context(), env, top.ID); err != nil || show(r).Status != view.Stopped {
		t.Errorf("stop: %v", err)
	}
	if _, err := s.StopTable(t.Context(), env, base.ID); err != nil {
		t.Errorf("stop without dependents: %v", err)
	}
	if r, err := s.StopTable(t.Context(), env, draft.ID); err != nil || show(r).Status != view.Stopped {
		t.Errorf("stop clears a refused start: %v", err)
	}
	if err := s.DeleteTable(t.Context(), env, base.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := s.StartTable(t.Context(), env, "base"); !errors.Is(err, view.ErrUnknown) {
		t.Errorf("a write by name: %v", err)
	}
}

// observer is a runtime that has failed some entities.
type observer map[string]view.EntityStatus

func (o observer) Observed(_ string, _ catalog.InputKind, id string) view.EntityStatus { return o[id] }

func TestAFailedEntityStartsAgainAndIsNoRunningInput(t *testing.T) {
	s := open(t)
	s.source(trades)
	base := s.table("base", "SELECT symbol FROM trades")
	top := s.table("top", "SELECT symbol FROM base")
	r, err := s.StartTable(t.Context(), env, base.ID)
	if err != nil {
		t.Fatal(err)
	}
	s.Observe(observer{base.ID: {Status: view.Failed, Error: "boom", Applied: r.Run.Revision}})
	if got := s.ShowTable(s.snapshot(), s.tableNow(base.ID)); got.Status != view.Failed || *got.Error != "boom" {
		t.Errorf("shown as %s %v", got.Status, got.Error)
	}
	if r, err := s.StartTable(t.Context(), env, top.ID); err != nil || r.Run.Refused != "table input(s) not running: base" {
		t.Errorf("start over a failed input: %+v %v", r.Run, err)
	}
	again, err := s.StartTable(t.Context(), env, base.ID)
	if err != nil || again.Run.Revision <= r.Run.Revision {
		t.Errorf("a failed table does not start again: %+v %v", again.Run, err)
	}
	// The runtime has not looked at the new start yet: it is running, not failed.
	if got := s.ShowTable(s.snapshot(), s.tableNow(base.ID)); got.Status != view.Running || got.Error != nil {
		t.Errorf("after the new start: %s %v", got.Status, got.Error)
	}
}

func TestEditsThatRestart(t *testing.T) {
	s := open(t)
	s.source(trades)
	r := s.table("t", "SELECT symbol, qty FROM trades")
	if _, err := s.StartTable(t.Context(), env, r.ID); err != nil {
		t.Fatal(err)
	}
	text := func(more string) string { return `{"name":"t","sql":"SELECT symbol, qty FROM trades"` + more + `}` }
	for _, step := range []struct {
		text     string
		restarts bool
	}{
		{text(`,"description":"d"`), false},
		{text(`,"tags":["x"],"metadata":{"k":"v"}`), false},
		{text(`,"historyEnabled":true`), false},
		{text(`,"searchEnabled":true`), true},
		{text(`,"searchEnabled":true,"searchMode":"Fuzzy"`), true},
		{text(`,"persistence":"Journaled"`), true},
		{text(`,"flushMs":10`), true},
		{text(`,"journalMaxEntries":10`), true},
		{text(`,"retentionMaxRows":10`), true},
		{text(`,"retentionTtlMs":10`), true},
		{text(`,"parallelism":2`), true},
		{text(`,"shardBy":["symbol"]`), true},
		{text(`,"shardBy":[],"replayFrom":{"trades":{"seq":5}}`), true},
		{`{"name":"t","sql":"SELECT symbol FROM trades"}`, true},
	} {
		before := s.tableNow(r.ID)
		after, err := s.UpdateTable(t.Context(), env, "ann", r.ID, table(t, step.text))
		if err != nil {
			t.Fatalf("%s: %v", step.text, err)
		}
		if after.Revision != before.Revision+1 {
			t.Errorf("%s: revision %d after %d", step.text, after.Revision, before.Revision)
		}
		// Taking the previous setting back is an edit of its own kind; only the setting under test is judged here.
		if restarted := after.Run.Revision != before.Run.Revision; step.restarts && !restarted {
			t.Errorf("%s: no restart", step.text)
		} else if !step.restarts && restarted {
			t.Errorf("%s: a restart", step.text)
		}
		if after.Run.Desired != catalog.DesiredRunning {
			t.Errorf("%s: %+v", step.text, after.Run)
		}
	}
	after, err := s.UpdateTable(t.Context(), env, "ann", r.ID, table(t, `{"name":"t","sql":"SELECT nope FROM trades"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ShowTable(s.snapshot(), after); got.Status != view.Failed || got.Error == nil || after.Run.Desired != catalog.DesiredStopped {
		t.Errorf("a query that does not compile any more: %s %v %+v", got.Status, got.Error, after.Run)
	}
	if after.KeyFields != nil {
		t.Errorf("keyFields %v", after.KeyFields)
	}
}

func TestNullKeepsAndAbsentScalarsReset(t *testing.T) {
	s := open(t)
	s.source(trades)
	r, err := s.CreateTable(t.Context(), env, "ann", table(t, `{"name":"t","sql":"SELECT symbol FROM trades","tags":["x"],"metadata":{"k":"v"},"dependsOn":[{"kind":"source","name":"trades"}],"replayFrom":{"trades":{}},"searchEnabled":true,"description":"d"}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err = s.UpdateTable(t.Context(), env, "ann", r.ID, table(t, `{"name":"t","sql":"SELECT symbol FROM trades","tags":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.SearchEnabled || r.Description != "" {
		t.Error("absent scalars keep their value")
	}
	if len(r.Tags) != 1 || r.Metadata["k"] != "v" || len(r.DependsOn) != 1 || len(r.ReplayFrom) != 1 {
		t.Errorf("null lists do not keep theirs: %+v", r.Table)
	}
	r, err = s.UpdateTable(t.Context(), env, "ann", r.ID, table(t, `{"name":"t","sql":"SELECT symbol FROM trades","tags":[],"metadata":{},"dependsOn":[],"replayFrom":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Tags)+len(r.Metadata)+len(r.DependsOn)+len(r.ReplayFrom) != 0 {
		t.Errorf("empty lists do not clear: %+v", r.Table)
	}
}

func TestTableRules(t *testing.T) {
	s := open(t)
	s.source(trades)
	s.pipeline("pipe", "SELECT symbol FROM trades")
	base := s.table("base", "SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol")
	const q = `"sql":"SELECT symbol, qty FROM trades"`
	for _, c := range []struct {
		text  string
		code  view.Code
		parts []string
	}{
		{`{"name":"x"}`, view.Invalid, []string{"name and sql are required"}},
		{`{"name":"a.b",` + q + `}`, view.Invalid, []string{"'.'"}},
		{`{"name":"x",` + q + `,"searchMode":"Maybe"}`, view.Invalid, []string{"searchMode 'Maybe' is not one of Exact, Fuzzy"}},
		{`{"name":"x",` + q + `,"persistence":"None"}`, view.Invalid, []string{"persistence 'None'"}},
		{`{"name":"x",` + q + `,"dependsOn":[{"kind":"pipeline","name":"p"},{"kind":"table","name":" "}]}`, view.Invalid, []string{"dependsOn[0]: kind 'pipeline'", "dependsOn[1]: name is required"}},
		{`{"name":"x",` + q + `,"sinks":[{}]}`, view.Invalid, []string{"sinks[0] (kind 'nats')"}},
		{`{"name":"x",` + q + `,"parallelism":17,"flushMs":-1}`, view.Conflict, []string{"parallelism is 17", "flushMs is -1"}},
		{`{"name":"x",` + q + `,"parallelism":0}`, view.Conflict, []string{"parallelism is 0"}},
		{`{"name":"x",` + q + `,"historyEnabled":true,"historyMode":"MinBy"}`, view.Conflict, []string{"needs historyByField"}},
		{`{"name":"x",` + q + `,"historyEnabled":true,"historyMode":"MaxBy","historyByField":"symbol"}`, view.Conflict, []string{"must be a number"}},
		{`{"name":"x",` + q + `,"historyEnabled":true,"historyMode":"MaxBy","historyByField":"nope"}`, view.Conflict, []string{"'nope', which is not a column"}},
		{`{"name":"x",` + q + `,"shardBy":["nope"]}`, view.Conflict, []string{"shardBy names 'nope'", "symbol, qty"}},
		{`{"name":"x",` + q + `,"shardBy":["symbol"],"searchEnabled":true,"persistence":"MemoryOnly"}`, view.Conflict, []string{"searchEnabled", "MemoryOnly"}},
		{`{"name":"x",` + q + `,"retentionMaxRows":-1}`, view.Conflict, []string{"retentionMaxRows is -1"}},
		{`{"name":"x",` + q + `,"retentionMaxRows":5,"parallelism":2}`, view.Conflict, []string{"retention needs parallelism 1"}},
		{`{"name":"x","sql":"SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol","retentionMaxRows":5}`, view.Conflict, []string{"retention needs", "GROUP BY"}},
		{`{"name":"x","sql":"SELECT a.symbol FROM trades a JOIN base b ON a.symbol = b.symbol","retentionTtlMs":5}`, view.Conflict, []string{"join"}},
		{`{"name":"x",` + q + `,"replayFrom":{"nope":{"seq":1}}}`, view.Conflict, []string{"replayFrom names 'nope'", "valid inputs: trades"}},
		{`{"name":"x","sql":"SELECT symbol FROM base","replayFrom":{"base":{"seq":1}}}`, view.Conflict, []string{"'base', which is a table"}},
		{`{"name":"x",` + q + `,"replayFrom":{"trades":{"seq":0}}}`, view.Conflict, []string{"seq counts from 1"}},
	} {
		_, err := s.CreateTable(t.Context(), env, "ann", table(t, c.text))
		t.Run(c.text, func(t *testing.T) { refused(t, err, c.code, c.parts...) })
	}
	for _, text := range []string{
		`{"name":"ok1","sql":"SELECT symbol, qty FROM trades LATEST BY (symbol)","retentionMaxRows":5}`,
		`{"name":"ok2",` + q + `,"retentionTtlMs":5}`,
		`{"name":"ok3",` + q + `,"shardBy":["symbol"],"historyEnabled":true,"historyMode":"MaxBy","historyByField":"qty","parallelism":16}`,
		`{"name":"ok4","sql":"SELECT symbol FROM pipe","replayFrom":{"pipe":{"timestampMs":1}}}`,
	} {
		if _, err := s.CreateTable(t.Context(), env, "ann", table(t, text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	// A cycle is refused at the update that would close it, and named.
	mid := s.table("mid", "SELECT symbol FROM base")
	s.table("end", "SELECT symbol FROM mid")
	_, err := s.UpdateTable(t.Context(), env, "ann", base.ID, table(t, `{"name":"base","sql":"SELECT symbol FROM end"}`))
	refused(t, err, view.Conflict, "base -> end -> mid -> base")
	_, err = s.UpdateTable(t.Context(), env, "ann", mid.ID, table(t, `{"name":"mid","sql":"SELECT symbol FROM mid"}`))
	refused(t, err, view.Conflict, "mid -> mid")
}

func TestRename(t *testing.T) {
	s := open(t)
	s.source(trades)
	r := s.table("t", "SELECT symbol FROM trades")
	rename := func(name string) error {
		_, err := s.UpdateTable(t.Context(), env, "ann", r.ID, table(t, `{"name":"`+name+`","sql":"SELECT symbol FROM trades"}`))
		return err
	}
	if err := rename("u"); err != nil {
		t.Fatal(err)
	}
	if len(s.snapshot().TablesFor("t")) != 0 || len(s.snapshot().TablesFor("u")) != 1 {
		t.Error("the old name still leads somewhere")
	}
	refused(t, rename("trades"), view.Conflict, "already used by a source")
	if _, err := s.StartTable(t.Context(), env, r.ID); err != nil {
		t.Fatal(err)
	}
	refused(t, rename("v"), view.Conflict, "Cannot rename 'u': it is running")
	if _, err := s.StopTable(t.Context(), env, r.ID); err != nil {
		t.Fatal(err)
	}
	s.table("reader", "SELECT symbol FROM u")
	refused(t, rename("v"), view.Conflict, "it is an input of reader")
	sharded, err := s.CreateTable(t.Context(), env, "ann", table(t, `{"name":"sharded","sql":"SELECT symbol FROM trades","shardBy":["symbol"]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.UpdateTable(t.Context(), env, "ann", sharded.ID, table(t, `{"name":"w","sql":"SELECT symbol FROM trades"}`))
	refused(t, err, view.Conflict, "shards are keyed")
}

func TestPipelineLifecycle(t *testing.T) {
	s := open(t)
	s.source(trades)
	_, err := s.CreatePipeline(t.Context(), env, "ann", catalog.Pipeline{Name: "x"})
	refused(t, err, view.Invalid, "name and sql are required")
	draft := s.pipeline("draft", "SELECT COUNT(*) AS n FROM trades")
	r, err := s.StartPipeline(t.Context(), env, draft.ID)
	if err != nil || r.Run.Refused == "" || s.ShowPipeline(s.snapshot(), r).Status != view.Failed {
		t.Errorf("start of an aggregate without a window: %+v %v", r.Run, err)
	}
	p := s.pipeline("VWAP by symbol (5s)", "SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 5 SECONDS)")
	if want := []string{"symbol", "vwap", "window_start", "window_end"}; !slices.Equal(catalog.Schema(p.OutputFields).Names(), want) {
		t.Errorf("output %v", catalog.Schema(p.OutputFields).Names())
	}
	if r, err := s.StartPipeline(t.Context(), env, p.ID); err != nil || r.Run.Desired != catalog.DesiredRunning {
		t.Fatalf("start: %+v %v", r.Run, err)
	}
	reader := s.table("reader", `SELECT symbol FROM trades`)
	if _, err := s.StartTable(t.Context(), env, reader.ID); err != nil {
		t.Fatal(err)
	}
	before := s.pipelineNow(p.ID)
	r, err = s.UpdatePipeline(t.Context(), env, "ann", p.ID, catalog.Pipeline{Name: p.Name, SQL: p.SQL, Description: "d"})
	if err != nil || r.Run != before.Run || r.Revision != before.Revision+1 {
		t.Errorf("a description: %+v %v", r.Run, err)
	}
	seq := int64(101)
	r, err = s.UpdatePipeline(t.Context(), env, "ann", p.ID, catalog.Pipeline{Name: p.Name, SQL: p.SQL, ReplayFrom: map[string]catalog.ReplayFrom{"trades": {Seq: &seq}}})
	if err != nil || r.Run.Revision != before.Run.Revision+1 {
		t.Errorf("replayFrom: %+v %v", r.Run, err)
	}
	if err := s.DeletePipeline(t.Context(), env, p.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := s.DeletePipeline(t.Context(), env, p.ID); !errors.Is(err, view.ErrUnknown) {
		t.Errorf("delete again: %v", err)
	}
}

func (s *store) pipelineNow(id string) *catalog.PipelineRecord {
	s.t.Helper()
	r, ok := s.snapshot().Pipeline(id)
	if !ok {
		s.t.Fatalf("pipeline %s is gone", id)
	}
	return r
}

func TestPinsBecomeStale(t *testing.T) {
	s := open(t)
	s.source(trades)
	r, err := s.CreateTable(t.Context(), env, "ann", table(t, `{"name":"t","sql":"SELECT symbol FROM trades","dependsOn":[{"kind":"source","name":"trades","schemaRevision":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	stale := func() string {
		if p := s.ShowTable(s.snapshot(), s.tableNow(r.ID)).StaleReason; p != nil {
			return *p
		}
		return ""
	}
	if got := stale(); got != "" {
		t.Errorf("stale from the start: %s", got)
	}
	if _, err := s.UpdateSource(t.Context(), env, "ann", "trades", source(t, strings.Replace(trades, `]}`, `,{"name":"v","type":"String"}]}`, 1)), true); err != nil {
		t.Fatal(err)
	}
	if got := stale(); got != "source 'trades' is at schemaRevision 2, pinned at 1" {
		t.Errorf("after a schema change: %q", got)
	}
	if err := s.DeleteSource(t.Context(), env, "trades"); err != nil {
		t.Fatal(err)
	}
	if got := stale(); got != "source 'trades' does not exist" {
		t.Errorf("after the source is gone: %q", got)
	}
}

func TestTwoProcessesWriteAtOnce(t *testing.T) {
	b := catalogtest.NewMemory()
	one, two := catalogtest.Open(t, b), catalogtest.Open(t, b)
	if _, err := one.CreateSource(t.Context(), env, "ann", source(t, trades)); err != nil {
		t.Fatal(err)
	}
	// The second process does not know of it yet and finds out at the store.
	_, err := two.CreateSource(t.Context(), env, "bob", source(t, trades))
	refused(t, err, view.Invalid, "source name already exists")

	const n = 20
	var wg sync.WaitGroup
	for i, st := range []*catalog.Store{one, two} {
		wg.Go(func() {
			for k := range n {
				d := source(t, trades)
				d.Metadata = map[string]string{"writer": string(rune('0' + i)), "n": string(rune('a' + k))}
				if _, err := st.UpdateSource(t.Context(), env, "w", "trades", d, true); err != nil && !errors.Is(err, catalog.ErrRevision) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	last := catalogtest.Open(t, b)
	sn, _ := last.Snapshot(env)
	r, _ := sn.Source("trades")
	if r.Revision < n || r.Revision > 2*n+1 {
		t.Errorf("revision %d after %d writes: some are lost or counted twice", r.Revision, 2*n)
	}
}

func TestConcurrentCreatesOfOneName(t *testing.T) {
	s := open(t)
	s.source(trades)
	var wg sync.WaitGroup
	var mu sync.Mutex
	created := 0
	for range 16 {
		wg.Go(func() {
			_, err := s.CreateTable(t.Context(), env, "ann", table(t, `{"name":"same","sql":"SELECT symbol FROM trades"}`))
			if err == nil {
				mu.Lock()
				created++
				mu.Unlock()
			} else if view.CodeOf(err) != view.Conflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if created != 1 || len(s.snapshot().TablesFor("same")) != 1 {
		t.Errorf("%d tables of one name", created)
	}
}

func TestChangesWakeOnceForManyWrites(t *testing.T) {
	s := open(t)
	ch, stop := s.Changes()
	<-ch // ready at the start
	for _, n := range []string{"a", "b", "c"} {
		s.source(strings.Replace(trades, `"trades"`, `"`+n+`"`, 1))
	}
	<-ch
	select {
	case <-ch:
		t.Error("three writes wake more than once")
	default:
	}
	stop()
	s.source(trades)
	select {
	case <-ch:
		t.Error("an ended subscription is woken")
	default:
	}
}

func TestLifecycleEvents(t *testing.T) {
	var got []string
	s := open(t, func(o *catalog.Options) {
		o.Publish = func(_ string, e view.LifecycleEvent) { got = append(got, e.Kind+" "+e.Status) }
	})
	s.source(trades)
	if _, err := s.UpdateSource(t.Context(), env, "ann", "trades", source(t, strings.Replace(trades, `"fields"`, `"enabled":false,"fields"`, 1)), true); err != nil {
		t.Fatal(err)
	}
	tb := s.table("t", "SELECT symbol FROM trades")
	if err := s.DeleteTable(t.Context(), env, tb.ID); err != nil {
		t.Fatal(err)
	}
	p := s.pipeline("p", "SELECT symbol FROM trades")
	if err := s.DeletePipeline(t.Context(), env, p.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSource(t.Context(), env, "trades"); err != nil {
		t.Fatal(err)
	}
	want := []string{"source-started Running", "source-stopped Stopped", "table-created Stopped", "table-deleted Stopped", "created Stopped", "deleted Stopped", "source-deleted Stopped"}
	if !slices.Equal(got, want) {
		t.Errorf("events %q", got)
	}
}

func TestAFailedWriteChangesNothing(t *testing.T) {
	s := open(t)
	s.source(trades)
	s.bucket.Fail = func(string, string) error { return errors.New("no space left") }
	if _, err := s.CreateTable(t.Context(), env, "ann", table(t, `{"name":"t","sql":"SELECT symbol FROM trades"}`)); err == nil || view.CodeOf(err) != view.Internal {
		t.Errorf("got %v", err)
	}
	if err := s.DeleteSource(t.Context(), env, "trades"); err == nil {
		t.Error("a delete that was not stored succeeds")
	}
	sn := s.snapshot()
	if len(sn.Tables()) != 0 || len(sn.Sources()) != 1 {
		t.Error("the snapshot shows what is not stored")
	}
}

func TestInsertNeedsASinkOfTheDefinition(t *testing.T) {
	s := open(t)
	s.source(trades)
	_, err := s.CreatePipeline(t.Context(), env, "ann", catalog.Pipeline{Name: "p", SQL: "INSERT INTO out SELECT symbol FROM trades"})
	refused(t, err, view.Invalid, "no sink named 'out' on this pipeline, add it in Sinks first")
	_, err = s.CreateTable(t.Context(), env, "ann", table(t, `{"name":"t","sql":"INSERT out SELECT symbol FROM trades"}`))
	refused(t, err, view.Invalid, "expected INTO after INSERT")
	for sql, want := range map[string]string{
		"INSERT INTO out SELECT symbol FROM trades": "no sink named 'out' on this table",
		"  insert into SELECT symbol FROM trades":   "expected the name of a sink",
	} {
		v, err := s.ValidateTable(env, sql)
		if err != nil || v.OK || len(v.Diagnostics) != 1 || !strings.Contains(v.Diagnostics[0].Message, want) || v.Diagnostics[0].Line != 1 {
			t.Errorf("%s: %+v %v", sql, v, err)
		}
	}
}

// TestStrictNotInReachesTheQuery compiles one query under both settings: they are different programs.
func TestStrictNotInReachesTheQuery(t *testing.T) {
	explain := func(strict bool) string {
		s := open(t, func(o *catalog.Options) { o.StrictNotIn = strict })
		s.source(trades)
		r := s.table("t", "SELECT symbol FROM trades WHERE qty NOT IN (SELECT qty FROM trades WHERE price > 1)")
		p, err := s.CompileTable(s.snapshot(), r)
		if err != nil {
			t.Fatal(err)
		}
		return p.Explain()
	}
	if documented, strict := explain(false), explain(true); documented == strict {
		t.Errorf("the setting changes nothing:\n%s", strict)
	}
}

package intake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

func (r *rig) create(s catalog.Source) {
	r.t.Helper()
	if _, err := r.store.CreateSource(r.t.Context(), "", "tester", s); err != nil {
		r.t.Fatal(err)
	}
}

func generatorOf(name, profile string, rate float64) catalog.Source {
	s := catalog.NewSource()
	s.Name, s.GeneratorProfile, s.EventsPerSecond = name, profile, rate
	s.Fields = []catalog.Field{{Name: "symbol"}}
	return s
}

// messages counts what a source's stream has ever stored.
func (r *rig) messages(name string) uint64 {
	r.t.Helper()
	st, err := r.log.Stream(r.t.Context(), streams.SourceStream("default", name))
	if errors.Is(err, streams.ErrNotFound) {
		return 0
	}
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := st.State(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s.Last
}

func (r *rig) update(name string, change func(*catalog.Source)) {
	r.t.Helper()
	sn, err := r.store.Snapshot("")
	if err != nil {
		r.t.Fatal(err)
	}
	rec, ok := sn.Source(name)
	if !ok {
		r.t.Fatalf("no source %s", name)
	}
	s := rec.Source
	change(&s)
	if _, err := r.store.UpdateSource(r.t.Context(), "", "tester", name, s, true); err != nil {
		r.t.Fatal(err)
	}
}

func TestGeneratorsFollowTheCatalog(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Rand = func() rand.Source { return rand.NewPCG(1, 2) }
		o.Decoded = func(env, source string) (int64, int64) { return 3, 4 }
	})
	r.create(generatorOf("g", "trades", 500))
	r.await("rows", func() bool { return r.messages("g") >= 5 })
	status := func() view.ConnectorStatus {
		t.Helper()
		s, err := r.in.Connectors().Status(t.Context(), "", "g")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := status(); s.LastStatus != "ok" || s.EventsEmittedTotal < 5 || s.SourceName != "g" || s.LastError != nil || s.CoercionFailuresTotal != 3 || s.QuarantinedTotal != 4 {
		t.Errorf("status %+v", s)
	}
	r.update("g", func(s *catalog.Source) { s.Enabled = false })
	r.await("the unit is gone", func() bool { return len(r.in.present()) == 0 })
	at := r.messages("g")
	emitted := int64(0)
	if s := status(); s.LastStatus != "never" {
		t.Errorf("status while disabled %+v", s)
	}
	r.restart()
	if n := r.messages("g"); n != at {
		t.Errorf("a disabled generator went on: %d messages, then %d", at, n)
	}
	r.update("g", func(s *catalog.Source) { s.Enabled, s.GeneratorProfile = true, "quotes" })
	r.await("rows again", func() bool { return r.messages("g") > at+5 })
	if emitted = status().EventsEmittedTotal; emitted < int64(at) {
		t.Errorf("the counter went back: %d of %d", emitted, at)
	}
	st, err := r.log.Stream(t.Context(), streams.SourceStream("default", "g"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := st.Get(t.Context(), at+1)
	if err != nil || !strings.Contains(string(m.Data), `"bid":`) || m.Header.Get("Content-Type") != "application/json" || m.Header.Get("Nats-Msg-Id") == "" {
		t.Errorf("message %s %v, %v", m.Data, m.Header, err)
	}
	// Another kind: the generator stops before the buffer starts.
	r.update("g", func(s *catalog.Source) {
		s.Kind, s.Ingest = catalog.KindIngest, &catalog.IngestConfig{Policy: "Reject", CapacityRows: 10, MaxBatchRows: 10, MaxWaitMs: 1000}
	})
	if got := r.push("g", `{"events":[{"symbol":"X"}]}`); got.Outcome != view.Accepted {
		t.Errorf("%+v", got)
	}
	if s := r.balanced("g"); s.TotalAccepted != 1 {
		t.Errorf("status %+v", s)
	}
	if err := r.store.DeleteSource(t.Context(), "", "g"); err != nil {
		t.Fatal(err)
	}
	r.await("the unit is gone", func() bool { return len(r.in.present()) == 0 })
	if _, err := r.in.Connectors().Status(t.Context(), "", "g"); !errors.Is(err, view.ErrUnknown) {
		t.Errorf("status of a deleted source: %v", err)
	}
}

// TestBrokenSourceStaysAlone: one source whose stream cannot be made does not keep another from running.
func TestBrokenSourceStaysAlone(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.SourceLimits = func(s *catalog.SourceRecord) streams.Limits {
			if s.Name == "broken" {
				return streams.Limits{MaxAge: 1} // below what the log accepts
			}
			return streams.Limits{}
		}
	})
	r.create(generatorOf("broken", "trades", 100))
	r.create(generatorOf("fine", "trades", 100))
	r.await("rows of the other", func() bool { return r.messages("fine") > 3 })
	r.await("the fault is shown", func() bool {
		s, err := r.in.Connectors().Status(t.Context(), "", "broken")
		return err == nil && s.LastStatus == "error" && s.LastError != nil
	})
}

func scenario(name string) catalog.Source {
	s := generatorOf(name, "scenario", 5)
	s.Scenario = &catalog.ScenarioSpec{
		Paths: 2, Days: 3, MaxBatchRows: 1000, Seed: 7, Distribution: catalog.ScenarioDistribution{Kind: "normal", Df: 5},
		Instruments: []catalog.Instrument{{ID: "x", Base: 100, Vol: 1}, {ID: "y", Base: 50, Vol: 2, Group: "g"}},
	}
	return s
}

func TestScenarioRuns(t *testing.T) {
	r := newRig(t)
	r.create(scenario("sc"))
	run := func(q view.ScenarioRequest) view.ScenarioRun {
		t.Helper()
		got, err := r.in.Scenarios().Run(t.Context(), "", "sc", q)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	full := run(view.ScenarioRequest{RunID: "r"})
	if full.Accepted != 12 || len(full.Rows) != 12 || r.messages("sc") != 1 {
		t.Fatalf("%d rows, %d messages", full.Accepted, r.messages("sc"))
	}
	var steps []view.ScenarioRow
	for day := range 4 {
		got := run(view.ScenarioRequest{RunID: "r", Step: true})
		if want := 4; day < 3 && got.Accepted != want || day == 3 && (got.Accepted != 0 || got.Rows == nil) {
			t.Errorf("step %d: %d rows", day+1, got.Accepted)
		}
		steps = append(steps, got.Rows...)
	}
	for i := range steps {
		a, b := full.Rows[i], steps[i]
		a.Ts, b.Ts = 0, 0
		if a != b {
			t.Errorf("row %d: %+v, in steps %+v", i, a, b)
		}
	}
	seed, days, rho, df := int64(8), 1, 0.5, 4.0
	other := run(view.ScenarioRequest{RunID: "r", Seed: &seed, Overrides: &view.ScenarioOverrides{
		Days: &days, Rho: &rho, Distribution: &view.ScenarioDistribution{Kind: "student_t", Df: &df},
	}})
	if other.Accepted != 4 || other.Rows[0].Shock == full.Rows[0].Shock {
		t.Errorf("%+v", other)
	}
	// The rows are in the stream as they were returned.
	st, err := r.log.Stream(t.Context(), streams.SourceStream("default", "sc"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := st.Get(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(m.Data), "\n")
	if len(lines) != 12 || !strings.Contains(lines[0], `"run_id":"r","path_id":0,"instrument_id":"x","day":1`) || m.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%d lines, the first %s", len(lines), lines[0])
	}
}

func TestScenarioRefusals(t *testing.T) {
	r := newRig(t)
	r.create(scenario("sc"))
	r.create(generatorOf("g", "trades", 1))
	run := func(source string, q view.ScenarioRequest) error {
		_, err := r.in.Scenarios().Run(t.Context(), "", source, q)
		return err
	}
	if err := run("nope", view.ScenarioRequest{RunID: "r"}); view.CodeOf(err) != view.Unknown {
		t.Errorf("unknown: %v", err)
	}
	if err := run("g", view.ScenarioRequest{RunID: "r"}); view.CodeOf(err) != view.Conflict {
		t.Errorf("wrong profile: %v", err)
	}
	zero, far := 0, 7.0
	err := run("sc", view.ScenarioRequest{Overrides: &view.ScenarioOverrides{Paths: &zero, Rho: &far}})
	var p interface{ Problems() []string }
	if view.CodeOf(err) != view.Invalid || !errors.As(err, &p) || len(p.Problems()) != 3 || !strings.Contains(err.Error(), "; ") {
		t.Errorf("three faults: %v", err)
	}
	if r.messages("sc") != 0 {
		t.Error("a refused run has rows")
	}
	r.update("sc", func(s *catalog.Source) { s.Enabled = false })
	if err := run("sc", view.ScenarioRequest{RunID: "r"}); view.CodeOf(err) != view.Conflict {
		t.Errorf("disabled: %v", err)
	}
}

// TestScenarioTicksNothing: the rate of a scenario is ignored.
func TestScenarioTicksNothing(t *testing.T) {
	r := newRig(t)
	s := scenario("sc")
	s.EventsPerSecond = 1000
	r.create(s)
	r.create(generatorOf("g", "trades", 1000))
	r.await("a generator beside it has a hundred rows", func() bool { return r.messages("g") > 100 })
	if n := r.messages("sc"); n != 0 {
		t.Errorf("%d messages without a run", n)
	}
}

// TestHighRatesShareMessages: more rows a second than ticks become several rows a message.
func TestHighRatesShareMessages(t *testing.T) {
	r := newRig(t)
	r.create(generatorOf("g", "trades", 20_000))
	r.await("messages", func() bool { return r.messages("g") > 20 })
	st, err := r.log.Stream(t.Context(), streams.SourceStream("default", "g"))
	if err != nil {
		t.Fatal(err)
	}
	rows := []int{}
	if err := scan(t.Context(), st, 1, func(m streams.Msg) {
		rows = append(rows, strings.Count(string(m.Data), "\n")+1)
	}); err != nil {
		t.Fatal(err)
	}
	if slices.Max(rows) < 10 {
		t.Errorf("rows a message: %v", rows)
	}
}

func TestRunStopsEverything(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.create(generatorOf(fmt.Sprint("g", i), "trades", 1000))
		r.source(fmt.Sprint("s", i), `{}`)
		r.ids(fmt.Sprint("s", i), "a")
	}
	r.stop()
	if n := len(r.in.present()); n != 0 {
		t.Errorf("%d units are left", n)
	}
	if got := r.ids("s0", "b"); got.Outcome != view.IngestUnavailable {
		t.Errorf("%+v", got)
	}
	if _, err := r.in.Scenarios().Run(context.Background(), "", "g0", view.ScenarioRequest{}); view.CodeOf(err) != view.Conflict {
		t.Errorf("%v", err)
	}
}

// TestStreamThatVanishesIsMadeAgain: whoever deletes the stream of a source of the same name, late, hits the new one.
func TestStreamThatVanishesIsMadeAgain(t *testing.T) {
	r := newRig(t)
	r.create(generatorOf("g", "trades", 200))
	r.create(scenario("sc"))
	r.source("s", `{"maxWaitMs":100}`)
	r.source("i", `{"policy":"Inline"}`)
	r.ids("s", "a")
	r.ids("i", "a")
	r.await("rows", func() bool { return r.messages("g") > 3 })
	for _, name := range []string{"g", "s", "i", "sc"} {
		if err := r.log.DeleteStream(t.Context(), streams.SourceStream("default", name)); err != nil {
			t.Fatal(err)
		}
	}
	r.await("rows again", func() bool { return r.messages("g") > 3 })
	for _, name := range []string{"s", "i"} {
		// The first push may find out; it is admitted or says that it was not.
		r.await("pushes again", func() bool { return r.ids(name, "b").Outcome == view.Accepted })
		r.await("stored again", func() bool { return slices.Contains(r.stored(name), "b") })
		r.balanced(name)
	}
	if got, err := r.in.Scenarios().Run(t.Context(), "", "sc", view.ScenarioRequest{RunID: "r"}); err != nil || got.Accepted != 12 {
		t.Errorf("%d rows, %v", got.Accepted, err)
	}
}

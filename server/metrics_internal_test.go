package server

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamsforge/streamsforge/server/config"
)

// TestMetricsAreBounded scrapes a seeded server that may show two entities: the others are counted, and their streams
// have no series either. The registry is a pedantic one, which refuses series that contradict each other.
func TestMetricsAreBounded(t *testing.T) {
	c := config.Default()
	c.DataDir, c.HTTP.Port, c.Nats.Listen = t.TempDir(), 0, "127.0.0.1:0"
	s, err := New(Options{Settings: c})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) && err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	select {
	case <-s.Ready():
	case err := <-ended:
		ended <- err
		t.Fatalf("start: %v", err)
	}
	sn, err := s.catalog.Snapshot("default")
	if err != nil {
		t.Fatal(err)
	}
	all := len(sn.Sources()) + len(sn.Tables()) + len(sn.Pipelines())
	for _, limit := range []int{2, len(sn.Sources()) + 1, all, maxEntities} {
		hidden, names := scrape(t, &entityMetrics{catalog: s.catalog, runtime: s.runtime, ingest: s.intake.Ingest(), log: s.log, max: limit})
		if want := float64(max(0, all-limit)); hidden != want {
			t.Errorf("at most %d of %d: %v are counted as hidden, want %v", limit, all, hidden, want)
		}
		if want := min(limit, all); len(names) > want || len(names) == 0 {
			t.Errorf("at most %d of %d: the streams of %d entities have series: %v", limit, all, len(names), names)
		}
	}
}

// scrape reads how many entities are hidden and the streams of which entities are shown.
func scrape(t *testing.T, m *entityMetrics) (hidden float64, names map[string]bool) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(m)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names = map[string]bool{}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			switch f.GetName() {
			case "streamsforge_entities_hidden":
				hidden = series.GetGauge().GetValue()
			case "streamsforge_jetstream_stream_messages":
				of := ""
				for _, l := range series.GetLabel() {
					if l.GetName() == "kind" || l.GetName() == "name" {
						of += l.GetValue() + " "
					}
				}
				names[of] = true
			}
		}
	}
	return hidden, names
}

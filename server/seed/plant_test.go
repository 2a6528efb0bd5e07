package seed_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/seed"

	_ "github.com/streamsforge/streamsforge/connectors/standard"
)

// memory is a bucket of definitions.
type memory struct {
	mu      sync.Mutex
	last    uint64
	entries map[string]catalog.Entry
}

func (m *memory) All(context.Context) ([]catalog.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []catalog.Entry
	for _, k := range slices.Sorted(maps.Keys(m.entries)) {
		out = append(out, m.entries[k])
	}
	return out, nil
}

func (m *memory) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return m.Update(ctx, key, value, 0)
}

func (m *memory) Update(_ context.Context, key string, value []byte, expect uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key].Revision != expect {
		return 0, catalog.ErrRevision
	}
	m.last++
	m.entries[key] = catalog.Entry{Key: key, Value: value, Revision: m.last}
	return m.last, nil
}

func (m *memory) Delete(_ context.Context, key string, _ uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
	return nil
}

func open(t *testing.T, bucket *memory) *catalog.Store {
	t.Helper()
	s, err := catalog.Open(t.Context(), catalog.Options{Bucket: bucket, IdleMs: 5000})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// planted says for each entry of the world whether this build can run it. An entry turns
// to true when the SQL that it needs is built; nothing else has to change.
var planted = map[string]bool{
	"VWAP by symbol (5s)":         true,
	"Trade vs quote spread":       true,
	"Hot symbol VWAP (nested)":    true,
	"Order bursts (session)":      true,
	"Unfilled orders (LEFT JOIN)": true,
	"JSON payload join":           true,
	"fill-rate-5s":                true,
	"positions":                   true,
	"gold_tier_orders":            true,
	"hot_symbols":                 true,
	"leg_exposure":                true,
	"order_states":                true,
}

func TestPlant(t *testing.T) {
	bucket := &memory{entries: map[string]catalog.Entry{}}
	store := open(t, bucket)
	sn, err := store.Snapshot("")
	if err != nil || !seed.Empty(sn) {
		t.Fatalf("a new catalog is not empty: %v", err)
	}
	report, err := seed.Plant(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]string{}
	for _, l := range report.LeftOut {
		left[l.Name] = l.Why
	}
	for name, want := range planted {
		in := slices.Contains(report.Pipelines, name) || slices.Contains(report.Tables, name)
		if in != want {
			t.Errorf("%s: planted %v, want %v (%s)", name, in, want, left[name])
		}
		if why, out := left[name]; out == in || out && why == "" {
			t.Errorf("%s is left out for %q", name, why)
		}
	}
	if len(report.Sources) != 6 || len(planted) != len(seed.Pipelines())+len(seed.Tables()) {
		t.Errorf("%d sources, %d entries", len(report.Sources), len(planted))
	}

	sn, _ = store.Snapshot("")
	for _, e := range seed.Tables() {
		r, ok := sn.TableNamed(e.Name)
		if !ok {
			continue
		}
		if running := r.Run.Desired == catalog.DesiredRunning; running != e.Running || r.Run.Refused != "" {
			t.Errorf("table %s: running %v, refused %q", e.Name, running, r.Run.Refused)
		}
		if !r.Facts.Compiled || len(r.OutputFields) == 0 || r.CreatedBy != "system" {
			t.Errorf("table %s: %+v", e.Name, r)
		}
	}
	for _, e := range seed.Pipelines() {
		for _, r := range sn.PipelinesFor(e.Name) {
			if running := r.Run.Desired == catalog.DesiredRunning; running != e.Running || len(r.SourceNames) == 0 || len(r.OutputFields) == 0 {
				t.Errorf("pipeline %s: %+v", e.Name, r)
			}
		}
	}

	// A second planting, as after a seeding that was cut short, adds nothing.
	again, err := seed.Plant(t.Context(), open(t, bucket))
	if err != nil || len(again.Sources)+len(again.Pipelines)+len(again.Tables) != 0 {
		t.Errorf("planting again: %+v, %v", again, err)
	}
}

func TestPlantGoesOnWhereItStopped(t *testing.T) {
	bucket := &memory{entries: map[string]catalog.Entry{}}
	store := open(t, bucket)
	if _, err := store.CreateSource(t.Context(), "", seed.Author, seed.Sources()[0]); err != nil {
		t.Fatal(err)
	}
	report, err := seed.Plant(t.Context(), store)
	if err != nil || len(report.Sources) != 5 || len(report.Tables) == 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestTheWorldOfTheContract(t *testing.T) {
	want := `trades trades 8: symbol String, price Double, qty Long, side String, venue String
quotes quotes 10: symbol String, bid Double, ask Double, bidSize Long, askSize Long, venue String
orders orders 4: symbol String, orderId String, side String, qty Long, limitPrice Double, status String
app_events json-events 3: eventType String, payload Json {user Json {id String, tier String}, order Json {symbol String, qty Long, price Double}, tags Json}
structures multileg 3: trade_id String, product String, notional_ccy String, legs Json[] {leg_no Long, pay_rcv String, notional Double, ccy String, rate_type String, rate Double, cp String, strike Double, expiry_ts Timestamp, ratio Double}
order_events lifecycle 5: order_id String, symbol String, side String, stage String, stage_rank Long, stage_ts Timestamp, qty Long, filled_qty Long, px Double`
	var lines []string
	for _, s := range seed.Sources() {
		rate := map[float64]string{3: "3", 4: "4", 5: "5", 8: "8", 10: "10"}[s.EventsPerSecond]
		lines = append(lines, s.Name+" "+s.GeneratorProfile+" "+rate+": "+describe(s.Fields))
		if !s.Enabled || s.Kind != "generator" {
			t.Errorf("source %s is not an enabled generator", s.Name)
		}
	}
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("sources:\n%s\nwant:\n%s", got, want)
	}
	running := map[string]bool{}
	for _, p := range seed.Pipelines() {
		running[p.Name] = p.Running
	}
	for _, e := range seed.Tables() {
		running[e.Name] = e.Running
	}
	for name, want := range map[string]bool{
		"VWAP by symbol (5s)": true, "Trade vs quote spread": true, "Hot symbol VWAP (nested)": true, "Order bursts (session)": false,
		"Unfilled orders (LEFT JOIN)": false, "JSON payload join": false, "fill-rate-5s": true,
		"positions": true, "gold_tier_orders": false, "hot_symbols": false, "leg_exposure": true, "order_states": true,
	} {
		if running[name] != want {
			t.Errorf("%s: running %v", name, running[name])
		}
	}
	roles := map[string]access.Role{}
	for _, u := range seed.Users() {
		roles[u.Username+" "+u.Password] = u.Role
	}
	if len(roles) != 3 || roles["admin admin123!"] != access.Admin || roles["editor editor123!"] != access.Editor || roles["viewer viewer123!"] != access.Viewer {
		t.Errorf("users %v", roles)
	}
}

func describe(fields []catalog.Field) string {
	var parts []string
	for _, f := range fields {
		part := f.Name + " " + f.Type.String()
		if f.IsArray {
			part += "[]"
		}
		if f.Type == types.Json && len(f.Children) > 0 {
			part += " {" + describe(f.Children) + "}"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

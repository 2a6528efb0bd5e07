package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/streamsforge/streamsforge/server"
	"github.com/streamsforge/streamsforge/server/config"
	"github.com/streamsforge/streamsforge/streams"
)

// running is a server of this process.
type running struct {
	*server.Server
	stop  func() error
	token string
}

func settings(dir string) config.Settings {
	s := config.Default()
	s.DataDir, s.HTTP.Port, s.Nats.Listen = dir, 0, "127.0.0.1:0"
	return s
}

func start(t *testing.T, c config.Settings) *running {
	t.Helper()
	s, err := server.New(server.Options{Settings: c})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	r := &running{Server: s}
	r.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	select {
	case <-s.Ready():
	case err := <-ended:
		stopped = true
		t.Fatalf("start: %v", err)
	}
	var session struct{ Token string }
	r.do(t, http.StatusOK, http.MethodPost, "/api/auth/login", map[string]string{"username": "admin", "password": "admin123!"}, &session)
	r.token = session.Token
	return r
}

func (r *running) do(t *testing.T, want int, method, path string, body, into any) string {
	t.Helper()
	var in io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, r.Started().REST+path, in)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != want {
		t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return string(text)
}

type instance struct {
	InstanceID      string   `json:"instanceId"`
	Flavor          string   `json:"flavor"`
	CatalogWarnings []string `json:"catalogWarnings"`
	CatalogCounts   struct{ Sources, Pipelines, Tables int }
}

func (r *running) instance(t *testing.T) (i instance) {
	t.Helper()
	r.do(t, http.StatusOK, http.MethodGet, "/api/meta/instance", nil, &i)
	return i
}

// await polls a condition, which says what it sees until it holds.
func await(t *testing.T, cond func() string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for {
		saw := cond()
		if saw == "" {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within 30 s: %s", saw)
		}
	}
}

func TestFirstStartRestartAndNewDirectory(t *testing.T) {
	dir := t.TempDir()
	first := start(t, settings(dir))
	seeded := first.instance(t)
	if c := seeded.CatalogCounts; c.Sources != 6 || c.Pipelines < 2 || c.Tables != 5 || seeded.Flavor != "nats" {
		t.Errorf("seeded %+v", seeded)
	}
	if w := strings.Join(seeded.CatalogWarnings, "\n"); !strings.Contains(w, "Demo passwords are in use (admin, editor, viewer)") {
		t.Errorf("warnings %q", w)
	}
	if got := first.Started().Demo; len(got) != 3 {
		t.Errorf("demo logins %q", got)
	}
	// What somebody removed from the demo world stays removed.
	first.do(t, http.StatusNoContent, http.MethodDelete, "/api/sources/quotes", nil, nil)
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, settings(dir))
	again := second.instance(t)
	if again.InstanceID != seeded.InstanceID || again.CatalogCounts.Sources != 5 || second.Started().Seeded.Sources != 0 {
		t.Errorf("after a restart: %+v, seeded %+v", again, second.Started().Seeded)
	}
	if err := second.stop(); err != nil {
		t.Fatal(err)
	}
	// A seeding that a crash cut short is completed.
	if err := os.WriteFile(filepath.Join(dir, "seeding"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	third := start(t, settings(dir))
	if got := third.instance(t); got.CatalogCounts.Sources != 6 {
		t.Errorf("after an interrupted seeding: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "seeding")); err == nil {
		t.Error("the mark of an interrupted seeding stays")
	}
	if fresh := start(t, settings(t.TempDir())).instance(t); fresh.InstanceID == seeded.InstanceID {
		t.Error("a new directory has the identity of another")
	}
}

func TestWithoutDemo(t *testing.T) {
	c := settings(t.TempDir())
	c.Seed.Demo = false
	r := start(t, c)
	if got := r.instance(t).CatalogCounts; got.Sources+got.Pipelines+got.Tables != 0 {
		t.Errorf("seeded %+v", got)
	}
	if len(r.Started().Demo) != 3 {
		t.Error("the logins of an empty server are not there")
	}
}

func TestInMemory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	c := settings(dir)
	c.Streams.Storage = "memory"
	r := start(t, c)
	if r.instance(t).CatalogCounts.Sources != 6 || r.Started().DataDir != "" {
		t.Errorf("%+v", r.Started())
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a server in memory writes a data directory")
	}
}

func TestMetrics(t *testing.T) {
	r := start(t, settings(t.TempDir()))
	await(t, func() string {
		text := r.do(t, http.StatusOK, http.MethodGet, "/metrics", nil, nil)
		for _, name := range []string{
			`streamsforge_build_info{`, `go_goroutines `, `process_resident_memory_bytes `,
			`streamsforge_source_rows_total{environment="default",source="trades"}`, `streamsforge_source_quarantined_rows_total{`, `streamsforge_source_read_bytes_total{`,
			`streamsforge_table_rows{environment="default",table="positions"}`, `streamsforge_table_deltas_out_total{`, `streamsforge_table_state_bytes{`, `streamsforge_table_epoch{`,
			`streamsforge_pipeline_rows_in_total{environment="default",pipeline="VWAP by symbol (5s)"}`, `streamsforge_pipeline_late_rows_total{`,
			`streamsforge_entity_running{environment="default",kind="table",name="positions"} 1`, `streamsforge_entity_running{environment="default",kind="table",name="hot_symbols"} 0`,
			`streamsforge_entity_commits_total{environment="default",kind="table",name="positions"}`, `streamsforge_entity_commit_seconds_total{`, `streamsforge_entity_epochs_behind{`,
			`streamsforge_pipeline_watermark_lag_seconds{`, `streamsforge_clock_epoch{environment="default"}`, `streamsforge_nats_refused_operations_total `,
			`streamsforge_entity_latency_seconds_bucket{environment="default",kind="table",le="0.001"}`, `streamsforge_entity_latency_seconds_count{environment="default",kind="pipeline"}`,
			`streamsforge_jetstream_bytes{storage="file"}`, `streamsforge_http_requests_total{`,
		} {
			if !strings.Contains(text, name) {
				return "no " + name
			}
		}
		return ""
	})
}

// TestIngestMetrics pushes rows that are taken, that repeat a key, and that do not fit, and finds each in its own counter.
func TestIngestMetrics(t *testing.T) {
	c := settings(t.TempDir())
	c.Seed.Demo = false
	r := start(t, c)
	r.do(t, http.StatusCreated, http.MethodPost, "/api/sources", map[string]any{
		"name": "pushed", "kind": "ingest", "ingest": map[string]any{"policy": "Inline", "dedupKeyField": "k"}, "onCoercionFailure": "DropRow",
		"fields": []map[string]string{{"name": "k", "type": "String"}, {"name": "v", "type": "Long"}}}, nil)
	rows := []map[string]any{{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 3}, {"k": "c", "v": "many"}}
	r.do(t, http.StatusAccepted, http.MethodPost, "/api/sources/pushed/events", map[string]any{"events": rows, "partial": true}, nil)
	r.do(t, http.StatusBadRequest, http.MethodPost, "/api/sources/pushed/events", map[string]any{"events": []any{1, rows[0]}}, nil)
	text := r.do(t, http.StatusOK, http.MethodGet, "/metrics", nil, nil)
	for name, want := range map[string]int{
		"accepted_rows_total": 2, "duplicate_rows_total": 1, "invalid_rows_total": 2, "rejected_rows_total": 1, "dropped_rows_total": 0,
		"published_rows_total": 2, "depth_rows": 0,
	} {
		line := fmt.Sprintf("streamsforge_ingest_%s{environment=\"default\",source=\"pushed\"} %d\n", name, want)
		if !strings.Contains(text, line) {
			t.Errorf("no %q in /metrics", line)
		}
	}
}

// value reads one series of a scrape; ok is false when it is not there.
func value(t *testing.T, text, series string) (v float64, ok bool) {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatalf("%s: %v", series, err)
			}
			return v, true
		}
	}
	return 0, false
}

// TestWorkMetrics follows pushed rows into a table: how old they were when they were served, the checkpoint that holds
// them and the streams that they are in. After a restart the age of the checkpoint goes on.
func TestWorkMetrics(t *testing.T) {
	c := settings(t.TempDir())
	c.Seed.Demo = false
	c.Tables.Checkpoint = 100 * time.Millisecond
	r := start(t, c)
	r.do(t, http.StatusCreated, http.MethodPost, "/api/sources", map[string]any{
		"name": "pushed", "kind": "ingest", "ingest": map[string]any{"policy": "Inline"}, "fields": []map[string]string{{"name": "a", "type": "Long"}}}, nil)
	var table struct{ ID string }
	r.do(t, http.StatusCreated, http.MethodPost, "/api/tables", map[string]string{"name": "sums", "sql": "SELECT a, COUNT(*) AS n FROM pushed GROUP BY a"}, &table)
	r.do(t, http.StatusOK, http.MethodPost, "/api/tables/"+table.ID+"/start", nil, nil)
	const (
		source = `{environment="default",kind="source",log="rows",name="pushed"}`
		deltas = `{environment="default",kind="table",log="deltas",name="sums"}`
		sums   = `{environment="default",kind="table",name="sums"}`
		tables = `environment="default",kind="table"`
	)
	var text string
	pushes := 0.0
	await(t, func() string {
		// Rows that a table finds when it is built have waited for it and do not count; sooner or later it is live.
		r.do(t, http.StatusAccepted, http.MethodPost, "/api/sources/pushed/events", map[string]any{"events": []map[string]int{{"a": 1}}}, nil)
		pushes++
		text = r.do(t, http.StatusOK, http.MethodGet, "/metrics", nil, nil)
		for _, series := range []string{
			"streamsforge_entity_latency_seconds_count{" + tables + "}", "streamsforge_entity_checkpoint_seconds_total" + sums,
			"streamsforge_entity_checkpoint_last_seconds" + sums, "streamsforge_entity_checkpoint_bytes" + sums,
			"streamsforge_entity_checkpoint_age_seconds" + sums, "streamsforge_jetstream_stream_messages" + deltas, "streamsforge_jetstream_stream_bytes" + deltas,
		} {
			if v, _ := value(t, text, series); v <= 0 {
				return "nothing in " + series
			}
		}
		return ""
	})
	count, _ := value(t, text, "streamsforge_entity_latency_seconds_count{"+tables+"}")
	if all, _ := value(t, text, "streamsforge_entity_latency_seconds_bucket{"+tables+`,le="+Inf"}`); all != count {
		t.Errorf("the last bucket has %v of %v observations", all, count)
	}
	if sum, ok := value(t, text, "streamsforge_entity_latency_seconds_sum{"+tables+"}"); !ok || sum > 60*count {
		t.Errorf("%v rows waited %v seconds in all: that is no latency in seconds", count, sum)
	}
	if n, ok := value(t, text, `streamsforge_entity_latency_seconds_count{environment="default",kind="pipeline"}`); !ok || n != 0 {
		t.Errorf("without a pipeline its kind counts %v (%v)", n, ok)
	}
	if n, _ := value(t, text, "streamsforge_jetstream_stream_messages"+source); n != pushes {
		t.Errorf("%v messages in the log of the source after %v pushes", n, pushes)
	}
	if age, _ := value(t, text, "streamsforge_entity_checkpoint_age_seconds"+sums); age > 60 {
		t.Errorf("the newest checkpoint is %v seconds old", age)
	}
	if strings.Contains(text, `log="late"`) || strings.Contains(text, "EPOCHS") {
		t.Error("streams are shown that do not exist or belong to no entity")
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	// Nothing changes any more, so the next process has a checkpoint without writing one.
	c.Tables.Checkpoint = time.Hour
	again := start(t, c)
	await(t, func() string {
		text = again.do(t, http.StatusOK, http.MethodGet, "/metrics", nil, nil)
		if v, _ := value(t, text, "streamsforge_entity_checkpoint_age_seconds"+sums); v <= 0 {
			return "the checkpoint of the process before has no age"
		}
		return ""
	})
	if n, ok := value(t, text, "streamsforge_entity_checkpoints_total"+sums); ok && n == 0 {
		if _, ok := value(t, text, "streamsforge_entity_checkpoint_last_seconds"+sums); ok {
			t.Error("a checkpoint that this process did not write has a duration")
		}
	}
}

// TestNATSRights follows clients through what happens to their rights while they are connected.
func TestNATSRights(t *testing.T) {
	c := settings(t.TempDir())
	c.Seed.Demo = false
	r := start(t, c)
	ingest := func(name string) map[string]any {
		return map[string]any{"name": name, "kind": "ingest", "ingest": map[string]any{}, "fields": []map[string]string{{"name": "a", "type": "Long"}}}
	}
	r.do(t, http.StatusCreated, http.MethodPost, "/api/sources", ingest("one"), nil)

	connect := func(user, password string) (*nats.Conn, chan error) {
		t.Helper()
		refused := make(chan error, 16)
		nc, err := nats.Connect("nats://"+r.Started().NATS, nats.UserInfo(user, password), nats.CustomInboxPrefix("_INBOX_"+user), nats.NoReconnect(),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		if err != nil {
			t.Fatalf("connect as %s: %v", user, err)
		}
		t.Cleanup(nc.Close)
		return nc, refused
	}
	publish := func(nc *nats.Conn, source string) error {
		_, err := nc.Request(streams.SourceSubject("default", source), []byte(`{"a":1}`), 5*time.Second)
		return err
	}
	if _, err := nats.Connect("nats://"+r.Started().NATS, nats.UserInfo("editor", "wrong"), nats.NoReconnect()); err == nil {
		t.Error("a wrong password is let in")
	}
	editor, _ := connect("editor", "editor123!")
	viewer, refused := connect("viewer", "viewer123!")
	if err := publish(editor, "one"); err != nil {
		t.Errorf("an editor publishes: %v", err)
	}
	if err := viewer.Publish(streams.SourceSubject("default", "one"), []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := <-refused; !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("a viewer publishes: %v", err)
	}
	// A source that is made later can be used at once, by the same connection.
	r.do(t, http.StatusCreated, http.MethodPost, "/api/sources", ingest("two"), nil)
	await(t, func() string {
		// The log of a new source is made a moment after its definition.
		if err := publish(editor, "two"); errors.Is(err, nats.ErrNoResponders) {
			return err.Error()
		} else if err != nil {
			t.Fatalf("an editor publishes to a new source: %v", err)
		}
		return ""
	})
	// Reads are requests; who may read a table may ask for its rows.
	r.do(t, http.StatusCreated, http.MethodPost, "/api/tables", map[string]string{"name": "sums", "sql": "SELECT a, COUNT(*) AS n FROM one GROUP BY a"}, nil)
	await(t, func() string {
		m, err := viewer.Request(streams.TableReadSubject("default", "sums", "rows"), nil, 5*time.Second)
		if err != nil {
			t.Fatalf("a viewer reads a table: %v", err)
		}
		if !strings.Contains(string(m.Data), `"totalRows"`) {
			return m.Header.Get("Nats-Service-Error")
		}
		return ""
	})
	// Whoever loses the login loses the connection.
	r.do(t, http.StatusNoContent, http.MethodDelete, "/api/users/editor", nil, nil)
	await(t, func() string {
		if !editor.IsClosed() {
			return "the deleted user is still connected"
		}
		return ""
	})
	if viewer.IsClosed() {
		t.Error("another user lost the connection too")
	}
}

func TestRefusals(t *testing.T) {
	if _, err := server.New(server.Options{}); err == nil {
		t.Error("empty settings are accepted")
	}
	r := start(t, settings(t.TempDir()))
	if err := r.Run(t.Context()); err == nil {
		t.Error("a server runs twice")
	}
}

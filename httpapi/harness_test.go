package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/access/accesstest"
	_ "github.com/streamsforge/streamsforge/connectors/standard"
	"github.com/streamsforge/streamsforge/httpapi"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/catalog/catalogtest"
	"github.com/streamsforge/streamsforge/server/view"
)

const env = catalog.DefaultEnvironment

// fakes stand for the runtime and the intake. They follow a desired state at once, unless stuck, and remember what
// they were asked.
type fakes struct {
	explanation catalog.Explanation
	mu          sync.Mutex
	store       *catalog.Store
	stuck       bool
	failures    map[string]string // entity id -> error
	rows        func(q view.RowsQuery) (view.TableRows, error)
	query       view.RowsQuery
	results     []view.ResultEnvelope
	limit       int // of the last read of results
	push        view.IngestResult
	pushErr     error
	pushed      string
	pushKey     string
	scenario    error
	phase       httpapi.Phase
	checks      []view.Check
	panicNext   bool
}

func (f *fakes) Observed(_ string, kind catalog.InputKind, id string) view.EntityStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	sn, _ := f.store.Snapshot(env)
	var run catalog.Run
	if r, ok := sn.Table(id); ok && kind == catalog.InputTable {
		run = r.Run
	}
	if r, ok := sn.Pipeline(id); ok && kind == catalog.InputPipeline {
		run = r.Run
	}
	st := view.EntityStatus{Status: view.Stopped, Applied: run.Revision}
	if run.Desired == catalog.DesiredRunning {
		st.Status = view.Running
		if text, failed := f.failures[id]; failed {
			st.Status, st.Error = view.Failed, text
		}
	}
	if f.stuck {
		st = view.EntityStatus{Status: view.Stopped}
	}
	return st
}

func (f *fakes) Await(ctx context.Context, e string, kind catalog.InputKind, id string, _ int64) (view.EntityStatus, error) {
	f.mu.Lock()
	stuck := f.stuck
	f.mu.Unlock()
	if stuck {
		<-ctx.Done()
		return view.EntityStatus{}, ctx.Err()
	}
	return f.Observed(e, kind, id), nil
}

func (f *fakes) TableRows(ctx context.Context, _, _ string, q view.RowsQuery) (view.TableRows, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.panicNext {
		f.panicNext = false
		panic("the runtime has a fault")
	}
	f.query = q
	if f.rows != nil {
		return f.rows(q)
	}
	if len(q.MinPositions) > 0 {
		<-ctx.Done()
		return view.TableRows{}, ctx.Err()
	}
	return view.TableRows{TotalRows: 0, Seq: 3, Position: 9}, nil
}

func (f *fakes) RowsAtEpoch(_ context.Context, _ string, ids []string, _ int) (view.RowsAtEpoch, error) {
	out := view.RowsAtEpoch{Epoch: 42, Tables: map[string][]view.TableRow{}}
	sn, _ := f.store.Snapshot(env)
	for _, id := range ids {
		r, _ := sn.Table(id)
		out.Tables[r.Name] = nil
	}
	return out, nil
}

func (f *fakes) TableMetrics(_, id string) (view.TableMetrics, error) {
	return view.TableMetrics{TableID: id, Status: view.Stopped, Epoch: -1}, nil
}

func (f *fakes) Explain(context.Context, string, catalog.InputKind, string) (catalog.Explanation, bool, error) {
	return f.explanation, f.explanation.Running, nil
}

func (f *fakes) TableReplay(context.Context, string, string) (view.ReplayInfo, error) {
	return view.ReplayInfo{FirstSeq: 1, Persisted: true}, nil
}

func (f *fakes) PipelineResults(_ context.Context, _, _ string, limit int) ([]view.ResultEnvelope, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = limit
	return f.results[max(0, len(f.results)-limit):], nil
}

func (f *fakes) PipelineMetrics(_, id string) (view.PipelineMetrics, error) {
	return view.PipelineMetrics{PipelineID: id, Status: view.Stopped, Epoch: -1}, nil
}

func (f *fakes) PipelineReplay(context.Context, string, string) (view.ReplayInfo, error) {
	return view.ReplayInfo{FirstSeq: 1}, nil
}

func (f *fakes) PipelineLate(context.Context, string, string, int) ([]view.Row, error) {
	return nil, nil
}

func (f *fakes) AwaitSource(context.Context, string, string) error { return nil }

func (f *fakes) SourceReplay(context.Context, string, string) (view.ReplayInfo, error) {
	return view.ReplayInfo{FirstSeq: 1, LastSeq: 4, RetainedBytes: 100, Persisted: true}, nil
}

func (f *fakes) SourceEvents(_ context.Context, _, _ string, limit int) ([]view.Row, error) {
	return []view.Row{json.RawMessage(`{"symbol":"A","limit":` + strconv.Itoa(limit) + `}`)}, nil
}

func (f *fakes) SourceMetrics(_, name string) (view.SourceMetrics, error) {
	return view.SourceMetrics{SourceName: name}, nil
}

func (f *fakes) PushBody(_ context.Context, _, _ string, body []byte, key string) (view.IngestResult, error) {
	f.pushed, f.pushKey = string(body), key
	return f.push, f.pushErr
}

func (f *fakes) Status(context.Context, string, string) (view.IngestStatus, error) {
	return view.IngestStatus{Policy: "Reject", CapacityRows: 10000}, nil
}

type scenarios struct{ *fakes }

func (f scenarios) Run(_ context.Context, _, _ string, r view.ScenarioRequest) (view.ScenarioRun, error) {
	return view.ScenarioRun{Accepted: 1, Rows: []view.ScenarioRow{{RunID: r.RunID}}}, f.scenario
}

type quarantine struct{}

func (quarantine) List(context.Context, string, string, int) (view.Quarantine, error) {
	return view.Quarantine{Entries: []view.QuarantineEntry{{Seq: 1, Reason: "r", Stage: "decode", PayloadBase64: []byte("{")}}, Total: 1}, nil
}

func (quarantine) Replay(_ context.Context, _, _ string, seqs []int64) (view.QuarantineReplay, error) {
	return view.QuarantineReplay{Replayed: len(seqs)}, nil
}

type connectorStatus struct{}

func (connectorStatus) Status(_ context.Context, _, name string) (view.ConnectorStatus, error) {
	return view.ConnectorStatus{SourceName: name, LastStatus: "never"}, nil
}

func (f *fakes) Phase() httpapi.Phase { return f.phase }

func (f *fakes) Checks() []view.Check { return f.checks }

// world is the surface over a real catalog and real access, with fakes behind it.
type world struct {
	t      *testing.T
	server *httptest.Server
	api    *httpapi.API
	store  *catalog.Store
	access *access.Service
	fake   *fakes
	tokens map[string]string
	doc    *openapi3.T
	logs   *bytes.Buffer
	bucket *catalogtest.Memory
}

var signingKey = []byte("0123456789abcdef0123456789abcdef")

type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

func newWorld(t *testing.T, edit ...func(*httpapi.Options)) *world {
	t.Helper()
	w := newBareWorld(t, edit...)
	w.server = httptest.NewUnstartedServer(nil)
	w.server.Config = w.api.Server()
	w.server.Start()
	t.Cleanup(w.server.Close)
	return w
}

// newBareWorld is a world without a listener.
func newBareWorld(t *testing.T, edit ...func(*httpapi.Options)) *world {
	t.Helper()
	w := &world{t: t, tokens: map[string]string{}, logs: &bytes.Buffer{}, bucket: catalogtest.NewMemory()}
	w.store = catalogtest.Open(t, w.bucket)
	made, err := logins()
	if err != nil {
		t.Fatal(err)
	}
	w.access, err = access.New(access.Options{Users: made.users.Clone(), Document: made.document.Clone(), Key: signingKey})
	if err != nil {
		t.Fatal(err)
	}
	w.tokens = maps.Clone(made.tokens)
	w.fake = &fakes{store: w.store, failures: map[string]string{}, phase: httpapi.Ready, checks: []view.Check{{Name: "catalog", OK: true}}}
	w.store.Observe(w.fake)
	o := httpapi.Options{
		Catalog: w.store, Access: w.access, Runtime: w.fake, Ingest: w.fake, Scenarios: scenarios{w.fake},
		Quarantine: quarantine{}, Connectors: connectorStatus{}, Health: w.fake,
		Instance: func(context.Context) httpapi.Instance {
			return httpapi.Instance{ID: strings.Repeat("a", 32), Name: "test", Version: "0.0.0", Plugins: []string{"generator"}, Warnings: []string{"demo passwords are alive"}}
		},
		ApplyTimeout: 50 * time.Millisecond,
		Logger:       slog.New(slog.NewTextHandler(&syncWriter{w: w.logs}, nil)),
	}
	for _, e := range edit {
		e(&o)
	}
	if w.api, err = httpapi.New(o); err != nil {
		t.Fatal(err)
	}
	if w.doc, err = openapi3.NewLoader().LoadFromData(w.api.Document()); err != nil {
		t.Fatal(err)
	}
	return w
}

// seeded are the three logins and a token of each, made once: hashing takes longer than most tests.
type seeded struct {
	users    *accesstest.Memory[access.UserRecord]
	document *accesstest.Memory[access.Document]
	tokens   map[string]string
}

var logins = sync.OnceValues(func() (*seeded, error) {
	out := &seeded{users: accesstest.NewMemory[access.UserRecord](), document: accesstest.NewMemory[access.Document](), tokens: map[string]string{}}
	s, err := access.New(access.Options{Users: out.users, Document: out.document, Key: signingKey})
	if err != nil {
		return nil, err
	}
	_, err = s.Seed(context.Background(), []access.NewUser{
		{Username: "admin", DisplayName: "Administrator", Role: access.Admin, Password: "admin123!", Demo: true},
		{Username: "editor", DisplayName: "Editor", Role: access.Editor, Password: "editor123!", Demo: true},
		{Username: "viewer", DisplayName: "Viewer", Role: access.Viewer, Password: "viewer123!", Demo: true},
	})
	if err != nil {
		return nil, err
	}
	for _, user := range []string{"admin", "editor", "viewer"} {
		session, err := s.Login(context.Background(), "setup", user, user+"123!")
		if err != nil {
			return nil, err
		}
		out.tokens[user] = session.Token
	}
	return out, nil
})

// answer is what came back, already held against the document.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   string
}

// do sends a request as a user ("" is nobody) and checks the answer against the OpenAPI document.
func (w *world) do(user, method, path, body string, header ...string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if user != "" {
		req.Header.Set("Authorization", "Bearer "+w.tokens[user])
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	a := answer{t: w.t, what: method + " " + path + " as '" + user + "'", status: resp.StatusCode, header: resp.Header, body: string(b)}
	w.validate(method, path, a)
	return a
}

var templates = sync.OnceValue(func() map[*regexp.Regexp]httpapi.Route {
	out := map[*regexp.Regexp]httpapi.Route{}
	for _, r := range httpapi.Routes() {
		p := regexp.MustCompile(`:[A-Za-z]+`).ReplaceAllString(regexp.QuoteMeta(r.Path), `[^/]+`)
		out[regexp.MustCompile("^"+p+"$")] = r
	}
	return out
})

// routeOf finds the row of the table for a request; a literal path wins over a parameter.
func routeOf(method, path string) (httpapi.Route, bool) {
	path, _, _ = strings.Cut(path, "?")
	var found httpapi.Route
	ok := false
	for re, r := range templates() {
		if r.Method == method && re.MatchString(path) && (!ok || strings.Count(r.Path, ":") < strings.Count(found.Path, ":")) {
			found, ok = r, true
		}
	}
	return found, ok
}

// validate holds an answer against the document: its status is listed, its body has the listed shape or is empty.
func (w *world) validate(method, path string, a answer) {
	w.t.Helper()
	route, ok := routeOf(method, path)
	if !ok {
		return
	}
	item := w.doc.Paths.Value(regexp.MustCompile(`:([A-Za-z]+)`).ReplaceAllString(route.Path, "{$1}"))
	if item == nil || item.GetOperation(method) == nil {
		w.t.Errorf("%s: not in the document", a.what)
		return
	}
	if a.status == http.StatusInternalServerError {
		return // a fault; the test that provokes it looks at it
	}
	listed := item.GetOperation(method).Responses.Value(strconv.Itoa(a.status))
	if listed == nil {
		w.t.Errorf("%s: status %d is not in the document: %s", a.what, a.status, a.body)
		return
	}
	media := strings.TrimSpace(strings.Split(a.header.Get("Content-Type"), ";")[0])
	content := listed.Value.Content
	if a.body == "" {
		// The 404 of an unknown entity is empty, the 404 of an unknown environment is not; the document has one of them.
		if len(content) > 0 && a.status != http.StatusNotFound {
			w.t.Errorf("%s: status %d has no body and the document has one", a.what, a.status)
		}
		return
	}
	if len(content) == 0 && a.status == http.StatusNotFound {
		return
	}
	if content[media] == nil {
		w.t.Errorf("%s: status %d has a body of type %q that is not in the document: %.200s", a.what, a.status, media, a.body)
		return
	}
	if media != "application/json" {
		return
	}
	var v any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		w.t.Errorf("%s: the body is not JSON: %v", a.what, err)
		return
	}
	if err := content[media].Schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		w.t.Errorf("%s: the body does not have the shape of the document: %v\n%s", a.what, err, a.body)
	}
}

// want checks the status and that the body holds every part; a part "" asks for an empty body.
func (a answer) want(status int, parts ...string) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("%s: status %d, want %d: %s", a.what, a.status, status, a.body)
	}
	for _, p := range parts {
		if p == "" && a.body != "" {
			a.t.Errorf("%s: the body is not empty: %s", a.what, a.body)
		}
		if !strings.Contains(a.body, p) {
			a.t.Errorf("%s: the body does not hold %q: %s", a.what, p, a.body)
		}
	}
	return a
}

// get reads a member of a JSON object.
func (a answer) get(name string) any {
	a.t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
	return m[name]
}

func (a answer) id() string {
	a.t.Helper()
	id, _ := a.get("id").(string)
	if len(id) != 32 {
		a.t.Fatalf("%s: no id: %s", a.what, a.body)
	}
	return id
}

const (
	tradesBody = `{"name":"trades","fields":[{"name":"symbol","type":"String"},{"name":"price","type":"Double"},{"name":"qty","type":"Long"}]}`
	pushBody   = `{"name":"push","kind":"ingest","fields":[{"name":"symbol","type":"String"}],"ingest":{}}`
	simBody    = `{"name":"sim","generatorProfile":"scenario","fields":[{"name":"value","type":"Double"}],"scenario":{"instruments":[{"id":"i","base":1,"vol":1}]}}`
	tableSQL   = "SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol"
)

// seed creates one of each and returns the ids of the table and the pipeline.
func (w *world) seed() (table, pipeline string) {
	w.t.Helper()
	for _, b := range []string{tradesBody, pushBody, simBody} {
		w.do("editor", "POST", "/api/sources", b).want(201)
	}
	table = w.do("editor", "POST", "/api/tables", `{"name":"positions","sql":"`+tableSQL+`"}`).want(201).id()
	pipeline = w.do("editor", "POST", "/api/pipelines", `{"name":"pipe (1)","sql":"SELECT symbol FROM trades"}`).want(201).id()
	return table, pipeline
}

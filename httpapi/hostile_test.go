package httpapi_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/httpapi"
	"github.com/streamsforge/streamsforge/server/view"
)

func TestHostileBodies(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.MaxBody = 1 << 20 })
	w.seed()
	deep := func(open, end string) string {
		return `{"name":"d","fields":[{"name":"x","type":"Long"}],"metadata":` + strings.Repeat(open, 100_000) + strings.Repeat(end, 100_000) + `}`
	}
	wide := `{"name":"w","fields":[` + strings.TrimSuffix(strings.Repeat(`{"name":"f","type":"Long"},`, 3000), ",") + `]}`
	for _, c := range []struct {
		name, body string
		status     int
		text       string
	}{
		{"empty", "", 400, "the body is empty"},
		{"spaces", " \n\t", 400, "the body is empty"},
		{"null", "null", 400, "not a JSON object"},
		{"list", "[]", 400, "not a JSON object"},
		{"text", `"x"`, 400, "not a JSON object"},
		{"number", "1", 400, "not a JSON object"},
		{"byte order mark", "\ufeff{}", 400, "not a JSON object"},
		{"cut off", `{"name":"a"`, 400, "line 1, column 12"},
		{"where it is wrong", "{\n \"name\": \"ä\",\n \"fields\": oops}", 400, "line 3, column 12"},
		{"trailing", `{} {}`, 400, "line 1, column 4"},
		{"trailing comma", `{"name":"a",}`, 400, "line 1, column 13"},
		{"single quotes", `{'name':'a'}`, 400, "line 1, column 2"},
		{"NaN", `{"eventsPerSecond":NaN}`, 400, "line 1, column 20"},
		{"huge number", `{"name":"a","eventsPerSecond":1e999}`, 400, "eventsPerSecond"},
		{"wrong type", `{"name":7}`, 400, "name is a JSON number at line 1, column 9: expected text"},
		{"wrong type inside", `{"name":"a","fields":[{"name":[]}]}`, 400, "expected text"},
		{"text for a number", `{"eventsPerSecond":"5"}`, 400, "expected a number"},
		{"text for a flag", `{"enabled":"yes"}`, 400, "expected true or false"},
		{"object for a list", `{"tags":{}}`, 400, "expected a list"},
		{"control character", "{\"name\":\"a\x01\"}", 400, "line 1, column 11"},
		{"invalid UTF-8", "{\"name\":\"a\xff\"}", 400, "not valid UTF-8 at line 1, column 11"},
		{"NUL in a name", `{"name":"a\u0000","fields":[{"name":"x","type":"Long"}]}`, 400, "control characters"},
		{"lone surrogate", `{"name":"a\ud800","fields":[{"name":"x","type":"Long"}]}`, 400, "control characters"},
		{"deep objects", deep(`{"a":`, "}"), 400, "exceeded max depth"},
		{"deep lists", deep(`[`, "]"), 400, "exceeded max depth"},
		{"many fields", wide, 400, "3000 fields are declared"},
		{"too large", `{"name":"` + strings.Repeat("x", 2<<20) + `"}`, 413, "the body is larger than 1048576 bytes"},
		{"too large to store", `{"name":"big","fields":[{"name":"x","type":"Long"}],"description":"` + strings.Repeat("<", 1<<20-200) + `"}`, 413, "the definition has"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.do("editor", "POST", "/api/sources", c.body).want(c.status, c.text)
			if msg, _ := a.get("error").(string); msg == "" || len(msg) > 5000 {
				t.Errorf("error of %d characters", len(msg))
			}
		})
	}
	// A member that is named twice: the last one counts; unknown members are ignored.
	w.do("editor", "POST", "/api/sources", `{"name":"x","name":"twice","unknown":{"a":[1]},"fields":[{"name":"x","type":"Long"}]}`).want(201, `"name":"twice"`)
	w.do("editor", "POST", "/api/sources/push/events", strings.Repeat("x", 2<<20)).want(413, `"rowErrors":[]`)
	w.do("viewer", "GET", "/api/sources", "").want(200)
}

// raw sends bytes as they are and returns the status line and the answer's body.
func (w *world) raw(request string) (status string, body string) {
	w.t.Helper()
	var d net.Dialer
	c, err := d.DialContext(w.t.Context(), "tcp", w.server.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		w.t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(c, request) }()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "closed", err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.Status, string(b)
}

func TestPathTricks(t *testing.T) {
	console := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "console") })
	w := newWorld(t, func(o *httpapi.Options) { o.Console = console })
	w.seed()
	secret := []string{"createdBy", "outputFields", `"token"`}
	for _, path := range []string{
		"//api/tables", "/api//tables", "/api/./tables", "/api/../api/tables", "/API/tables", "/api/tables/", "/api/tables/.",
		"/api/tables/..", "/api/tables/%2e%2e", "/api/tables%2fpositions", "/api/tables;x=1", "/api/tables/positions%00",
		"/healthz/../api/tables", "/%61pi/tables", "/api/auth/login/../../tables", "/..%2f..%2fetc/passwd", "/metrics/../api/tables",
		"/api/sources/..%2f..%2ftables", "http://other.example/api/tables",
	} {
		status, body := w.raw("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		for _, s := range secret {
			if strings.Contains(body, s) {
				t.Errorf("%s without a token answers %s %s", path, status, body)
			}
		}
		if !strings.HasPrefix(status, "40") && !strings.HasPrefix(status, "30") && body != "console" {
			t.Errorf("%s: %s %s", path, status, body)
		}
	}
	for _, c := range [][2]string{{"POST", "/api/tables/positions"}, {"PATCH", "/api/tables"}, {"TRACE", "/api/tables"}, {"DELETE", "/api/auth/me"}} {
		if a := w.do("admin", c[0], c[1], ""); a.status != 405 && a.status != 404 {
			t.Errorf("%s %s: %d %s", c[0], c[1], a.status, a.body)
		}
	}
	w.do("", "GET", "/api/nope", "").want(404, `{"error":"no such route: GET /api/nope"}`)
	w.do("", "GET", "/anything/else", "").want(200, "console")
	w.do("", "GET", "/", "").want(200, "console")
	w.do("", "GET", "/scalar/x", "").want(404)
	newWorld(t).do("", "GET", "/", "").want(404, "no such route")
}

func TestSmuggledAndOversizedHeaders(t *testing.T) {
	w := newWorld(t)
	w.seed()
	for name, request := range map[string]string{
		"header bomb":          "GET /api/tables HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 200) + "\r\n",
		"one long header":      "GET /api/tables HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 200_000) + "\r\n\r\n",
		"two lengths":          "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"length and chunks":    "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"space before a colon": "GET /api/tables HTTP/1.1\r\nHost: x\r\nAuthorization : Bearer x\r\n\r\n",
		"no host":              "GET /api/tables HTTP/1.1\r\n\r\n",
		"newline in a path":    "GET /api/ta\nbles HTTP/1.1\r\nHost: x\r\n\r\n",
		"not HTTP":             "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
	} {
		if status, body := w.raw(request); !strings.HasPrefix(status, "4") && !strings.HasPrefix(status, "501") && status != "closed" {
			t.Errorf("%s: %s %s", name, status, body)
		}
	}
	// The environment of a second header does not pass by the first.
	w.do("viewer", "GET", "/api/tables", "").want(200)
}

func TestServerLimits(t *testing.T) {
	s := newWorld(t).api.Server()
	if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > 15*time.Second || s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > 1<<17 || s.IdleTimeout <= 0 {
		t.Errorf("limits: headers %v and %d bytes, idle %v", s.ReadHeaderTimeout, s.MaxHeaderBytes, s.IdleTimeout)
	}
}

// TestSlowBody is a client that sends its headers and then nothing: the request ends with its bound.
func TestSlowBody(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.RequestTimeout = 200 * time.Millisecond })
	start := time.Now()
	status, body := w.raw("POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	if time.Since(start) > 10*time.Second {
		t.Errorf("held for %v: %s %s", time.Since(start), status, body)
	}
	if !strings.HasPrefix(status, "400") && status != "closed" {
		t.Errorf("%s %s", status, body)
	}
}

func TestSlowRuntime(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.RequestTimeout = 100 * time.Millisecond })
	w.seed()
	// The fake waits for its context when a position is asked for; the request's own bound is the shorter one here.
	w.do("viewer", "GET", "/api/tables/positions/rows?minPosition=trades:1&timeoutMs=50000", "").want(504)
}

func TestPanicIsOneAnswer(t *testing.T) {
	w := newWorld(t)
	w.seed()
	w.fake.panicNext = true
	a := w.do("viewer", "GET", "/api/tables/positions/rows", "").want(500, `{"error":"internal error `)
	id := strings.TrimSuffix(strings.TrimPrefix(a.get("error").(string), "internal error "), `"}`)
	if log := w.logs.String(); !strings.Contains(log, id) || !strings.Contains(log, "the runtime has a fault") || strings.Contains(a.body, "fault") {
		t.Errorf("id %q, log %q", id, log)
	}
	w.do("viewer", "GET", "/api/tables/positions/rows", "").want(200)
}

func TestCORS(t *testing.T) {
	w := newWorld(t)
	const origin = "http://localhost:5173"
	pre := w.do("", "OPTIONS", "/api/tables/x", "", "Origin", origin, "Access-Control-Request-Method", "DELETE", "Access-Control-Request-Headers", "authorization,x-anything")
	if pre.status != 204 || pre.header.Get("Access-Control-Allow-Origin") != origin || pre.header.Get("Access-Control-Allow-Credentials") != "true" ||
		!strings.Contains(pre.header.Get("Access-Control-Allow-Methods"), "DELETE") || pre.header.Get("Access-Control-Allow-Headers") != "authorization,x-anything" {
		t.Errorf("preflight %d %v", pre.status, pre.header)
	}
	if a := w.do("viewer", "GET", "/api/tables", "", "Origin", origin).want(200); a.header.Get("Access-Control-Allow-Origin") != origin {
		t.Errorf("%v", a.header)
	}
	for _, evil := range []string{"http://evil.example", "null", "http://localhost:5173.evil.example", "https://localhost:5173"} {
		if a := w.do("viewer", "GET", "/api/tables", "", "Origin", evil); a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("origin %s is allowed", evil)
		}
	}
	open := newWorld(t, func(o *httpapi.Options) { o.AllowedOrigins = []string{"*"} })
	if a := open.do("viewer", "GET", "/api/tables", "", "Origin", "http://evil.example"); a.header.Get("Access-Control-Allow-Credentials") == "true" {
		t.Error("every origin with credentials")
	}
}

func TestGzip(t *testing.T) {
	w := newWorld(t)
	a := w.do("", "GET", "/openapi/v1.json", "", "Accept-Encoding", "identity").want(200)
	req, err := http.NewRequestWithContext(t.Context(), "GET", w.server.URL+"/openapi/v1.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	packed, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatalf("not gzip: %v %v", err, resp.Header)
	}
	plain, err := io.ReadAll(z)
	if err != nil || string(plain) != a.body || len(packed)*3 > len(plain) {
		t.Errorf("%d bytes packed, %d plain, %v", len(packed), len(plain), err)
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/api/tables", "/api/nope", "/healthz", "/openapi/v1.json"} {
		a := w.do("", "GET", path, "")
		if a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, a.header)
		}
		if strings.HasPrefix(path, "/api/") && a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached: %v", path, a.header)
		}
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	w.seed()
	w.do("", "GET", "/api/tables/secret-name", "")
	w.do("", "GET", "/no/such/page", "")
	w.do("viewer", "BREW", "/api/tables", "")
	a := w.do("", "GET", "/metrics", "").want(200,
		`streamsforge_http_requests_total{method="POST",route="/api/sources",status="201"} 3`,
		`streamsforge_http_requests_total{method="GET",route="/api/tables/:key",status="401"} 1`,
		`streamsforge_http_request_seconds_bucket{method="POST",route="/api/tables"`,
		"streamsforge_http_requests_in_flight 1",
	)
	for _, leak := range []string{"secret-name", "no/such", "BREW"} {
		if strings.Contains(a.body, leak) {
			t.Errorf("strangers make labels: %s", leak)
		}
	}
}

func TestConcurrentWritersAllCountOnce(t *testing.T) {
	w := newWorld(t)
	w.seed()
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for k := range each {
				body := strings.Replace(tradesBody, `"fields"`, fmt.Sprintf(`"description":"%d-%d","fields"`, i, k), 1)
				if a := w.do("editor", "PUT", "/api/sources/trades", body); a.status != 200 {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
	wg.Wait()
	if got := w.do("viewer", "GET", "/api/sources/trades", "").get("revision"); got != float64(writers*each+1) {
		t.Errorf("revision %v after %d writes", got, writers*each)
	}
}

func TestAClientThatLeavesIsNoFault(t *testing.T) {
	w := newWorld(t)
	w.seed()
	ctx, cancel := context.WithCancel(t.Context())
	entered := make(chan struct{})
	left := make(chan struct{})
	w.fake.rows = func(view.RowsQuery) (view.TableRows, error) {
		close(entered)
		<-left
		return view.TableRows{}, context.Canceled
	}
	req := httptest.NewRequestWithContext(ctx, "GET", "/api/tables/positions/rows", nil)
	req.Header.Set("Authorization", "Bearer "+w.tokens["viewer"])
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.api.Handler().ServeHTTP(httptest.NewRecorder(), req)
	}()
	<-entered
	cancel()
	close(left)
	<-done
	if strings.Contains(w.logs.String(), "a request failed") {
		t.Errorf("logged as a fault: %s", w.logs.String())
	}
}

func FuzzBodies(f *testing.F) {
	f.Add([]byte(tradesBody))
	f.Add([]byte(`{"name":"a","fields":[{"name":"x","type":"Json","children":[{"name":"y","type":"Long"}]}],"ingest":{"keys":[{}]}}`))
	f.Add([]byte(`{"name":"t","sql":"SELECT symbol FROM trades","replayFrom":{"trades":{"seq":1}}}`))
	f.Add([]byte("{\"\xff\":1}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		w := fuzzWorld(t)
		for _, path := range []string{"/api/sources", "/api/tables", "/api/pipelines", "/api/tables/validate", "/api/query/rows"} {
			req := httptest.NewRequestWithContext(t.Context(), "POST", path, bytes.NewReader(body))
			req.Header.Set("Authorization", "Bearer "+w.tokens["editor"])
			rec := httptest.NewRecorder()
			w.api.Handler().ServeHTTP(rec, req)
			if rec.Code >= 500 {
				t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
			}
			if rec.Body.Len() > 0 && !json.Valid(rec.Body.Bytes()) {
				t.Fatalf("%s: not JSON: %s", path, rec.Body)
			}
		}
	})
}

var (
	fuzzOnce sync.Once
	fuzzed   *world
)

// fuzzWorld is made once a process: hashing the passwords takes longer than a round.
func fuzzWorld(t *testing.T) *world {
	fuzzOnce.Do(func() { fuzzed = newBareWorld(t) })
	return fuzzed
}

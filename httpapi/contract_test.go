package httpapi_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/httpapi"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

func TestLoginAndCookie(t *testing.T) {
	w := newWorld(t)
	a := w.do("", "POST", "/api/auth/login", `{"username":"editor","password":"editor123!"}`).want(200, `"displayName":"Editor"`, `"role":"Editor"`)
	if token, _ := a.get("token").(string); strings.Count(token, ".") != 2 {
		t.Errorf("token %q", token)
	}
	cookie := a.header.Get("Set-Cookie")
	for _, part := range []string{"sf_docs=", "Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Lax"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("cookie %q has no %s", cookie, part)
		}
	}
	if strings.Contains(cookie, "Secure") {
		t.Errorf("cookie %q is secure over http", cookie)
	}
	secure := w.do("", "POST", "/api/auth/login", `{"username":"editor","password":"editor123!"}`, "X-Forwarded-Proto", "https").header.Get("Set-Cookie")
	if !strings.Contains(secure, "Secure") {
		t.Errorf("cookie %q is not secure behind https", secure)
	}
	w.do("", "POST", "/api/auth/login", `{"username":"editor","password":"nope"}`).want(401, "")
	w.do("", "POST", "/api/auth/login", `{"username":"nobody","password":"nope"}`).want(401, "")
	w.do("", "POST", "/api/auth/login", `{}`).want(401, "")
	out := w.do("", "POST", "/api/auth/logout", "").want(204, "")
	if c := out.header.Get("Set-Cookie"); !strings.Contains(c, "sf_docs=;") || !strings.Contains(c, "Max-Age=0") {
		t.Errorf("logout cookie %q", c)
	}
}

func TestLoginThrottle(t *testing.T) {
	w := newWorld(t)
	for range 10 {
		w.do("", "POST", "/api/auth/login", `{"username":"viewer","password":"guess"}`).want(401, "")
	}
	a := w.do("", "POST", "/api/auth/login", `{"username":"viewer","password":"viewer123!"}`).want(429, "too many failed logins")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.do("", "POST", "/api/auth/login", `{"username":"editor","password":"editor123!"}`).want(200)
}

func TestMe(t *testing.T) {
	w := newWorld(t)
	w.do("viewer", "GET", "/api/auth/me", "").want(200, `"username":"viewer"`, `"roles":["Viewer"]`, `"groups":[]`, `"disabled":false`,
		`{"action":"source.read","scope":"*","effect":"Allow","requiresApproval":false,"note":null,"environment":null}`, `"policyVersion":`)
	if _, err := w.access.SetDisabled(t.Context(), "admin", "viewer", true); err != nil {
		t.Fatal(err)
	}
	w.do("viewer", "GET", "/api/auth/me", "").want(403, "user 'viewer' is disabled")
}

func TestUsers(t *testing.T) {
	w := newWorld(t)
	if got := w.do("admin", "GET", "/api/users", "").want(200).body; strings.Contains(got, "hash") || strings.Contains(got, "salt") || !strings.HasPrefix(got, `[{"username":"admin","displayName":"Administrator","role":"Admin","createdAtMs":`) {
		t.Errorf("users %s", got)
	}
	a := w.do("admin", "POST", "/api/users", `{"username":"new one","role":"Editor","password":"secret"}`).want(201, `"displayName":"new one"`)
	if l := a.header.Get("Location"); l != "/api/users/new%20one" {
		t.Errorf("Location %q", l)
	}
	w.do("admin", "POST", "/api/users", `{"username":"new one","password":"x"}`).want(400, `{"error":"username already exists"}`)
	w.do("admin", "POST", "/api/users", `{"username":"x"}`).want(400, `{"error":"username and password are required"}`)
	w.do("admin", "PUT", "/api/users/new%20one", `{"password":"other","role":"Viewer"}`).want(200, `"role":"Viewer"`)
	w.do("", "POST", "/api/auth/login", `{"username":"new one","password":"secret"}`).want(401)
	w.do("", "POST", "/api/auth/login", `{"username":"new one","password":"other"}`).want(200, `"role":"Viewer"`)
	w.do("admin", "PUT", "/api/users/nope", `{}`).want(404, "")
	w.do("admin", "PUT", "/api/users/viewer", `{"role":"Root"}`).want(400, "'Root'")
	w.do("admin", "DELETE", "/api/users/admin", "").want(400, `{"error":"cannot delete yourself"}`)
	w.do("admin", "DELETE", "/api/users/new%20one", "").want(204, "")
	w.do("admin", "DELETE", "/api/users/new%20one", "").want(404, "")
}

func TestSourceRoutes(t *testing.T) {
	w := newWorld(t)
	a := w.do("editor", "POST", "/api/sources", tradesBody).want(201, `"revision":1`, `"createdBy":"editor"`)
	if l := a.header.Get("Location"); l != "/api/sources/trades" {
		t.Errorf("Location %q", l)
	}
	w.do("editor", "POST", "/api/sources", tradesBody).want(400, `{"error":"source name already exists"}`)
	w.do("editor", "POST", "/api/sources", `{}`).want(400, "source name is required; at least one field is required")
	w.do("editor", "POST", "/api/sources", `{"name":"x","fields":[{"name":"y","type":"Decimal"}]}`).want(400, `unknown field type \"Decimal\"`)
	w.do("editor", "PUT", "/api/sources/trades?allowBreaking=false", strings.Replace(tradesBody, `"Double"`, `"String"`, 1)).
		want(409, `{"error":"source 'trades': schema change is breaking","breakingReasons":["field 'price' changed type: Double -> String"]}`)
	w.do("editor", "PUT", "/api/sources/trades?allowBreaking=maybe", tradesBody).want(400, "allowBreaking is 'maybe'")
	w.do("editor", "PUT", "/api/sources/trades", strings.Replace(tradesBody, `"trades"`, `"other"`, 1)).want(200, `"name":"trades"`)
	w.do("editor", "PUT", "/api/sources/nope", tradesBody).want(404, "")
	w.do("viewer", "GET", "/api/sources/nope", "").want(404, "")
	w.do("viewer", "GET", "/api/sources/trades/status", "").want(204, "")
	w.do("viewer", "GET", "/api/sources/trades/ingest", "").want(204, "")
	w.do("viewer", "GET", "/api/sources/trades/events", "").want(200, `{"events":[{"symbol":"A","limit":50}]}`)
	w.do("viewer", "GET", "/api/sources/trades/events?limit=99999", "").want(200, `"limit":1000`)
	w.do("viewer", "GET", "/api/sources/trades/events?limit=x", "").want(400, "limit is 'x'")
	w.do("viewer", "GET", "/api/sources/trades/replay", "").want(200, `{"firstSeq":1,"lastSeq":4,"retainedBytes":100,"persisted":true}`)
	w.do("viewer", "GET", "/api/sources/trades/quarantine", "").want(200, `"payloadBase64":"ew=="`, `"total":1`)
	w.do("editor", "POST", "/api/sources/trades/quarantine/replay", ``).want(200, `{"replayed":0,"remaining":0}`)
	w.do("editor", "POST", "/api/sources/trades/run", `{"run_id":"r"}`).want(409, "not a generator of profile scenario")
	w.do("editor", "DELETE", "/api/sources/trades", "").want(204, "")
	w.do("editor", "DELETE", "/api/sources/trades", "").want(404, "")
}

func TestNamesThatNeedEscapes(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a b", "ä/ö", "100%", "x?y#z", `q"uote`, "..", "%2F"} {
		body, _ := json.Marshal(map[string]any{"name": name, "fields": []map[string]string{{"name": "x", "type": "Long"}}})
		if strings.Contains(name, ".") {
			w.do("editor", "POST", "/api/sources", string(body)).want(400, "'.'")
			continue
		}
		a := w.do("editor", "POST", "/api/sources", string(body)).want(201)
		path := "/api/sources/" + url.PathEscape(name)
		if a.header.Get("Location") != path {
			t.Errorf("Location %q, want %q", a.header.Get("Location"), path)
		}
		got := w.do("viewer", "GET", path, "").want(200)
		if got.get("name") != name {
			t.Errorf("%q reads back as %v", name, got.get("name"))
		}
	}
}

type problems []string

func (p problems) Error() string      { return "problems" }
func (p problems) Problems() []string { return p }

func TestScenarioProblemsAreListed(t *testing.T) {
	w := newWorld(t)
	w.seed()
	w.fake.scenario = problems{"run_id is required", "paths must be greater than 0"}
	w.do("editor", "POST", "/api/sources/sim/run", `{}`).want(400, `{"error":"run_id is required; paths must be greater than 0","errors":["run_id is required","paths must be greater than 0"]}`)
}

func TestPush(t *testing.T) {
	w := newWorld(t)
	w.seed()
	push := func(user, source, body string, header ...string) answer {
		return w.do(user, "POST", "/api/sources/"+source+"/events", body, header...)
	}
	w.fake.push = view.IngestResult{Outcome: view.Accepted, Accepted: 2, Dropped: 1, Invalid: 3, DepthRows: 4, CapacityRows: 5, Duplicate: 6, Replayed: true, Position: 7}
	const body = `{"events":[{"symbol":"A"}]}`
	push("editor", "push", body, "Idempotency-Key", "k1").want(202, `{"accepted":2,"dropped":1,"invalid":3,"depthRows":4,"capacityRows":5,"duplicate":6,"replayed":true,"position":7}`)
	if w.fake.pushed != body || w.fake.pushKey != "k1" {
		t.Errorf("the intake got %q with key %q", w.fake.pushed, w.fake.pushKey)
	}
	for _, c := range []struct {
		outcome view.Outcome
		status  int
	}{{view.IngestInvalid, 400}, {view.IngestWrongKind, 409}, {view.IngestTooLarge, 413}, {view.IngestUnavailable, 503}} {
		w.fake.push = view.IngestResult{Outcome: c.outcome, Error: "why", RowErrors: []string{"row 1: no"}, RetryAfterMs: 99}
		push("editor", "push", body).want(c.status, `{"error":"why","retryAfterMs":0,"rowErrors":["row 1: no"]}`)
	}
	for ms, seconds := range map[int]string{0: "1", 1500: "2", 90000: "30"} {
		w.fake.push = view.IngestResult{Outcome: view.IngestOverloaded, Error: "full", RetryAfterMs: ms}
		a := push("editor", "push", body).want(429, `"retryAfterMs":`+seconds+`000`, `"rowErrors":[]`)
		if a.header.Get("Retry-After") != seconds {
			t.Errorf("Retry-After %q, want %s", a.header.Get("Retry-After"), seconds)
		}
	}
	w.fake.push = view.IngestResult{Outcome: view.IngestNotFound}
	push("editor", "push", body).want(404, "")
	w.fake.push = view.IngestResult{Outcome: view.Accepted, Accepted: 1}
	push("editor", "nope", body).want(404, "")
	push("viewer", "push", body).want(403)
	push("", "push", body).want(401, "")
	push("", "nope", body).want(401, "")

	key := w.do("editor", "POST", "/api/sources/push/ingest/keys", `{"label":"robot"}`).want(200, `"label":"robot"`, `"secret":"sfk_`)
	secret, _ := key.get("secret").(string)
	push("", "push", body, "X-SF-Ingest-Key", secret).want(202)
	push("", "push", body, "X-SF-Ingest-Key", secret+"x").want(401, "")
	push("", "trades", body, "X-SF-Ingest-Key", secret).want(401, "")
	push("", "nope", body, "X-SF-Ingest-Key", secret).want(401, "")
	push("editor", "push", body, "X-SF-Ingest-Key", "wrong").want(202)
	push("viewer", "push", body, "X-SF-Ingest-Key", secret).want(202)
	// A key opens nothing but the push.
	w.do("", "GET", "/api/sources/push", "", "X-SF-Ingest-Key", secret).want(401, "")

	list := w.do("editor", "GET", "/api/sources/push/ingest/keys", "").want(200, `"label":"robot"`)
	if strings.Contains(list.body, "hash") || strings.Contains(list.body, secret) {
		t.Errorf("the list shows too much: %s", list.body)
	}
	if got := w.do("viewer", "GET", "/api/sources/push", "").want(200, `"hash":"***","salt":"***"`); strings.Contains(got.body, secret) {
		t.Error("the secret is shown")
	}
	w.do("editor", "POST", "/api/sources/trades/ingest/keys", `{"label":"x"}`).want(409, "of kind generator")
	w.do("editor", "POST", "/api/sources/nope/ingest/keys", `{"label":"x"}`).want(404, "")
	w.do("editor", "DELETE", "/api/sources/push/ingest/keys/"+key.get("id").(string), "").want(204, "")
	push("", "push", body, "X-SF-Ingest-Key", secret).want(401, "")

	w.fake.pushErr = errors.New("disk on fire")
	a := push("editor", "push", body).want(500, "internal error ")
	if strings.Contains(a.body, "fire") || !strings.Contains(w.logs.String(), "disk on fire") {
		t.Errorf("a fault belongs in the log and not in the answer: %s", a.body)
	}
}

func TestIdOrName(t *testing.T) {
	w := newWorld(t)
	table, pipeline := w.seed()
	for _, key := range []string{table, "positions"} {
		w.do("viewer", "GET", "/api/tables/"+key, "").want(200, `"id":"`+table+`"`)
		for _, sub := range []string{"rows", "rows.csv", "metrics", "plan", "replay"} {
			w.do("viewer", "GET", "/api/tables/"+key+"/"+sub, "").want(200)
		}
	}
	w.do("viewer", "GET", "/api/tables/Positions", "").want(404, "")
	w.do("viewer", "GET", "/api/pipelines/pipe%20(1)", "").want(200, `"id":"`+pipeline+`"`)
	for _, c := range []string{"PUT /api/tables/positions", "DELETE /api/tables/positions", "POST /api/tables/positions/start", "POST /api/tables/positions/stop"} {
		method, path, _ := strings.Cut(c, " ")
		w.do("editor", method, path, `{"name":"positions","sql":"x"}`).want(404, "")
	}
	// Duplicates exist in catalogs from before the rule.
	record := func(id string) []byte {
		return []byte(`{"v":1,"pipeline":{"id":"` + id + `","name":"dup_name","sql":"SELECT symbol FROM trades"},"run":{"desired":"Stopped"}}`)
	}
	for _, id := range []string{"id1", "id2"} {
		if _, err := w.bucket.Create(t.Context(), "pipeline."+id, record(id)); err != nil {
			t.Fatal(err)
		}
	}
	second := newWorld(t, func(o *httpapi.Options) {
		s, err := catalog.Open(t.Context(), catalog.Options{Bucket: w.bucket})
		if err != nil {
			t.Fatal(err)
		}
		o.Catalog = s
	})
	const ambiguous = `{"error":"2 pipelines are named 'dup_name' — address one by id: id1, id2"}`
	for _, sub := range []string{"", "/results", "/results.csv", "/metrics", "/plan", "/replay", "/late"} {
		second.do("viewer", "GET", "/api/pipelines/dup_name"+sub, "").want(409, ambiguous)
	}
	second.do("viewer", "GET", "/api/pipelines/id2", "").want(200, `"id":"id2"`)
	second.do("", "GET", "/api/meta/instance", "").want(200, "1 pipeline name(s) are used by more than one pipeline")
	w.do("viewer", "GET", "/api/pipelines/nope/results", "").want(200, "[]")
	w.do("viewer", "GET", "/api/pipelines/nope/metrics", "").want(200, `"pipelineId":"nope"`, `"status":"Stopped"`, `"totalEventsIn":0`)
	w.do("viewer", "GET", "/api/pipelines/nope/results.csv", "").want(404, "")
}

func TestStartAndStopAnswerWithTheStatus(t *testing.T) {
	w := newWorld(t)
	table, pipeline := w.seed()
	w.do("editor", "POST", "/api/tables/"+table+"/start", "").want(200, `"status":"Running"`, `"error":null`)
	top := w.do("editor", "POST", "/api/tables", `{"name":"top","sql":"SELECT symbol FROM positions"}`).want(201, `"status":"Stopped"`).id()
	w.do("editor", "POST", "/api/tables/"+top+"/start", "").want(200, `"status":"Running"`)
	w.do("editor", "POST", "/api/tables/"+table+"/stop", "").want(409, `{"error":"Cannot stop 'positions': running table(s) depend on it: top"}`)
	w.do("editor", "DELETE", "/api/tables/"+table, "").want(409, `{"error":"Cannot delete 'positions': running table(s) depend on it: top"}`)
	w.do("editor", "POST", "/api/tables/"+top+"/stop", "").want(200, `"status":"Stopped"`)
	w.do("editor", "POST", "/api/tables/"+table+"/stop", "").want(200, `"status":"Stopped"`)
	w.do("editor", "POST", "/api/tables/"+top+"/start", "").want(200, `"status":"Failed"`, `"error":"table input(s) not running: positions"`)
	w.do("editor", "DELETE", "/api/tables/"+table, "").want(204, "")
	draft := w.do("editor", "POST", "/api/pipelines", `{"name":"draft","sql":"SELECT nope FROM trades"}`).want(201, `"status":"Stopped"`).id()
	w.do("editor", "POST", "/api/pipelines/"+draft+"/start", "").want(200, `"status":"Failed"`, `"error":"1:8 `)
	w.fake.failures[pipeline] = "the flow has stopped"
	w.do("editor", "POST", "/api/pipelines/"+pipeline+"/start", "").want(200, `"status":"Failed"`, `"error":"the flow has stopped"`)
	delete(w.fake.failures, pipeline)
	// A runtime that does not answer holds nobody up for ever.
	w.fake.stuck = true
	w.do("editor", "POST", "/api/pipelines/"+pipeline+"/stop", "").want(200, `"status":"Stopped"`)
	w.do("editor", "POST", "/api/pipelines/"+pipeline+"/start", "").want(200, `"status":"Running"`)
}

func TestTableAndPipelineWrites(t *testing.T) {
	w := newWorld(t)
	table, pipeline := w.seed()
	w.do("editor", "POST", "/api/tables", `{"name":"x"}`).want(400, `{"error":"name and sql are required"}`)
	w.do("editor", "POST", "/api/pipelines", `{"sql":"x"}`).want(400, `{"error":"name and sql are required"}`)
	w.do("editor", "POST", "/api/pipelines", `{"name":"positions","sql":"SELECT 1"}`).want(409, "Name 'positions' is already used by a table")
	w.do("editor", "POST", "/api/pipelines", `{"name":"pipe (1)","sql":"SELECT 1"}`).want(409, "Name 'pipe (1)' is already used by another pipeline")
	w.do("editor", "PUT", "/api/tables/"+table, `{"name":"positions","sql":"`+tableSQL+`","parallelism":17,"flushMs":-1}`).want(409, "parallelism is 17", "; flushMs is -1")
	w.do("editor", "PUT", "/api/tables/"+table, `{"name":"positions","sql":"SELECT symbol FROM positions"}`).want(409, "positions -> positions")
	a := w.do("editor", "POST", "/api/tables", `{"name":"y","sql":"SELECT symbol FROM trades","description":null,"tags":null,"parallelism":null}`).want(201, `"tags":[]`, `"parallelism":1`)
	if a.header.Get("Location") != "/api/tables/"+a.id() {
		t.Errorf("Location %q", a.header.Get("Location"))
	}
	w.do("editor", "PUT", "/api/pipelines/"+pipeline, `{"name":"renamed","sql":"SELECT symbol FROM trades","replayFrom":{"nope":{}}}`).want(409, "valid inputs: trades")
	w.do("editor", "PUT", "/api/pipelines/"+pipeline, `{"name":"renamed","sql":"SELECT symbol FROM trades"}`).want(200, `"name":"renamed"`, `"revision":2`)
	w.do("editor", "PUT", "/api/pipelines/nope", `{"name":"a","sql":"b"}`).want(404, "")
}

func TestValidateAndPlan(t *testing.T) {
	w := newWorld(t)
	w.seed()
	w.do("editor", "POST", "/api/tables/validate", `{"sql":"`+tableSQL+`"}`).want(200, `"ok":true`, `"diagnostics":[]`, `"streamInputs":["trades"]`, `"keyFields":["symbol"]`,
		`"outputSchema":[{"name":"symbol","kind":"String"},{"name":"total","kind":"Long"}]`, `"changelogMode":{"mode":"Upsert","key":["symbol"]}`)
	w.do("editor", "POST", "/api/tables/validate", `{"sql":"SELECT qyt FROM trades"}`).want(200, `"ok":false`, `"line":1,"column":8,"severity":"Error"`, `"planSummary":null`, `"outputSchema":[]`)
	w.do("editor", "POST", "/api/pipelines/validate", `{"sql":"SELECT symbol FROM trades"}`).want(200, `"ok":true`, `"sourceNames":["trades"]`, `"changelogMode":{"mode":"Append","key":null}`)
	// CHG-001: a filter keeps the mode of what it reads, a join of updating tables has no key of its own.
	w.do("editor", "POST", "/api/tables/validate", `{"sql":"SELECT symbol, total FROM positions WHERE total > 1"}`).want(200, `"ok":true`, `"changelogMode":{"mode":"Upsert","key":["symbol"]}`)
	w.do("editor", "POST", "/api/tables/validate", `{"sql":"SELECT SUM(qty) AS total FROM trades"}`).want(200, `"ok":true`, `"changelogMode":{"mode":"Upsert","key":[]}`)
	w.do("editor", "POST", "/api/tables/validate", `{"sql":"SELECT a.total, b.total AS other FROM positions a JOIN positions b ON a.total = b.total"}`).want(200, `"ok":true`, `"changelogMode":{"mode":"Retract","key":null}`)
	w.do("editor", "POST", "/api/pipelines/validate", `{}`).want(200, `"ok":false`)
	w.do("viewer", "POST", "/api/pipelines/validate", `{}`).want(403)
	w.do("viewer", "GET", "/api/tables/positions/plan", "").want(200, `"inputs":["trades"]`, `"stages":[]`, `"edges":[]`, `"parallelism":1`, `"physical":false`, `"unavailableReason":"`)
	w.do("viewer", "GET", "/api/pipelines/pipe%20(1)/plan", "").want(200, `"physical":false`)
	w.do("viewer", "GET", "/api/sql/functions", "").want(200, `"aggregates":[`, `"AVG"`, `"COUNT"`, `"registeredScalars":[]`, `"registeredAggregates":[]`)
}

func TestRows(t *testing.T) {
	w := newWorld(t)
	w.seed()
	w.fake.rows = func(view.RowsQuery) (view.TableRows, error) {
		return view.TableRows{Rows: []view.TableRow{{Row: json.RawMessage(`{"symbol":"<A>","total":9223372036854775807}`), Weight: 1}}, TotalRows: 1, Seq: 7, Position: 8}, nil
	}
	w.do("viewer", "GET", "/api/tables/positions/rows?limit=5&offset=2&minPosition=trades:10&minPosition=a:b:3&minPosition=trades:4", "").
		want(200, `{"rows":[{"row":{"symbol":"<A>","total":9223372036854775807},"weight":1}],"totalRows":1,"seq":7,"frontierEpoch":null,"shards":null,"position":8,"historyKeys":null}`)
	if q := w.fake.query; q.Limit != 5 || q.Offset != 2 || q.MinPositions["trades"] != 10 || q.MinPositions["a:b"] != 3 {
		t.Errorf("query %+v", q)
	}
	for _, bad := range []string{"limit=-1", "limit=x", "offset=-1", "limit=99999999999999999999", "minPosition=trades", "minPosition=:1", "minPosition=trades:-1", "minPosition=trades:x", "minPosition=trades:9223372036854775808", "timeoutMs=soon"} {
		w.do("viewer", "GET", "/api/tables/positions/rows?"+bad, "").want(400, "expected")
	}
	w.fake.rows = nil
	start := time.Now()
	w.do("viewer", "GET", "/api/tables/positions/rows?minPosition=trades:999&timeoutMs=20", "").want(504, "table 'positions' did not reach trades:999 within 20 ms")
	if time.Since(start) > 3*time.Second {
		t.Error("the wait is not bounded")
	}
	w.fake.rows = func(view.RowsQuery) (view.TableRows, error) {
		return view.TableRows{}, view.Errorf(view.Invalid, "table 'positions' does not depend on 'x'; inputs: trades")
	}
	w.do("viewer", "GET", "/api/tables/positions/rows?minPosition=x:1", "").want(400, "does not depend on 'x'")
	w.do("viewer", "GET", "/api/tables/nope/rows", "").want(404, "")

	w.do("viewer", "POST", "/api/query/rows", `{"tables":["positions","positions"]}`).want(200, `"epoch":42`, `"tables":{"positions":[]}`, `"excluded":[]`)
	w.do("viewer", "POST", "/api/query/rows", `{"tables":[]}`).want(400, "tables is required")
	w.do("viewer", "POST", "/api/query/rows", `{"tables":["positions"],"limit":-1}`).want(400, "limit")
	w.do("viewer", "POST", "/api/query/rows", `{"tables":["nope"]}`).want(404, "table 'nope' does not exist")
	w.do("viewer", "POST", "/api/query/rows", `{"tables":[`+strings.Repeat(`"positions",`, 100)+`"positions"]}`).want(400, "at most 100")
}

func TestCSV(t *testing.T) {
	w := newWorld(t)
	_, pipeline := w.seed()
	w.fake.rows = func(view.RowsQuery) (view.TableRows, error) {
		return view.TableRows{Rows: []view.TableRow{
			{Row: json.RawMessage(`{"symbol":"a,b","total":1}`), Weight: 1},
			{Row: json.RawMessage(`{"symbol":"q\"uote","total":null}`), Weight: 2},
			{Row: json.RawMessage(`{"total":-5,"symbol":" lead"}`), Weight: 1},
			{Row: json.RawMessage(`{"symbol":"line\nbreak","total":{"k":"v"}}`), Weight: 1},
		}}, nil
	}
	a := w.do("viewer", "GET", "/api/tables/positions/rows.csv?limit=999999999&offset=3", "").want(200)
	if want := "symbol,total,_weight\r\n\"a,b\",1,1\r\n\"q\"\"uote\",,2\r\n\" lead\",-5,1\r\n\"line\nbreak\",\"{\"\"k\"\":\"\"v\"\"}\",1\r\n"; a.body != want {
		t.Errorf("got  %q\nwant %q", a.body, want)
	}
	if w.fake.query.Limit != 100000 || w.fake.query.Offset != 3 {
		t.Errorf("query %+v", w.fake.query)
	}
	if d := a.header.Get("Content-Disposition"); d != `attachment; filename="positions.csv"` {
		t.Errorf("disposition %q", d)
	}
	w.fake.results = []view.ResultEnvelope{
		{Seq: 1, Row: json.RawMessage(`{"b":1,"a":true}`)}, {Seq: 2, Row: json.RawMessage(`{"a":false,"c":"x"}`)},
	}
	a = w.do("viewer", "GET", "/api/pipelines/"+pipeline+"/results.csv", "").want(200)
	if want := "b,a,c\r\n1,true,\r\n,false,x\r\n"; a.body != want {
		t.Errorf("got %q, want %q", a.body, want)
	}
	w.do("viewer", "GET", "/api/pipelines/"+pipeline+"/results?limit=1", "").want(200, `[{"pipelineId":"","seq":2,"timestampMs":0,"row":{"a":false,"c":"x"}}]`)
	// A name cannot break out of the header.
	id := w.do("editor", "POST", "/api/pipelines", `{"name":"x\"; filename=\"evil/ä","sql":"SELECT symbol FROM trades"}`).want(201).id()
	w.do("viewer", "GET", "/api/pipelines/"+pipeline+"/results?limit=0", "").want(200, `[{"pipelineId":"","seq":2,`)
	w.do("viewer", "GET", "/api/pipelines/"+pipeline+"/results?limit=4000000000", "").want(200)
	if w.fake.limit != 100000 {
		t.Errorf("results were asked for %d rows: one request must not read the whole log", w.fake.limit)
	}
	a = w.do("viewer", "GET", "/api/pipelines/"+id+"/results.csv", "").want(200)
	if d := a.header.Get("Content-Disposition"); d != `attachment; filename="x_; filename=_evil__.csv"; filename*=UTF-8''x%22%3B%20filename%3D%22evil%2F%C3%A4.csv` {
		t.Errorf("disposition %q", d)
	}
}

func TestEnvironments(t *testing.T) {
	w := newWorld(t)
	w.seed()
	w.do("viewer", "GET", "/api/environments", "").want(200, `[{"name":"default"`, `"entityCount":5`)
	const unknown = `{"error":"environment 'nope' does not exist"}`
	w.do("viewer", "GET", "/api/tables?env=nope", "").want(404, unknown)
	for _, h := range []string{"X-StreamsForge-Environment", "X-StreamForge-Environment"} {
		w.do("viewer", "GET", "/api/tables", "", h, "nope").want(404, unknown)
		w.do("viewer", "GET", "/api/tables", "", h, "default").want(200)
		w.do("viewer", "GET", "/api/tables?env=default", "", h, "nope").want(200)
		// Authentication comes first: an anonymous caller learns nothing.
		w.do("", "GET", "/api/tables", "", h, "nope").want(401, "")
		for _, free := range []string{"/api/environments", "/api/auth/me"} {
			w.do("viewer", "GET", free, "", h, "nope").want(200)
		}
		w.do("", "GET", "/api/meta/instance", "", h, "nope").want(200)
	}
}

func TestMeta(t *testing.T) {
	w := newWorld(t)
	w.seed()
	w.do("", "GET", "/api/meta/instance", "").want(200, `"flavor":"nats"`, `"endpoints":{"rest":"http://127.0.0.1`, `"grpc":""`, `"catalogCounts":{"sources":3,"pipelines":1,"tables":1}`, `"demo passwords are alive"`, `"capabilities":[]`)
	// Nobody moves the advertised address unless proxies are trusted.
	w.do("", "GET", "/api/meta/instance", "", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "https").want(200, `"rest":"http://127.0.0.1`)
	trusting := newWorld(t, func(o *httpapi.Options) { o.ForwardedHeaders = true })
	trusting.do("", "GET", "/api/meta/instance", "", "X-Forwarded-Host", "sf.example", "X-Forwarded-Proto", "https").want(200, `"rest":"https://sf.example"`)
	w.do("viewer", "GET", "/api/meta/lineage", "").want(200, `{"fromKind":"source","fromName":"trades","toKind":"table","toName":"positions"}`, `{"kind":"source","name":"trades","id":null}`)
}

func TestHealth(t *testing.T) {
	w := newWorld(t)
	for _, p := range []string{"/healthz", "/api/healthz"} {
		w.do("", "GET", p, "").want(200, `"status":"ok","flavor":"nats","time":"`)
	}
	w.do("", "GET", "/readyz", "").want(200, `{"status":"ready","checks":[{"name":"catalog","ok":true}]}`)
	w.fake.checks = append(w.fake.checks, view.Check{Name: "tables", Error: "not restored", Progress: "3 of 5"})
	w.do("", "GET", "/readyz", "").want(503, `"status":"failing"`, `{"name":"tables","ok":false,"error":"not restored","progress":"3 of 5"}`)
	w.fake.phase = httpapi.Draining
	w.do("", "GET", "/readyz", "").want(503, `"status":"draining"`)
	w.do("", "GET", "/healthz", "").want(200)
	w.fake.phase = httpapi.Starting
	w.do("", "GET", "/readyz", "").want(503, `"status":"starting"`)
	w.do("", "GET", "/healthz", "").want(503, `"status":"starting"`)
}

func TestRequiresApprovalIsTold(t *testing.T) {
	w := newWorld(t)
	w.seed()
	err := w.access.EditPolicy(t.Context(), "", func(d *access.Document) {
		for i := range d.Users {
			if d.Users[i].Username == "editor" {
				d.Users[i].Roles = []string{"Viewer"}
				d.Users[i].Grants = []access.Grant{{Action: "source.write", Scope: "*", Effect: access.Allow, RequiresApproval: true}}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.do("editor", "PUT", "/api/sources/trades", tradesBody).want(403, `{"error":"grant source.write on * requires approval","requiresApproval":true}`)
}

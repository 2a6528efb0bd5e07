package httpapi_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/httpapi"
	"github.com/streamsforge/streamsforge/server/view"
)

var update = flag.Bool("update", false, "write docs/rest.md and testdata/openapi.json")

func TestTableRouterAndDocumentAgree(t *testing.T) {
	w := newWorld(t)
	var table []string
	for _, r := range httpapi.Routes() {
		table = append(table, r.Method+" "+r.Path)
		if r.Summary == "" || !strings.HasSuffix(r.Summary, ".") || r.Tag == "" {
			t.Errorf("%s %s: a route has a tag and one sentence", r.Method, r.Path)
		}
		if r.Floor != "" && r.Action == "" && r.Path != "/api/auth/me" && r.Path != "/api/meta/lineage" {
			t.Errorf("%s %s: a guarded route asks for a grant", r.Method, r.Path)
		}
	}
	sort.Strings(table)
	if len(slices.Compact(slices.Clone(table))) != len(table) {
		t.Error("a route is in the table twice")
	}
	router := w.api.Registered()
	if !slices.Equal(table, router) {
		t.Errorf("the table and the router differ:\ntable  %q\nrouter %q", table, router)
	}
	var document []string
	for path, item := range w.doc.Paths.Map() {
		for method := range item.Operations() {
			document = append(document, method+" "+regexp.MustCompile(`\{([A-Za-z]+)\}`).ReplaceAllString(path, ":$1"))
		}
	}
	sort.Strings(document)
	if !slices.Equal(table, document) {
		t.Errorf("the table and the document differ:\ntable    %q\ndocument %q", table, document)
	}
	if !strings.HasPrefix(w.doc.OpenAPI, "3.1") {
		t.Errorf("version %s", w.doc.OpenAPI)
	}
}

// golden compares a generated file with the one that is kept.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s is not up to date; run go test ./httpapi -run %s -update and look at the difference", path, t.Name())
	}
}

func TestDocumentIsReviewed(t *testing.T) {
	golden(t, "testdata/openapi.json", newWorld(t).api.Document())
}

func TestReferencePageIsUpToDate(t *testing.T) {
	golden(t, "../docs/rest.md", httpapi.Reference())
}

// sample is a request of a route that succeeds for those who may.
type sample struct {
	method, path, body string
	status             int // 0: the route's own
}

// samples has one request for every route of the table.
func samples(table, pipeline string) map[string]sample {
	s := func(method, path, body string) sample { return sample{method: method, path: path, body: body} }
	return map[string]sample{
		"POST /api/auth/login":                         s("POST", "/api/auth/login", `{"username":"viewer","password":"viewer123!"}`),
		"POST /api/auth/logout":                        s("POST", "/api/auth/logout", ""),
		"GET /api/auth/me":                             s("GET", "/api/auth/me", ""),
		"GET /api/users":                               s("GET", "/api/users", ""),
		"POST /api/users":                              s("POST", "/api/users", `{"username":"new-%s","password":"x"}`),
		"PUT /api/users/:username":                     s("PUT", "/api/users/viewer", `{"displayName":"V"}`),
		"DELETE /api/users/:username":                  {method: "DELETE", path: "/api/users/nobody", status: 404},
		"GET /api/sources":                             s("GET", "/api/sources", ""),
		"POST /api/sources":                            s("POST", "/api/sources", `{"name":"s-%s","fields":[{"name":"x","type":"Long"}]}`),
		"GET /api/sources/:name":                       s("GET", "/api/sources/trades", ""),
		"PUT /api/sources/:name":                       s("PUT", "/api/sources/trades", tradesBody),
		"DELETE /api/sources/:name":                    {method: "DELETE", path: "/api/sources/nope", status: 404},
		"GET /api/sources/:name/status":                {method: "GET", path: "/api/sources/trades/status", status: 204},
		"GET /api/sources/:name/metrics":               s("GET", "/api/sources/trades/metrics", ""),
		"GET /api/sources/:name/events":                s("GET", "/api/sources/trades/events?limit=3", ""),
		"POST /api/sources/:name/events":               s("POST", "/api/sources/push/events", `{"events":[]}`),
		"GET /api/sources/:name/replay":                s("GET", "/api/sources/trades/replay", ""),
		"GET /api/sources/:name/quarantine":            s("GET", "/api/sources/trades/quarantine?limit=1", ""),
		"POST /api/sources/:name/quarantine/replay":    s("POST", "/api/sources/trades/quarantine/replay", `{"seqs":[1]}`),
		"POST /api/sources/:name/run":                  s("POST", "/api/sources/sim/run", `{"run_id":"r"}`),
		"GET /api/sources/:name/ingest":                s("GET", "/api/sources/push/ingest", ""),
		"GET /api/sources/:name/ingest/keys":           s("GET", "/api/sources/push/ingest/keys", ""),
		"POST /api/sources/:name/ingest/keys":          s("POST", "/api/sources/push/ingest/keys", `{"label":"l"}`),
		"DELETE /api/sources/:name/ingest/keys/:keyId": {method: "DELETE", path: "/api/sources/push/ingest/keys/nope", status: 404},
		"GET /api/pipelines":                           s("GET", "/api/pipelines", ""),
		"POST /api/pipelines":                          s("POST", "/api/pipelines", `{"name":"p-%s","sql":"SELECT symbol FROM trades"}`),
		"POST /api/pipelines/validate":                 s("POST", "/api/pipelines/validate", `{"sql":"SELECT symbol FROM trades"}`),
		"GET /api/pipelines/:key":                      s("GET", "/api/pipelines/pipe%20%281%29", ""),
		"PUT /api/pipelines/:key":                      s("PUT", "/api/pipelines/"+pipeline, `{"name":"pipe (1)","sql":"SELECT symbol FROM trades"}`),
		"DELETE /api/pipelines/:key":                   {method: "DELETE", path: "/api/pipelines/nope", status: 404},
		"POST /api/pipelines/:key/start":               s("POST", "/api/pipelines/"+pipeline+"/start", ""),
		"POST /api/pipelines/:key/stop":                s("POST", "/api/pipelines/"+pipeline+"/stop", ""),
		"GET /api/pipelines/:key/explain":              s("GET", "/api/pipelines/"+pipeline+"/explain", ""),
		"POST /api/pipelines/explain":                  s("POST", "/api/pipelines/explain", `{"sql":"SELECT symbol FROM trades"}`),
		"GET /api/pipelines/:key/plan":                 s("GET", "/api/pipelines/"+pipeline+"/plan", ""),
		"GET /api/pipelines/:key/results":              s("GET", "/api/pipelines/"+pipeline+"/results", ""),
		"GET /api/pipelines/:key/results.csv":          s("GET", "/api/pipelines/"+pipeline+"/results.csv", ""),
		"GET /api/pipelines/:key/late":                 s("GET", "/api/pipelines/"+pipeline+"/late", ""),
		"GET /api/pipelines/:key/metrics":              s("GET", "/api/pipelines/"+pipeline+"/metrics", ""),
		"GET /api/pipelines/:key/replay":               s("GET", "/api/pipelines/"+pipeline+"/replay", ""),
		"GET /api/tables":                              s("GET", "/api/tables", ""),
		"POST /api/tables":                             s("POST", "/api/tables", `{"name":"t-%s","sql":"SELECT symbol FROM trades"}`),
		"POST /api/tables/validate":                    s("POST", "/api/tables/validate", `{"sql":"SELECT nope FROM trades"}`),
		"GET /api/tables/:key":                         s("GET", "/api/tables/positions", ""),
		"PUT /api/tables/:key":                         s("PUT", "/api/tables/"+table, `{"name":"positions","sql":"`+tableSQL+`"}`),
		"DELETE /api/tables/:key":                      {method: "DELETE", path: "/api/tables/nope", status: 404},
		"POST /api/tables/:key/start":                  s("POST", "/api/tables/"+table+"/start", ""),
		"POST /api/tables/:key/stop":                   s("POST", "/api/tables/"+table+"/stop", ""),
		"GET /api/tables/:key/explain":                 s("GET", "/api/tables/positions/explain", ""),
		"POST /api/tables/explain":                     s("POST", "/api/tables/explain", `{"sql":"SELECT symbol FROM trades"}`),
		"GET /api/tables/:key/plan":                    s("GET", "/api/tables/positions/plan", ""),
		"GET /api/tables/:key/rows":                    s("GET", "/api/tables/positions/rows?limit=5&offset=0", ""),
		"GET /api/tables/:key/rows.csv":                s("GET", "/api/tables/positions/rows.csv", ""),
		"GET /api/tables/:key/metrics":                 s("GET", "/api/tables/positions/metrics", ""),
		"GET /api/tables/:key/replay":                  s("GET", "/api/tables/positions/replay", ""),
		"POST /api/query/rows":                         s("POST", "/api/query/rows", `{"tables":["positions"]}`),
		"GET /api/sql/functions":                       s("GET", "/api/sql/functions", ""),
		"POST /api/sql/complete":                       s("POST", "/api/sql/complete", `{"sql":"SELECT ","offset":7}`),
		"POST /api/sql/format":                         s("POST", "/api/sql/format", `{"sql":"SELECT a FROM b"}`),
		"POST /api/sql/hover":                          s("POST", "/api/sql/hover", `{"sql":"SELECT a","offset":1}`),
		"POST /api/sql/signature":                      s("POST", "/api/sql/signature", `{"sql":"SELECT SUM(","offset":11}`),
		"GET /api/environments":                        s("GET", "/api/environments", ""),
		"GET /api/meta/instance":                       s("GET", "/api/meta/instance", ""),
		"GET /api/meta/lineage":                        s("GET", "/api/meta/lineage", ""),
		"GET /healthz":                                 s("GET", "/healthz", ""),
		"GET /api/healthz":                             s("GET", "/api/healthz", ""),
		"GET /readyz":                                  s("GET", "/readyz", ""),
		"GET /metrics":                                 s("GET", "/metrics", ""),
		"GET /openapi/v1.json":                         s("GET", "/openapi/v1.json", ""),
	}
}

// TestEveryRouteForEveryRole is the permission matrix: each route, asked by nobody, each role, a disabled user and a
// deleted one.
func TestEveryRouteForEveryRole(t *testing.T) {
	w := newWorld(t)
	w.fake.push = view.IngestResult{Outcome: view.Accepted}
	table, pipeline := w.seed()
	all := samples(table, pipeline)
	for _, gone := range []string{"disabled", "deleted"} {
		if _, err := w.access.CreateUser(t.Context(), "admin", access.NewUser{Username: gone, Role: access.Admin, Password: "x"}); err != nil {
			t.Fatal(err)
		}
		s, err := w.access.Login(t.Context(), "setup", gone, "x")
		if err != nil {
			t.Fatal(err)
		}
		w.tokens[gone] = s.Token
	}
	if _, err := w.access.SetDisabled(t.Context(), "admin", "disabled", true); err != nil {
		t.Fatal(err)
	}
	if err := w.access.DeleteUser(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	rank := map[access.Role]int{"": 0, access.Viewer: 1, access.Editor: 2, access.Admin: 3}
	for _, r := range httpapi.Routes() {
		name := r.Method + " " + r.Path
		s, ok := all[name]
		if !ok {
			t.Errorf("%s has no sample", name)
			continue
		}
		floor := r.Floor
		if name == "POST /api/sources/:name/events" {
			floor = access.Editor // or a key, which the ingest tests look at
		}
		for i, user := range []string{"", "viewer", "editor", "admin", "disabled", "deleted"} {
			body := s.body
			if strings.Contains(body, "%s") {
				body = fmt.Sprintf(body, user)
			}
			got := w.do(user, s.method, s.path, body)
			want := s.status
			switch {
			case floor == "":
			case user == "":
				want = http.StatusUnauthorized
			case user == "disabled", user == "deleted", i < rank[floor]:
				want = http.StatusForbidden
			}
			if want == 0 {
				want = r.Success
			}
			if want == 0 {
				want = http.StatusOK
			}
			got.want(want)
			if want == http.StatusUnauthorized {
				got.want(want, "")
			}
			if want == http.StatusForbidden {
				if reason, _ := got.get("error").(string); reason == "" {
					t.Errorf("%s: a refusal without a reason: %s", got.what, got.body)
				}
			}
		}
		delete(all, name)
	}
	for name := range all {
		t.Errorf("the sample of %s has no route", name)
	}
}

func TestGuardRunsBeforeExistence(t *testing.T) {
	w := newWorld(t)
	w.seed()
	err := w.access.EditPolicy(t.Context(), "", func(d *access.Document) {
		note := "hands off"
		for i := range d.Users {
			if d.Users[i].Username == "viewer" {
				d.Users[i].Grants = []access.Grant{{Action: "*", Scope: "*", Effect: access.Deny, Note: &note}}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/tables/positions", "/api/tables/nope", "/api/sources/trades", "/api/sources/nope", "/api/pipelines/nope/results", "/api/pipelines/nope/metrics"} {
		w.do("viewer", "GET", path, "").want(403, "denied by grant * on * (hands off)")
	}
	w.do("viewer", "POST", "/api/query/rows", `{"tables":["nope"]}`).want(403)
	// Lists filter instead.
	for _, path := range []string{"/api/tables", "/api/sources", "/api/pipelines"} {
		if got := w.do("viewer", "GET", path, "").want(200); got.body != "[]" {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	w.do("viewer", "GET", "/api/meta/lineage", "").want(200, `"nodes":[]`, `"edges":[]`)
}

func TestGrantsAreAskedAtNamesAndTags(t *testing.T) {
	w := newWorld(t)
	w.seed()
	secret := w.do("admin", "POST", "/api/tables", `{"name":"secret","sql":"SELECT symbol FROM trades","tags":["hidden"]}`).want(201).id()
	err := w.access.EditPolicy(t.Context(), "", func(d *access.Document) {
		for i := range d.Users {
			if d.Users[i].Username == "editor" {
				d.Users[i].Grants = []access.Grant{{Action: "table.*", Scope: "tag:hidden", Effect: access.Deny}}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.do("editor", "GET", "/api/tables/secret", "").want(403, "denied by grant table.* on tag:hidden")
	w.do("editor", "GET", "/api/tables/"+secret, "").want(403)
	// The stored tags decide, not those of the body.
	w.do("editor", "PUT", "/api/tables/"+secret, `{"name":"secret","sql":"SELECT symbol FROM trades","tags":[]}`).want(403)
	w.do("editor", "POST", "/api/tables", `{"name":"other","sql":"SELECT symbol FROM trades","tags":["hidden"]}`).want(403)
	w.do("editor", "POST", "/api/query/rows", `{"tables":["positions","secret"]}`).want(403)
	if got := w.do("editor", "GET", "/api/tables", ""); strings.Contains(got.body, "secret") {
		t.Errorf("the list shows it: %s", got.body)
	}
	var l view.Lineage
	if err := json.Unmarshal([]byte(w.do("editor", "GET", "/api/meta/lineage", "").body), &l); err != nil {
		t.Fatal(err)
	}
	for _, n := range l.Nodes {
		if n.Name == "secret" {
			t.Error("the lineage shows it")
		}
	}
}

func TestTokenAttacksOverHTTP(t *testing.T) {
	w := newWorld(t)
	for name, header := range map[string]string{
		"none": "", "basic": "Basic YWRtaW46YWRtaW4xMjMh", "empty bearer": "Bearer ", "garbage": "Bearer a.b.c",
		"alg none":      "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.",
		"bare token":    w.tokens["admin"],
		"changed token": "Bearer " + w.tokens["admin"] + "x",
	} {
		got := w.do("", "GET", "/api/tables", "", "Authorization", header)
		if got.status != 401 || got.body != "" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	w.do("", "GET", "/api/tables?access_token="+w.tokens["admin"], "").want(401, "")
	w.do("", "GET", "/api/tables", "", "Cookie", "sf_docs="+w.tokens["admin"]).want(401, "")
	w.do("", "GET", "/api/tables", "", "Authorization", "bearer "+w.tokens["admin"]).want(200)
}

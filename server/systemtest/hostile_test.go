package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/server/servertest"
)

// hostileFields is a source with one field of each kind.
var hostileFields = []map[string]any{
	{"name": "s", "type": "String"}, {"name": "n", "type": "Long"}, {"name": "d", "type": "Double"},
	{"name": "b", "type": "Bool"}, {"name": "t", "type": "Timestamp"}, {"name": "j", "type": "Json"},
}

// hostile lists payloads that a publisher may send, and what must come of them: rows admitted, rows quarantined.
// The source has policy DropRow, so that a row that does not coerce is quarantined.
var hostile = []struct {
	name              string
	payload           []byte
	rows, quarantined int
}{
	{"empty message", nil, 0, 1},
	{"empty array", []byte(`[]`), 0, 0},
	{"blank", []byte("  \n "), 0, 1},
	{"NUL bytes", []byte("{\"s\":\"a\x00b\"}"), 0, 1},
	{"only NULs", bytes.Repeat([]byte{0}, 64), 0, 1},
	{"NUL as an escape is text", []byte(`{"s":"a\u0000b"}`), 1, 0},
	{"row of 7 MB", []byte(`{"s":"` + strings.Repeat("x", 7<<20) + `"}`), 1, 0},
	{"depth 64", []byte(`{"j":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`), 1, 0},
	{"depth 100000", []byte(`{"j":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`), 0, 1},
	{"NaN", []byte(`{"d":NaN}`), 0, 1},
	{"Infinity", []byte(`{"d":-Infinity}`), 0, 1},
	{"1e999 is beyond a double", []byte(`{"d":1e999}`), 0, 1},
	{"2^63 for a Long", []byte(`{"n":9223372036854775808}`), 0, 1},
	{"2^63-1 for a Long", []byte(`{"n":9223372036854775807}`), 1, 0},
	{"-2^63 for a Long", []byte(`{"n":-9223372036854775808}`), 1, 0},
	{"text for a Long", []byte(`{"n":"twelve"}`), 0, 1},
	{"object for a Bool", []byte(`{"b":{}}`), 0, 1},
	{"invalid UTF-8", []byte("{\"s\":\"\xff\xfe\"}"), 0, 1},
	{"lone surrogate", []byte(`{"s":"\ud800"}`), 0, 1},
	{"duplicate keys: the last one counts", []byte(`{"s":"first","s":"last"}`), 1, 0},
	{"trailing garbage", []byte(`{"s":"a"} x`), 0, 1},
	{"trailing comma", []byte(`{"s":"a",}`), 0, 1},
	{"leading zero", []byte(`{"n":01}`), 0, 1},
	{"cut in the middle", []byte(`{"s":"abc`), 0, 1},
	{"not an object", []byte(`[1,2]`), 0, 2},
	{"a bare number", []byte(`42`), 0, 1},
	{"null row in an array", []byte(`[{"s":"ok"},null]`), 1, 1},
	{"broken line among good ones", []byte("{\"s\":\"1\"}\n{\"s\":\n{\"s\":\"3\"}"), 2, 1},
	{"unknown members", []byte(`{"s":"a","zzz":{"deep":[1,2,3]}}`), 1, 0},
	{"member name of 1 MB", []byte(`{"` + strings.Repeat("k", 1<<20) + `":1,"s":"a"}`), 1, 0},
	{"all NULL", []byte(`{"s":null,"n":null,"d":null,"b":null,"t":null,"j":null}`), 1, 0},
	{"10000 rows in one message", []byte(`[` + strings.TrimSuffix(strings.Repeat(`{"n":1},`, 10000), ",") + `]`), 10000, 0},
}

func createSource(t *testing.T, api *servertest.Client, name string, fields []map[string]any, extra map[string]any) {
	t.Helper()
	def := map[string]any{"name": name, "kind": "ingest", "fields": fields, "ingest": map[string]any{"policy": "Inline", "maxBatchRows": 100000}}
	for k, v := range extra {
		def[k] = v
	}
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/sources", def, nil)
}

func createTable(t *testing.T, api *servertest.Client, name, sql string) string {
	t.Helper()
	var out struct {
		ID     string  `json:"id"`
		Status string  `json:"status"`
		Error  *string `json:"error"`
	}
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/tables", map[string]any{"name": name, "description": "", "sql": sql}, &out)
	api.Must(t, http.StatusOK, http.MethodPost, "/api/tables/"+out.ID+"/start", nil, &out)
	if out.Status != "Running" {
		t.Fatalf("start table %s: %s %v", name, out.Status, out.Error)
	}
	return out.ID
}

func connect(t *testing.T, p *servertest.Process, user, password string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(p.NATS, nats.UserInfo(user, password), nats.CustomInboxPrefix("_INBOX_"+user), nats.Timeout(10*time.Second))
	if err != nil {
		t.Fatalf("connect as %s: %v", user, err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// TestHostilePayloadsOverNATS publishes each payload as an external client: rows and quarantine grow by exactly
// what the table says, the quarantine keeps the original bytes, and the process stays healthy.
func TestHostilePayloadsOverNATS(t *testing.T) {
	p := servertest.Start(t, t.TempDir(), "--Seed:Demo=false")
	api := p.Login(t, "admin", "admin123!")
	createSource(t, api, "hostile", hostileFields, map[string]any{"onCoercionFailure": "DropRow"})
	createTable(t, api, "counted", "SELECT COUNT(*) AS n FROM hostile")
	js, err := jetstream.New(connect(t, p, "admin", "admin123!"))
	if err != nil {
		t.Fatal(err)
	}
	wantRows, wantBad := 0, 0
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			ack, err := js.Publish(t.Context(), "sf.default.source.hostile", h.payload)
			if err != nil {
				t.Fatalf("publish: %v", err)
			}
			wantRows += h.rows
			wantBad += h.quarantined
			rows := api.Rows(t, "counted", "hostile:"+strconv.FormatUint(ack.Sequence, 10))
			got := 0.0
			if len(rows.Rows) == 1 {
				got, _ = rows.Rows[0].Row["n"].(float64)
			}
			if int(got) != wantRows {
				t.Errorf("%d rows were admitted, want %d", int(got), wantRows)
			}
			servertest.Await(t, 10*time.Second, "quarantine", func() string {
				var q quarantine
				api.Must(t, http.StatusOK, http.MethodGet, "/api/sources/hostile/quarantine?limit=1000", nil, &q)
				if q.Total != int64(wantBad) {
					return fmt.Sprintf("%d entries, want %d", q.Total, wantBad)
				}
				return ""
			})
			wantRows, wantBad = int(got), max(wantBad, 0)
			if code, _ := api.Do(t, http.MethodGet, "/readyz", nil, nil); code != http.StatusOK {
				t.Errorf("/readyz answers %d", code)
			}
		})
	}
	var q quarantine
	api.Must(t, http.StatusOK, http.MethodGet, "/api/sources/hostile/quarantine?limit=1000", nil, &q)
	found := false
	for _, e := range q.Entries {
		if e.Reason == "" || (e.Stage != "decode" && e.Stage != "coerce") || e.SourceSeq == 0 {
			t.Errorf("entry %+v lacks a reason, a stage or its position", e)
		}
		found = found || bytes.Equal(e.Payload, []byte(`{"n":"twelve"}`))
	}
	if !found {
		t.Errorf("no entry holds the original bytes of the row with text for a Long")
	}
}

type quarantine struct {
	Entries []struct {
		Seq       uint64 `json:"seq"`
		Reason    string `json:"reason"`
		Stage     string `json:"stage"`
		SourceSeq uint64 `json:"sourceSeq"`
		Index     int    `json:"index"`
		Payload   []byte `json:"payloadBase64"`
	} `json:"entries"`
	Total int64 `json:"total"`
}

// TestHostilePush sends hostile bodies to the push route: each has its documented status, names the fault, and
// admits nothing.
func TestHostilePush(t *testing.T) {
	p := servertest.Start(t, t.TempDir(), "--Seed:Demo=false")
	api := p.Login(t, "admin", "admin123!")
	createSource(t, api, "push", hostileFields, map[string]any{"onCoercionFailure": "RejectBatch"})
	createTable(t, api, "pushed", "SELECT COUNT(*) AS n FROM push")
	event := func(row string) []byte { return []byte(`{"events":[` + row + `]}`) }
	cases := []struct {
		name string
		body []byte
		want int
		says string
	}{
		{"no body", nil, 400, ""},
		{"not JSON", []byte(`hello`), 400, ""},
		{"cut body", []byte(`{"events":[{"s":"a"`), 400, ""},
		{"events is no array", []byte(`{"events":{"s":"a"}}`), 400, "events"},
		{"empty batch", []byte(`{"events":[]}`), 202, ""},
		{"null row", event(`null`), 400, "row 0"},
		{"number row", event(`7`), 400, "row 0"},
		{"second row bad", event(`{"n":1},{"n":"x"}`), 400, "row 1"},
		{"NUL in a string", []byte("{\"events\":[{\"s\":\"a\x00\"}]}"), 400, ""},
		{"invalid UTF-8", []byte("{\"events\":[{\"s\":\"\xff\"}]}"), 400, ""},
		{"NaN", event(`{"d":NaN}`), 400, ""},
		{"2^63", event(`{"n":9223372036854775808}`), 400, "row 0"},
		{"deep", event(`{"j":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`), 400, ""},
		{"duplicate keys", event(`{"n":1,"n":2}`), 202, ""},
		{"row of 10 MB", event(`{"s":"` + strings.Repeat("x", 10<<20) + `"}`), 413, "Nats:MaxPayload"},
		{"body of 40 MB", bytes.Repeat([]byte(" "), 40<<20), 413, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, text := api.Do(t, http.MethodPost, "/api/sources/push/events", c.body, nil)
			if code != c.want {
				t.Fatalf("status %d, want %d: %.300s", code, c.want, text)
			}
			if !strings.Contains(text, c.says) {
				t.Errorf("the answer does not say %q: %.300s", c.says, text)
			}
			if code != http.StatusAccepted {
				var e struct {
					Error string `json:"error"`
				}
				if json.Unmarshal([]byte(text), &e) != nil || e.Error == "" {
					t.Errorf("no error text in %.300q", text)
				}
			}
			if code, _ := api.Do(t, http.MethodGet, "/readyz", nil, nil); code != http.StatusOK {
				t.Errorf("/readyz answers %d", code)
			}
		})
	}
	var out struct {
		Position int64 `json:"position"`
	}
	api.Must(t, http.StatusAccepted, http.MethodPost, "/api/sources/push/events", event(`{"s":"after"}`), &out)
	rows := api.Rows(t, "pushed", "push:"+strconv.FormatInt(out.Position, 10))
	if len(rows.Rows) != 1 || rows.Rows[0].Row["n"] != 2.0 {
		t.Errorf("rows after all: %+v, want 2 (the duplicate-key row and the last one)", rows.Rows)
	}
}

// TestPublishRightAfterCreate: the answer to a create says that rows can come.
func TestPublishRightAfterCreate(t *testing.T) {
	p := servertest.Start(t, t.TempDir(), "--Seed:Demo=false")
	api := p.Login(t, "admin", "admin123!")
	js, err := jetstream.New(connect(t, p, "admin", "admin123!"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		name := fmt.Sprintf("fresh%d", i)
		createSource(t, api, name, hostileFields, nil)
		if _, err := js.Publish(t.Context(), "sf.default.source."+name, []byte(`{"s":"a"}`), jetstream.WithRetryAttempts(0)); err != nil {
			t.Fatalf("publish to source %d right after its creation: %v", i, err)
		}
	}
}

// TestRightsOverNATS: publish and subscribe follow the user's rights.
func TestRightsOverNATS(t *testing.T) {
	p := servertest.Start(t, t.TempDir(), "--Seed:Demo=false")
	api := p.Login(t, "admin", "admin123!")
	createSource(t, api, "guarded", hostileFields, nil)
	createTable(t, api, "seen", "SELECT s, COUNT(*) AS n FROM guarded GROUP BY s")

	if nc, err := nats.Connect(p.NATS, nats.UserInfo("admin", "wrong")); err == nil {
		nc.Close()
		t.Error("a wrong password was let in")
	}
	if nc, err := nats.Connect(p.NATS); err == nil {
		nc.Close()
		t.Error("a client without credentials was let in")
	}

	refusals := make(chan error, 16)
	viewer := connect(t, p, "viewer", "viewer123!")
	viewer.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err })
	expectRefusal := func(what string, do func() error) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := viewer.Flush(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-refusals:
			if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s was not refused", what)
		}
	}
	expectRefusal("publish by a viewer", func() error { return viewer.Publish("sf.default.source.guarded", []byte(`{"s":"x"}`)) })
	for _, subject := range []string{"$KV.>", ">", "sf.>", "_INBOX.>", "_INBOX_admin.>", "sf.ctl.>", "$SYS.>"} {
		expectRefusal("subscribe to "+subject, func() error { _, err := viewer.SubscribeSync(subject); return err })
	}
	for _, subject := range []string{"sf.default.table.seen.delta", "sf.default.epochs", "$JS.API.STREAM.DELETE.SF_default_SRC_guarded", "$JS.API.CONSUMER.CREATE.SF_default_SRC_guarded", "$KV.SF_users.admin"} {
		expectRefusal("publish to "+subject, func() error { return viewer.Publish(subject, []byte(`{}`)) })
	}

	sub, err := viewer.SubscribeSync("sf.default.source.guarded")
	if err != nil {
		t.Fatal(err)
	}
	deltas, err := viewer.SubscribeSync("sf.default.table.seen.delta")
	if err != nil {
		t.Fatal(err)
	}
	if err := viewer.Flush(); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(connect(t, p, "editor", "editor123!"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "sf.default.source.guarded", []byte(`{"s":"x"}`)); err != nil {
		t.Fatalf("publish by an editor: %v", err)
	}
	if m, err := sub.NextMsg(10 * time.Second); err != nil || string(m.Data) != `{"s":"x"}` {
		t.Errorf("the viewer's subscription got %v, %v", m, err)
	}
	if m, err := deltas.NextMsg(10 * time.Second); err != nil || m.Header.Get("Sf-Epoch") == "" {
		t.Errorf("the viewer's delta subscription got %v, %v", m, err)
	}
	select {
	case err := <-refusals:
		t.Errorf("an allowed subscription was refused: %v", err)
	default:
	}
}

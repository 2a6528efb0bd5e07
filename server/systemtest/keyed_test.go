package systemtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/server/servertest"
)

// TestKeyedSource: SRC-016, SRC-017, LIM-003: the changes of a source with a key make a relation, and what aggregates it is exact
// under updates and deletes, whichever way the rows come, through a restart, and when the key is declared later.
func TestKeyedSource(t *testing.T) {
	dir := t.TempDir()
	p := servertest.Start(t, dir, "--Seed:Demo=false")
	api := p.Login(t, "admin", "admin123!")
	fields := []map[string]any{{"name": "id", "type": "Long"}, {"name": "who", "type": "String"}, {"name": "qty", "type": "Long"}}
	createSource(t, api, "orders", fields, map[string]any{"keyFields": []string{"id"}})
	createSource(t, api, "plain", fields, nil)
	const totals = "SELECT who, COUNT(*) AS n, SUM(qty) AS qty, MIN(qty) AS low, MAX(qty) AS high, AVG(qty) AS mean FROM %s GROUP BY who"
	createTable(t, api, "totals", fmt.Sprintf(totals, "orders"))
	createTable(t, api, "copy", "SELECT id, qty FROM orders")
	createTable(t, api, "plain_totals", fmt.Sprintf(totals, "plain"))
	var v struct {
		ChangelogMode struct {
			Mode string   `json:"mode"`
			Key  []string `json:"key"`
		} `json:"changelogMode"`
	}
	api.Must(t, http.StatusOK, http.MethodPost, "/api/tables/validate", map[string]any{"sql": "SELECT id, qty FROM orders"}, &v)
	if v.ChangelogMode.Mode != "Upsert" || !slices.Equal(v.ChangelogMode.Key, []string{"id"}) {
		t.Errorf("the copy of a keyed source has mode %+v", v.ChangelogMode)
	}
	push := func(source string, want int, events ...string) {
		t.Helper()
		api.Must(t, want, http.MethodPost, "/api/sources/"+source+"/events", []byte(`{"events":[`+strings.Join(events, ",")+`]}`), nil)
	}
	holds := func(table string, want ...string) {
		t.Helper()
		servertest.Await(t, servertest.ReadyTimeout, table, func() string {
			var got []string
			for _, r := range api.Rows(t, table).Rows {
				if who, ok := r.Row["who"]; ok {
					got = append(got, fmt.Sprint(who, " ", r.Row["n"], " ", r.Row["qty"], " ", r.Row["low"], " ", r.Row["high"], " ", r.Row["mean"]))
				} else {
					got = append(got, fmt.Sprint(r.Row["id"], " ", r.Row["qty"]))
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				return fmt.Sprintf("%q, want %q", got, want)
			}
			return ""
		})
	}
	push("orders", http.StatusAccepted, `{"id":1,"who":"ann","qty":5}`, `{"id":2,"who":"ann","qty":7}`, `{"id":3,"who":"bob","qty":1,"_op":"c"}`)
	holds("totals", "ann 2 12 5 7 6", "bob 1 1 1 1 1")
	push("orders", http.StatusAccepted, `{"id":1,"who":"bob","qty":6,"_op":"u"}`, `{"id":2,"_op":"d"}`)
	holds("totals", "bob 2 7 1 6 3.5")
	// Rows of NATS are the same rows, and a mark deletes as well.
	nc := connect(t, p, "admin", "admin123!")
	for _, row := range []string{`[{"id":4,"who":"ann","qty":2},{"id":3,"_retract":true}]`, `{"id":9,"_op":"D"}`} {
		if _, err := nc.Request("sf.default.source.orders", []byte(row), 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	holds("totals", "ann 1 2 2 2 2", "bob 1 6 6 6 6")
	holds("copy", "1 6", "4 2")
	push("orders", http.StatusAccepted, `{"id":4,"_retract":true}`)
	holds("totals", "bob 1 6 6 6 6")
	// Every row is in the books of the table, also after a kill.
	books := func() {
		t.Helper()
		var m struct {
			DeltasIn       int64 `json:"deltasIn"`
			UpsertedRows   int64 `json:"upsertedRows"`
			DeletedRows    int64 `json:"deletedRows"`
			UnknownDeletes int64 `json:"unknownDeletes"`
		}
		servertest.Await(t, servertest.ReadyTimeout, "the books of totals", func() string {
			api.Must(t, http.StatusOK, http.MethodGet, "/api/tables/totals/metrics", nil, &m)
			if m.DeltasIn != 9 || m.UpsertedRows != 5 || m.DeletedRows != 3 || m.UnknownDeletes != 1 {
				return fmt.Sprintf("%+v, want 9 rows: 5 upserts, 3 deletes, 1 of an unknown key", m)
			}
			return ""
		})
	}
	books()
	// A source without a key adds every row, and takes no mark.
	push("plain", http.StatusAccepted, `{"id":1,"who":"ann","qty":5}`, `{"id":1,"who":"ann","qty":6,"_op":"d"}`)
	holds("plain_totals", "ann 2 11 5 6 5.5")
	push("plain", http.StatusBadRequest, `{"id":1,"_retract":true}`)

	p.Kill(t)
	p = servertest.Start(t, dir, "--Seed:Demo=false")
	api.Base = p.HTTP
	holds("totals", "bob 1 6 6 6 6")
	books()
	push("orders", http.StatusAccepted, `{"id":1,"who":"cid","qty":8}`, `{"id":5,"who":"cid","qty":10}`)
	holds("totals", "cid 2 18 8 10 9")

	// A key that is declared later makes a relation of the rows that are there.
	def := map[string]any{"name": "plain", "kind": "ingest", "fields": fields, "ingest": map[string]any{"policy": "Inline"}, "keyFields": []string{"id"}}
	api.Must(t, http.StatusOK, http.MethodPut, "/api/sources/plain", def, nil)
	holds("plain_totals", "ann 1 6 6 6 6")
	push("plain", http.StatusAccepted, `{"id":1,"_op":"d"}`)
	holds("plain_totals")
	for _, wrong := range [][]string{{"nope"}, {"id", "ID"}} {
		def["keyFields"] = wrong
		api.Must(t, http.StatusBadRequest, http.MethodPut, "/api/sources/plain", def, nil)
	}
}

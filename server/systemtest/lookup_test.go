package systemtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/server/servertest"
)

// TestPipelineLooksUpTables: a pipeline completes its rows with what a table has, begins with the retained rows, keeps
// tables from being stopped under it, and goes on after kill -9 as if nothing had been.
func TestPipelineLooksUpTables(t *testing.T) {
	dir := t.TempDir()
	p := servertest.Start(t, dir, "--Seed:Demo=false")
	api := p.Login(t, "admin", "admin123!")
	createSource(t, api, "trades", []map[string]any{{"name": "id", "type": "Long"}, {"name": "symbol", "type": "String"}}, nil)
	createSource(t, api, "prices", []map[string]any{{"name": "symbol", "type": "String"}, {"name": "px", "type": "Double"}}, map[string]any{"keyFields": []string{"symbol"}})
	push := func(source string, events ...string) {
		t.Helper()
		api.Must(t, http.StatusAccepted, http.MethodPost, "/api/sources/"+source+"/events", []byte(`{"events":[`+strings.Join(events, ",")+`]}`), nil)
	}
	type entity struct {
		ID          string   `json:"id"`
		Status      string   `json:"status"`
		Error       *string  `json:"error"`
		TableInputs []string `json:"tableInputs"`
		SourceNames []string `json:"sourceNames"`
	}
	var table, pipe entity
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/tables", map[string]any{"name": "newest", "description": "", "sql": "SELECT symbol, px FROM prices"}, &table)
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/pipelines", map[string]any{
		"name": "valued", "description": "", "sql": "SELECT t.id, n.px FROM trades t LEFT JOIN newest n ON t.symbol = n.symbol",
	}, &pipe)
	if len(pipe.TableInputs) != 1 || pipe.TableInputs[0] != "newest" || len(pipe.SourceNames) != 1 || pipe.SourceNames[0] != "trades" {
		t.Errorf("inputs %v and %v", pipe.SourceNames, pipe.TableInputs)
	}
	start := func(kind, id string) (e entity) {
		api.Must(t, http.StatusOK, http.MethodPost, "/api/"+kind+"/"+id+"/start", nil, &e)
		return e
	}
	if got := start("pipelines", pipe.ID); got.Status != "Failed" || got.Error == nil || *got.Error != "table input(s) not running: newest" {
		t.Errorf("started without its table: %s %v", got.Status, got.Error)
	}
	start("tables", table.ID)
	push("prices", `{"symbol":"A","px":1.5}`)
	push("trades", `{"id":1,"symbol":"A"}`, `{"id":2,"symbol":"B"}`)
	servertest.Await(t, servertest.ReadyTimeout, "the price is there", func() string {
		if n := len(api.Rows(t, "newest").Rows); n != 1 {
			return fmt.Sprint(n, " rows")
		}
		return ""
	})
	if got := start("pipelines", pipe.ID); got.Status != "Running" {
		t.Fatalf("start: %s %v", got.Status, got.Error)
	}
	holds := func(want ...string) {
		t.Helper()
		servertest.Await(t, servertest.ReadyTimeout, "results", func() string {
			var rows []struct {
				Row map[string]any `json:"row"`
			}
			api.Must(t, http.StatusOK, http.MethodGet, "/api/pipelines/valued/results", nil, &rows)
			var got []string
			for _, r := range rows {
				got = append(got, fmt.Sprint(r.Row["id"], " ", r.Row["px"]))
			}
			if strings.Join(got, ",") != strings.Join(want, ",") {
				return fmt.Sprintf("%q, want %q", got, want)
			}
			return ""
		})
	}
	holds("1 1.5", "2 <nil>")
	if code, text := api.Do(t, http.MethodPost, "/api/tables/"+table.ID+"/stop", nil, nil); code != http.StatusConflict || !strings.Contains(text, "running pipeline(s) look it up: valued") {
		t.Errorf("stop of the table: %d %s", code, text)
	}
	priced := func(px string) {
		t.Helper()
		servertest.Await(t, servertest.ReadyTimeout, "the price "+px, func() string {
			for _, r := range api.Rows(t, "newest").Rows {
				if r.Row["symbol"] == "B" && fmt.Sprint(r.Row["px"]) == px {
					return ""
				}
			}
			return "not there"
		})
	}
	push("prices", `{"symbol":"B","px":2.5}`)
	priced("2.5")
	push("trades", `{"id":3,"symbol":"B"}`)
	holds("1 1.5", "2 <nil>", "3 2.5")

	p.Kill(t)
	p = servertest.Start(t, dir, "--Seed:Demo=false")
	api.Base = p.HTTP
	holds("1 1.5", "2 <nil>", "3 2.5")
	push("trades", `{"id":4,"symbol":"B"}`)
	holds("1 1.5", "2 <nil>", "3 2.5", "4 2.5")
	push("prices", `{"symbol":"B","_op":"d"}`)
	servertest.Await(t, servertest.ReadyTimeout, "the delete", func() string {
		if n := len(api.Rows(t, "newest").Rows); n != 1 {
			return fmt.Sprint(n, " rows")
		}
		return ""
	})
	push("trades", `{"id":5,"symbol":"B"}`)
	holds("1 1.5", "2 <nil>", "3 2.5", "4 2.5", "5 <nil>")
	p.Stop(t)
	p = servertest.Start(t, dir, "--Seed:Demo=false")
	api.Base = p.HTTP
	push("trades", `{"id":6,"symbol":"A"}`)
	holds("1 1.5", "2 <nil>", "3 2.5", "4 2.5", "5 <nil>", "6 1.5")

	// A table that reads the pipeline cannot be looked up by it.
	var over entity
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/tables", map[string]any{"name": "over", "description": "", "sql": "SELECT id, px FROM valued"}, &over)
	code, text := api.Do(t, http.MethodPut, "/api/pipelines/"+pipe.ID, map[string]any{
		"name": "valued", "description": "", "sql": "SELECT t.id, o.px FROM trades t JOIN over o ON t.id = o.id",
	}, nil)
	if code != http.StatusConflict || !strings.Contains(text, "would read itself") {
		t.Errorf("a cycle: %d %s", code, text)
	}
	code, text = api.Do(t, http.MethodPut, "/api/pipelines/"+pipe.ID, map[string]any{
		"name": "valued", "description": "", "sql": "SELECT t.id, n.px FROM trades t LEFT JOIN newest n ON t.symbol = n.symbol", "replayFrom": map[string]any{"newest": map[string]any{"seq": 1}},
	}, nil)
	if code != http.StatusConflict || !strings.Contains(text, "which is a table") {
		t.Errorf("replay of a table: %d %s", code, text)
	}
}

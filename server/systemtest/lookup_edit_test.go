package systemtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/server/servertest"
)

// TestLookedUpTableIsEdited: a pipeline goes on over an edit of a table that it looks up, also when the server is killed
// before the next checkpoint is due.
func TestLookedUpTableIsEdited(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--Seed:Demo=false", "--Tables:CheckpointMs=86400000"}
	p := servertest.Start(t, dir, args...)
	api := p.Login(t, "admin", "admin123!")
	createSource(t, api, "trades", []map[string]any{{"name": "id", "type": "Long"}, {"name": "symbol", "type": "String"}}, nil)
	createSource(t, api, "prices", []map[string]any{{"name": "symbol", "type": "String"}, {"name": "px", "type": "Double"}}, map[string]any{"keyFields": []string{"symbol"}})
	push := func(source string, events ...string) {
		t.Helper()
		api.Must(t, http.StatusAccepted, http.MethodPost, "/api/sources/"+source+"/events", []byte(`{"events":[`+strings.Join(events, ",")+`]}`), nil)
	}
	table := createTable(t, api, "newest", "SELECT symbol, px FROM prices")
	var pipe struct {
		ID     string  `json:"id"`
		Status string  `json:"status"`
		Error  *string `json:"error"`
	}
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/pipelines", map[string]any{
		"name": "valued", "description": "", "sql": "SELECT t.id, n.px FROM trades t LEFT JOIN newest n ON t.symbol = n.symbol",
	}, &pipe)
	push("prices", `{"symbol":"A","px":1.5}`)
	awaitCell := func(px string) {
		t.Helper()
		servertest.Await(t, servertest.ReadyTimeout, "the price "+px, func() string {
			rows := api.Rows(t, "newest").Rows
			if len(rows) == 1 && fmt.Sprint(rows[0].Row["px"]) == px {
				return ""
			}
			return fmt.Sprint(rows)
		})
	}
	awaitCell("1.5")
	push("trades", `{"id":1,"symbol":"A"}`)
	api.Must(t, http.StatusOK, http.MethodPost, "/api/pipelines/"+pipe.ID+"/start", nil, &pipe)
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
				api.Must(t, http.StatusOK, http.MethodGet, "/api/pipelines/"+pipe.ID, nil, &pipe)
				e := ""
				if pipe.Error != nil {
					e = *pipe.Error
				}
				return fmt.Sprintf("%q, want %q; %s %s", got, want, pipe.Status, e)
			}
			return ""
		})
	}
	holds("1 1.5")
	want := []string{"1 1.5"}
	trade := func(px string) {
		t.Helper()
		id := len(want) + 1
		push("trades", fmt.Sprintf(`{"id":%d,"symbol":"A"}`, id))
		want = append(want, fmt.Sprint(id, " ", px))
		holds(want...)
	}
	restart := func() {
		t.Helper()
		p.Kill(t)
		p = servertest.Start(t, dir, args...)
		api.Base = p.HTTP
		holds(want...)
	}
	trade("1.5")
	restart()
	trade("1.5")
	for _, factor := range []int{2, 4} {
		px := fmt.Sprint(1.5 * float64(factor))
		api.Must(t, http.StatusOK, http.MethodPut, "/api/tables/"+table, map[string]any{"name": "newest", "description": "", "sql": fmt.Sprintf("SELECT symbol, px * %d AS px FROM prices", factor)}, nil)
		awaitCell(px)
		// The second row is taken when the step of the first one, or an earlier one, has taken the new version for good.
		trade(px)
		trade(px)
		restart()
		trade(px)
		restart()
		trade(px)
	}
	if p.Stop(t) != 0 {
		t.Fatal("stop")
	}
	p = servertest.Start(t, dir, args...)
	api.Base = p.HTTP
	trade("6")
}

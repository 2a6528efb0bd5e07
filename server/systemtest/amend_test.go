package systemtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/server/servertest"
)

// TestAnAmendedWindowIsToldApart: a late row within the allowance amends a closed window, and a client can tell the
// row that is taken back from the one that takes its place.
func TestAnAmendedWindowIsToldApart(t *testing.T) {
	p := servertest.Start(t, t.TempDir(), "--Seed:Demo=false", "--Pipelines:IdleMs=86400000")
	api := p.Login(t, "admin", "admin123!")
	createSource(t, api, "ticks", []map[string]any{{"name": "s", "type": "String"}}, nil)
	var pipe struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/pipelines", map[string]any{
		"name": "amended", "description": "",
		"sql": "SELECT s, COUNT(*) AS n FROM ticks GROUP BY s WINDOW TUMBLING(SIZE 1 SECONDS) ALLOWED LATENESS 10 SECONDS",
	}, &pipe)
	api.Must(t, http.StatusOK, http.MethodPost, "/api/pipelines/"+pipe.ID+"/start", nil, &pipe)
	push := func(ts int) {
		api.Must(t, http.StatusAccepted, http.MethodPost, "/api/sources/ticks/events", []byte(fmt.Sprintf(`{"events":[{"s":"a","_ts":%d}]}`, ts)), nil)
	}
	push(10_000)
	push(15_000)
	type result struct {
		Seq    int64          `json:"seq"`
		Weight *int64         `json:"weight"`
		Row    map[string]any `json:"row"`
	}
	var rows []result
	await := func(n int) {
		servertest.Await(t, 20*time.Second, "results", func() string {
			rows = nil
			api.Must(t, http.StatusOK, http.MethodGet, "/api/pipelines/amended/results", nil, &rows)
			if len(rows) != n {
				return fmt.Sprintf("%d results, want %d", len(rows), n)
			}
			return ""
		})
	}
	await(1)
	if rows[0].Weight != nil || rows[0].Row["n"] != 1.0 {
		t.Fatalf("the first result is %+v", rows[0])
	}
	push(10_500)
	await(3)
	if w := rows[1].Weight; w == nil || *w != -1 || rows[1].Row["n"] != 1.0 {
		t.Errorf("the second result %+v does not take the first one back", rows[1])
	}
	if rows[2].Weight != nil || rows[2].Row["n"] != 2.0 {
		t.Errorf("the third result is %+v", rows[2])
	}
	_, csv := api.Do(t, http.MethodGet, "/api/pipelines/amended/results.csv", nil, nil)
	if lines := strings.Split(strings.TrimSpace(csv), "\r\n"); len(lines) != 4 || !strings.HasSuffix(lines[0], ",_weight") || !strings.HasSuffix(lines[2], ",-1") || !strings.HasSuffix(lines[3], ",1") {
		t.Errorf("the CSV does not tell weights:\n%s", csv)
	}
}

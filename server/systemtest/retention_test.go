package systemtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/server/servertest"
)

// TestRetentionBoundsATable: TBL-033, TBL-034: a bounded table keeps its newest rows, those that read it see the others
// leave, and a restart changes nothing of it.
func TestRetentionBoundsATable(t *testing.T) {
	dir := t.TempDir()
	p := servertest.Start(t, dir, "--Seed:Demo=false")
	api := p.Login(t, "admin", "admin123!")
	createSource(t, api, "ticks", []map[string]any{{"name": "n", "type": "Long"}}, nil)
	bounded := func(name, sql string) {
		var out struct {
			ID     string `json:"id"`
			Status string `json:"status"`
		}
		api.Must(t, http.StatusCreated, http.MethodPost, "/api/tables", map[string]any{"name": name, "description": "", "sql": sql, "retentionMaxRows": 3}, &out)
		api.Must(t, http.StatusOK, http.MethodPost, "/api/tables/"+out.ID+"/start", nil, &out)
		if out.Status != "Running" {
			t.Fatalf("start table %s: %s", name, out.Status)
		}
	}
	bounded("newest", "SELECT n FROM ticks")
	bounded("latest", "SELECT n FROM ticks LATEST BY (n)")
	createTable(t, api, "sums", "SELECT COUNT(*) AS rows, SUM(n) AS total FROM newest")
	push := func(from, to int) {
		var events []string
		for n := from; n < to; n++ {
			events = append(events, fmt.Sprintf(`{"n":%d,"_ts":%d}`, n, 1_000_000+n))
		}
		api.Must(t, http.StatusAccepted, http.MethodPost, "/api/sources/ticks/events", []byte(`{"events":[`+strings.Join(events, ",")+`]}`), nil)
	}
	holds := func(want ...float64) {
		t.Helper()
		servertest.Await(t, servertest.ReadyTimeout, "the tables hold the newest rows", func() string {
			total := 0.0
			for _, w := range want {
				total += w
			}
			for _, table := range []string{"newest", "latest"} {
				var got []float64
				for _, r := range api.Rows(t, table).Rows {
					got = append(got, r.Row["n"].(float64))
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					return fmt.Sprintf("%s holds %v, want %v", table, got, want)
				}
			}
			rows := api.Rows(t, "sums").Rows
			if len(rows) != 1 || rows[0].Row["rows"] != float64(len(want)) || rows[0].Row["total"] != total {
				return fmt.Sprintf("sums holds %v", rows)
			}
			return ""
		})
	}
	push(0, 2)
	holds(0, 1)
	push(2, 100)
	holds(97, 98, 99)
	var m struct {
		EvictedRows int64 `json:"evictedRows"`
	}
	api.Must(t, http.StatusOK, http.MethodGet, "/api/tables/newest/metrics", nil, &m)
	if m.EvictedRows != 97 {
		t.Errorf("%d rows are counted as evicted, want 97", m.EvictedRows)
	}
	p.Stop(t)
	p = servertest.Start(t, dir, "--Seed:Demo=false")
	api.Base = p.HTTP
	holds(97, 98, 99)
	push(0, 1)     // older than all that are held
	push(100, 101) // newer
	holds(98, 99, 100)
}

package loadtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/server/servertest"
)

var rows = flag.Int64("load.rows", 50_000, "rows that the client publishes")

// report is what the load client prints.
type report struct {
	Rows       int64   `json:"rows"`
	Bad        int64   `json:"bad"`
	Messages   int64   `json:"messages"`
	LastSeq    uint64  `json:"lastSeq"`
	RowsPerSec float64 `json:"rowsPerSec"`
	Expected   map[string]struct {
		Count int64 `json:"count"`
		Qty   int64 `json:"qty"`
		Cents int64 `json:"cents"`
	} `json:"expected"`
	Error string `json:"error"`
}

func buildClient(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loadclient")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/streamsforge/streamsforge/bench/loadclient").CombinedOutput(); err != nil {
		t.Fatalf("build the load client: %v\n%s", err, out)
	}
	return path
}

func define(t *testing.T, api *servertest.Client) {
	t.Helper()
	field := func(name, kind string) map[string]any { return map[string]any{"name": name, "type": kind} }
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/sources", map[string]any{
		"name": "prints", "kind": "ingest", "ingest": map[string]any{"policy": "Inline"},
		"fields": []any{field("symbol", "String"), field("price", "Double"), field("qty", "Long"), field("side", "String"), field("trade_id", "String")},
	}, nil)
	var out struct {
		ID     string  `json:"id"`
		Status string  `json:"status"`
		Error  *string `json:"error"`
	}
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/tables", map[string]any{
		"name": "by_symbol", "description": "",
		"sql": "SELECT symbol, COUNT(*) AS n, SUM(qty) AS qty, SUM(price) AS price FROM prints GROUP BY symbol",
	}, &out)
	api.Must(t, http.StatusOK, http.MethodPost, "/api/tables/"+out.ID+"/start", nil, &out)
	if out.Status != "Running" {
		t.Fatalf("the table is %s: %v", out.Status, out.Error)
	}
}

// TestEveryPublishedRowCounts publishes from another process over TCP by JetStream async publish: the table ends
// with exact counts and sums; with undecodable rows mixed in, exactly those are quarantined and the books balance.
func TestEveryPublishedRowCounts(t *testing.T) {
	client := buildClient(t)
	for _, c := range []struct {
		name       string
		bad        string
		perMessage string
	}{
		{"single rows", "0", "1"},
		{"1 percent undecodable", "1", "1"},
		{"100 rows a message", "0", "100"},
		{"100 rows a message, 1 percent undecodable", "1", "100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := servertest.Start(t, t.TempDir(), "--Seed:Demo=false")
			api := p.Login(t, "admin", "admin123!")
			define(t, api)
			started := time.Now()
			cmd := exec.CommandContext(t.Context(), client, "-url", p.NATS, "-user", "admin", "-password", "admin123!", "-source", "prints",
				"-rows", strconv.FormatInt(*rows, 10), "-bad", c.bad, "-per-message", c.perMessage)
			out, err := cmd.Output()
			var r report
			if jerr := json.Unmarshal(out, &r); jerr != nil || err != nil || r.Error != "" {
				t.Fatalf("load client: %v %v %s", err, jerr, out)
			}
			if r.Rows != *rows {
				t.Fatalf("%d of %d rows were acknowledged", r.Rows, *rows)
			}
			table := api.Rows(t, "by_symbol", "prints:"+strconv.FormatUint(r.LastSeq, 10))
			behind := time.Since(started)
			if len(table.Rows) != len(r.Expected) {
				t.Errorf("%d groups, want %d", len(table.Rows), len(r.Expected))
			}
			var sum int64
			for _, row := range table.Rows {
				want := r.Expected[fmt.Sprint(row.Row["symbol"])]
				n, qty, price := row.Row["n"].(float64), row.Row["qty"].(float64), row.Row["price"].(float64)
				if int64(n) != want.Count || int64(qty) != want.Qty {
					t.Errorf("%v: count %v, qty %v; want %d, %d", row.Row["symbol"], n, qty, want.Count, want.Qty)
				}
				// A double cannot hold every hundredth; the exact sum of the nearest doubles is within half a cent.
				if cents := int64(price*100 + 0.5); cents != want.Cents {
					t.Errorf("%v: price %v, want %d cents", row.Row["symbol"], price, want.Cents)
				}
				sum += int64(n)
			}
			var q struct {
				Total int64 `json:"total"`
			}
			api.Must(t, http.StatusOK, http.MethodGet, "/api/sources/prints/quarantine?limit=1", nil, &q)
			if q.Total != r.Bad {
				t.Errorf("%d rows are in quarantine, want %d", q.Total, r.Bad)
			}
			var m struct {
				RowsTotal        int64 `json:"rowsTotal"`
				QuarantinedTotal int64 `json:"quarantinedTotal"`
				LastSeq          int64 `json:"lastSeq"`
			}
			servertest.Await(t, 10*time.Second, "source counters", func() string {
				api.Must(t, http.StatusOK, http.MethodGet, "/api/sources/prints/metrics", nil, &m)
				if m.LastSeq != int64(r.LastSeq) {
					return fmt.Sprintf("counted up to %d, want %d", m.LastSeq, r.LastSeq)
				}
				return ""
			})
			if m.QuarantinedTotal != r.Bad || m.RowsTotal != sum || m.RowsTotal+m.QuarantinedTotal != r.Rows {
				t.Errorf("the books do not balance: %d published = %d read (table holds %d) + %d quarantined (%d were bad)", r.Rows, m.RowsTotal, sum, m.QuarantinedTotal, r.Bad)
			}
			t.Logf("%d rows in %d messages, client %.0f rows/s; published and in the table %.0f rows/s", r.Rows, r.Messages, r.RowsPerSec, float64(r.Rows)/behind.Seconds())
		})
	}
}

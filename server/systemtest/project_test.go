package systemtest

import (
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/streamsforge/streamsforge/server/project"
	"github.com/streamsforge/streamsforge/server/servertest"
)

// TestDeployProject, CHG-014: the sample project becomes tables of a server, and its rows are those of its fixture.
func TestDeployProject(t *testing.T) {
	p := servertest.Start(t, t.TempDir(), "--Seed:Demo=false")
	api := p.Login(t, "admin", "admin123!")
	o, err := project.Open(project.Sample())
	if err != nil {
		t.Fatal(err)
	}
	target := project.Target{URL: p.HTTP, User: "admin", Password: "admin123!"}
	if done, err := o.Deploy(t.Context(), target); err == nil || len(done) > 0 {
		t.Fatalf("without its source the project is deployed: %v", done)
	}
	createSource(t, api, "orders", []map[string]any{{"name": "customer_id", "type": "Long"}, {"name": "amount", "type": "Double"}}, nil)
	actions := func(dry bool) (out []string) {
		t.Helper()
		target.DryRun = dry
		done, err := o.Deploy(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range done {
			out = append(out, d.Action+" "+d.Kind+" "+d.Name)
		}
		return out
	}
	created := []string{"created table customer_metrics", "created table big_customers"}
	for _, dry := range []bool{true, false} {
		if got := actions(dry); !slices.Equal(got, created) {
			t.Errorf("dry %v: %v", dry, got)
		}
	}
	if got, want := actions(false), []string{"unchanged table customer_metrics", "unchanged table big_customers"}; !slices.Equal(got, want) {
		t.Errorf("again: %v", got)
	}
	push := func(amount int) string {
		t.Helper()
		var out struct {
			Position int64 `json:"position"`
		}
		api.Must(t, http.StatusAccepted, http.MethodPost, "/api/sources/orders/events", fmt.Appendf(nil, `{"events":[{"customer_id":42,"amount":%d}]}`, amount), &out)
		return fmt.Sprint("orders:", out.Position)
	}
	for i, amount := range []int{130, 10, -50} {
		at := push(amount)
		big := api.Rows(t, "big_customers", at).Rows
		switch want := []float64{130, 140, 0}[i]; {
		case want == 0 && len(big) != 0:
			t.Errorf("after the refund: %v", big)
		case want > 0 && (len(big) != 1 || big[0].Row["total_spend"] != want):
			t.Errorf("after %d: %v, want %v", amount, big, want)
		}
	}
	// Another statement is an update.
	files := fstest.MapFS{"models/big_customers.sql": {Data: []byte("SELECT customer_id, total_spend FROM ref('customer_metrics') WHERE total_spend > 50")}}
	for _, name := range []string{"streamsforge.yml", "models/customer_metrics.sql"} {
		text, err := fs.ReadFile(project.Sample(), name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	if o, err = project.Open(files); err != nil {
		t.Fatal(err)
	}
	if got, want := actions(false), []string{"unchanged table customer_metrics", "updated table big_customers"}; !slices.Equal(got, want) {
		t.Errorf("another statement: %v", got)
	}
	servertest.Await(t, servertest.ReadyTimeout, "the new statement", func() string {
		if rows := api.Rows(t, "big_customers").Rows; len(rows) != 1 || rows[0].Row["total_spend"] != 90.0 {
			return fmt.Sprint(rows)
		}
		return ""
	})
}

package project_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/project"
)

func TestPlain(t *testing.T) {
	c, found := check(
		model("totals", "upsert", "-- totals\n"+grouped+";", "customer"),
		model("newest", "upsert", "SELECT id, customer -- who\nFROM orders;", "id"),
		model("both", "upsert", "SELECT m.customer, m.total FROM ref('totals') AS m WHERE m.customer IN (SELECT customer FROM REF( 'newest' ))", "customer"),
	)
	if project.HasErrors(found) {
		t.Fatal(found)
	}
	got, err := c.PlainStatements()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"-- totals\n" + grouped + ";",
		"SELECT * FROM (SELECT id, customer FROM orders) AS newest LATEST BY (id)",
		"SELECT m.customer, m.total FROM totals AS m WHERE m.customer IN (SELECT customer FROM newest)",
	} {
		if got[i] != want {
			t.Errorf("got  %s\nwant %s", got[i], want)
		}
	}
}

func TestPlainRefuses(t *testing.T) {
	c, found := check(
		model("totals", "upsert", grouped, "customer"),
		model("all", "append", "SELECT customer FROM orders"),
		model("over", "append", "SELECT customer, COUNT(*) AS n FROM ref('all') GROUP BY customer WINDOW TUMBLING(SIZE 5 SECONDS)"),
		model("keyed", "upsert", "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer WINDOW TUMBLING(SIZE 5 SECONDS)", "customer"),
		model("hidden", "upsert", "WITH totals AS (SELECT customer FROM orders) SELECT t.customer, COUNT(*) AS n FROM ref('totals') AS t JOIN totals AS o ON o.customer = t.customer GROUP BY t.customer", "customer"),
		model("caught", "upsert", "WITH totals AS (SELECT customer FROM ref('totals') WHERE total > 1) SELECT t.customer, COUNT(*) AS n FROM ref('totals') AS t JOIN totals AS o ON o.customer = t.customer GROUP BY t.customer", "customer"),
	)
	if project.HasErrors(found) {
		t.Fatal(found)
	}
	_, err := c.PlainStatements()
	for _, want := range []error{project.ErrPipelineOverModel, project.ErrKeyedPipeline} {
		if !errors.Is(err, want) {
			t.Errorf("%v is not refused: %v", want, err)
		}
	}
	for _, name := range []string{"hidden", "caught"} {
		if err == nil || !strings.Contains(err.Error(), "model "+name+": "+project.ErrHiddenModel.Error()) {
			t.Errorf("%s is not refused: %v", name, err)
		}
	}
}

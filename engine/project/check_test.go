package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/project"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

var orders = project.Source{Name: "orders", Fields: types.Schema{
	{Name: "id", Kind: types.Long}, {Name: "customer", Kind: types.String}, {Name: "amount", Kind: types.Long},
}}

func check(models ...project.Model) (*project.Checked, []project.Finding) {
	return project.Check(project.Project{Sources: []project.Source{orders}, Models: models})
}

func model(name, materialized, sql string, key ...string) project.Model {
	return project.Model{Name: name, Materialized: materialized, SQL: sql, Key: key}
}

const grouped = "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer"

// CHG-002, CHG-003, CHG-004: what statements derive, and that each can be declared in one way only.
func TestDerivedModes(t *testing.T) {
	base := []project.Model{model("totals", "upsert", grouped, "customer"), model("bare", "retract", "SELECT total FROM ref('totals')")}
	for sql, want := range map[string]string{
		"SELECT * FROM orders":                            "Append",
		"SELECT amount + 1 AS a FROM orders WHERE id > 1": "Append",
		grouped: "Upsert(customer)",
		"SELECT SUM(amount) AS total, customer AS c, id FROM orders GROUP BY customer, id":                                                             "Upsert(c, id)",
		"SELECT COUNT(*) AS n FROM orders":                                                                                                             "Upsert()",
		"SELECT * FROM orders LATEST BY (id)":                                                                                                          "Upsert(id)",
		"SELECT SUM(amount) AS total FROM orders GROUP BY customer":                                                                                    "Retract",
		"SELECT customer, total FROM ref('totals') WHERE total > 1":                                                                                    "Upsert(customer)",
		"SELECT customer FROM ref('totals') WHERE total IN (SELECT total FROM ref('bare'))":                                                            "Upsert(customer)",
		"SELECT o.id, t.total FROM orders o JOIN ref('totals') t ON t.customer = o.customer":                                                           "Retract",
		"SELECT total, COUNT(*) AS n FROM ref('totals') GROUP BY total":                                                                                "Upsert(total)",
		"SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer WINDOW TUMBLING(SIZE 5 SECONDS)":                                                 "Append",
		"SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer WINDOW TUMBLING(SIZE 5 SECONDS) ALLOWED LATENESS 5 SECONDS":                      "Upsert(customer, window_start)",
		"SELECT a.id FROM orders a JOIN orders b WITHIN 5 SECONDS ON a.id = b.id":                                                                      "Append",
		"WITH t AS (SELECT customer, total FROM ref('totals')) SELECT customer, MAX(total) AS most FROM t GROUP BY customer ORDER BY customer LIMIT 3": "Upsert(customer)",
	} {
		ok := 0
		for _, declared := range []project.Model{
			model("m", "append", sql), model("m", "retract", sql), model("m", "upsert", sql), model("m", "upsert", sql, keyOf(want)...),
		} {
			c, found := check(append(slices.Clone(base), declared)...)
			if m := c.Model("m"); m != nil {
				if project.HasErrors(found) {
					t.Errorf("%s: %v", sql, found)
				}
				if m.Derived.String() != want {
					t.Errorf("%s: derives %s, want %s", sql, m.Derived, want)
				}
				ok++
			} else if len(found) == 0 {
				t.Errorf("%s: nothing is said", sql)
			}
		}
		want2 := 1
		if want == "Upsert()" { // without a key and with the empty one
			want2 = 2
		}
		if ok != want2 {
			t.Errorf("%s can be declared in %d of 4 ways", sql, ok)
		}
	}
}

func keyOf(mode string) []string {
	_, rest, ok := strings.Cut(mode, "(")
	if rest = strings.TrimSuffix(rest, ")"); !ok || rest == "" {
		return nil
	}
	return strings.Split(rest, ", ")
}

// CHG-011: a declared key is the identity of the rows for everybody who reads the model.
func TestDeclaredKeyIsRead(t *testing.T) {
	c, found := check(model("facts", "upsert", "SELECT * FROM orders", "id"), model("late", "append", "SELECT * FROM ref('facts')"),
		model("some", "upsert", "SELECT id, amount FROM ref('facts') WHERE amount > 1", "id"))
	if m := c.Model("facts"); m == nil || m.Effective.String() != "Upsert(id)" || m.Derived.Mode != engine.Append || !m.Upserted() {
		t.Errorf("facts: %+v %v", m, found)
	}
	if c.Model("some") == nil || c.Model("some").Derived.String() != "Upsert(id)" {
		t.Error("some: the key of facts is not read")
	}
	if len(found) != 1 || found[0].Model != "late" || !strings.Contains(found[0].Message, "nowhere to go") {
		t.Errorf("late: %v", found)
	}
}

func TestPlaces(t *testing.T) {
	at := project.Place{File: "f", Line: 10, Column: 5}
	for _, c := range []struct {
		text project.Text
		pos  syntax.Pos
		want string
	}{
		{project.Text{At: at, Indent: 4}, syntax.Pos{Line: 1, Column: 3}, "f:10:7"},
		{project.Text{At: at, Indent: 4}, syntax.Pos{Line: 3, Column: 3}, "f:12:7"},
		{project.Text{At: at, Folded: true}, syntax.Pos{Line: 3, Column: 3}, "f:10:5"},
		{project.Text{At: at}, syntax.Pos{}, "f:10:5"},
	} {
		if got := c.text.Place(c.pos).String(); got != c.want {
			t.Errorf("%+v of %+v is %s, want %s", c.pos, c.text, got, c.want)
		}
	}
}

// TestOrder holds the order of random models: each stands behind those that it reads, or is on a circle or reads one that
// cannot be read; and circles are found exactly when there are some.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "models")
		reads := make([][]int, n)
		var models []project.Model
		for i := range n {
			reads[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 2, rapid.ID[int]).Draw(t, fmt.Sprint("reads of ", i))
			sql := "SELECT id FROM orders"
			for _, r := range reads[i] {
				sql += fmt.Sprintf(" UNION ALL SELECT id FROM ref('m%d')", r)
			}
			models = append(models, model(fmt.Sprintf("m%d", i), "append", sql))
		}
		// reach[i][j]: i reads j, directly or not.
		reach := make([][]bool, n)
		for i := range n {
			reach[i] = make([]bool, n)
			for _, r := range reads[i] {
				reach[i][r] = true
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		c, found := check(models...)
		cycles := 0
		for _, f := range found {
			if f.Code == project.CodeCycle {
				cycles++
			}
		}
		circular := 0
		for i := range n {
			lost := reach[i][i]
			for j := range n {
				lost = lost || reach[i][j] && reach[j][j]
			}
			if reach[i][i] {
				circular++
			}
			if got := c.Model(fmt.Sprintf("m%d", i)) == nil; got != lost {
				t.Fatalf("m%d is left out: %v, want %v; %v", i, got, lost, found)
			}
		}
		if (cycles > 0) != (circular > 0) {
			t.Fatalf("%d circles, %d models on one", cycles, circular)
		}
		for i, m := range c.Models {
			for _, r := range m.Reads {
				if at := slices.IndexFunc(c.Models, func(o *project.Compiled) bool { return o.Name == r }); at >= i {
					t.Fatalf("%s stands before %s, which it reads", m.Name, r)
				}
			}
		}
	})
}

package project_test

import (
	"testing"
	"testing/fstest"

	"github.com/streamsforge/streamsforge/server/project"
)

// FuzzOpen reads, checks and runs anything: it must neither panic nor hang, and every finding has a place.
func FuzzOpen(f *testing.F) {
	add := func(main, sql, fixture string) { f.Add([]byte(main), []byte(sql), []byte(fixture)) }
	files := tree(f, customers)
	add(string(files["streamsforge.yml"].Data), string(files["models/customer_metrics.sql"].Data), string(files["fixtures/refund.yml"].Data))
	add("models: [{name: m, materialized: append, sql: |\n  SELECT *\n  FROM s}]", "SELECT 1", "- {name: f, steps: [{advance: 1s, restart: true}]}")
	add("sources:\n- name: s\n  fields: {a: Long, b: 'Json[]'}\n  key: a\nmodels:\n- {name: m, materialized: upsert, key: a, sql: SELECT * FROM s}\nfixtures:\n- name: f\n  input: [{source: s, rows: [{a: 1, b: [1, {c: 0x10}]}, {a: 1, _op: d}]}]\n  expect: [{model: m, rows: []}]",
		"SELECT a FROM ref('m') UNION SELECT a FROM ref('customer_metrics')", "steps: []")
	add("a: &a [*a]", "", "{{}}")
	f.Fuzz(func(t *testing.T, main, sql, fixture []byte) {
		o, err := project.Open(fstest.MapFS{
			"streamform.yml":              {Data: main},
			"models/customer_metrics.sql": {Data: sql},
			"models/big_customers.sql":    {Data: []byte("SELECT * FROM ref('customer_metrics')")},
			"fixtures/f.yml":              {Data: fixture},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range o.Findings {
			if found.Place.File == "" || found.Place.Line < 1 || found.Place.Column < 1 || found.Message == "" || found.Code == "" {
				t.Fatalf("%+v", found)
			}
		}
		if len(o.Unforeseen()) == 0 {
			o.Test(project.TestOptions{})
		}
	})
}

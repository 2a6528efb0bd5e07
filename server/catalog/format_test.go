package catalog_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/catalog/catalogtest"
)

var update = flag.Bool("update", false, "write testdata/*.json")

// TestStoredFormat holds docs/format/catalog.md: the records of version 1 are read as they are, and a record that is
// written today has the same bytes.
func TestStoredFormat(t *testing.T) {
	id := 0
	s := open(t, func(o *catalog.Options) {
		o.Now = clockAt(1700000000000)
		o.NewID = func() string { id++; return strings.Repeat("0", 31) + string(rune('0'+id)) }
	})
	s.source(trades)
	s.source(`{"name":"push","kind":"ingest","fields":[{"name":"x","type":"Json","isArray":true,"children":[{"name":"y","type":"Timestamp"}]}],"ingest":{"policy":"Inline"},"tags":["a"],"metadata":{"k":"v"},"replay":{"maxBytes":5}}`)
	tb := s.table("t", "SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol")
	if _, err := s.StartTable(t.Context(), env, tb.ID); err != nil {
		t.Fatal(err)
	}
	s.pipeline("p", "SELECT nope FROM trades")
	entries, err := s.bucket.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old := catalogtest.NewMemory()
	for _, e := range entries {
		path := filepath.Join("testdata", "v1", e.Key+".json")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, append(e.Value, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, was := withoutTexts(t, e.Value), withoutTexts(t, kept); got != was {
			t.Errorf("%s is written as\n%s\nand was\n%s", e.Key, got, was)
		}
		if _, err := old.Create(t.Context(), e.Key, kept); err != nil {
			t.Fatal(err)
		}
	}
	sn, err := catalogtest.Open(t, old).Snapshot(env)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := asJSON(t, s.snapshot().Tables()), asJSON(t, sn.Tables()); !equalButStored(a, b) {
		t.Errorf("tables read as\n%s\nwant\n%s", b, a)
	}
	if len(sn.Sources()) != 2 || len(sn.Pipelines()) != 1 || sn.Tables()[0].Run.Desired != catalog.DesiredRunning {
		t.Errorf("%d sources, %d pipelines", len(sn.Sources()), len(sn.Pipelines()))
	}
}

// withoutTexts drops what the engine says in words: its texts may get better without a new format.
func withoutTexts(t *testing.T, record []byte) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(record, &m); err != nil {
		t.Fatal(err)
	}
	if facts, ok := m["facts"]; ok {
		var f map[string]json.RawMessage
		if err := json.Unmarshal(facts, &f); err != nil {
			t.Fatal(err)
		}
		delete(f, "diagnostics")
		delete(f, "summary")
		m["facts"] = json.RawMessage(asJSON(t, f))
	}
	return asJSON(t, m)
}

// equalButStored compares two lists apart from the revisions of the store.
func equalButStored(a, b string) bool {
	cut := func(s string) string {
		before, after, ok := strings.Cut(s, `"Stored":`)
		if !ok {
			return s
		}
		_, after, _ = strings.Cut(after, "}")
		return before + after
	}
	return cut(a) == cut(b)
}

// TestNoMemberIsForgotten fills every member of a record by reflection and reads it back: a new member that is not
// stored is found here.
func TestNoMemberIsForgotten(t *testing.T) {
	s := open(t)
	s.source(trades)
	d := catalog.NewTable()
	fillIn(reflect.ValueOf(&d).Elem())
	d.Name, d.SQL, d.Sinks, d.DependsOn = "t", "SELECT symbol FROM trades", nil, []catalog.EntityPin{{Kind: "source", Name: "trades", SchemaRevision: 1}}
	d.SearchMode, d.HistoryMode, d.Persistence, d.Parallelism = "Fuzzy", "LastN", catalog.Journaled, 1
	d.ReplayFrom, d.ShardBy, d.SearchEnabled = map[string]catalog.ReplayFrom{"trades": {}}, []string{"symbol"}, false
	r, err := s.CreateTable(t.Context(), env, "ann", d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.StartTable(t.Context(), env, r.ID); err != nil {
		t.Fatal(err)
	}
	want := s.tableNow(r.ID)
	sn, _ := catalogtest.Open(t, s.bucket).Snapshot(env)
	got, _ := sn.Table(r.ID)
	if a, b := asJSON(t, want), asJSON(t, got); a != b {
		t.Errorf("stored and read:\n%s\nwas\n%s", b, a)
	}
	var zero []string
	for v, i := reflect.ValueOf(got.Table), 0; i < v.NumField(); i++ {
		if f := v.Type().Field(i); v.Field(i).IsZero() && !derived[f.Name] {
			zero = append(zero, f.Name)
		}
	}
	if len(zero) > 0 {
		t.Errorf("members that do not come back: %v", zero)
	}
}

// derived are members that are not stored, or that the test sets to their zero value on purpose.
var derived = map[string]bool{
	"Error": true, "Degraded": true, "StaleReason": true, "SearchEnabled": true, "Environment": true, "KeyFields": true,
}

func fillIn(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(3)
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.String {
				f.Set(reflect.ValueOf([]string{"x"}))
			}
		case reflect.Map:
			if f.Type().Elem().Kind() == reflect.String {
				f.Set(reflect.ValueOf(map[string]string{"k": "v"}))
			}
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			switch f.Elem().Kind() {
			case reflect.String:
				f.Elem().SetString("symbol")
			case reflect.Struct:
				fillIn(f.Elem())
			}
		}
	}
}

func TestRecordsThatCannotBeReadStopTheStart(t *testing.T) {
	for text, want := range map[string]string{
		`{"v":2,"source":{"name":"a"}}`: "format 2",
		`{"v":1,"source":`:              "catalog entry source.a",
		`[]`:                            "catalog entry source.a",
	} {
		b := catalogtest.NewMemory()
		if _, err := b.Create(t.Context(), "source.a", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := catalog.Open(t.Context(), catalog.Options{Bucket: b}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	// Keys of other owners and members from a later version of the same format are left alone.
	b := catalogtest.NewMemory()
	for key, text := range map[string]string{"fieldnums.table.t": "anything", "source.a": `{"v":1,"later":1,"source":{"name":"a","later":1,"fields":[{"name":"x","type":"Long"}]}}`} {
		if _, err := b.Create(t.Context(), key, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	sn, err := catalogtest.Open(t, b).Snapshot(env)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := sn.Source("a"); !ok || len(r.Layouts) != 1 || r.EventsPerSecond != 5 {
		t.Errorf("%+v", r)
	}
}

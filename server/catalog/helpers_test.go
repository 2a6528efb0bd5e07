package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	_ "github.com/streamsforge/streamsforge/connectors/standard"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/catalog/catalogtest"
	"github.com/streamsforge/streamsforge/server/view"
)

const env = catalog.DefaultEnvironment

// source decodes a definition over the defaults, as the API does.
func source(t testing.TB, text string) catalog.Source {
	t.Helper()
	s := catalog.NewSource()
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func table(t testing.TB, text string) catalog.Table {
	t.Helper()
	d := catalog.NewTable()
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

func pipeline(t testing.TB, text string) catalog.Pipeline {
	t.Helper()
	d := catalog.NewPipeline()
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

const trades = `{"name":"trades","fields":[{"name":"symbol","type":"String"},{"name":"price","type":"Double"},{"name":"qty","type":"Long"}]}`

type store struct {
	*catalog.Store
	t      *testing.T
	bucket *catalogtest.Memory
}

func open(t *testing.T, edit ...func(*catalog.Options)) *store {
	t.Helper()
	b := catalogtest.NewMemory()
	return &store{Store: catalogtest.Open(t, b, edit...), t: t, bucket: b}
}

func (s *store) source(text string) *catalog.SourceRecord {
	s.t.Helper()
	r, err := s.CreateSource(s.t.Context(), env, "ann", source(s.t, text))
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *store) table(name, sql string) *catalog.TableRecord {
	s.t.Helper()
	d := catalog.NewTable()
	d.Name, d.SQL = name, sql
	r, err := s.CreateTable(s.t.Context(), env, "ann", d)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *store) pipeline(name, sql string) *catalog.PipelineRecord {
	s.t.Helper()
	r, err := s.CreatePipeline(s.t.Context(), env, "ann", catalog.Pipeline{Name: name, SQL: sql})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *store) snapshot() *catalog.Snapshot {
	s.t.Helper()
	sn, err := s.Snapshot(env)
	if err != nil {
		s.t.Fatal(err)
	}
	return sn
}

func (s *store) tableNow(id string) *catalog.TableRecord {
	s.t.Helper()
	r, ok := s.snapshot().Table(id)
	if !ok {
		s.t.Fatalf("table %s is gone", id)
	}
	return r
}

// refused checks the code of a refusal and that its text holds every given part.
func refused(t testing.TB, err error, code view.Code, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("the call succeeded")
	}
	if got := view.CodeOf(err); got != code {
		t.Errorf("code %d, want %d: %v", got, code, err)
	}
	var e *view.Error
	if !errors.As(err, &e) {
		t.Fatalf("not a refusal: %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(e.Text, p) {
			t.Errorf("%q does not hold %q", e.Text, p)
		}
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

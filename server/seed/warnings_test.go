package seed_test

import (
	"testing"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/seed"
)

// TestNoWarnings: the definitions of the demo world are examples, so none of them is warned of.
func TestNoWarnings(t *testing.T) {
	s := open(t, &memory{entries: map[string]catalog.Entry{}})
	if _, err := seed.Plant(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, e := range seed.Pipelines() {
		v, err := s.ValidatePipeline("", e.SQL)
		if err != nil || len(v.Diagnostics) > 0 {
			t.Errorf("%s: %v %+v", e.Name, err, v.Diagnostics)
		}
	}
	for _, e := range seed.Tables() {
		v, err := s.ValidateTable("", e.SQL)
		if err != nil || len(v.Diagnostics) > 0 {
			t.Errorf("%s: %v %+v", e.Name, err, v.Diagnostics)
		}
	}
}

package engine_test

import (
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
)

// oneSource is a catalog that belongs to no project.
type oneSource struct{}

func (oneSource) Relations(name string) []engine.Relation {
	if name != "orders" {
		return nil
	}
	return []engine.Relation{{Name: name, Kind: engine.Source, Schema: types.Schema{{Name: "id", Kind: types.Long}}, AppendOnly: true, EventTime: true}}
}

func (oneSource) Names() []string { return []string{"orders"} }

// TestRefOutsideOfAProject: ref is refused with what to do about it, and the fix compiles.
func TestRefOutsideOfAProject(t *testing.T) {
	const sql = "SELECT x.id FROM ref('orders') AS x"
	p, ds := engine.Compile(sql, oneSource{}, engine.TableMode, engine.Options{})
	if p != nil || len(ds) != 1 {
		t.Fatal(p, ds)
	}
	const want = "1:18: ref: ref('orders') reads a model of a project, and this statement belongs to none; write the name without ref, or keep the statement as a model of a project"
	if got := ds[0].String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	fixed := ds[0].Fix.Apply(sql)
	if p, ds := engine.Compile(fixed, oneSource{}, engine.TableMode, engine.Options{}); p == nil {
		t.Errorf("%s: %v", fixed, ds)
	}
}

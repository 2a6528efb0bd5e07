package httpapi_test

import (
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/access"
)

func TestEditorServices(t *testing.T) {
	w := newWorld(t)
	w.seed()
	w.do("viewer", "POST", "/api/sql/complete", `{"sql":"SELECT sym FROM trades","offset":10,"mode":"table"}`).
		want(200, `"from":7,"to":10,"items":[{"label":"symbol","kind":"column","insert":"symbol","snippet":false,"detail":"String"`)
	w.do("viewer", "POST", "/api/sql/complete", `{"sql":"SELECT * FROM ","offset":14,"mode":"table"}`).want(200, `"label":"positions"`)
	if a := w.do("viewer", "POST", "/api/sql/complete", `{"sql":"SELECT * FROM ","offset":14,"mode":"pipeline"}`).want(200, `"label":"trades"`); strings.Contains(a.body, `"positions"`) {
		t.Errorf("a pipeline is offered a table: %s", a.body)
	}
	w.do("viewer", "POST", "/api/sql/hover", `{"sql":"SELECT symbol FROM trades","offset":8}`).
		want(200, `{"from":7,"to":13,"kind":"column","title":"symbol String","lines":["Column of trades (source)."]}`)
	w.do("viewer", "POST", "/api/sql/hover", `{"sql":"SELECT symbol FROM trades","offset":400}`).want(200, `"title":"trades: source"`)
	w.do("viewer", "POST", "/api/sql/hover", `{"sql":"","offset":-3}`).want(204, "")
	w.do("viewer", "POST", "/api/sql/signature", `{"sql":"SELECT ROUND(qty, ","offset":18}`).
		want(200, `{"label":"ROUND(x [, digits])","parameters":[{"label":"x","from":6,"to":7},{"label":"digits","from":11,"to":17}],"active":1`)
	w.do("viewer", "POST", "/api/sql/signature", `{"sql":"SELECT qty","offset":8}`).want(204, "")
	w.do("viewer", "POST", "/api/sql/format", `{"sql":"select symbol from trades -- all"}`).want(200, `{"sql":"SELECT symbol\nFROM trades -- all","diagnostics":[]}`)
	w.do("viewer", "POST", "/api/sql/format", `{"sql":"select from"}`).want(200, `"sql":null`, `"severity":"Error"`)
}

// Offsets are UTF-16 code units: a rune outside of the basic plane counts as two.
func TestEditorOffsetsAreUTF16(t *testing.T) {
	w := newWorld(t)
	w.seed()
	w.do("viewer", "POST", "/api/sql/hover", `{"sql":"SELECT '🎉é', symbol FROM trades","offset":14}`).want(200, `"from":14,"to":20,`)
	w.do("viewer", "POST", "/api/sql/complete", `{"sql":"SELECT '🎉é', sy FROM trades","offset":16}`).want(200, `{"from":14,"to":16,"items":[{"label":"symbol"`)
	// Within the pair, the place is before it: inside of the string.
	w.do("viewer", "POST", "/api/sql/complete", `{"sql":"SELECT '🎉é', sy FROM trades","offset":9}`).want(200, `"items":[]`)
}

func TestEditorBounds(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 256<<10+1)
	for _, what := range []string{"complete", "hover", "format", "signature"} {
		w.do("viewer", "POST", "/api/sql/"+what, `{"sql":"`+long+`"}`).want(413, "the statement has 262145 bytes: at most 262144 are read")
		w.do("viewer", "POST", "/api/sql/"+what, `{"mode":"view"}`).want(400, "mode is 'view': table or pipeline is expected")
		w.do("viewer", "POST", "/api/sql/"+what, `[]`).want(400)
		w.do("", "POST", "/api/sql/"+what, `{}`).want(401, "")
	}
}

// Names that the caller may not read are offered nowhere, and nothing is told about them.
func TestEditorHidesWhatMayNotBeRead(t *testing.T) {
	w := newWorld(t)
	w.seed()
	err := w.access.EditPolicy(t.Context(), "", func(d *access.Document) {
		for i := range d.Users {
			if d.Users[i].Username == "viewer" {
				d.Users[i].Grants = []access.Grant{{Action: "table.read", Scope: "positions", Effect: access.Deny}}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := w.do("viewer", "POST", "/api/sql/complete", `{"sql":"SELECT * FROM ","offset":14}`).want(200, `"label":"trades"`); strings.Contains(a.body, "positions") {
		t.Errorf("%s", a.body)
	}
	w.do("viewer", "POST", "/api/sql/hover", `{"sql":"SELECT * FROM positions","offset":16}`).want(204, "")
	w.do("editor", "POST", "/api/sql/hover", `{"sql":"SELECT * FROM positions","offset":16}`).want(200, `"title":"positions: table"`)
}

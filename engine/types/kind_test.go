package types_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
)

func TestKindNames(t *testing.T) {
	for i, name := range types.KindNames() {
		k, err := types.ParseKind(name)
		if err != nil || k != types.Kind(i) || k.String() != name {
			t.Errorf("%s is kind %v, %v", name, k, err)
		}
	}
	for _, name := range []string{"Decimal", "string", "Unknown", ""} {
		if _, err := types.ParseKind(name); err == nil || !strings.Contains(err.Error(), "expected one of String, Double, Long, Bool, Timestamp, Json") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := types.Kind(99).String(); got != "Kind(99)" {
		t.Errorf("kind 99 is %s", got)
	}
}

func TestSchemaJSON(t *testing.T) {
	const text = `[{"name":"s","type":"String"},{"name":"legs","type":"Json","children":[{"name":"q","type":"Long"}],"isArray":true}]`
	var s types.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if back, err := json.Marshal(s); err != nil || string(back) != text {
		t.Errorf("comes back as %s, %v", back, err)
	}
	if got := s.String(); got != "s String, legs Json[]" {
		t.Errorf("prints as %s", got)
	}
	if i, ok := s.Find("LEGS"); !ok || i != 1 {
		t.Errorf("LEGS is column %d, %v", i, ok)
	}
	c := s.Clone()
	c[1].Children[0].Name = "changed"
	if s[1].Children[0].Name != "q" {
		t.Error("the clone shares its children")
	}
	if err := json.Unmarshal([]byte(`[{"name":"s","type":"Text"}]`), &s); err == nil {
		t.Error("an unknown type is taken")
	}
}

func TestValueString(t *testing.T) {
	for want, v := range map[string]types.Value{
		"NULL": types.Null(types.Long), `"a\n"`: types.StringOf("a\n"), "{}": types.JsonOf("{}"), "15.0": types.DoubleOf(15), "1e+300": types.DoubleOf(1e300),
		"true": types.BoolOf(true), "7": types.LongOf(7), "8": types.TimestampOf(8),
	} {
		if v.String() != want {
			t.Errorf("%v, want %s", v, want)
		}
	}
}

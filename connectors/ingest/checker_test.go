package ingest_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/types"
)

var checkFields = types.Schema{{Name: "id", Kind: types.String}, {Name: "n", Kind: types.Long}, {Name: "d", Kind: types.Double}, {Name: "j", Kind: types.Json}}

func rows(texts ...string) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = []byte(t)
	}
	return out
}

func always() string { return "" }

func TestCheck(t *testing.T) {
	const good = `{"n":1}`
	cases := []struct {
		name    string
		policy  decode.Policy
		strict  bool
		partial bool
		events  [][]byte
		take    []string
		errors  []string // a part of each
		refused bool
	}{
		{"all right", decode.Null, false, false, rows(good, ` {"n":2} `), []string{good, ` {"n":2} `}, nil, false},
		{"nothing", decode.Null, false, false, nil, nil, nil, false},
		{"a value that does not coerce: Null keeps the row", decode.Null, false, false, rows(good, `{"n":"x"}`), []string{good, `{"n":"x"}`}, nil, false},
		{"DropRow leaves the row out", decode.DropRow, false, false, rows(good, `{"n":"x"}`), []string{good}, []string{"row 1: "}, false},
		{"RejectBatch refuses", decode.RejectBatch, false, false, rows(good, `{"n":"x"}`, `{"n":"y"}`), nil, []string{"row 1: ", "row 2: "}, true},
		{"RejectBatch refuses a partial push too", decode.RejectBatch, false, true, rows(good, `{"n":"x"}`), nil, []string{"row 1: "}, true},
		{"no object", decode.Null, false, false, rows(good, `7`, `null`, `[{"n":1}]`, `"t"`, `true`), nil, []string{"row 1: expected an object, found a number", "row 2: expected an object, found null", "row 3: expected an object, found an array", "row 4: expected an object, found a text", "row 5: expected an object, found a bool"}, true},
		{"no object, partial", decode.Null, false, true, rows(`7`, good), []string{good}, []string{"row 0: "}, false},
		{"not JSON", decode.Null, false, false, rows("{\"id\":\"\xff\"}"), nil, []string{"row 0: "}, true},
		{"not JSON, partial", decode.DropRow, false, true, rows("{\"id\":\"\xff\"}", good), []string{good}, []string{"row 0: "}, false},
		{"2^63", decode.DropRow, false, true, rows(`{"n":9223372036854775808}`, `{"n":9223372036854775807}`), []string{`{"n":9223372036854775807}`}, []string{"row 0: "}, false},
		{"depth", decode.Null, false, true, rows(`{"j":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}`, good), []string{good}, []string{"row 0: "}, false},
		{"a member twice: the last one counts", decode.RejectBatch, false, false, rows(`{"n":"x","n":2}`), []string{`{"n":"x","n":2}`}, nil, false},
		{"unknown member", decode.Null, false, false, rows(`{"n":1,"zz":2}`), []string{`{"n":1,"zz":2}`}, nil, false},
		{"unknown member refused", decode.Null, true, false, rows(good, `{"n":1,"zz":2}`), nil, []string{"zz"}, true},
		{"unknown member, partial", decode.Null, true, true, rows(good, `{"n":1,"zz":2}`), []string{good}, []string{"zz"}, false},
		{"unknown member refused under DropRow too", decode.DropRow, true, false, rows(good, `{"n":1,"zz":2}`), nil, []string{"zz"}, true},
		{"reserved members are known", decode.Null, true, false, rows(`{"n":1,"_ts":5,"_retract":false}`), []string{`{"n":1,"_ts":5,"_retract":false}`}, nil, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := ingest.NewChecker(checkFields, decode.Options{OnCoercion: c.policy, RejectUnknownFields: c.strict}, "")
			got := k.Check(c.events, 1000, c.partial, always)
			var take [][]byte
			for _, r := range got.Rows {
				take = append(take, r.Data)
			}
			if string(bytes.Join(take, []byte("|"))) != strings.Join(c.take, "|") || got.Refused != c.refused || got.Invalid != len(c.errors) || len(got.Errors) != len(c.errors) {
				t.Fatalf("takes %q, errors %q, refused %v", take, got.Errors, got.Refused)
			}
			for i, want := range c.errors {
				if !strings.HasPrefix(got.Errors[i], "row ") || !strings.Contains(got.Errors[i], want) {
					t.Errorf("error %q, want %q", got.Errors[i], want)
				}
			}
			// A checker goes on after bad rows as if they had not been there.
			if again := k.Check(rows(good), 1, false, always); len(again.Rows) != 1 || again.Refused {
				t.Errorf("afterwards: %+v", again)
			}
		})
	}
}

func TestCheckRetract(t *testing.T) {
	k := ingest.NewChecker(checkFields, decode.Options{}, "")
	asked := 0
	no := func() string { asked++; return "_retract needs LATEST BY in every table that reads the source" }
	events := rows(`{"id":"a","_retract":true}`, `{"id":"b"}`, `{"id":"c","_retract":false}`, `{"id":"d","_retract":true}`)
	if got := k.Check(events, 1, false, no); !got.Refused || got.Invalid != 2 || !strings.HasPrefix(got.Errors[1], "row 3: _retract needs") || asked != 1 {
		t.Errorf("refused %v, errors %q, asked %d times", got.Refused, got.Errors, asked)
	}
	if got := k.Check(events, 1, true, no); got.Refused || len(got.Rows) != 2 {
		t.Errorf("partial: %d rows, refused %v", len(got.Rows), got.Refused)
	}
	if got := k.Check(events, 1, false, always); got.Refused || len(got.Rows) != 4 {
		t.Errorf("allowed: %d rows", len(got.Rows))
	}
	declared := append(checkFields.Clone(), types.Field{Name: "_retract", Kind: types.String})
	if got := ingest.NewChecker(declared, decode.Options{}, "").Check(rows(`{"_retract":"true"}`), 1, false, no); got.Refused {
		t.Error("a declared text column of that name is data")
	}
}

func TestCheckDedupKeys(t *testing.T) {
	k := ingest.NewChecker(checkFields, decode.Options{}, "n")
	got := k.Check(rows(`{"n":1}`, `{"n":"1"}`, `{"n":1.0}`, `{"n":null}`, `{}`, `{"n":2}`), 1, false, always)
	if len(got.Rows) != 6 {
		t.Fatalf("%+v", got)
	}
	if got.Rows[0].Key != got.Rows[1].Key || got.Rows[0].Key == got.Rows[5].Key || !got.Rows[0].HasKey {
		t.Error("keys are those of the coerced values")
	}
	if got.Rows[3].HasKey || got.Rows[4].HasKey {
		t.Error("a NULL key is no key")
	}
}

func TestCheckBoundsItsErrors(t *testing.T) {
	events := make([][]byte, 3000)
	for i := range events {
		events[i] = []byte(`{"` + strings.Repeat("é", 3000) + strconv.Itoa(i) + `":1}`)
	}
	got := ingest.NewChecker(checkFields, decode.Options{RejectUnknownFields: true}, "").Check(events, 1, false, always)
	if got.Invalid != 3000 || len(got.Errors) != 1000 || len(got.Errors[0]) > 600 {
		t.Errorf("invalid %d, %d errors, the first has %d bytes", got.Invalid, len(got.Errors), len(got.Errors[0]))
	}
}

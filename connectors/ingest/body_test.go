package ingest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/connectors/ingest"
)

func TestParseBody(t *testing.T) {
	cases := []struct {
		body    string
		events  []string
		partial bool
		key     string
	}{
		{`{"events":[]}`, nil, false, ""},
		{`{"events":[{"a":1},{"a": 2 }],"partial":true,"idempotencyKey":"k"}`, []string{`{"a":1}`, `{"a": 2 }`}, true, "k"},
		{" {\n\"x\":{\"events\":[1]},\"events\" : [ {\"a\":\n1} , 7, null,\"t\",[] ] } ", []string{"{\"a\":\n1}", "7", "null", `"t"`, "[]"}, false, ""},
		{`{"events":[1],"partial":null,"idempotencyKey":null}`, []string{"1"}, false, ""},
		{`{"events":[1],"events":[2,3],"partial":true,"partial":false}`, []string{"2", "3"}, false, ""},
		{`{"events":[{"a":1,"a":2}]}`, []string{`{"a":1,"a":2}`}, false, ""},
		{"{\"events\":[{\"a\":\"\xff\"}]}", []string{"{\"a\":\"\xff\"}"}, false, ""},
		{`{"events":[{"a":123456789012345678901234567890,"b":1e400}]}`, []string{`{"a":123456789012345678901234567890,"b":1e400}`}, false, ""},
		{`{"idempotencyKey":"é\u0000\"","events":[1]}`, []string{"1"}, false, "é\x00\""},
	}
	for _, c := range cases {
		r, err := ingest.ParseBody([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if string(bytes.Join(r.Events, []byte("|"))) != strings.Join(c.events, "|") || len(r.Events) != len(c.events) || r.Partial != c.partial || r.IdempotencyKey != c.key {
			t.Errorf("%s = %q partial %v key %q", c.body, r.Events, r.Partial, r.IdempotencyKey)
		}
	}
}

func TestParseBodyRefuses(t *testing.T) {
	cases := []struct{ body, says string }{
		{"", "empty"}, {"  \n", "empty"}, {"hello", "byte 0"}, {"[]", "not an object"}, {`"x"`, "not an object"}, {"null", "not an object"},
		{"{}", "events is missing"}, {`{"events":null}`, "events is not an array"}, {`{"events":{"a":1}}`, "events is not an array"},
		{`{"events":[{"a":1}`, "ends in the middle"}, {`{"events":[{"a":`, "row 0"}, {`{"events":[1,{"a":NaN}]}`, "row 1"},
		{`{"events":[1,]}`, "not JSON"}, {`{"events":[1]} x`, "goes on after its end at byte 14"}, {`{"events":[1]}{}`, "goes on"},
		{`{"events":[1],"partial":1}`, "partial"}, {`{"events":[1],"idempotencyKey":7}`, "idempotencyKey"},
		{`{"events":[1],"idempotencyKey":"` + strings.Repeat("k", 513) + `"}`, "513 bytes"},
		{"{\"events\":[{\"a\":\"\x00\"}]}", "row 0"}, {`{"events":[01]}`, "not JSON"}, {`{'events':[]}`, "not JSON"},
		{`{"events":[` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `]}`, "row 0"},
		{strings.Repeat(`{"x":`, 20_000), "not JSON"},
	}
	for _, c := range cases {
		_, err := ingest.ParseBody([]byte(c.body))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.60s: %v, want %q", c.body, err, c.says)
		}
	}
}

func TestJoinCutAndSplitKeepEveryByte(t *testing.T) {
	rows := [][]byte{[]byte(`{"a": 1}`), []byte("{\"b\":\n[1,2]}"), []byte(`{"c":"\u00e9"}`), []byte(`{}`)}
	for limit := 14; limit < 60; limit++ {
		groups, big := ingest.Cut(rows, limit)
		if big >= 0 {
			if limit >= 16 {
				t.Fatalf("limit %d: row %d is called too large", limit, big)
			}
			continue
		}
		var back [][]byte
		for _, g := range groups {
			p := ingest.Join(g)
			if len(p) > limit {
				t.Errorf("limit %d: payload of %d bytes", limit, len(p))
			}
			split, err := ingest.SplitRows(p)
			if err != nil {
				t.Fatal(err)
			}
			back = append(back, split...)
		}
		if string(bytes.Join(back, []byte("|"))) != string(bytes.Join(rows, []byte("|"))) {
			t.Errorf("limit %d: %q", limit, back)
		}
	}
	if g, big := ingest.Cut(rows, 12); g != nil || big != 1 {
		t.Errorf("Cut below a row: %d groups, row %d", len(g), big)
	}
	if g, big := ingest.Cut(nil, 12); g != nil || big != -1 {
		t.Errorf("Cut of nothing: %d groups, row %d", len(g), big)
	}
}

// FuzzParseBody compares with encoding/json where both accept, and holds what a Request promises: rows are parts of
// the body and JSON values.
func FuzzParseBody(f *testing.F) {
	for _, s := range []string{
		`{"events":[]}`, `{"events":[{"a":1},{"b":[1,2,{"c":null}]}],"partial":true,"idempotencyKey":"k"}`, `{"events":[1],"events":[2]}`,
		`{"a":{"events":[1]},"events":[{"a":"\u00e9\ud83d\ude00"}]}`, "{\"events\":[{\"a\":\"\xff\"}]}", `{"events":[1e999,-0,1.5e-7]}`, `{"events":[NaN]}`,
		`{"events":[}`, "", "{", `{"events"`, `{"idempotencyKey":"\u0000","events":[null]}`, ` {"events" : [ [ ] , { } ] } `, `{"events":[1]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ingest.ParseBody(body)
		var ref struct {
			Events         []json.RawMessage `json:"events"`
			Partial        *bool             `json:"partial"`
			IdempotencyKey *string           `json:"idempotencyKey"`
		}
		if err != nil {
			if r.Events != nil || err.Error() == "" {
				t.Fatalf("an error with rows: %v", err)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatalf("accepted %q, which is not JSON", body)
		}
		for i, e := range r.Events {
			if !json.Valid(e) || !bytes.Contains(body, e) {
				t.Fatalf("row %d is %q", i, e)
			}
		}
		if len(r.Events) > 0 {
			p := ingest.Join(r.Events)
			if len(r.Events) > 1 || r.Events[0][0] != '[' {
				back, err := ingest.SplitRows(p)
				if err != nil || !bytes.Equal(bytes.Join(back, []byte{0}), bytes.Join(r.Events, []byte{0})) {
					t.Fatalf("SplitRows(Join(%q)) = %q, %v", r.Events, back, err)
				}
			}
		}
		// encoding/json takes member names without regard to case, so it is a reference only for bodies that have the
		// members once in their own spelling.
		low := bytes.ToLower(body)
		if bytes.Count(low, []byte("events")) != 1 || bytes.Count(low, []byte("partial")) > 0 || bytes.Count(low, []byte("idempotencykey")) > 0 || bytes.IndexByte(body, '\\') >= 0 {
			return
		}
		if json.Unmarshal(body, &ref) != nil {
			return
		}
		if len(ref.Events) != len(r.Events) {
			t.Fatalf("%d rows, encoding/json finds %d", len(r.Events), len(ref.Events))
		}
		for i := range ref.Events {
			if !bytes.Equal(ref.Events[i], r.Events[i]) {
				t.Fatalf("row %d: %q, encoding/json finds %q", i, r.Events[i], ref.Events[i])
			}
		}
	})
}

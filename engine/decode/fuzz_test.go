package decode_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/types"
)

var allFields = types.Schema{
	{Name: "s", Kind: types.String},
	{Name: "d", Kind: types.Double},
	{Name: "l", Kind: types.Long},
	{Name: "b", Kind: types.Bool},
	{Name: "t", Kind: types.Timestamp},
	{Name: "j", Kind: types.Json},
	{Name: "a", Kind: types.Long, IsArray: true},
	{Name: "naïve \"x\"", Kind: types.String},
	{Name: "when", Kind: types.String},
}

// seeds are payloads that have hurt decoders before.
var seeds = []string{
	`{}`, `{"s":"x","d":1.5,"l":7,"b":true,"t":1700000000000,"j":{"k":[1,2]},"a":[1,2]}`,
	`{"l":9223372036854775807}`, `{"l":9223372036854775808}`, `{"l":-9223372036854775808}`, `{"l":1e3}`, `{"l":1.9}`, `{"l":-0}`,
	`{"l":12345678901234567890123}`, `{"l":0.0000000000000000000000000001e30}`, `{"l":1e99999999999}`, `{"l":1e-99999999999}`,
	`{"d":1e400}`, `{"d":-0.0}`, `{"d":123456789012345678901234567890}`, `{"d":0.1}`, `{"d":9007199254740993}`, `{"d":1E+2}`,
	`{"d":NaN}`, `{"d":Infinity}`, `{"d":-}`, `{"d":01}`, `{"d":1.}`, `{"d":.5}`, `{"d":+1}`, `{"d":1e}`, `{"d":"1,234.5"}`, `{"d":"0x10"}`,
	`{"s":"a","s":"b"}`, `{"\u0073":"escaped name"}`, `{"s":"\u00e9\n\"\\\/"}`, `{"s":"é"}`, `{"s":"\ud83d\ude00"}`, `{"s":"\ud83d"}`, `{"s":"\ude00"}`,
	"{\"s\":\"\xff\"}", "{\"s\":\"\xc3\"}", "{\"s\":\"a\tb\"}", "{\"s\":\"a\x00b\"}", `{"s":"\u0000"}`, `{"s":"\x41"}`, `{"s":"unterminated`,
	`{"s":{"k" : 1 , "k":2}}`, `{"j":{"k":1,"\u006b":2,"m":"\u0041"}}`, `{"j": [ 1 , {"x":null} ] }`, `{"j":"text"}`, `{"j":null}`, `{"a":5}`, `{"a":"[1]"}`,
	`{"b":0}`, `{"b":0.0e5}`, `{"b":"False"}`, `{"b":"0"}`, `{"b":""}`, `{"b":[]}`, `{"t":"2026-01-01"}`, `{"t":"17"}`, `{"t":true}`,
	`{"_ts":5}`, `{"_ts":"2026-11-30T20:50:00Z"}`, `{"_ts":"5"}`, `{"_ts":null,"when":"2026-11-30"}`, `{"when":12}`, `{"_retract":true}`, `{"_retract":"true"}`,
	`{"_op":"d"}`, `{"_op":"D" }`, `{"_op":"delete","s":"x"}`, `{"s":"x","_op":"DELETE"}`, `{"_op":"u"}`, `{"_op":null}`, `{"_op":["d"]}`, `{"_op":"\u0064"}`, `{"_op":"d","_op":"c"}`, `{"_op":"d","_retract":false}`,
	`{"unknown":{"deep":[[[]]]},"s":"x"}`, `{"unknown":"\ud800"}`, `{"s":1}`, `{"s":true}`, `{"s":[1, 2]}`, `{"s" : "x" , "d" : 1 }`, ` {"s":"x"} `,
	`{"s":"x"} x`, `{"s":"x"}{"s":"y"}`, `{"s":"x",}`, `{,}`, `{"s"}`, `{"s":}`, `{"s":"x"`, `[]`, `[1,2]`, `5`, `"s"`, `null`, `tru`, `{"s":truex}`,
	"\ufeff{}", `{"naïve \"x\"":"y"}`, "{\"s\":\"x\"\f}", "{\"s\":\v1}", `{"s":nul}`, `{"d":1 2}`,
	strings.Repeat(`{"j":`, 64) + `1` + strings.Repeat(`}`, 64), strings.Repeat(`{"j":`, 65) + `1` + strings.Repeat(`}`, 65),
	`{"j":` + strings.Repeat(`[`, 63) + strings.Repeat(`]`, 63) + `}`, `{"x":` + strings.Repeat(`[`, 64) + strings.Repeat(`]`, 64) + `}`,
	`{"j":{` + manyMembers(60) + `}}`,
}

func manyMembers(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(`"k%d":%d`, i%50, i))
	}
	return strings.Join(parts, ",")
}

// FuzzDecode holds the decoder to the oracle: the same payloads are taken, and the rows have the same cells. Each
// payload is decoded as an object twice (the second time its order of members is expected), as a line of NDJSON
// between good lines, and as the elements of an array.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		o := decode.Options{TimestampField: "when", Keyed: len(payload)%2 == 0}
		d := decode.New(allFields, o)
		tree, err := parseTree(payload, 64)
		ok := err == nil && tree.kind == '{'
		for range 2 {
			r := d.Append(decode.Message{Payload: payload, ContentType: "application/json", TimeMs: 77})
			if tree.kind == '[' && err == nil {
				break // a payload that is an array is one of rows; see below
			}
			if ok != (len(r.Failures) == 0) {
				t.Fatalf("taken: %v; the oracle says %v (%v)", r, ok, err)
			}
			check(t, d, ok, tree, o)
		}
		if bytes.IndexByte(payload, '\n') < 0 && len(bytes.TrimSpace(payload)) > 0 && strings.Trim(string(payload), " \t\r") != "" {
			checkLines(t, d, payload, ok, tree, o)
		}
		checkArray(t, d, payload, o)
	})
}

func checkLines(t *testing.T, d *decode.Decoder, payload []byte, ok bool, tree node, o decode.Options) {
	t.Helper()
	msg := append([]byte("{\"l\":1}\n"), payload...)
	msg = append(msg, "\r\n\n{\"l\":2}"...)
	r := d.Append(decode.Message{Payload: msg, ContentType: "application/x-ndjson", TimeMs: 77})
	if ok {
		if r.Rows != 3 || len(r.Failures) != 0 {
			t.Fatalf("lines: %v, want three rows", r)
		}
		b := d.Take()
		compare(t, b.Row(1), tree, o)
		return
	}
	if r.Rows != 2 || len(r.Failures) != 1 || r.Failures[0].Whole || r.Failures[0].Index != 1 ||
		!bytes.HasPrefix(r.Failures[0].Payload, payload) {
		t.Fatalf("lines: %+v, want the middle line to fail alone", r)
	}
	d.Take()
}

func checkArray(t *testing.T, d *decode.Decoder, payload []byte, o decode.Options) {
	t.Helper()
	msg := append([]byte(`[{"l":1},`), payload...)
	msg = append(msg, `,{"l":2} ]`...)
	tree, err := parseTree(msg, 65)
	r := d.Append(decode.Message{Payload: msg, TimeMs: 77})
	if err != nil {
		if r.Rows != 0 || len(r.Failures) != 1 || !r.Failures[0].Whole {
			t.Fatalf("array: %+v, want the message to fail (%v)", r, err)
		}
		if d.Len() != 0 {
			t.Fatalf("a failed message left %d rows", d.Len())
		}
		return
	}
	var want []node
	for _, n := range tree.items {
		if n.kind == '{' {
			want = append(want, n)
		}
	}
	if r.Rows != len(want) || len(r.Failures) != len(tree.items)-len(want) {
		t.Fatalf("array: %+v, want %d rows and %d failures", r, len(want), len(tree.items)-len(want))
	}
	b := d.Take()
	for i, n := range want {
		compare(t, b.Row(i), n, o)
	}
}

func check(t *testing.T, d *decode.Decoder, ok bool, tree node, o decode.Options) {
	t.Helper()
	b := d.Take()
	if !ok {
		if b.N != 0 {
			t.Fatalf("a failed payload left %d rows", b.N)
		}
		return
	}
	if b.N != 1 {
		t.Fatalf("%d rows, want 1", b.N)
	}
	compare(t, b.Row(0), tree, o)
}

func compare(t *testing.T, got []types.Value, tree node, o decode.Options) {
	t.Helper()
	want, _ := wantRow(tree, allFields, o, 77)
	for c, f := range decode.Schema(allFields) {
		if !same(got[c], want[c]) {
			t.Fatalf("column %s is %v, want %v", f.Name, got[c], want[c])
		}
	}
}

package decode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// show prints a batch as "a|1 b|2": the cells of the columns before _ts.
func show(b *zset.Batch, cols int) string {
	var rows []string
	for i := range b.N {
		var cells []string
		for _, v := range b.Row(i)[:cols] {
			cells = append(cells, v.String())
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	return strings.Join(rows, " ")
}

func failures(fs []decode.Failure) string {
	var out []string
	for _, f := range fs {
		mark := ""
		if f.Whole {
			mark = "!"
		}
		out = append(out, fmt.Sprintf("%d%s %s: %s [%s]", f.Index, mark, f.Stage, f.Reason, f.Payload))
	}
	return strings.Join(out, "\n")
}

var sq = types.Schema{{Name: "s", Kind: types.String}, {Name: "q", Kind: types.Long}}

func TestMessages(t *testing.T) {
	const nd, js = "application/x-ndjson", "application/json; charset=utf-8"
	for _, c := range []struct {
		name, contentType, payload string
		options                    decode.Options
		rows, failures             string
		coerced                    int
	}{
		{name: "object", payload: `{"s":"a","q":1}`, rows: `"a"|1`},
		{name: "pretty object", payload: "{\n  \"s\": \"a\",\r\n  \"q\": 1\n}\n", rows: `"a"|1`},
		{name: "array", payload: ` [ {"s":"a"} , {"q":2} ] `, rows: `"a"|NULL NULL|2`},
		{name: "empty array", payload: `[]`},
		{name: "lines by shape", payload: "{\"s\":\"a\"}\n{\"s\":\"b\"}\n", rows: `"a"|NULL "b"|NULL`},
		{name: "lines by type", contentType: nd, payload: "\n{\"s\":\"a\"}\r\n\n {\"s\":\"b\"}", rows: `"a"|NULL "b"|NULL`},
		{name: "line breaks inside", contentType: nd, payload: "{\"s\":\n\"a\"}",
			failures: "0 decode: the text ends inside of a value [{\"s\":]\n1 decode: a row is an object, this is a text [\"a\"}]"},
		{name: "broken line by type", contentType: nd, payload: "{\"s\":\"a\"}\n{\"s\":\n{\"s\":\"b\"}", rows: `"a"|NULL "b"|NULL`,
			failures: `1 decode: the text ends inside of a value [{"s":]`},
		{name: "broken line by shape", payload: "{\"s\":\"a\"}\ngarbage\n{\"s\":\"b\"}", rows: `"a"|NULL "b"|NULL`,
			failures: `1 decode: invalid character 'g' at start of value at byte 0 [garbage]`},
		{name: "broken first line by shape", payload: "{\"s\":\"a\"\n{\"s\":\"b\"}", rows: `"b"|NULL`,
			failures: `0 decode: the text ends inside of a value [{"s":"a"]`},
		{name: "garbage after a line", contentType: nd, payload: "{\"s\":\"a\"} x\n{\"s\":\"b\"}", rows: `"b"|NULL`,
			failures: `0 decode: there is more after the object, at byte 10 of the line [{"s":"a"} x]`},
		{name: "lines under the json type", contentType: js, payload: "{\"s\":\"a\"}\n{\"s\":\"b\"}",
			failures: "0! decode: there is more after the object, at byte 10 [{\"s\":\"a\"}\n{\"s\":\"b\"}]"},
		{name: "empty payload", payload: "", failures: `0! decode: the payload is empty []`},
		{name: "blank payload", contentType: nd, payload: " \n ", failures: "0! decode: the payload is empty [ \n ]"},
		{name: "scalar", payload: `5`, failures: `0! decode: a row is an object, this is a number [5]`},
		{name: "not json", payload: `hello`, failures: `0! decode: invalid character 'h' at start of value at byte 0 [hello]`},
		{name: "garbage after an array", payload: `[{"s":"a"}] x`, failures: `0! decode: there is more after the array, at byte 12 [[{"s":"a"}] x]`},
		{name: "array without a comma", payload: `[{"s":"a"} {"s":"b"}]`,
			failures: `0! decode: the array has no "," or "]" after row 0, at byte 11 [[{"s":"a"} {"s":"b"}]]`},
		{name: "array with broken text", payload: `[{"s":"a"},{"s":NaN}]`,
			failures: `1! decode: row 1: invalid character 'N' at start of value at byte 16 [[{"s":"a"},{"s":NaN}]]`},
		{name: "array with a row of another shape", payload: `[{"s":"a"},7,{"s":"b"}]`, rows: `"a"|NULL "b"|NULL`,
			failures: `1 decode: a row is an object, this is a number [7]`},
		{name: "array with a row of another shape, reject", payload: `[{"s":"a"},7,{"s":"b"}]`, options: decode.Options{OnCoercion: decode.RejectBatch},
			failures: `1! decode: row 1: a row is an object, this is a number [[{"s":"a"},7,{"s":"b"}]]`},
		{name: "misfit nulled", payload: `[{"s":"a","q":"x"},{"s":"b","q":{}}]`, rows: `"a"|NULL "b"|NULL`, coerced: 2},
		{name: "misfit drops the row", payload: `[{"s":"a","q":"x"},{"s":"b","q":2}]`, options: decode.Options{OnCoercion: decode.DropRow}, rows: `"b"|2`,
			failures: `0 coerce: field "q": "x" is not a Long [{"s":"a","q":"x"}]`},
		{name: "misfit drops the object", payload: `{"s":"a","q":9223372036854775808}`, options: decode.Options{OnCoercion: decode.DropRow},
			failures: `0! coerce: field "q": 9223372036854775808 is not a Long [{"s":"a","q":9223372036854775808}]`},
		{name: "misfit rejects the array", payload: `[{"q":1},{"q":"x"},{"q":2}]`, options: decode.Options{OnCoercion: decode.RejectBatch},
			failures: `1! coerce: row 1: field "q": "x" is not a Long [[{"q":1},{"q":"x"},{"q":2}]]`},
		{name: "misfit rejects the lines", contentType: nd, payload: "{\"q\":1}\n{\"q\":\"x\"}", options: decode.Options{OnCoercion: decode.RejectBatch},
			failures: "1! coerce: row 1: field \"q\": \"x\" is not a Long [{\"q\":1}\n{\"q\":\"x\"}]"},
		{name: "broken line under reject fails alone", contentType: nd, payload: "{\"q\":1}\n{\"q\":", options: decode.Options{OnCoercion: decode.RejectBatch},
			rows: `NULL|1`, failures: `1 decode: the text ends inside of a value [{"q":]`},
		{name: "coerced fields of a failed line do not count", contentType: nd, payload: "{\"q\":\"x\"} y\n{\"q\":\"z\"", coerced: 0,
			failures: "0 decode: there is more after the object, at byte 10 of the line [{\"q\":\"x\"} y]\n1 decode: the text ends inside of a value [{\"q\":\"z\"]"},
		{name: "unknown field ignored", payload: `{"x":[{"y":1}],"q":1}`, rows: `NULL|1`},
		{name: "unknown field refused", payload: `[{"q":1,"x":1},{"q":2,"_op":"c","_source":"z"}]`, options: decode.Options{RejectUnknownFields: true}, rows: `NULL|2`,
			failures: `0 decode: field "x" is not declared [{"q":1,"x":1}]`},
		{name: "names are case-sensitive", payload: `{"S":"a","Q":1}`, rows: `NULL|NULL`},
		{name: "last member counts", payload: `{"q":1,"s":"a","q":"2"}`, rows: `"a"|2`},
		{name: "block without a decoder", contentType: decode.ContentTypeBlock, payload: "x",
			failures: `0! decode: messages of content type application/x-sf-batch are not taken here [x]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decode.New(sq, c.options)
			r := d.Append(decode.Message{Payload: []byte(c.payload), ContentType: c.contentType})
			if got := failures(r.Failures); got != c.failures {
				t.Errorf("failures:\n%s\nwant:\n%s", got, c.failures)
			}
			if r.Coerced != c.coerced {
				t.Errorf("%d coerced, want %d", r.Coerced, c.coerced)
			}
			if d.Len() != r.Rows {
				t.Errorf("%d rows in the batch, %d reported", d.Len(), r.Rows)
			}
			if got := show(d.Take(), 2); got != c.rows {
				t.Errorf("rows %s, want %s", got, c.rows)
			}
		})
	}
}

// TestFieldCoercion is the table of contract I.4 as ingress applies it.
func TestFieldCoercion(t *testing.T) {
	const misfit = "misfit"
	for _, c := range []struct {
		kind  types.Kind
		array bool
		json  string
		want  string
	}{
		{kind: types.String, json: `"text"`, want: `"text"`},
		{kind: types.String, json: `""`, want: `""`},
		{kind: types.String, json: `1.50`, want: `"1.50"`},
		{kind: types.String, json: `true`, want: `"true"`},
		{kind: types.String, json: `{"b" : 1, "a": [ ]}`, want: `"{\"b\":1,\"a\":[]}"`},
		{kind: types.String, json: `null`, want: `NULL`},
		{kind: types.Double, json: `7`, want: `7.0`},
		{kind: types.Double, json: `1e3`, want: `1000.0`},
		{kind: types.Double, json: `0.1`, want: `0.1`},
		{kind: types.Double, json: `9007199254740993`, want: `9.007199254740992e+15`},
		{kind: types.Double, json: `"1,234.5"`, want: `1234.5`},
		{kind: types.Double, json: `"12,34"`, want: misfit},
		{kind: types.Double, json: `"NaN"`, want: misfit},
		{kind: types.Double, json: `1e400`, want: misfit},
		{kind: types.Double, json: `true`, want: `1.0`},
		{kind: types.Double, json: `[]`, want: misfit},
		{kind: types.Long, json: `9223372036854775807`, want: `9223372036854775807`},
		{kind: types.Long, json: `-9223372036854775808`, want: `-9223372036854775808`},
		{kind: types.Long, json: `9223372036854775808`, want: misfit},
		{kind: types.Long, json: `1.9`, want: `1`},
		{kind: types.Long, json: `-1.9`, want: `-1`},
		{kind: types.Long, json: `1e3`, want: `1000`},
		{kind: types.Long, json: `" 12 "`, want: `12`},
		{kind: types.Long, json: `"1.0"`, want: misfit},
		{kind: types.Long, json: `"1e3"`, want: misfit},
		{kind: types.Long, json: `"1,000"`, want: misfit},
		{kind: types.Long, json: `false`, want: `0`},
		{kind: types.Long, json: `{}`, want: misfit},
		{kind: types.Bool, json: `true`, want: `true`},
		{kind: types.Bool, json: `0`, want: `false`},
		{kind: types.Bool, json: `0.5`, want: `true`},
		{kind: types.Bool, json: `"FALSE"`, want: `false`},
		{kind: types.Bool, json: `"0"`, want: `false`},
		{kind: types.Bool, json: `""`, want: `false`},
		{kind: types.Bool, json: `"no"`, want: `true`},
		{kind: types.Bool, json: `[]`, want: misfit},
		{kind: types.Timestamp, json: `1700000000000`, want: `1700000000000`},
		{kind: types.Timestamp, json: `"1700000000000"`, want: `1700000000000`},
		{kind: types.Timestamp, json: `"2026-11-30T20:50:00Z"`, want: misfit},
		{kind: types.Timestamp, json: `1.5`, want: `1`},
		{kind: types.Timestamp, json: `true`, want: misfit},
		{kind: types.Json, json: `{"b":1, "a":{"x":[1 ,2]}}`, want: `{"b":1,"a":{"x":[1,2]}}`},
		{kind: types.Json, json: `{"a":1,"b":2,"a":3}`, want: `{"b":2,"a":3}`},
		{kind: types.Json, json: `{"\u0061":"\u00e9\/"}`, want: `{"a":"é/"}`},
		{kind: types.Json, json: `"text"`, want: `"text"`},
		{kind: types.Json, json: `1.0`, want: `1.0`},
		{kind: types.Json, json: `null`, want: `NULL`},
		{kind: types.Long, array: true, json: `[1, "x"]`, want: `[1,"x"]`},
		{kind: types.Long, array: true, json: `1`, want: misfit},
	} {
		fields := types.Schema{{Name: "f", Kind: c.kind, IsArray: c.array}}
		payload := []byte(`{"f":` + c.json + `}`)
		d := decode.New(fields, decode.Options{})
		r := d.Append(decode.Message{Payload: payload})
		want, coerced := c.want, 0
		if want == misfit {
			want, coerced = "NULL", 1
		}
		if got := show(d.Take(), 1); got != want || r.Coerced != coerced {
			t.Errorf("%v from %s: %s, %d coerced; want %s", c.kind, c.json, got, r.Coerced, c.want)
		}
		d = decode.New(fields, decode.Options{OnCoercion: decode.DropRow})
		if r := d.Append(decode.Message{Payload: payload}); (c.want == misfit) != (len(r.Failures) == 1 && r.Failures[0].Stage == decode.StageCoerce) {
			t.Errorf("%v from %s under DropRow: %+v", c.kind, c.json, r)
		}
	}
}

func TestEventTime(t *testing.T) {
	fields := types.Schema{{Name: "at", Kind: types.Timestamp}}
	for _, c := range []struct {
		row  string
		want int64
	}{
		{`{}`, 99},
		{`{"_ts":5}`, 5},
		{`{"_ts":5.9}`, 5},
		{`{"_ts":"5"}`, 99},
		{`{"_ts":"1970-01-01T00:00:01.5Z"}`, 1500},
		{`{"_ts":"1970-01-01T01:00:00+01:00"}`, 0},
		{`{"_ts":true}`, 99},
		{`{"_ts":null,"at":7}`, 7},
		{`{"_ts":9223372036854775808,"at":7}`, 7},
		{`{"at":"1970-01-01"}`, 0},
		{`{"at":"7"}`, 99},
		{`{"at":8,"_ts":5}`, 5},
		{`{"_ts":1,"_ts":2}`, 2},
	} {
		d := decode.New(fields, decode.Options{TimestampField: "at"})
		for range 2 { // the second time the order is expected
			d.Append(decode.Message{Payload: []byte(c.row), TimeMs: 99})
			if got := d.Take().Row(0)[1].Int(); got != c.want {
				t.Errorf("%s: _ts %d, want %d", c.row, got, c.want)
			}
		}
	}
}

func TestRetract(t *testing.T) {
	undeclared, declared := types.Schema{}, types.Schema{{Name: "_retract", Kind: types.Bool}}
	for row, want := range map[string][2]string{
		`{}`:                  {"false", "NULL"},
		`{"_retract":true}`:   {"true", "true"},
		`{"_retract":false}`:  {"false", "false"},
		`{"_retract":null}`:   {"false", "NULL"},
		`{"_retract":"true"}`: {"false", "false"},
		`{"_retract":1}`:      {"false", "false"},
	} {
		for i, fields := range []types.Schema{undeclared, declared} {
			d := decode.New(fields, decode.Options{})
			d.Append(decode.Message{Payload: []byte(row)})
			c, _ := d.Layout().Find("_retract")
			if got := d.Take().Row(0)[c].String(); got != want[i] {
				t.Errorf("%s, declared %v: %s, want %s", row, i == 1, got, want[i])
			}
		}
	}
}

// TestKeyedDeletes: SRC-016: only a source with a key is deleted from by _op, declared or not.
func TestKeyedDeletes(t *testing.T) {
	declared := types.Schema{{Name: "_op", Kind: types.String}, {Name: "_retract", Kind: types.Bool}}
	for row, want := range map[string]bool{
		`{}`: false, `{"_op":"c"}`: false, `{"_op":"u","_retract":true}`: true, `{"_op":"d"}`: true, `{"_op":"D","_retract":false}`: true,
		`{"_op":"delete"}`: true, `{"_op":"Delete"}`: true, `{"_op":"deleted"}`: false, `{"_op":"\u0064"}`: true, `{"_op":null}`: false,
		`{"_op":1}`: false, `{"_op":["d"]}`: false, `{"_op":"c","_op":"d"}`: true, `{"_op":"d","_op":"c"}`: false,
	} {
		for _, fields := range []types.Schema{{}, declared, {{Name: "_op", Kind: types.Long}}} {
			for _, keyed := range []bool{true, false} {
				d := decode.New(fields, decode.Options{Keyed: keyed})
				for range 2 { // the second time the members are expected
					d.Append(decode.Message{Payload: []byte(row)})
				}
				c, _ := d.Layout().Find("_retract")
				b := d.Take()
				wanted := want && (keyed || strings.Contains(row, `"_retract":true`))
				for i := range b.N {
					if v := b.Row(i)[c]; !v.IsNull() && v.Bool() != wanted || v.IsNull() && wanted {
						t.Errorf("%s, fields %v, keyed %v: %s, want %v", row, fields, keyed, v, wanted)
					}
				}
			}
		}
	}
}

func TestKeyedBlock(t *testing.T) {
	fields := types.Schema{{Name: "_op", Kind: types.String}}
	d := decode.New(fields, decode.Options{Keyed: true, Block: func([]byte, types.Schema) (*zset.Batch, error) {
		b := zset.NewBuilder([]types.Kind{types.String, types.Long, types.Bool})
		for i, op := range []string{"c", "d", "DELETE", "u"} {
			b.Text(0, []byte(op))
			b.Long(1, int64(i))
			if i == 1 {
				b.Null(2)
			} else {
				b.Bool(2, i == 3)
			}
			b.EndRow(1)
		}
		return b.Build(), nil
	}})
	d.Append(decode.Message{ContentType: decode.ContentTypeBlock})
	if got, want := show(d.Take(), 3), `"c"|0|false "d"|1|true "DELETE"|2|true "u"|3|true`; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
}

func TestSchema(t *testing.T) {
	fields := types.Schema{
		{Name: "tags", Kind: types.String, IsArray: true},
		{Name: "_ts", Kind: types.Timestamp},
		{Name: "doc", Kind: types.Json, Children: []types.Field{{Name: "x", Kind: types.Long}}},
	}
	if got, want := decode.Schema(fields).String(), "tags Json, _ts Timestamp, doc Json, _retract Bool"; got != want {
		t.Errorf("layout %s, want %s", got, want)
	}
	if !fields[0].IsArray {
		t.Error("the declared fields were changed")
	}
}

func TestBlock(t *testing.T) {
	fields := types.Schema{{Name: "q", Kind: types.Long}}
	var fail error
	d := decode.New(fields, decode.Options{Block: func(p []byte, want types.Schema) (*zset.Batch, error) {
		if got := want.String(); got != "q Long, _ts Long, _retract Bool" {
			t.Errorf("asked for %s", got)
		}
		if string(p) == "wrong kind" {
			return zset.Empty([]types.Kind{types.Long, types.Long, types.String}), nil
		}
		b := zset.NewBuilder([]types.Kind{types.Long, types.Long, types.Bool})
		b.Long(0, 10)
		b.Null(1)
		b.Null(2)
		b.EndRow(5)
		b.Long(0, 11)
		b.Long(1, 4)
		b.Bool(2, true)
		b.EndRow(1)
		return b.Build(), fail
	}})
	d.Append(decode.Message{Payload: []byte(`{"q":9}`), TimeMs: 1})
	r := d.Append(decode.Message{ContentType: decode.ContentTypeBlock, TimeMs: 2})
	d.Append(decode.Message{Payload: []byte(`[{"q":12}]`), TimeMs: 3})
	if r.Rows != 2 || d.Len() != 4 || d.Bytes() == 0 {
		t.Errorf("%d rows of the block, %d in all, %d bytes", r.Rows, d.Len(), d.Bytes())
	}
	b := d.Take()
	if got, want := show(b, 3), "9|1|false 10|2|false 11|4|true 12|3|false"; got != want || b.Weight != nil {
		t.Errorf("rows %s weight %v, want %s", got, b.Weight, want)
	}
	if d.Len() != 0 {
		t.Errorf("%d rows are left", d.Len())
	}
	r = d.Append(decode.Message{ContentType: decode.ContentTypeBlock, Payload: []byte("wrong kind")})
	if len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Reason, `column "_retract" of the block is a String, the source has a Bool`) {
		t.Errorf("a block of wrong kinds: %+v", r)
	}
	fail = errors.New("checksum")
	if r = d.Append(decode.Message{ContentType: decode.ContentTypeBlock}); len(r.Failures) != 1 || !r.Failures[0].Whole || r.Failures[0].Reason != "checksum" {
		t.Errorf("a block that does not decode: %+v", r)
	}
}

// TestDictionary: few texts become codes of one dictionary from batch to batch, many fall back to plain text.
func TestDictionary(t *testing.T) {
	d := decode.New(types.Schema{{Name: "few", Kind: types.String}, {Name: "many", Kind: types.String}}, decode.Options{})
	var first *zset.Dict
	for batch := range 2 {
		for i := range 1000 {
			d.Append(decode.Message{Payload: fmt.Appendf(nil, `{"few":"v%d","many":"m%d.%d"}`, i%7, batch, i)})
		}
		b := d.Take()
		if b.Cols[0].Dict == nil || b.Cols[0].Dict.Len() != 7 || b.Cols[1].Dict != nil {
			t.Fatalf("batch %d: dictionaries %v, %v", batch, b.Cols[0].Dict, b.Cols[1].Dict)
		}
		for i := range 1000 {
			if string(b.Cols[0].Text(i)) != fmt.Sprint("v", i%7) || string(b.Cols[1].Text(i)) != fmt.Sprintf("m%d.%d", batch, i) {
				t.Fatalf("row %d is %v", i, b.Row(i))
			}
		}
		if first == nil {
			first = b.Cols[0].Dict
		} else if first != b.Cols[0].Dict {
			t.Error("an unchanged dictionary is a new one")
		}
	}
}

func TestNoAllocationARow(t *testing.T) {
	payload := trades(1000, false, false)
	d := decode.New(tradeFields, decode.Options{})
	run := func() {
		d.Append(decode.Message{Payload: payload, ContentType: "application/x-ndjson"})
		d.Take()
	}
	run()
	if n := testing.AllocsPerRun(10, run); n > 30 {
		t.Errorf("%v allocations for 1000 rows", n)
	}
}

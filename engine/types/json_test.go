package types_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
)

const doc = `{"user":{"id":7,"tier":"gold","tags":["a",null,{"k":"v"}]},"empty":{},"list":[],"null":null,"text":"q\"\\\u00e9\ud83d\ude00","t":true,"n":-1.50e3,"a\"b":1,"":2}`

func TestJsonPath(t *testing.T) {
	for _, c := range []struct {
		path []any
		node string // "" is NULL
		text string
	}{
		{[]any{"user", "id"}, `7`, `7`},
		{[]any{"user", "tier"}, `"gold"`, `gold`},
		{[]any{"user", "tags"}, `["a",null,{"k":"v"}]`, `["a",null,{"k":"v"}]`},
		{[]any{"user", "tags", 0}, `"a"`, `a`},
		{[]any{"user", "tags", 1}, "", ""},
		{[]any{"user", "tags", 2, "k"}, `"v"`, `v`},
		{[]any{"user", "tags", 3}, "", ""},
		{[]any{"user", "tags", -1}, "", ""},
		{[]any{"user", "tags", "k"}, "", ""},
		{[]any{"user", 0}, "", ""},
		{[]any{"user", "ID"}, "", ""},
		{[]any{"empty"}, `{}`, `{}`},
		{[]any{"empty", "x"}, "", ""},
		{[]any{"list"}, `[]`, `[]`},
		{[]any{"list", 0}, "", ""},
		{[]any{"null"}, "", ""},
		{[]any{"text"}, `"q\"\\\u00e9\ud83d\ude00"`, "q\"\\é😀"},
		{[]any{"t"}, `true`, `true`},
		{[]any{"n"}, `-1.50e3`, `-1.50e3`},
		{[]any{"n", "x"}, "", ""},
		{[]any{`a"b`}, `1`, `1`},
		{[]any{""}, `2`, `2`},
		{[]any{"absent"}, "", ""},
	} {
		for _, space := range []bool{false, true} {
			node, ok := []byte(doc), true
			if space {
				// The functions also read text that is not compact.
				node = []byte(" " + strings.NewReplacer(",", " ,\n", ":", " :\t", "{", "{ ", "}", " }", "[", "[ ", "]", " ]").Replace(doc))
			}
			for _, step := range c.path {
				if !ok {
					break
				}
				if key, is := step.(string); is {
					node, ok = types.JsonField(node, []byte(key))
				} else {
					node, ok = types.JsonIndex(node, step.(int))
				}
			}
			if got := string(node); !space && got != c.node || ok != (c.node != "") {
				t.Errorf("%v: %s, %v; want %s", c.path, got, ok, c.node)
			}
			if !ok || space {
				continue
			}
			text, ok := types.JsonText(node, nil)
			appended, _ := types.AppendJsonText([]byte("x"), node)
			if !ok || string(text) != c.text || string(appended) != "x"+c.text {
				t.Errorf("text of %v: %s, %s; want %s", c.path, text, appended, c.text)
			}
		}
	}
}

func TestJsonPathDoesNotAllocate(t *testing.T) {
	d, key, inner := []byte(doc), []byte("user"), []byte("tags")
	n := testing.AllocsPerRun(100, func() {
		node, _ := types.JsonField(d, key)
		node, _ = types.JsonField(node, inner)
		node, _ = types.JsonIndex(node, 0)
		types.JsonText(node, nil)
		types.JsonToDouble(node)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestJsonElements(t *testing.T) {
	for in, want := range map[string]string{
		`[]`: "", `[1]`: "1", ` [ 1 , "a,]" , [2,{"x":"]"}] , null ] `: `1|"a,]"|[2,{"x":"]"}]|null`, `{}`: "", `5`: "", ``: "", `[1,2`: "1|2", `[1 2]`: "1",
	} {
		var got []string
		types.JsonElements([]byte(in), func(n []byte) bool { got = append(got, string(n)); return true })
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
}

func TestJsonIsNull(t *testing.T) {
	for in, want := range map[string]bool{"null": true, " null": true, "": true, `"null"`: false, "0": false, "[]": false} {
		if types.JsonIsNull([]byte(in)) != want {
			t.Errorf("%q: %v", in, !want)
		}
	}
}

func TestAppendUnescaped(t *testing.T) {
	for in, want := range map[string]string{
		`plain`: "plain", `\b\f\n\r\t\/\\\"`: "\b\f\n\r\t/\\\"", `\u00E9`: "é", `\uD83D\uDE00x`: "😀x", `\u0000`: "\x00",
		`\`: "!", `\x`: "!", `\u12`: "!", `\u12g4`: "!", `\ud83d`: "!", `\ud83dx`: "!", `\ud83d\u0041`: "!", `\ude00`: "!",
	} {
		got, ok := types.AppendUnescaped(nil, []byte(in))
		if ok != (want != "!") || ok && string(got) != want {
			t.Errorf("%s: %q, %v", in, got, ok)
		}
	}
}

// FuzzJson: paths of any text do not panic, and paths of JSON give what encoding/json gives.
func TestJsonMembers(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: "", `{"a":1}`: `"a"=1`, ` { "a" : [1,{"b":2}] , "c":null,"a":"x"} `: `"a"=[1,{"b":2}] "c"=null "a"="x"`,
		`[1]`: "", `5`: "", ``: "", `{"a"`: "", `{"a":}`: "", `{"a":1`: `"a"=1`, `{"\u0061":1}`: `"\u0061"=1`,
	} {
		var got []string
		types.JsonMembers([]byte(in), func(name, value []byte) bool {
			got = append(got, string(name)+"="+string(value))
			return true
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzJson(f *testing.F) {
	f.Add([]byte(doc), "user", 1)
	f.Add([]byte(`[{"a":[1,2,{"b":"\u0041"}]}]`), "a", 0)
	f.Add([]byte(`{"a":"\\","b":[[[]]]}`), "b", 0)
	f.Add([]byte(`"unterminated`), "", 0)
	f.Add([]byte(`{"a`), "a", 0)
	f.Add([]byte(`[}`), "a", 0)
	f.Fuzz(func(t *testing.T, d []byte, key string, index int) {
		field, hasField := types.JsonField(d, []byte(key))
		item, hasItem := types.JsonIndex(d, index)
		types.JsonText(d, nil)
		types.JsonToLong(d)
		types.JsonToDouble(d)
		types.JsonToBool(d)
		types.JsonToTimestamp(d)
		var tree any
		if !json.Valid(d) || json.Unmarshal(d, &tree) != nil || strings.ContainsRune(string(d), '\uFFFD') || strings.Contains(strings.ToLower(string(d)), `\ud`) {
			return
		}
		switch tree := tree.(type) {
		case map[string]any:
			if strings.Count(string(d), ":") != len(tree) {
				return // nested objects or names twice: encoding/json takes the last, stored text has one
			}
			want, ok := tree[key]
			compareNode(t, field, hasField, want, ok)
		case []any:
			if index >= 0 && index < len(tree) {
				compareNode(t, item, hasItem, tree[index], true)
			} else if hasItem {
				t.Fatalf("element %d of %d is %s", index, len(tree), item)
			}
		default:
			if hasField || hasItem {
				t.Fatal("a scalar has parts")
			}
		}
	})
}

func compareNode(t *testing.T, node []byte, has bool, want any, ok bool) {
	t.Helper()
	if has != (ok && want != nil) {
		t.Fatalf("there is a node: %v, want %v", has, want)
	}
	if !has {
		return
	}
	var got any
	if err := json.Unmarshal(node, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("node %s, want %v", node, want)
	}
	if s, is := want.(string); is {
		if text, ok := types.JsonText(node, nil); !ok || string(text) != s {
			t.Fatalf("text %q, want %q", text, s)
		}
	}
}

package expr

import "github.com/streamsforge/streamsforge/engine/types"

// jsonFunctions look into Json values.
var jsonFunctions = []scalar{
	{name: "JSON_ARRAY_LENGTH", sign: "JSON_ARRAY_LENGTH(x)", doc: "Number of elements of a Json array; NULL for other values.",
		params: kinds(types.Json), min: 1, max: 1, result: long, row: func(r *rowArgs) bool {
			doc := r.text(0)
			if len(doc) == 0 || doc[0] != '[' {
				return false
			}
			r.n = 0
			types.JsonElements(doc, func([]byte) bool { r.n++; return true })
			return true
		}},
	{name: "JSON_EXISTS", sign: "JSON_EXISTS(x, key)", doc: "True when the Json object has the member and it is not null.",
		params: kinds(types.Json, text), min: 2, max: 2, result: types.Bool, row: func(r *rowArgs) bool {
			_, ok := types.JsonField(r.text(0), r.text(1))
			return r.truth(ok)
		}},
	{name: "JSON_GET", sign: "JSON_GET(x, key)", doc: "The member of a Json object whose name is computed; x -> 'key' for a constant one.",
		params: kinds(types.Json, text), min: 2, max: 2, result: types.Json, row: func(r *rowArgs) bool {
			raw, ok := types.JsonField(r.text(0), r.text(1))
			return ok && r.give(raw)
		}},
	{name: "JSON_GET_AT", sign: "JSON_GET_AT(x, n)", doc: "The element of a Json array at a computed place, from 0.",
		params: kinds(types.Json, long), min: 2, max: 2, result: types.Json, row: func(r *rowArgs) bool {
			n := r.long(1)
			if n < 0 || n > 1<<31-1 {
				return false
			}
			raw, ok := types.JsonIndex(r.text(0), int(n))
			return ok && r.give(raw)
		}},
	{name: "JSON_GET_TEXT", sign: "JSON_GET_TEXT(x, key)", doc: "JSON_GET as text; x ->> 'key' for a constant one.",
		params: kinds(types.Json, text), min: 2, max: 2, result: text, row: func(r *rowArgs) bool {
			raw, ok := types.JsonField(r.text(0), r.text(1))
			if !ok {
				return false
			}
			r.out, ok = types.AppendJsonText(r.out, raw)
			return ok
		}},
	{name: "JSON_KEYS", aliases: []string{"JSON_OBJECT_KEYS"}, sign: "JSON_KEYS(x)", doc: "Names of the members of a Json object as a Json array, in their order; NULL for other values.",
		params: kinds(types.Json), min: 1, max: 1, result: types.Json, row: func(r *rowArgs) bool {
			doc := r.text(0)
			if len(doc) == 0 || doc[0] != '{' {
				return false
			}
			r.out = append(r.out, '[')
			n := 0
			types.JsonMembers(doc, func(name, _ []byte) bool {
				if n++; n > 1 {
					r.out = append(r.out, ',')
				}
				r.out = append(r.out, name...)
				return true
			})
			return r.give([]byte{']'})
		}},
	{name: "JSON_TYPE", aliases: []string{"JSON_TYPEOF"}, sign: "JSON_TYPE(x)", doc: "object, array, string, number, boolean or null.",
		params: kinds(types.Json), min: 1, max: 1, result: text, row: func(r *rowArgs) bool {
			doc := r.text(0)
			if len(doc) == 0 {
				return false
			}
			names := map[byte]string{'{': "object", '[': "array", '"': "string", 't': "boolean", 'f': "boolean", 'n': "null"}
			if name, ok := names[doc[0]]; ok {
				return r.give([]byte(name))
			}
			return r.give([]byte("number"))
		}},
}

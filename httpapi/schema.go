package httpapi

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/view"
)

// schemas derives JSON schemas from the Go types of requests and answers. Types of structs become components; a
// request's component has no required members, because absent ones take their default.
type schemas struct {
	components openapi3.Schemas
}

// enums are the texts of string types with a fixed set.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[types.Kind]():    anys(types.KindNames()...),
	reflect.TypeFor[view.Status]():   anys(string(view.Stopped), string(view.Running), string(view.Failed)),
	reflect.TypeFor[access.Role]():   anys(string(access.Viewer), string(access.Editor), string(access.Admin)),
	reflect.TypeFor[access.Effect](): anys(string(access.Allow), string(access.Deny)),
}

func anys(texts ...string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

var (
	rawMessage  = reflect.TypeFor[json.RawMessage]()
	textMarshal = reflect.TypeFor[encoding.TextMarshaler]()
)

// of returns the schema of a type. nullable adds null to what is allowed.
func (s *schemas) of(t reflect.Type, input, nullable bool) *openapi3.SchemaRef {
	if t.Kind() == reflect.Pointer {
		return s.of(t.Elem(), input, true)
	}
	if t == rawMessage {
		return &openapi3.SchemaRef{Value: &openapi3.Schema{Description: "any JSON"}}
	}
	if values, ok := enums[t]; ok {
		if nullable {
			values = append(slices.Clone(values), nil)
		}
		return inline(&openapi3.Schema{Type: kind("string", nullable), Enum: values})
	}
	switch t.Kind() {
	case reflect.String:
		return inline(&openapi3.Schema{Type: kind("string", nullable)})
	case reflect.Bool:
		return inline(&openapi3.Schema{Type: kind("boolean", nullable)})
	case reflect.Int, reflect.Int32, reflect.Uint32:
		return inline(&openapi3.Schema{Type: kind("integer", nullable), Format: "int32"})
	case reflect.Int64, reflect.Uint64:
		return inline(&openapi3.Schema{Type: kind("integer", nullable), Format: "int64"})
	case reflect.Float64:
		return inline(&openapi3.Schema{Type: kind("number", nullable), Format: "double"})
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return inline(&openapi3.Schema{Type: kind("string", nullable), Format: "byte"})
		}
		return inline(&openapi3.Schema{Type: kind("array", nullable), Items: s.of(t.Elem(), input, false)})
	case reflect.Map:
		out := &openapi3.Schema{Type: kind("object", nullable)}
		if t.Elem().Kind() != reflect.Interface {
			out.AdditionalProperties = openapi3.AdditionalProperties{Schema: s.of(t.Elem(), input, false)}
		}
		return inline(out)
	case reflect.Struct:
		if t.Implements(textMarshal) {
			return inline(&openapi3.Schema{Type: kind("string", nullable)})
		}
		ref := s.component(t, input)
		if !nullable {
			return ref
		}
		return inline(&openapi3.Schema{AnyOf: openapi3.SchemaRefs{ref, inline(&openapi3.Schema{Type: &openapi3.Types{"null"}})}})
	}
	panic("BUG: httpapi: no schema for " + t.String())
}

func inline(s *openapi3.Schema) *openapi3.SchemaRef { return &openapi3.SchemaRef{Value: s} }

func kind(name string, nullable bool) *openapi3.Types {
	if nullable {
		return &openapi3.Types{name, "null"}
	}
	return &openapi3.Types{name}
}

// component registers a struct once and returns a reference to it.
func (s *schemas) component(t reflect.Type, input bool) *openapi3.SchemaRef {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if input && !strings.HasSuffix(name, "Request") {
		name += "Input"
	}
	ref := "#/components/schemas/" + name
	if known, ok := s.components[name]; ok {
		return &openapi3.SchemaRef{Ref: ref, Value: known.Value}
	}
	out := &openapi3.Schema{Type: &openapi3.Types{"object"}, Properties: openapi3.Schemas{}}
	s.components[name] = inline(out) // before its members: a type may hold itself
	s.members(t, input, out)
	return &openapi3.SchemaRef{Ref: ref, Value: out}
}

func (s *schemas) members(t reflect.Type, input bool, out *openapi3.Schema) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			s.members(f.Type, input, out)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		// In a request, null is "absent": the default, or unchanged.
		nullable := input || f.Tag.Get("openapi") == "nullable"
		out.Properties[name] = s.of(f.Type, input, nullable)
		if !input && !strings.Contains(options, "omitempty") {
			out.Required = append(out.Required, name)
		}
	}
	slices.Sort(out.Required)
}

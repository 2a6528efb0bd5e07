package catalog

import "github.com/streamsforge/streamsforge/engine/types"

// Field is one declared column as definitions carry it.
type Field struct {
	Name     string     `json:"name"`
	Type     types.Kind `json:"type"`
	Children []Field    `json:"children" openapi:"nullable"`
	IsArray  bool       `json:"isArray"`
}

// Schema returns the fields as the engine's schema.
func Schema(fields []Field) types.Schema {
	if fields == nil {
		return nil
	}
	s := make(types.Schema, len(fields))
	for i, f := range fields {
		s[i] = types.Field{Name: f.Name, Kind: f.Type, Children: Schema(f.Children), IsArray: f.IsArray}
	}
	return s
}

// Fields returns a schema as fields.
func Fields(s types.Schema) []Field {
	if s == nil {
		return nil
	}
	out := make([]Field, len(s))
	for i, f := range s {
		out[i] = Field{Name: f.Name, Type: f.Kind, Children: Fields(f.Children), IsArray: f.IsArray}
	}
	return out
}

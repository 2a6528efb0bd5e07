package types

import "strings"

// Reserved column names. TsColumn and SourceColumn resolve on every input without a declaration.
const (
	TsColumn      = "_ts"      // event time, milliseconds since the epoch, Long
	SourceColumn  = "_source"  // name of the producing entity, String
	RetractColumn = "_retract" // true removes the key from a LATEST BY table
	WeightColumn  = "_weight"
	OpColumn      = "_op"
)

// Field is one declared column.
type Field struct {
	Name string `json:"name"`
	Kind Kind   `json:"type"`
	// Children describe the nested shape of a Json field.
	Children []Field `json:"children,omitempty"`
	// IsArray marks a list of Kind; its values are stored as Json.
	IsArray bool `json:"isArray,omitempty"`
}

// Stored is the kind a column of the field has: Json for every array.
func (f Field) Stored() Kind {
	if f.IsArray {
		return Json
	}
	return f.Kind
}

// Schema is an ordered list of columns.
type Schema []Field

// Find returns the position of a column by name, ignoring case.
func (s Schema) Find(name string) (int, bool) {
	for i := range s {
		if strings.EqualFold(s[i].Name, name) {
			return i, true
		}
	}
	return -1, false
}

// Names returns the column names in order.
func (s Schema) Names() []string {
	out := make([]string, len(s))
	for i := range s {
		out[i] = s[i].Name
	}
	return out
}

// Clone copies the list and every nested list.
func (s Schema) Clone() Schema {
	if s == nil {
		return nil
	}
	out := make(Schema, len(s))
	for i, f := range s {
		f.Children = Schema(f.Children).Clone()
		out[i] = f
	}
	return out
}

// String prints the schema as "symbol String, qty Long".
func (s Schema) String() string {
	var b strings.Builder
	for i, f := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.Name)
		b.WriteByte(' ')
		b.WriteString(f.Kind.String())
		if f.IsArray {
			b.WriteString("[]")
		}
	}
	return b.String()
}

package connectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// FieldType is how a setting is entered and checked.
type FieldType string

// The field types of a descriptor.
const (
	Text    FieldType = "string"
	Secret  FieldType = "secret" // shown as Masked on every read path
	Number  FieldType = "number"
	Flag    FieldType = "bool"
	Select  FieldType = "select"
	Lines   FieldType = "text" // several lines
	unTyped FieldType = ""     // means Text
)

// Field is one setting of a kind.
type Field struct {
	Key         string    `json:"key"`
	Label       string    `json:"label"`
	Type        FieldType `json:"type"`
	Group       *string   `json:"group"`
	Required    bool      `json:"required"`
	Mono        bool      `json:"mono"`
	Placeholder *string   `json:"placeholder"`
	Help        *string   `json:"help"`
	Options     []string  `json:"options"`
	Default     *string   `json:"default"`
}

// Group gathers fields under a heading. With an ObjectKey its fields are nested under that member, which is null when
// the group is switched off.
type Group struct {
	Key       string  `json:"key"`
	Label     string  `json:"label"`
	Help      *string `json:"help"`
	Optional  bool    `json:"optional"`
	ObjectKey *string `json:"objectKey"`
}

// Descriptor describes a kind. It is the one list that drives validation, masking, the console's form and the
// documentation.
type Descriptor struct {
	Kind  string  `json:"kind"`
	Label string  `json:"label"`
	Help  *string `json:"help"`
	// ConfigProperty is the connector section of the kind, "settings" for kinds of plugins, "" for kinds without one.
	ConfigProperty string  `json:"configProperty"`
	Fields         []Field `json:"fields"`
	Groups         []Group `json:"groups"`
	Polled         bool    `json:"polled"`
	Mapping        bool    `json:"mapping"`
	CanProbe       bool    `json:"canProbe"`
	Duplex         bool    `json:"duplex"`
	Version        string  `json:"version"`
}

// Str is a pointer to a text, for the optional members of descriptors.
func Str(s string) *string { return &s }

// MarshalJSON writes the descriptor with its defaults: type string, version 1.0.0, lists never null.
func (d Descriptor) MarshalJSON() ([]byte, error) {
	type plain Descriptor
	p := plain(d)
	p.Fields = slices.Clone(d.Fields)
	if p.Fields == nil {
		p.Fields = []Field{}
	}
	for i := range p.Fields {
		if p.Fields[i].Type == unTyped {
			p.Fields[i].Type = Text
		}
	}
	if p.Groups == nil {
		p.Groups = []Group{}
	}
	if p.Version == "" {
		p.Version = "1.0.0"
	}
	return json.Marshal(p)
}

// check finds mistakes of the descriptor itself.
func (d Descriptor) check() error {
	seen := map[string]bool{}
	for _, g := range d.Groups {
		if seen[g.Key] {
			return fmt.Errorf("group %q is described twice", g.Key)
		}
		seen[g.Key] = true
	}
	fields := map[string]bool{}
	for _, f := range d.Fields {
		if f.Group != nil && !seen[*f.Group] {
			return fmt.Errorf("field %q is in group %q, which is not described", f.Key, *f.Group)
		}
		id := d.objectKey(f) + "." + f.Key
		if fields[id] {
			return fmt.Errorf("field %q is described twice", strings.TrimPrefix(id, "."))
		}
		fields[id] = true
		switch f.Type {
		case unTyped, Text, Secret, Number, Flag, Lines:
		case Select:
			if len(f.Options) == 0 {
				return fmt.Errorf("field %q is a select without options", f.Key)
			}
		default:
			return fmt.Errorf("field %q has unknown type %q", f.Key, f.Type)
		}
		if f.Default != nil {
			if p := f.problem(*f.Default); p != "" {
				return fmt.Errorf("default of field %q: %s", f.Key, p)
			}
		}
	}
	return nil
}

// objectKey is the member under which a field is nested, "" for the section itself.
func (d Descriptor) objectKey(f Field) string {
	if f.Group == nil {
		return ""
	}
	for _, g := range d.Groups {
		if g.Key == *f.Group && g.ObjectKey != nil {
			return *g.ObjectKey
		}
	}
	return ""
}

// problem checks the text of a setting, "" when it is right.
func (f Field) problem(v string) string {
	switch f.Type {
	case Number:
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Sprintf("%q is not a number", v)
		}
	case Flag:
		if v != "true" && v != "false" {
			return fmt.Sprintf("%q is not true or false", v)
		}
	case Select:
		if !slices.Contains(f.Options, v) {
			return fmt.Sprintf("%q is not one of %s", v, strings.Join(f.Options, ", "))
		}
	}
	return ""
}

// Validate returns every problem of a kind's section. Unknown members are ignored, as everywhere on the wire.
func (d Descriptor) Validate(section json.RawMessage) []string {
	if len(bytes.TrimSpace(section)) == 0 || string(bytes.TrimSpace(section)) == "null" {
		return []string{fmt.Sprintf("kind %s needs connector.%s", d.Kind, d.ConfigProperty)}
	}
	m, err := object(section)
	if err != nil {
		return []string{fmt.Sprintf("connector.%s: %v", d.ConfigProperty, err)}
	}
	return d.problems("connector."+d.ConfigProperty, func(f Field) (string, bool, error) {
		in := m
		if k := d.objectKey(f); k != "" {
			raw, ok := m[k]
			if !ok || string(raw) == "null" {
				return "", true, errSwitchedOff
			}
			if in, err = object(raw); err != nil {
				return "", true, fmt.Errorf("%s: %w", k, err)
			}
		}
		return scalarText(in[f.Key])
	})
}

// ValidateSettings returns every problem of the open settings of a plugin's kind.
func (d Descriptor) ValidateSettings(settings map[string]string) []string {
	return d.problems("connector.settings", func(f Field) (string, bool, error) {
		v, ok := settings[f.Key]
		return v, ok && v != "", nil
	})
}

var errSwitchedOff = errors.New("the group is switched off")

func (d Descriptor) problems(where string, value func(Field) (string, bool, error)) []string {
	var out []string
	for _, f := range d.Fields {
		at := where + "."
		if k := d.objectKey(f); k != "" {
			at += k + "."
		}
		at += f.Key
		v, present, err := value(f)
		switch {
		case errors.Is(err, errSwitchedOff):
		case err != nil:
			out = append(out, fmt.Sprintf("%s: %v", at, err))
		case !present && f.Required && f.Default == nil:
			out = append(out, at+" is required")
		case present:
			if p := f.problem(v); p != "" {
				out = append(out, at+": "+p)
			}
		}
	}
	return out
}

// Mask returns the section with every set secret shown as Masked.
func (d Descriptor) Mask(section json.RawMessage) json.RawMessage {
	return d.rewrite(section, func(f Field, v json.RawMessage) json.RawMessage {
		if isSet(v) {
			return json.RawMessage(`"` + Masked + `"`)
		}
		return v
	})
}

// Merge returns the sent section with every secret that shows as Masked replaced by the stored one. A masked secret
// without a stored value becomes absent.
func (d Descriptor) Merge(stored, sent json.RawMessage) json.RawMessage {
	return d.rewrite(sent, func(f Field, v json.RawMessage) json.RawMessage {
		if string(v) != `"`+Masked+`"` {
			return v
		}
		return d.at(stored, f)
	})
}

func (d Descriptor) at(section json.RawMessage, f Field) json.RawMessage {
	m, err := object(section)
	if err != nil {
		return nil
	}
	if k := d.objectKey(f); k != "" {
		if m, err = object(m[k]); err != nil {
			return nil
		}
	}
	return m[f.Key]
}

func (d Descriptor) rewrite(section json.RawMessage, secret func(Field, json.RawMessage) json.RawMessage) json.RawMessage {
	m, err := object(section)
	if err != nil {
		return section
	}
	changed := false
	for _, f := range d.Fields {
		if f.Type != Secret {
			continue
		}
		in, key := m, d.objectKey(f)
		if key != "" {
			if in, err = object(m[key]); err != nil {
				continue
			}
		}
		old, ok := in[f.Key]
		if !ok {
			continue
		}
		v := secret(f, old)
		if bytes.Equal(v, old) {
			continue
		}
		changed = true
		if v == nil {
			delete(in, f.Key)
		} else {
			in[f.Key] = v
		}
		if key != "" {
			m[key] = encodeObject(in)
		}
	}
	if !changed {
		return section
	}
	return encodeObject(m)
}

func isSet(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" && string(v) != `""` }

func object(b json.RawMessage) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil || m == nil {
		return nil, errors.New("expected an object")
	}
	return m, nil
}

// encodeObject writes members sorted by name, so that the same settings are the same bytes.
func encodeObject(m map[string]json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(k)
		b.Write(name)
		b.WriteByte(':')
		b.Write(m[k])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// scalarText is the text of a scalar member; present is false for an absent, null or empty one.
func scalarText(raw json.RawMessage) (text string, present bool, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "", false, nil
	}
	switch raw[0] {
	case '"':
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", true, err
		}
		return text, text != "", nil
	case '{', '[':
		return "", true, errors.New("expected a single value")
	default:
		return string(raw), true, nil
	}
}

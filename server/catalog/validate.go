package catalog

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/view"
)

const (
	// maxName bounds the UTF-8 bytes of a name: with every byte encoded as =XX it still fits a stream name.
	maxName = 64
	// maxFields and maxFieldDepth bound what one definition may declare.
	maxFields     = 2000
	maxFieldDepth = 32
)

// nameProblem checks the name of a relation; dots is whether "." may be part of it.
func nameProblem(what, name string, dots bool) string {
	switch {
	case strings.TrimSpace(name) == "":
		return what + " name is required"
	case !dots && strings.Contains(name, "."):
		return fmt.Sprintf("%s name '%s' must not contain '.'", what, name)
	case len(name) > maxName:
		return fmt.Sprintf("%s name is %d bytes long: at most %d are allowed", what, len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsRune(name, utf8.RuneError):
		return fmt.Sprintf("%s name %q must not contain control characters", what, name)
	}
	return ""
}

// Problems returns everything that is wrong with a source's definition, in words for people.
func (s *Source) Problems() []string {
	var p problems
	p.add(nameProblem("source", s.Name, false))
	if len(s.Fields) == 0 {
		p.add("at least one field is required")
	}
	count := 0
	var fields problems
	fieldProblems(&fields, "fields", s.Fields, 1, &count)
	if count > maxFields {
		p.addf("%d fields are declared: at most %d are allowed", count, maxFields)
	}
	p.add(fields...)
	switch s.OnCoercionFailure {
	case CoerceNull, CoerceDrop, CoerceReject:
	default:
		p.addf("onCoercionFailure '%s' is not one of Null, DropRow, RejectBatch", s.OnCoercionFailure)
	}
	if r := s.Replay; r != nil && (r.RetainMs < 0 || r.MaxBytes < 0) {
		p.add("replay.retainMs and replay.maxBytes must not be negative")
	}
	p.add(s.keyProblems()...)
	p.add(s.kindProblems()...)
	return p
}

// keyProblems checks the key: declared fields that can be compared, and a mark for deletes that can be one.
func (s *Source) keyProblems() []string {
	var p problems
	schema := Schema(s.Fields)
	seen := map[string]bool{}
	for _, k := range s.KeyFields {
		i, ok := schema.Find(k)
		switch key := strings.ToLower(k); {
		case !ok:
			p.addf("keyFields names '%s', which is not a declared field", k)
		case seen[key]:
			p.addf("keyFields names '%s' twice", k)
		case schema[i].Stored() == types.Json:
			p.addf("keyFields names '%s', which is %s: a key is a text, a number, a Bool or a Timestamp", k, typeName(s.Fields[i]))
		default:
			seen[key] = true
		}
	}
	if i, ok := schema.Find(types.RetractColumn); ok && len(s.KeyFields) > 0 && schema[i].Stored() != types.Bool {
		p.addf("field '%s' must be a Bool in a source with keyFields: it marks deleted rows", s.Fields[i].Name)
	}
	return p
}

// kindProblems checks what belongs to the kind: the sections and the rules of the connector contract.
func (s *Source) kindProblems() []string {
	var p problems
	if s.Kind == KindGenerator && s.EventsPerSecond == 0 {
		p.add("eventsPerSecond is 0: it must be greater than 0") // the kind itself refuses what is below
	}
	d, err := s.Definition()
	if err != nil {
		return append(p, err.Error())
	}
	p.add(connectors.Validate(d)...)
	return p
}

func fieldProblems(p *problems, at string, fields []Field, depth int, count *int) {
	if depth > maxFieldDepth {
		p.addf("%s: fields are nested more than %d levels deep", at, maxFieldDepth)
		return
	}
	seen := map[string]bool{}
	for i, f := range fields {
		*count++
		here := fmt.Sprintf("%s[%d]", at, i)
		switch key := strings.ToLower(f.Name); {
		case strings.TrimSpace(f.Name) == "":
			p.addf("%s: field name is required", here)
		case seen[key]:
			p.addf("%s: field '%s' is declared twice (names differ only by case are the same column)", here, f.Name)
		case strings.ContainsFunc(f.Name, unicode.IsControl):
			p.addf("%s: field name %q must not contain control characters", here, f.Name)
		default:
			seen[key] = true
		}
		if f.Type >= types.Unknown {
			p.addf("%s: field '%s' has no type: expected one of %s", here, f.Name, strings.Join(types.KindNames(), ", "))
		}
		if len(f.Children) > 0 {
			if f.Type != types.Json {
				p.addf("%s: field '%s' is %s and cannot have children; only Json fields can", here, f.Name, f.Type)
			}
			fieldProblems(p, here+".children", f.Children, depth+1, count)
		}
	}
}

// problems collects texts; empty ones are left out.
type problems []string

func (p *problems) add(texts ...string) {
	for _, t := range texts {
		if t != "" {
			*p = append(*p, t)
		}
	}
}

func (p *problems) addf(format string, args ...any) { p.add(fmt.Sprintf(format, args...)) }

// maxProblems bounds the text of one refusal.
const maxProblems = 20

// invalid turns problems into one refusal, nil when there are none.
func invalid(p []string) error {
	if len(p) == 0 {
		return nil
	}
	if more := len(p) - maxProblems; more > 0 {
		p = append(slices.Clone(p[:maxProblems]), fmt.Sprintf("and %d more", more))
	}
	return view.Errorf(view.Invalid, "%s", strings.Join(p, "; "))
}

// pinProblems checks dependsOn.
func pinProblems(pins []EntityPin) []string {
	var p problems
	for i, pin := range pins {
		if pin.Kind != "source" && pin.Kind != "table" {
			p.addf("dependsOn[%d]: kind '%s' is not one of source, table", i, pin.Kind)
		}
		if strings.TrimSpace(pin.Name) == "" {
			p.addf("dependsOn[%d]: name is required", i)
		}
	}
	return p
}

// sinkProblems checks sinks. No sink kind is part of this build yet, and a sink that would never deliver is refused
// rather than kept quietly.
func sinkProblems(sinks []SinkSpec) []string {
	var p problems
	for i, s := range sinks {
		p.addf("sinks[%d] (kind '%s'): sinks of this kind are not part of this build", i, s.Kind)
		if s.Delivery != "fireAndForget" && s.Delivery != "durable" {
			p.addf("sinks[%d] (kind '%s'): delivery '%s' is not one of fireAndForget, durable", i, s.Kind, s.Delivery)
		}
		if s.MaxAttempts < 1 {
			p.addf("sinks[%d] (kind '%s'): maxAttempts is %d: it must be at least 1", i, s.Kind, s.MaxAttempts)
		}
	}
	return p
}

// BreakingError refuses a schema change that takes something away from readers.
type BreakingError struct {
	Source  string
	Reasons []string
}

func (e *BreakingError) Error() string {
	return fmt.Sprintf("source '%s': schema change is breaking", e.Source)
}

// Breaking lists what a change of fields takes away from readers: a type that changed, a field that is gone.
// Additions are compatible.
func Breaking(before, after []Field) []string { return breaking("", before, after) }

func breaking(prefix string, before, after []Field) []string {
	var out []string
	for _, b := range before {
		name := prefix + b.Name
		i := -1
		for j := range after {
			if after[j].Name == b.Name {
				i = j
			}
		}
		if i < 0 {
			out = append(out, fmt.Sprintf("field '%s' was removed", name))
			continue
		}
		a := after[i]
		if a.Type != b.Type || a.IsArray != b.IsArray {
			out = append(out, fmt.Sprintf("field '%s' changed type: %s -> %s", name, typeName(b), typeName(a)))
			continue
		}
		out = append(out, breaking(name+".", b.Children, a.Children)...)
	}
	return out
}

func typeName(f Field) string {
	if f.IsArray {
		return f.Type.String() + "[]"
	}
	return f.Type.String()
}

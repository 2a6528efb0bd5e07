package connectors

import (
	"fmt"
	"slices"
	"sync"
)

// Kind is one source kind.
type Kind struct {
	// Name is the value of the definition's kind member.
	Name string
	// Descriptor says what can be set. Its Kind member is filled from Name.
	Descriptor Descriptor
	// BuiltIn kinds have forms of their own: the list of transports leaves them out.
	BuiltIn bool
	// Validate returns every problem of a definition beyond those that its Descriptor finds; nil means none.
	Validate func(d Definition) []string
	// New makes a source from a valid definition. It is pure: no I/O, no goroutines. nil marks a kind whose rows
	// arrive by request and that no Driver reads (ingest).
	New func(d Definition, e Env) (Source, error)
}

// documented are the kinds of the product's documentation, in its order; a build holds a part of them.
var documented = []string{
	"generator", "url", "file", "folder", "grpc", "ingest", "nats", "postgres", "mssql", "postgres-cdc", "mssql-cdc",
	"fix", "fix-duplex", "crdt",
}

var registry struct {
	sync.RWMutex
	kinds map[string]Kind
}

// Register adds a kind to the build. It is called from init functions; a second kind of one name, or one without a
// name, is a mistake of the build and panics.
func Register(k Kind) {
	registry.Lock()
	defer registry.Unlock()
	if k.Name == "" {
		panic("BUG: connectors.Register: a kind needs a name")
	}
	if _, dup := registry.kinds[k.Name]; dup {
		panic(fmt.Sprintf("BUG: connectors.Register: kind %q is registered twice", k.Name))
	}
	if err := k.Descriptor.check(); err != nil {
		panic(fmt.Sprintf("BUG: connectors.Register: kind %q: %v", k.Name, err))
	}
	if registry.kinds == nil {
		registry.kinds = map[string]Kind{}
	}
	k.Descriptor.Kind = k.Name
	registry.kinds[k.Name] = k
}

// Lookup finds a kind of this build. The error says whether the name is unknown or only not built.
func Lookup(name string) (Kind, error) {
	registry.RLock()
	k, ok := registry.kinds[name]
	registry.RUnlock()
	if ok {
		return k, nil
	}
	if slices.Contains(documented, name) {
		return Kind{}, &NotBuiltError{Kind: name}
	}
	return Kind{}, &UnknownKindError{Kind: name}
}

// Names lists the kinds of this build in their documented order, others after them by name.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	return order(func(n string) bool { _, ok := registry.kinds[n]; return ok })
}

// KnownNames lists the documented kinds and those that only this build has.
func KnownNames() []string {
	registry.RLock()
	defer registry.RUnlock()
	return order(func(string) bool { return true })
}

func order(keep func(string) bool) []string {
	var out, extra []string
	for _, n := range documented {
		if keep(n) {
			out = append(out, n)
		}
	}
	for n := range registry.kinds {
		if !slices.Contains(documented, n) {
			extra = append(extra, n)
		}
	}
	slices.Sort(extra)
	return append(out, extra...)
}

// Transports lists the descriptors of the kinds without a form of their own, in the order of Names.
func Transports() []Descriptor {
	out := []Descriptor{}
	for _, n := range Names() {
		if k, err := Lookup(n); err == nil && !k.BuiltIn {
			out = append(out, k.Descriptor)
		}
	}
	return out
}

// Validate returns every problem of a definition: an unknown kind, what the descriptor refuses, what the kind itself
// refuses, and a member that belongs to another kind.
func Validate(d Definition) []string {
	k, err := Lookup(d.Kind)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	if d.Ingest != nil && d.Kind != "ingest" {
		problems = append(problems, fmt.Sprintf("the ingest section belongs to kind ingest, not to kind %s: remove it or change the kind", d.Kind))
	}
	problems = append(problems, connectorProblems(k, d)...)
	if k.Validate != nil {
		problems = append(problems, k.Validate(d)...)
	}
	return problems
}

func connectorProblems(k Kind, d Definition) []string {
	want := k.Descriptor.ConfigProperty
	if d.Connector == nil {
		if want != "" && want != "settings" {
			return []string{fmt.Sprintf("kind %s needs connector.%s", d.Kind, want)}
		}
		return nil
	}
	var problems []string
	for _, s := range d.Connector.Sections() {
		if s != want {
			problems = append(problems, fmt.Sprintf("connector.%s does not belong to kind %s", s, d.Kind))
		}
	}
	switch {
	case want == "":
		if len(problems) == 0 {
			problems = append(problems, fmt.Sprintf("kind %s has no connector: remove the connector member", d.Kind))
		}
		return problems
	case want == "settings":
		problems = append(problems, k.Descriptor.ValidateSettings(d.Connector.Settings)...)
	default:
		problems = append(problems, k.Descriptor.Validate(*d.Connector.Section(want))...)
	}
	return append(problems, d.Connector.Schedule.Problems()...)
}

package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with the configuration. Its text is one line that
// names the key, where the value came from and what was expected.
type Problem struct { //nolint:errname // one of several that an Errors holds
	Key      string // concrete name, or the name as spelled when no key has it
	Value    string // masked
	Origin   string
	Message  string // instead of the value: what is wrong
	Expected string
	Hint     string

	hasValue bool
}

func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Key)
	switch {
	case p.Message != "":
		b.WriteString(" " + p.Message)
	case p.hasValue || p.Value != "":
		fmt.Fprintf(&b, " = %q", p.Value)
	}
	if p.Origin != "" {
		b.WriteString(" (" + p.Origin + ")")
	}
	if p.Expected != "" {
		b.WriteString(": expected " + p.Expected)
	}
	if p.Hint != "" {
		b.WriteString(": " + p.Hint)
	}
	return b.String()
}

// Errors is every problem of one load, in the order found.
type Errors []*Problem

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find each problem.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, p := range e {
		out[i] = p
	}
	return out
}

// unknown is the problem of a name that no key has.
func unknown(r raw) *Problem {
	p := &Problem{Key: r.name, Origin: r.origin, Message: "is not a configuration key"}
	// A known list or map without its index or name is the commonest near miss.
	for _, k := range registry {
		if prefix, _, ok := strings.Cut(k.Name, ":<"); ok && strings.EqualFold(prefix, r.name) {
			p.Hint = "it holds several values; write " + strings.NewReplacer("<n>", "0", "<name>", "NAME").Replace(k.Name)
			return p
		}
	}
	if s := suggest(r.name); s != "" {
		p.Hint = "did you mean " + s + "?"
	} else {
		p.Hint = "`streamsforge config explain` lists every key"
	}
	return p
}

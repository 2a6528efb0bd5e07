package project

import (
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/analyze"
)

// agree holds what a model declares against the changelog of its plan, and sets what is in effect. The materialization
// is what a reader of the model relies on, so a declaration that the plan does not keep is an error, and so is one that
// promises less than it could: the next reader would build on the wrong one.
//
//	derived       append          upsert                                  retract
//	Append        ok              ok with a key: it identifies the rows   error
//	Upsert(k)     error           ok with the same key                    error
//	Upsert()      error           ok without a key                        error
//	Retract       error           error: nothing proves the key           ok
func (c *check) agree(m *Compiled) bool {
	before := len(c.findings)
	switch m.Materialized {
	case MaterializedAppend:
		c.agreeAppend(m)
	case MaterializedUpsert:
		c.agreeUpsert(m)
	case MaterializedRetract:
		c.agreeRetract(m)
	case "":
		c.report(m.At, m.Name, CodeMaterialized, "write "+m.wanted(), "model %s does not declare what it is materialized as", m.Name)
	default:
		c.report(m.MaterializedAt, m.Name, CodeUnknownKind, analyze.DidYouMean(m.Materialized, Materializations(), "one of"),
			"model %s cannot be materialized as %q", m.Name, m.Materialized)
	}
	return len(c.findings) == before
}

func (c *check) agreeAppend(m *Compiled) {
	if m.Derived.Mode != engine.Append {
		c.disagree(m, m.MaterializedAt)
		return
	}
	if m.Key != nil {
		c.report(m.KeyAt, m.Name, CodeKey, "remove the key, or write materialized: upsert",
			"model %s is materialized as append and declares the key %s: rows that are independent facts have none", m.Name, keyText(m.Key))
	}
}

func (c *check) agreeUpsert(m *Compiled) {
	switch {
	case m.Derived.Mode == engine.Retract:
		c.disagree(m, m.MaterializedAt)
	case m.Derived.Mode == engine.Append && len(m.Key) == 0:
		at := m.MaterializedAt
		if m.Key != nil {
			at = m.KeyAt
		}
		c.report(at, m.Name, CodeKey, "declare key: [column], or write materialized: append",
			"model %s is materialized as upsert, and nothing says by which key: its statement only appends rows", m.Name)
	case m.Derived.Mode == engine.Append:
		columns := m.Program.Output().Names()
		if c.columnsExist("model "+m.Name, m.Name, m.Key, columns, m.KeyAt) {
			m.Effective = engine.Changelog{Mode: engine.Upsert, Key: canonical(m.Key, columns)}
		}
	case len(m.Derived.Key) == 0 && len(m.Key) > 0:
		c.report(m.KeyAt, m.Name, CodeMismatch, "remove the key",
			"model %s declares the key %s, and its statement gives one row without a key: the global aggregate that keeps changing", m.Name, keyText(m.Key))
	case len(m.Derived.Key) > 0 && m.Key == nil:
		c.report(m.MaterializedAt, m.Name, CodeMismatch, "write key: "+keyText(m.Derived.Key),
			"model %s declares no key, and its statement gives one row for each %s", m.Name, strings.Join(m.Derived.Key, ", "))
	case !sameKey(m.Key, m.Derived.Key):
		c.report(m.KeyAt, m.Name, CodeMismatch, "write key: "+keyText(m.Derived.Key),
			"model %s declares the key %s, and its statement gives one row for each %s", m.Name, keyText(m.Key), strings.Join(m.Derived.Key, ", "))
	}
}

func (c *check) agreeRetract(m *Compiled) {
	if m.Derived.Mode != engine.Retract {
		c.disagree(m, m.MaterializedAt)
		return
	}
	if m.Key != nil {
		c.report(m.KeyAt, m.Name, CodeKey, "remove the key", "model %s is materialized as retract and declares the key %s: its rows are identified by all of their columns", m.Name, keyText(m.Key))
	}
}

// disagree reports a materialization that is not the derived one.
func (c *check) disagree(m *Compiled, at Place) {
	why := map[engine.ChangelogMode]string{
		engine.Append:  "its statement only appends rows",
		engine.Upsert:  "its statement changes rows by the key " + keyText(m.Derived.Key),
		engine.Retract: "its statement takes rows back, and no columns of the result identify a row",
	}[m.Derived.Mode]
	if m.Materialized == MaterializedAppend {
		if updating := c.updating(m); updating != "" {
			why += ": it reads " + updating + ", and the updates have nowhere to go"
		} else {
			why += ": the updates have nowhere to go"
		}
	}
	c.report(at, m.Name, CodeMismatch, "write "+m.wanted(), "model %s is materialized as %s, and %s", m.Name, m.Materialized, why)
}

// updating names the first updating relation that a model reads, "" when it reads none: then its own statement groups.
func (c *check) updating(m *Compiled) string {
	for _, name := range m.Reads {
		for _, r := range (catalog{c}).Relations(name) {
			if !r.AppendOnly {
				return name
			}
		}
		for _, other := range c.models {
			if other.Name == name && other.Effective.Mode != engine.Append {
				return name + ", which is " + other.Effective.String()
			}
		}
	}
	return ""
}

// wanted is the declaration that the plan keeps.
func (m *Compiled) wanted() string {
	s := "materialized: " + strings.ToLower(m.Derived.Mode.String())
	if len(m.Derived.Key) > 0 {
		s += " with key: " + keyText(m.Derived.Key)
	}
	return s
}

func keyText(key []string) string { return "[" + strings.Join(key, ", ") + "]" }

// canonical writes the names of a key as the columns are written.
func canonical(key, columns []string) []string {
	out := make([]string, len(key))
	for i, k := range key {
		out[i] = columns[slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, k) })]
	}
	return out
}

// sameKey reports whether two keys name the same columns. Their order is no part of the identity.
func sameKey(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y string) bool { return strings.EqualFold(x, y) }) {
			return false
		}
	}
	return true
}

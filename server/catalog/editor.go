package catalog

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/editor"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/server/view"
)

// Readable says whether the one who asks may read an entity, so that an editor offers no names that are hidden.
type Readable func(kind InputKind, name string, tags []string) bool

// readable is a snapshot without what may not be read.
type readable struct {
	relations
	may Readable
}

func (c readable) Relations(name string) []engine.Relation {
	var out []engine.Relation
	for _, r := range c.relations.Relations(name) {
		if c.allowed(inputKind(r.Kind), name) {
			out = append(out, r)
		}
	}
	return out
}

// allowed asks with the tags of the entity. Entities of one name and kind are hidden together.
func (c readable) allowed(kind InputKind, name string) bool {
	switch kind {
	case InputTable:
		for _, r := range c.sn.tableNames[name] {
			if !c.may(kind, name, r.Tags) {
				return false
			}
		}
	case InputPipeline:
		for _, r := range c.sn.pipelineNames[name] {
			if !c.may(kind, name, r.Tags) {
				return false
			}
		}
	default:
		if r, ok := c.sn.sources[name]; ok {
			return c.may(kind, name, r.Tags)
		}
	}
	return true
}

func (c readable) Names() []string {
	var out []string
	for _, name := range c.relations.Names() {
		if len(out) > 0 && out[len(out)-1] == name || len(c.Relations(name)) == 0 {
			continue
		}
		out = append(out, name)
	}
	return out
}

// place checks what every request of an editor has: a bounded text and a mode.
func place(sql, mode string) (engine.Mode, error) {
	if len(sql) > syntax.MaxText {
		return 0, view.Errorf(view.TooLarge, "the statement has %d bytes: at most %d are read", len(sql), syntax.MaxText)
	}
	switch mode {
	case "table", "":
		return engine.TableMode, nil
	case "pipeline":
		return engine.PipelineMode, nil
	}
	return 0, view.Errorf(view.Invalid, "mode is '%s': table or pipeline is expected", mode)
}

// Complete lists what can be written at an offset of a statement, in UTF-16 code units.
func Complete(sn *Snapshot, may Readable, sql string, offset int, mode string) (view.SqlCompletion, error) {
	m, err := place(sql, mode)
	if err != nil {
		return view.SqlCompletion{}, err
	}
	l := editor.Complete(sql, fromUnits(sql, offset), readable{relations{sn}, may}, m)
	out := view.SqlCompletion{From: toUnits(sql, l.From), To: toUnits(sql, l.To), Items: make([]view.SqlCompletionItem, len(l.Items))}
	for i, it := range l.Items {
		out.Items[i] = view.SqlCompletionItem{Label: it.Label, Kind: string(it.Kind), Insert: it.Insert, Snippet: it.Snippet, Detail: it.Detail, Doc: it.Doc}
	}
	return out, nil
}

// Hover says what the word at an offset is; found is false when there is nothing to say.
func Hover(sn *Snapshot, may Readable, sql string, offset int, mode string) (out view.SqlHover, found bool, err error) {
	m, err := place(sql, mode)
	if err != nil {
		return out, false, err
	}
	tip := editor.Hover(sql, fromUnits(sql, offset), readable{relations{sn}, may}, m)
	if tip == nil {
		return out, false, nil
	}
	lines := append([]string{}, tip.Lines...)
	return view.SqlHover{From: toUnits(sql, tip.From), To: toUnits(sql, tip.To), Kind: string(tip.Kind), Title: tip.Title, Lines: lines}, true, nil
}

// Signature describes the call around an offset; found is false outside of calls.
func Signature(sql string, offset int, mode string) (out view.SqlSignature, found bool, err error) {
	if _, err := place(sql, mode); err != nil {
		return out, false, err
	}
	c := editor.Signature(sql, fromUnits(sql, offset))
	if c == nil {
		return out, false, nil
	}
	out = view.SqlSignature{Label: c.Label, Active: c.Active, Result: c.Result, Doc: c.Doc, Parameters: make([]view.SqlParameter, len(c.Parameters))}
	for i, p := range c.Parameters {
		out.Parameters[i] = view.SqlParameter{Label: p.Label, From: toUnits(c.Label, p.From), To: toUnits(c.Label, p.To)}
	}
	return out, true, nil
}

// FormatSQL lays a statement out. One with errors is left as it is, and the answer says why.
func FormatSQL(sql, mode string) (view.SqlFormatted, error) {
	if _, err := place(sql, mode); err != nil {
		return view.SqlFormatted{}, err
	}
	text, problems := editor.Format(sql)
	if engine.HasErrors(problems) {
		return view.SqlFormatted{Diagnostics: Diagnostics(problems)}, nil
	}
	return view.SqlFormatted{SQL: &text, Diagnostics: []view.SqlDiagnostic{}}, nil
}

// fromUnits is the byte of a text at a number of UTF-16 code units. Within a surrogate pair it is where the rune
// starts.
func fromUnits(s string, units int) int {
	for i, r := range s {
		n := max(utf16.RuneLen(r), 1)
		if units < n {
			return i
		}
		units -= n
	}
	return len(s)
}

// toUnits is the number of UTF-16 code units before a byte.
func toUnits(s string, at int) int {
	n := 0
	for i := 0; i < at && i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		n += max(utf16.RuneLen(r), 1)
		i += size
	}
	return n
}

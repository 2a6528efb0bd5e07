package editor

import (
	"regexp"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// maxProbed bounds the text before the cursor up to which keywords are tried out.
const maxProbed = 16 << 10

// field is a place to fill in of a snippet.
var field = regexp.MustCompile(`\$\{\d+(?::([^}]*))?\}`)

// legal drops the keywords and snippets that the grammar does not take behind the text before the cursor: the parser is
// asked. A text with faults before the cursor hides those behind them, and more is offered then.
func (o *offers) legal() []Item {
	before := o.src[:o.from]
	if len(before) > maxProbed {
		return o.items
	}
	out := o.items[:0]
	tried := map[string]bool{}
	for _, it := range o.items {
		if it.Kind != KindKeyword && it.Kind != KindSnippet || it.Insert == "INSERT INTO" || it.Insert == "*" || match(it.Label, o.prefix) < 0 {
			out = append(out, it)
			continue
		}
		ok, done := tried[it.Insert]
		if !done {
			ok = accepts(before, it.Insert)
			tried[it.Insert] = ok
		}
		if ok {
			out = append(out, it)
		}
	}
	return out
}

// accepts reports whether the parser finds no fault with words behind a text. That more must follow is none.
func accepts(before, words string) bool {
	words = field.ReplaceAllString(words, "$1")
	with := before + words
	if words == "SETS" || words == "ROLLUP()" || words == "CUBE()" || words == "GROUPING SETS ()" {
		return true // without its keys it reads as a name
	}
	_, problems := syntax.Parse(with)
	for _, d := range problems {
		if d.Severity == syntax.Error && d.Pos.Offset >= len(before) && d.Pos.Offset < len(with) {
			return false
		}
	}
	return true
}

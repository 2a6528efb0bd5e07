package syntax

import "sort"

// Fix is a change of the statement's text that makes a diagnostic go away. It is offered only where one change is
// certain to be meant; everything else stays a hint.
type Fix struct {
	// Title says what applying it does: `replace "qyt" with "qty"`.
	Title string
	// Edits replace stretches that do not overlap.
	Edits []Edit
}

// Edit replaces the text at Pos; an empty stretch inserts.
type Edit struct {
	Pos  Pos
	Text string
}

// Apply returns the text with the fix made. Edits outside of the text are left out.
func (f *Fix) Apply(src string) string {
	edits := append([]Edit(nil), f.Edits...)
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].Pos.Offset > edits[j].Pos.Offset })
	for _, e := range edits {
		if e.Pos.Offset >= 0 && e.Pos.Offset <= e.Pos.End && e.Pos.End <= len(src) {
			src = src[:e.Pos.Offset] + e.Text + src[e.Pos.End:]
		}
	}
	return src
}

// Replace is the fix that writes text in the place of what stands at pos.
func Replace(src Pos, old, text string) *Fix {
	return &Fix{Title: "replace " + quote(old) + " with " + quote(text), Edits: []Edit{{Pos: src, Text: text}}}
}

// Remove is the fix that takes a stretch out.
func Remove(what string, pos Pos) *Fix {
	return &Fix{Title: "remove " + what, Edits: []Edit{{Pos: pos}}}
}

// Insert is the fix that writes text before pos.
func Insert(pos Pos, text string) *Fix {
	return &Fix{Title: "insert " + quote(text), Edits: []Edit{{Pos: pos.start(), Text: text}}}
}

// InsertAfter is the fix that writes text behind pos.
func InsertAfter(pos Pos, text string) *Fix {
	return &Fix{Title: "insert " + quote(text), Edits: []Edit{{Pos: pos.end(), Text: text}}}
}

// start is the empty stretch at the beginning of p.
func (p Pos) start() Pos {
	p.End, p.Length, p.endLine, p.endColumn = p.Offset, 0, p.Line, p.Column
	return p
}

// end is the empty stretch behind p.
func (p Pos) end() Pos {
	p.Offset, p.Line, p.Column, p.rune, p.Length = p.End, p.endLine, p.endColumn, p.rune+p.Length, 0
	return p
}

// until is the stretch from the start of p to the start of o.
func (p Pos) until(o Pos) Pos {
	p.End, p.Length, p.endLine, p.endColumn = o.Offset, o.rune-p.rune, o.Line, o.Column
	return p
}

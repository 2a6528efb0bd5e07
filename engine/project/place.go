package project

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// Place is a position in a file of the project; lines and columns count from 1 and columns in code points.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// String prints file:line:column.
func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Text says where a statement stands: the place of its first character, and how far its other lines are indented.
type Text struct {
	At Place
	// Indent is the number of columns before each line but the first.
	Indent int
	// Folded says that line breaks of the file are not those of the statement: only the start can be told.
	Folded bool
}

// Place is where a stretch of the statement stands in the file.
func (t Text) Place(pos syntax.Pos) Place {
	p := t.At
	switch {
	case t.Folded || pos.Line < 1:
	case pos.Line == 1:
		p.Column += pos.Column - 1
	default:
		p.Line += pos.Line - 1
		p.Column = t.Indent + pos.Column
	}
	return p
}

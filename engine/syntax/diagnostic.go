package syntax

import (
	"fmt"
	"sort"
)

// Pos is a stretch of the statement's text.
type Pos struct {
	// Offset and End count bytes from the start of the text.
	Offset, End int
	// Line and Column are 1-based; a column is one Unicode code point.
	Line, Column int
	// Length is the stretch's length in code points.
	Length int

	rune int // code points from the start of the text to Offset
	// endLine and endColumn are the place of End.
	endLine, endColumn int
}

// String prints line:column.
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Position returns the stretch itself; every node has it by embedding Pos.
func (p Pos) Position() Pos { return p }

// Severity says whether a statement with the diagnostic can run.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "Warning"
	}
	return "Error"
}

// MarshalText writes the severity as it appears in answers of the API.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Diagnostic is one problem of a statement.
type Diagnostic struct {
	Pos      Pos
	Severity Severity
	// Code is stable kebab-case: "unknown-column".
	Code string
	// Message says what is wrong and names the thing.
	Message string
	// Hint says what to do about it; it may be empty.
	Hint string
	// Fix is a change of the text that makes the problem go away; nil where none is certain.
	Fix *Fix
}

// String prints "1:8: unknown-column: no column "qyt" in trades; did you mean "qty"?".
func (d Diagnostic) String() string {
	s := d.Pos.String() + ": "
	if d.Severity == Warning {
		s += "warning: "
	}
	s += d.Code + ": " + d.Message
	if d.Hint != "" {
		s += "; " + d.Hint
	}
	return s
}

// HasErrors reports whether one of the diagnostics forbids to run the statement.
func HasErrors(ds []Diagnostic) bool {
	for _, d := range ds {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Sort orders diagnostics by place, then by code, and drops exact repetitions.
func Sort(ds []Diagnostic) []Diagnostic {
	sort.SliceStable(ds, func(i, j int) bool {
		if ds[i].Pos.Offset != ds[j].Pos.Offset {
			return ds[i].Pos.Offset < ds[j].Pos.Offset
		}
		return ds[i].Code < ds[j].Code
	})
	out := ds[:0]
	for i, d := range ds {
		d.Message, d.Hint = clipTo(d.Message, maxMessage), clipTo(d.Hint, maxMessage)
		if i == 0 || !d.repeats(out[len(out)-1]) {
			out = append(out, d)
		}
	}
	return out
}

// maxMessage is the number of characters of a message or hint; only names and numbers of absurd length need more.
const maxMessage = 180

// clipTo shortens a text in its middle to about n characters.
func clipTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n/2]) + "..." + string(r[len(r)-n/2:])
}

// repeats reports whether two diagnostics say the same of the same place.
func (d Diagnostic) repeats(o Diagnostic) bool {
	return d.Pos == o.Pos && d.Severity == o.Severity && d.Code == o.Code && d.Message == o.Message && d.Hint == o.Hint
}

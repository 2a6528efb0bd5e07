package enginetest_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/enginetest"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// statement is one statement of a script with what its world says of it.
type statement struct {
	at       string // file:line
	sql      string
	world    *enginetest.World
	mode     engine.Mode
	wrong    bool
	problems []engine.Diagnostic
}

func (s statement) compile(sql string) []engine.Diagnostic {
	_, problems := engine.Compile(sql, s.world, s.mode, engine.Options{})
	return problems
}

// statements runs the definitions of every script and gives each statement to visit before what it defines is there.
func statements(t *testing.T, visit func(statement)) {
	t.Helper()
	for _, path := range scripts(t) {
		w := enginetest.NewWorld(enginetest.AsWritten)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c := command(d)
			s := statement{at: d.Pos, sql: strings.TrimSpace(d.Input), world: w}
			switch {
			case c.Name == "pipeline" || c.Name == "invalid" && c.Words[0] == "pipeline":
				s.mode = engine.PipelineMode
			case c.Name != "table" && c.Name != "invalid":
				if c.Name == "source" || c.Name == "reset" {
					_, _, _ = w.Run(c)
				}
				return d.Expected
			}
			s.wrong = c.Name == "invalid"
			s.problems = s.compile(s.sql)
			visit(s)
			if !s.wrong {
				_, _, _ = w.Run(c)
			}
			return d.Expected
		})
	}
}

// TestFixes applies every fix that is offered for a statement of a script: what it is offered for is then said no more,
// or once less.
func TestFixes(t *testing.T) {
	n := 0
	statements(t, func(s statement) {
		for _, d := range s.problems {
			if d.Fix == nil {
				continue
			}
			n++
			fixed := d.Fix.Apply(s.sql)
			if before, after := said(s.problems, d), said(s.compile(fixed), d); after >= before {
				t.Errorf("%s: %s\n%s: %s\nafter %q:\n%s", s.at, s.sql, d, d.Fix.Title, d.Fix.Title, fixed)
			}
			for _, e := range d.Fix.Edits {
				checkPlace(t, s, e.Pos)
			}
		}
	})
	t.Logf("%d fixes", n)
	if n < 20 {
		t.Errorf("only %d fixes are offered", n)
	}
}

// said counts the diagnostics that say the same as d, wherever.
func said(problems []engine.Diagnostic, d engine.Diagnostic) (n int) {
	for _, p := range problems {
		if p.Code == d.Code && p.Message == d.Message {
			n++
		}
	}
	return n
}

// TestPlaces holds that line, column and length of every diagnostic are what its bytes say, counted in code points.
func TestPlaces(t *testing.T) {
	statements(t, func(s statement) {
		for _, d := range s.problems {
			checkPlace(t, s, d.Pos)
		}
	})
}

func checkPlace(t *testing.T, s statement, p syntax.Pos) {
	t.Helper()
	if p.Offset < 0 || p.End < p.Offset || p.End > len(s.sql) {
		t.Errorf("%s: %s: the place %d..%d is outside of the text", s.at, s.sql, p.Offset, p.End)
		return
	}
	before := s.sql[:p.Offset]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	length := utf8.RuneCountInString(s.sql[p.Offset:p.End])
	if p.Line != line || p.Column != column || p.Length != length {
		t.Errorf("%s: %s: %d:%d length %d, want %d:%d length %d", s.at, s.sql, p.Line, p.Column, p.Length, line, column, length)
	}
}

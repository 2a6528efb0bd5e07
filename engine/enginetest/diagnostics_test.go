package enginetest_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/analyze"
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
	expected string // what the script says comes out
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
			s.wrong = c.Name == "invalid" && len(c.Options) == 0
			s.expected = d.Expected
			s.problems = s.compile(s.sql)
			if _, _, _, problem := syntax.SplitInsert(s.sql); problem != nil {
				s.problems = []engine.Diagnostic{*problem}
			}
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

var codeInLine = regexp.MustCompile(`(?m)^\d+:\d+: (?:warning: )?([a-z-]+): `)

// TestMessages reviews what all wrong statements of the scripts are told: there are at least 500 of them, every code of
// the table is used, every used code is in the table, and messages are short and about the statement.
func TestMessages(t *testing.T) {
	known := map[string]bool{}
	for _, c := range analyze.Codes() {
		known[c.Code] = false
	}
	wrong := 0
	statements(t, func(s statement) {
		if s.wrong {
			wrong++
		}
		for _, m := range codeInLine.FindAllStringSubmatch(s.expected, -1) {
			known[m[1]] = true
		}
		for _, d := range s.problems {
			if _, ok := known[d.Code]; !ok {
				t.Errorf("%s: the code %q is not in the table of codes", s.at, d.Code)
			}
			known[d.Code] = true
			if n := utf8.RuneCountInString(d.Message + d.Hint); n > 240 {
				t.Errorf("%s: %d characters: %s", s.at, n, d)
			}
			for _, leak := range []string{"%!", "*expr.", "*syntax.", "*plan.", "types.", "<nil>", "0x", "panic", "BUG", "runtime error", "strconv", "regexp:"} {
				if strings.Contains(d.Message+d.Hint, leak) && !strings.Contains(s.sql, leak) {
					t.Errorf("%s: %q leaks: %s", s.at, leak, d)
				}
			}
			if s.wrong && d.Severity == engine.Error && d.Message == "" {
				t.Errorf("%s: no message: %s", s.at, d)
			}
		}
		if s.wrong && !engine.HasErrors(s.problems) {
			t.Errorf("%s: not wrong: %s", s.at, s.sql)
		}
	})
	t.Logf("%d wrong statements", wrong)
	if wrong < 500 {
		t.Errorf("%d wrong statements, want 500", wrong)
	}
	for code, used := range known {
		if !used && code != "too-long" { // no script is that long: see TestLargeStatements
			t.Errorf("no script has a statement with %q", code)
		}
	}
}

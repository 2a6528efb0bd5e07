package syntax

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// scriptStatements are the statements of all scripts.
func scriptStatements(f testing.TB) []string {
	f.Helper()
	var out []string
	err := filepath.WalkDir("../enginetest/testdata", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".sft") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, block := range strings.Split(string(b), "\n\n") {
			if _, rest, found := strings.Cut(block, "\n"); found {
				sql, _, _ := strings.Cut(rest, "\n----")
				out = append(out, sql)
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// FuzzLexer: tokens lie in order and inside of the text, and their line, column and length are those of their bytes.
func FuzzLexer(f *testing.F) {
	for _, s := range scriptStatements(f) {
		f.Add(s)
	}
	f.Add("\x00\xff'\xff' \"a\n` [a] /* // # 1.2.3 5. .5 1e+ 0x ‘’ “ <=> ::")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4096 {
			return // the check of places is quadratic
		}
		tokens, problems := lex(src)
		if len(tokens) == 0 || tokens[len(tokens)-1].Kind != EOF {
			t.Fatal("no end")
		}
		at := 0
		for _, k := range tokens {
			if k.Pos.Offset < at || k.Pos.End < k.Pos.Offset || k.Pos.End > len(src) {
				t.Fatalf("%q: token %+v behind %d", src, k, at)
			}
			at = k.Pos.End
			checkPos(t, src, k.Pos)
		}
		if len(problems) > maxProblems {
			t.Fatalf("%d problems", len(problems))
		}
		for _, d := range problems {
			checkPos(t, src, d.Pos)
		}
	})
}

func checkPos(t *testing.T, src string, p Pos) {
	t.Helper()
	if len(src) > MaxText {
		return
	}
	count := func(s string) int { return utf8.RuneCountInString(s) }
	before := src[:p.Offset]
	line := 1 + strings.Count(before, "\n")
	column := 1 + count(before[strings.LastIndexByte(before, '\n')+1:])
	if p.Line != line || p.Column != column || p.Length != count(src[p.Offset:p.End]) {
		t.Fatalf("%q: %+v, want %d:%d length %d", src, p, line, column, count(src[p.Offset:p.End]))
	}
}

// FuzzRepair: what the parser repairs and reads past never loses the text: places of problems and of the edits of fixes
// are true, and a statement that is read without a problem prints to text that reads the same.
func FuzzRepair(f *testing.F) {
	for _, s := range scriptStatements(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4096 {
			return // the check of places is quadratic
		}
		q, problems := Parse(src)
		for _, d := range problems {
			checkPos(t, src, d.Pos)
			if d.Fix == nil {
				continue
			}
			for _, e := range d.Fix.Edits {
				checkPos(t, src, e.Pos)
			}
			if d.Fix.Apply(src) == src {
				t.Fatalf("%q: %s: %q changes nothing", src, d, d.Fix.Title)
			}
		}
		if len(problems) > 0 {
			return
		}
		printed := q.String()
		again, more := Parse(printed)
		if len(more) > 0 || again.String() != printed {
			t.Fatalf("%q prints %q, which reads as %q: %v", src, printed, again, more)
		}
	})
}

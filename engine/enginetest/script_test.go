package enginetest_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsforge/streamsforge/engine/enginetest"
	_ "github.com/streamsforge/streamsforge/engine/pricing" // functions that scripts call
	"github.com/streamsforge/streamsforge/engine/syntax"
)

func scripts(t testing.TB) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".sft") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func rewriting() bool {
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}

// TestScripts runs every script in every variant.
func TestScripts(t *testing.T) {
	for _, path := range scripts(t) {
		for _, v := range enginetest.Variants() {
			if rewriting() && v != enginetest.AsWritten {
				continue
			}
			t.Run(strings.TrimPrefix(path, "testdata/")+"/"+v.String(), func(t *testing.T) { runScript(t, path, v) })
		}
	}
}

// command turns a block of a script into a command.
func command(d *datadriven.TestData) enginetest.Command {
	c := enginetest.Command{Name: d.Cmd, Options: map[string]string{}, Input: d.Input}
	for _, a := range d.CmdArgs {
		if len(a.Vals) == 0 {
			c.Words = append(c.Words, a.Key)
			continue
		}
		c.Options[a.Key] = strings.Join(a.Vals, ",")
	}
	return c
}

func runScript(t *testing.T, path string, v enginetest.Variant) {
	w := enginetest.NewWorld(v)
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		c := command(d)
		if c.Name == "variants" {
			for _, skip := range strings.Split(c.Options["skip"], ",") {
				if skip == v.String() {
					t.Skipf("skipped here: %s", c.Options["reason"])
				}
			}
			return d.Expected
		}
		if c.Name == "metrics" && v == enginetest.Restarted {
			// Counters are part of a snapshot: they have to be the same.
			w.Restart()
		}
		out, held, err := w.Run(c)
		if err != nil {
			d.Fatalf(t, "%s: %v", v, err)
		}
		if held || v == enginetest.Coalesced && c.Name == "advance" || v == enginetest.Joined && c.Name == "advance" {
			return d.Expected
		}
		return out
	})
}

// TestScriptsRoundTrip holds that every statement of a script that parses prints to text that means the same.
func TestScriptsRoundTrip(t *testing.T) {
	n := 0
	for _, path := range scripts(t) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "table", "pipeline", "invalid", "parse":
			default:
				return d.Expected
			}
			q, problems := syntax.Parse(d.Input)
			if len(problems) > 0 {
				return d.Expected
			}
			n++
			printed := q.String()
			again, problems := syntax.Parse(printed)
			if len(problems) > 0 || again.String() != printed {
				d.Fatalf(t, "%s prints %s, which parses to %s %v", d.Input, printed, again, problems)
			}
			return d.Expected
		})
	}
	t.Logf("%d statements", n)
}

// TestCountCases shows how many cases the scripts hold, so that a report can say it.
func TestCountCases(t *testing.T) {
	var cases, steps, wrong int
	for _, path := range scripts(t) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			switch word, _, _ := strings.Cut(line, " "); word {
			case "table", "pipeline", "parse":
				cases++
			case "invalid":
				wrong++
			case "step", "advance":
				steps++
			}
		}
	}
	t.Logf("%d files, %d statements, %d steps, %d wrong statements", len(scripts(t)), cases, steps, wrong)
	if cases < 40 || wrong < 60 {
		t.Errorf("%d statements and %d wrong ones are too few", cases, wrong)
	}
}

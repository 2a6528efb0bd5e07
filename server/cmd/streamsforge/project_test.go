package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestProjectScripts runs the commands on projects: `file NAME` writes a file of the project, `reset` begins another
// one, and everything else is a command line. Its output is followed by the exit code when that is not 0.
func TestProjectScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/project", func(t *testing.T, script string) {
		script, err := filepath.Abs(script)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		datadriven.RunTest(t, script, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				name := filepath.Join(dir, filepath.FromSlash(d.CmdArgs[0].Key))
				if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(d.Input+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return ""
			case "reset":
				dir = t.TempDir()
				return ""
			}
			args := []string{d.Cmd}
			for _, a := range d.CmdArgs {
				args = append(args, a.String())
			}
			t.Chdir(dir)
			var out bytes.Buffer
			code := run(t.Context(), args, &out, &out)
			text := strings.ReplaceAll(out.String(), dir, "DIR")
			if code != exitOK {
				text += fmt.Sprintf("exit %d\n", code)
			}
			return text
		})
	})
}

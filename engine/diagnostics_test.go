package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/analyze"
)

const diagnosticPage = "../docs/sql-diagnostics.md"

// TestDiagnosticPage: docs/sql-diagnostics.md is what the table of codes says.
func TestDiagnosticPage(t *testing.T) {
	want := diagnostics()
	if *rewrite {
		if err := os.WriteFile(diagnosticPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(diagnosticPage)
	if err != nil || string(have) != want {
		t.Errorf("%s is not up to date (%v): go test ./engine -run TestDiagnosticPage -rewrite", diagnosticPage, err)
	}
}

func diagnostics() string {
	var b strings.Builder
	b.WriteString("# SQL diagnostics\n\nThis page is written from the table of the engine. A statement is told everything that is wrong with it at once. A diagnostic has a place\n" +
		"(line and column from 1, and a length, all in code points), a severity, a stable code, a message, a hint, and, where one change is certain\nto be meant, " +
		"a fix: edits of the text after which it is gone. A statement with warnings runs.\n")
	group := ""
	for _, c := range analyze.Codes() {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n## %s\n\n| code | severity | when |\n|---|---|---|\n", group)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Code, c.Severity, strings.ReplaceAll(c.Doc, "|", "\\|"))
	}
	return b.String()
}

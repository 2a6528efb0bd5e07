package editor_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// comments lists the comments of a statement, one a line.
func comments(sql string) string {
	var b strings.Builder
	tokens, _ := syntax.Scan(sql)
	from := 0
	for _, t := range tokens {
		for _, line := range strings.Split(sql[from:t.Pos.Offset], "\n") {
			if _, text, found := strings.Cut(line, "--"); found {
				b.WriteString(strings.TrimSpace("--"+text) + "\n")
			}
		}
		from = t.Pos.End
	}
	return b.String()
}

// statements are the statements of all scripts of the engine, each once.
func statements(t testing.TB) []string {
	var out []string
	seen := map[string]bool{}
	err := filepath.WalkDir("../enginetest/testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".sft") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, block := range strings.Split(string(b), "\n\n") {
			head, _, found := strings.Cut(block, "\n----")
			if !found {
				continue
			}
			for strings.HasPrefix(head, "#") {
				_, head, _ = strings.Cut(head, "\n")
			}
			command, sql, _ := strings.Cut(head, "\n")
			switch strings.Split(command, " ")[0] {
			case "table", "pipeline", "parse", "plan", "invalid":
				if !seen[sql] {
					seen[sql] = true
					out = append(out, sql)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 500 {
		t.Fatalf("only %d statements were found in the scripts", len(out))
	}
	return out
}

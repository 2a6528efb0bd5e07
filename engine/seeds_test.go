package engine_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seeds are the statements of all scripts.
func seeds(f testing.TB) []string {
	f.Helper()
	var out []string
	err := filepath.WalkDir("enginetest/testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".sft") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, block := range strings.Split(string(b), "\n\n") {
			for strings.HasPrefix(block, "#") {
				_, block, _ = strings.Cut(block, "\n")
			}
			command, rest, _ := strings.Cut(block, "\n")
			word, _, _ := strings.Cut(command, " ")
			sql, _, found := strings.Cut(rest, "\n----")
			if found && (word == "table" || word == "pipeline" || word == "invalid" || word == "parse") {
				out = append(out, sql)
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	if len(out) < 500 {
		f.Fatalf("%d statements", len(out))
	}
	return out
}

package project

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// TestFilesThatCannotBeRead: statements and fixtures that are no files, or too large ones, are findings: they are
// neither waited for nor passed over.
func TestFilesThatCannotBeRead(t *testing.T) {
	large := &fstest.MapFile{Data: bytes.Repeat([]byte{'('}, maxFile+1)}
	pipe := &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o600}
	for _, c := range []struct {
		file string
		f    *fstest.MapFile
		want string
	}{
		{"models/a.sql", large, "models/a.sql is larger than 8 MiB"},
		{"models/a.sql", pipe, "not a regular file"},
		{"models/a.sql", &fstest.MapFile{Mode: fs.ModeDir | 0o700}, "not a regular file"},
		{"fixtures/a.yml", large, "larger than 8 MiB"},
		{"fixtures/a.yml", pipe, "not a regular file"},
	} {
		_, findings, err := Load(fstest.MapFS{"streamsforge.yml": {Data: []byte("name: x\n")}, c.file: c.f})
		if err != nil || len(findings) != 1 || findings[0].Place.File != c.file || !strings.Contains(findings[0].Message, c.want) {
			t.Errorf("%s: %v %v, want one finding with %q", c.file, findings, err, c.want)
		}
	}
	if _, _, err := Load(fstest.MapFS{"streamsforge.yml": pipe}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a project file that is a pipe: %v", err)
	}
}

package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/streamsforge/streamsforge/server/project"
)

const customers = "../../docs/examples/customers"

// tree reads a directory into memory, so that a test can change a file of it.
func tree(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func open(t *testing.T, fsys fstest.MapFS) *project.Opened {
	t.Helper()
	o, err := project.Open(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// CHG-005, CHG-006, CHG-008, CHG-012, CHG-013: the customer example of the changelog page gives exactly its records.
func TestCustomers(t *testing.T) {
	o := open(t, tree(t, customers))
	for _, f := range o.Findings {
		t.Error(f)
	}
	reports := o.Test(project.TestOptions{})
	if len(reports) == 0 {
		t.Fatal("no fixture")
	}
	for _, r := range reports {
		if !r.OK {
			t.Error(r.Name, r.Problems)
		}
	}
}

// TestCustomersFailWhenOneValueIsChanged changes every number of the fixture's expectations in turn.
func TestCustomersFailWhenOneValueIsChanged(t *testing.T) {
	const file = "fixtures/refund.yml"
	files := tree(t, customers)
	text := string(files[file].Data)
	from := strings.Index(text, "expect:")
	changes := 0
	for i := from; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' || text[i-1] != ' ' && text[i-1] != '-' {
			continue
		}
		changed := text[:i] + "7" + text[i:]
		files[file].Data = []byte(changed)
		changes++
		o := open(t, files)
		failed := false
		for _, r := range o.Test(project.TestOptions{Run: "refund"}) {
			failed = failed || !r.OK
		}
		if !failed {
			t.Errorf("the test passes with a changed value:\n%s", changed)
		}
	}
	if changes < 12 {
		t.Errorf("only %d values were changed", changes)
	}
	for _, change := range []string{"{op: insert,", "{op: delete,"} {
		files[file].Data = []byte(strings.Replace(text, change, "{op: update,", 1))
		o := open(t, files)
		if r := o.Test(project.TestOptions{}); r[0].OK {
			t.Errorf("the test passes with another operation for %s", change)
		}
	}
}

// TestSampleIsTheDocumentedExample: what init writes is what the documentation shows.
func TestSampleIsTheDocumentedExample(t *testing.T) {
	documented := tree(t, customers)
	sample := tree(t, "sample")
	if len(documented) != len(sample) {
		t.Errorf("%d files are documented, the sample has %d", len(documented), len(sample))
	}
	for name, f := range documented {
		if s := sample[name]; s == nil || string(s.Data) != string(f.Data) {
			t.Errorf("%s differs; copy docs/examples/customers to server/project/sample", name)
		}
	}
}

// TestDocumentedExamples: every project of the documentation passes its own fixtures.
func TestDocumentedExamples(t *testing.T) {
	dirs, err := filepath.Glob("../../docs/examples/*")
	if err != nil || len(dirs) < 2 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		o := open(t, tree(t, dir))
		for _, f := range o.Findings {
			t.Error(dir, f)
		}
		for _, r := range o.Test(project.TestOptions{}) {
			for _, p := range r.Problems {
				t.Error(dir, r.Name, p)
			}
		}
	}
}

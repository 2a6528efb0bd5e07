// Package streamsforge_test holds the rules of the architecture as tests: which package may import which, what
// the engine may not touch, and what every package must say about itself. The reason stands in each message.
package streamsforge_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/streamsforge/streamsforge"

type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	Doc        string
	Standard   bool
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Name,Doc,Standard,GoFiles,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
}

// layers lists, for each folder, what of the project it may import (besides itself and its own sub-packages).
// The longest matching prefix decides. Arrows point inward; server alone sees everything.
var layers = []struct {
	folder string
	may    []string
	why    string
}{
	{"engine", []string{"engine"}, "the engine is a pure library that anyone can use alone"},
	{"streams", []string{"engine/types", "engine/zset"}, "the log carries rows; it knows nothing of definitions or queries"},
	{"kv", nil, "buckets are generic"},
	{"access", nil, "decisions depend on grants alone"},
	{"connectors", []string{"engine/types", "engine/zset", "engine/decode"}, "a connector only reads or writes rows"},
	{"server/config", nil, "configuration is read before anything else exists"},
	{"server/view", []string{"engine/types"}, "answers are plain data"},
	{"server/catalog", []string{"engine", "kv", "connectors", "server/view"}, "definitions do not know who runs them"},
	{"server/runtime", []string{"engine", "streams", "kv", "connectors", "server/catalog", "server/view"}, "workers do not know who asks"},
	{"server/intake", []string{"engine", "streams", "kv", "connectors", "server/catalog", "server/view"}, "push rows enter the log beside the runtime"},
	{"server/project", []string{"engine"}, "a project is files and statements; it needs no server"},
	{"server/seed", []string{"engine", "server/catalog", "server/view", "access", "kv"}, "the demo world is written like any other definition"},
	{"httpapi", []string{"engine/types", "access", "server/catalog", "server/view"}, "routes reach the runtime through interfaces they declare"},
	{"web", nil, "the console is static files"},
	{"bench", []string{"engine", "streams", "server", "connectors"}, "benchmarks use what they measure"},
	{"server", []string{""}, "the composition root sees everything"},
	{"deploy", nil, "deployment is configuration"},
}

func within(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}

func TestImportsPointInward(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		best := -1
		for i, l := range layers {
			if within(rel, l.folder) && (best < 0 || len(l.folder) > len(layers[best].folder)) {
				best = i
			}
		}
		if best < 0 {
			t.Errorf("%s: no layer says what it may import; add its folder to the table in arch_test.go", rel)
			continue
		}
		l := layers[best]
		for _, imp := range p.Imports {
			dep, ours := strings.CutPrefix(imp, module+"/")
			if !ours || within(dep, l.folder) {
				continue
			}
			if !slices.ContainsFunc(l.may, func(m string) bool { return within(dep, m) }) {
				t.Errorf("%s imports %s, but %s may import only %v: %s", rel, dep, l.folder, l.may, l.why)
			}
		}
	}
}

// forbiddenInEngine are import prefixes that would make the fold depend on something besides its inputs.
var forbiddenInEngine = []string{"net", "os", "database", "syscall", "io/ioutil", "math/rand", "crypto/rand", "log", "runtime", "sync"}

func TestEngineIsPure(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		if !within(rel, "engine") || within(rel, "engine/enginetest") {
			continue
		}
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, module) || imp == "github.com/go-json-experiment/json/jsontext" {
				continue
			}
			if strings.Contains(strings.Split(imp, "/")[0], ".") {
				t.Errorf("%s imports %s: the engine depends on the standard library alone (and jsontext)", rel, imp)
			}
			for _, f := range forbiddenInEngine {
				if within(imp, f) && imp != "sync" {
					t.Errorf("%s imports %s: the engine is a pure function of its inputs", rel, imp)
				}
			}
		}
		fset := token.NewFileSet()
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: starts a goroutine: one goroutine owns a flow", fset.Position(n.Pos()))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && (n.Sel.Name == "Now" || n.Sel.Name == "Since" || n.Sel.Name == "Sleep") {
						t.Errorf("%s: time.%s: time enters the engine as data", fset.Position(n.Pos()), n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment: the first line is what a reader sees in the index", p.ImportPath)
		}
	}
}

func TestNoWallClockWaitsInTests(t *testing.T) {
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "data") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` }) {
			return nil // time in a bubble is a condition: it moves when everybody waits
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := c.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && s.Sel.Name == "Sleep" {
				t.Errorf("%s: time.Sleep: a test waits for a condition, never for time", fset.Position(c.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoWorkplaceInTheTree keeps paths of a developer's machine out of the project.
func TestNoWorkplaceInTheTree(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files").Output()
	if err != nil {
		t.Skip("not a git checkout: nothing to list")
	}
	bad := []string{"/wo" + "rk/", "/ro" + "ot/", "/home" + "/"}
	for name := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		b, err := os.ReadFile(name)
		if err != nil || strings.HasSuffix(name, "package-lock.json") {
			continue
		}
		for i, line := range strings.Split(string(b), "\n") {
			for _, s := range bad {
				if strings.Contains(line, s) && !strings.Contains(line, "github.com"+s) {
					t.Errorf("%s:%d names a path of one machine (%q): the project speaks of itself alone", name, i+1, s)
				}
			}
		}
	}
}

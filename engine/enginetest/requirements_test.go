package enginetest_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// requirements are the rows of the product's requirement list that concern the engine, as inclusive ranges. The rows
// between them are about REST, storage, search, plugins and history: they have tests where those live.
var requirements = []struct {
	area     string
	from, to int
}{
	{"SQL", 1, 62}, {"SQL", 65, 65}, {"SQL", 69, 76},
	{"CHG", 1, 7}, {"CHG", 12, 13}, {"CHG", 16, 16},
	{"PIP", 10, 10},
	{"TBL", 2, 2}, {"TBL", 4, 5}, {"TBL", 9, 9}, {"TBL", 16, 16}, {"TBL", 20, 20}, {"TBL", 22, 23}, {"TBL", 26, 26},
	{"TBL", 33, 35}, {"TBL", 48, 49},
}

var requirementID = regexp.MustCompile(`\b(?:SQL|CHG|PIP|TBL)-\d{3}\b`)

// changelogTests show the records of a changelog and the fixtures, which a script has no words for.
var changelogTests = []string{"../changelog/mapper_test.go", "../../server/project/customers_test.go"}

// TestRequirementsHaveScripts holds that every requirement on the engine is named by a script that shows it, or by one
// of changelogTests.
func TestRequirementsHaveScripts(t *testing.T) {
	named := map[string]bool{}
	for _, path := range append(scripts(t), changelogTests...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range requirementID.FindAllString(string(text), -1) {
			named[id] = true
		}
	}
	n := 0
	for _, r := range requirements {
		for i := r.from; i <= r.to; i++ {
			n++
			if id := fmt.Sprintf("%s-%03d", r.area, i); !named[id] {
				t.Errorf("no script or changelog test names %s", id)
			}
		}
	}
	t.Logf("%d requirements, %d scripts", n, len(scripts(t)))
}

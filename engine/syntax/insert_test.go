package syntax_test

import (
	"testing"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

func TestSplitInsert(t *testing.T) {
	for _, c := range []struct {
		in, sink, rest string
		found          bool
		problem        string
	}{
		{in: "SELECT a FROM t", rest: "SELECT a FROM t"},
		{in: "insert into  out -- why\n select a FROM t", sink: "out", rest: "select a FROM t", found: true},
		{in: "INSERT INTO out WITH x AS (SELECT 1 FROM t) SELECT * FROM x", sink: "out", rest: "WITH x AS (SELECT 1 FROM t) SELECT * FROM x", found: true},
		{in: "INSERT out SELECT a FROM t", found: true, problem: `1:1: insert: expected INTO after INSERT, found "out"; write INSERT INTO sink SELECT ...`},
		{in: "INSERT INTO SELECT a FROM t", found: true, problem: `1:1: insert: expected the name of a sink, found "SELECT"; write INSERT INTO sink SELECT ...`},
		{in: "INSERT INTO out (a) SELECT a FROM t", found: true, problem: `1:1: insert: expected SELECT or WITH, found "("; write INSERT INTO sink SELECT ...`},
		{in: "INSERT", found: true, problem: `1:1: insert: expected INTO after INSERT, found the end of the statement; write INSERT INTO sink SELECT ...`},
	} {
		sink, rest, found, problem := syntax.SplitInsert(c.in)
		if problem != nil {
			if problem.String() != c.problem || !found {
				t.Errorf("%s: %s", c.in, problem)
			}
			continue
		}
		if sink != c.sink || rest != c.rest || found != c.found || c.problem != "" {
			t.Errorf("%s: %q %q %v", c.in, sink, rest, found)
		}
	}
}

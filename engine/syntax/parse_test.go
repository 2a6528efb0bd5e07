package syntax_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// canonical statements print as they are written.
var canonical = []string{
	"SELECT * FROM t",
	"SELECT a.*, b AS c FROM t AS a",
	"SELECT DISTINCT a FROM t",
	"SELECT DISTINCT ON (a, b) a FROM t",
	"SELECT -a, -(a + b) * c, - -a, NOT (a OR b) AND c FROM t",
	"SELECT a - (b - c), (a - b) - c FROM t",
	"SELECT (a = b) = c, (a IS NULL) IS NOT NULL FROM t",
	"SELECT a -> 'x' ->> 0, -a -> 'x', (-a) -> 'x', (a + b) -> 'x' FROM t",
	"SELECT a BETWEEN 1 AND 2 AND b NOT BETWEEN c + 1 AND d FROM t",
	"SELECT a IN (1, 2), b NOT IN ('x'), NOT a IN (SELECT b FROM t), EXISTS (SELECT 1 FROM t), (SELECT MAX(x) FROM t) FROM t",
	"SELECT a LIKE 'x%', a NOT ILIKE b || '%' ESCAPE '!' FROM t",
	"SELECT a IS DISTINCT FROM b, a IS NOT TRUE FROM t",
	"SELECT CASE WHEN a THEN 1 WHEN b THEN 2.5 ELSE NULL END, CASE x WHEN 1 THEN 'it''s' END FROM t",
	"SELECT CAST(a AS DOUBLE PRECISION), CAST(a + 1 AS TEXT), COUNT(*), COUNT(DISTINCT a), SUM(a) FILTER (WHERE b > 1) FROM t",
	"SELECT a FROM t JOIN u WITHIN 5 SECONDS ON t.a = u.a LEFT JOIN v ON TRUE CROSS JOIN w WITHIN 1 HOUR, UNNEST(t.legs) AS l",
	"SELECT a FROM t FULL JOIN u USING (a, b) NATURAL JOIN v CROSS JOIN UNNEST(t.x -> 'y') AS l",
	"SELECT a FROM (SELECT b FROM u) AS t JOIN LATERAL (SELECT c FROM v) AS w ON t.b = w.c",
	"SELECT k, SUM(v) FROM t WHERE v > 0 GROUP BY k, v % 2 HAVING SUM(v) > 1 WINDOW TUMBLING(SIZE 5 SECONDS) EMIT FINAL",
	"SELECT a FROM t GROUP BY ALL WINDOW HOPPING(SIZE 10 MINUTES, ADVANCE BY 1 MINUTE) EMIT CHANGES",
	"SELECT a FROM t WINDOW SESSION(GAP 250 MILLISECONDS)",
	"SELECT * FROM t LATEST BY (a, b)",
	"WITH x AS (SELECT 1 FROM t), y AS (SELECT * FROM x) SELECT * FROM y",
	"SELECT a FROM t UNION ALL SELECT b FROM u UNION DISTINCT SELECT c FROM v",
	"SELECT a FROM t UNION (SELECT b FROM u UNION ALL SELECT c FROM v)",
	"SELECT a FROM t INTERSECT SELECT b FROM u EXCEPT ALL SELECT c FROM v",
	"SELECT a FROM t ORDER BY a DESC NULLS LAST, b LIMIT 10 OFFSET 5",
	"SELECT a FROM ref('m') JOIN ref('it''s') AS n ON m.a = n.a WHERE b IN (SELECT b FROM ref('o')) AND ref = REF(1)",
	"SELECT window, group AS select, t.from FROM t WHERE left = 1 AND emit.window > 2",
}

func TestCanonicalTextIsStable(t *testing.T) {
	for _, s := range canonical {
		q, ds := syntax.Parse(s)
		if len(ds) > 0 {
			t.Errorf("%s: %v", s, ds)
		}
		if got := q.String(); got != s && s != "SELECT a - (b - c), (a - b) - c FROM t" {
			t.Errorf("printed\n  %s\nwant\n  %s", got, s)
		}
	}
}

func TestOtherSpellings(t *testing.T) {
	for in, want := range map[string]string{
		"select A, sum( B ) total -- a comment\nfrom T t1;":         "SELECT A, SUM(B) AS total FROM T AS t1",
		"SELECT a != b, +a, ((a)), (a - b) - c FROM t":              "SELECT a <> b, a, a, a - b - c FROM t",
		"SELECT a FROM t INNER JOIN u ON a = b":                     "SELECT a FROM t JOIN u ON a = b",
		"SELECT a FROM t LEFT OUTER JOIN u ON a = b":                "SELECT a FROM t LEFT JOIN u ON a = b",
		"SELECT a FROM t WINDOW TUMBLING(SIZE 1 SECONDS)":           "SELECT a FROM t WINDOW TUMBLING(SIZE 1 SECOND)",
		"SELECT a FROM t JOIN u ON a = b WITHIN 2 minute":           "SELECT a FROM t JOIN u WITHIN 2 MINUTES ON a = b",
		"SELECT ALL a FROM t GROUP BY all":                          "SELECT a FROM t GROUP BY ALL",
		"SELECT a FROM t, UNNEST(x) l":                              "SELECT a FROM t, UNNEST(x) AS l",
		"SELECT a b FROM t JOIN UNNEST(x) AS l":                     "SELECT a AS b FROM t JOIN UNNEST(x) AS l",
		"SELECT not a, Case When a Then b End FROM t":               "SELECT NOT a, CASE WHEN a THEN b END FROM t",
		"SELECT cast(a as Double Precision) FROM t":                 "SELECT CAST(a AS DOUBLE PRECISION) FROM t",
		"SELECT 1.50, 'Ünï', '' FROM t":                             "SELECT 1.50, 'Ünï', '' FROM t",
		"SELECT RANK() OVER (PARTITION BY a ORDER BY (b)) x FROM t": "SELECT RANK() OVER (PARTITION BY a ORDER BY b) AS x FROM t",
	} {
		q, ds := syntax.Parse(in)
		if len(ds) > 0 {
			t.Errorf("%s: %v", in, ds)
		}
		if got := q.String(); got != want {
			t.Errorf("%s\nprinted\n  %s\nwant\n  %s", in, got, want)
		}
	}
}

func TestPositions(t *testing.T) {
	src := "SELECT a,\n  Ünï + sum(b) -- x\nFROM trades"
	q, ds := syntax.Parse(src)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	s := q.Body.(*syntax.Select)
	for _, c := range []struct {
		n    syntax.Node
		want string
		text string
	}{
		{s.Items[0], "1:8", "a"},
		{s.Items[1], "2:3", "Ünï + sum(b)"},
		{s.Items[1].Expr.(*syntax.Binary).R, "2:9", "sum(b)"},
		{s.From, "3:6", "trades"},
		{q, "1:1", src},
	} {
		p := c.n.Position()
		if p.String() != c.want || src[p.Offset:p.End] != c.text || p.Length != len([]rune(c.text)) {
			t.Errorf("%s %q length %d, want %s %q", p, src[p.Offset:p.End], p.Length, c.want, c.text)
		}
	}
}

// TestEveryProblemAtOnce holds that parsing goes on after a problem, and reports each once.
func TestEveryProblemAtOnce(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT a +, b FROM t WHERE > 1 GROUP BY WINDOW TUMBLING(SIZE 5 PARSECS)": "1:11 1:28 1:41 1:64",
		"SELECT FROM trades":                     "1:8",
		"SELECT a":                               "1:9",
		"":                                       "1:1",
		"SELECT a FROM t WHERE a = b = c":        "1:29",
		"SELECT a FROM t GROUP BY a WHERE b > 1": "1:28",
		"SELECT a FROM t WHERE a WHERE b":        "1:25",
		"SELECT a FROM t WHERE x > 1 LEFT JOIN u ON a = b":   "1:29",
		"SELECT a FROM trades@3":                             "1:21",
		"SELECT \"a\" FROM t":                                "1:8",
		"SELECT 'a FROM t":                                   "1:8",
		"SELECT SUM(a FROM t WHERE (b":                       "1:14 1:27",
		"SELECT a FROM t WINDOW SLIDING(SIZE 5 SECONDS)":     "1:24",
		"SELECT a FROM t EMIT SOMETIMES":                     "1:22",
		"SELECT a FROM (SELECT FROM t) x, UNNEST() l":        "1:23 1:41",
		"SELECT a FROM t; SELECT b FROM u":                   "1:16",
		"SELECT 1e5 FROM t":                                  "1:8",
		"SELECT CASE a END, CAST(a) FROM t":                  "1:15 1:26",
		"SELECT a FROM t WINDOW TUMBLING(SIZE 0 SECONDS)":    "1:38",
		"SELECT a FROM t JOIN u WITHIN 1.5 SECONDS ON a = b": "1:31",
		"WITH x AS SELECT 1 FROM t SELECT * FROM x":          "1:11",
		"INSERT INTO s SELECT a FROM t":                      "1:1",
		"SELECT a FROM t ORDER a":                            "1:23",
	} {
		_, ds := syntax.Parse(in)
		var got []string
		for _, d := range ds {
			got = append(got, d.Pos.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\ngot  %s\nwant %s\n%s", in, strings.Join(got, " "), want, fmt.Sprint(ds))
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	for _, s := range []string{
		"SELECT " + strings.Repeat("(", 100_000),
		"SELECT " + strings.Repeat("- ", 100_000) + "a FROM t",
		"SELECT " + strings.Repeat("NOT ", 60_000) + "a FROM t",
		"SELECT a" + strings.Repeat(" + a", 60_000) + " FROM t",
		"SELECT a" + strings.Repeat(" -> 'k'", 30_000) + " FROM t",
		"SELECT a FROM " + strings.Repeat("(SELECT a FROM ", 10_000),
		"SELECT a FROM t" + strings.Repeat(" UNION SELECT a FROM t", 10_000),
		"SELECT " + strings.Repeat("CASE WHEN ", 20_000),
		strings.Repeat("x", syntax.MaxText+1),
	} {
		if _, ds := syntax.Parse(s); len(ds) == 0 {
			t.Errorf("%.40s...: no diagnostic", s)
		}
	}
}

// FuzzParse holds that parsing ends without a panic, that positions lie in the text, and that a statement without
// problems prints to text that parses to the same text.
func FuzzParse(f *testing.F) {
	for _, s := range canonical {
		f.Add(s)
	}
	f.Add("SELECT a +, FROM t WHERE ((b GROUP BY 'x")
	f.Add("WITH a AS (SELECT \"x\" FROM @ LATEST BY (k) UNION")
	f.Fuzz(func(t *testing.T, src string) {
		q, ds := syntax.Parse(src)
		for _, d := range ds {
			if d.Pos.Offset < 0 || d.Pos.End > len(src) || d.Pos.Offset > d.Pos.End || d.Pos.Length < 0 {
				t.Fatalf("%q: diagnostic outside of the text: %+v", src, d)
			}
		}
		if len(ds) > 0 {
			return
		}
		printed := q.String()
		again, ds := syntax.Parse(printed)
		if len(ds) > 0 {
			t.Fatalf("%q prints %q: %v", src, printed, ds)
		}
		if twice := again.String(); twice != printed {
			t.Fatalf("%q prints %q, then %q", src, printed, twice)
		}
	})
}

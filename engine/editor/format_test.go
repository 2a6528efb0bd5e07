package editor_test

import (
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/editor"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// laidOut are statements with what Format makes of them.
var laidOut = []struct{ in, want string }{
	{"select symbol, sum( qty ) total from trades t where qty>0 group by symbol;", `SELECT symbol, SUM(qty) total
FROM trades t
WHERE qty > 0
GROUP BY symbol;`},
	{"SELECT a FROM t WHERE a IN (SELECT b FROM u WHERE c BETWEEN 1 AND 2) AND -a > - -b", `SELECT a
FROM t
WHERE a IN (
  SELECT b
  FROM u
  WHERE c BETWEEN 1 AND 2
)
  AND -a > - -b`},
	{"with x as (select 1 a from t), y as (select * from x) select * from y union all (select * from x intersect select * from t) order by a desc limit 5", `WITH x AS (
  SELECT 1 a
  FROM t
),
y AS (
  SELECT *
  FROM x
)
SELECT *
FROM y
UNION ALL (
  SELECT *
  FROM x
  INTERSECT
  SELECT *
  FROM t
)
ORDER BY a DESC
LIMIT 5`},
	{"select a from REF( 'm' ) x join ref ('it''s') y on x.a=y.a", `SELECT a
FROM ref('m') x
JOIN ref('it''s') y ON x.a = y.a`},
	{"-- what it is\nselect a, -- first\n  b -- second\n  , c\n-- the source\nfrom t -- end\n-- last", `-- what it is
SELECT
  a, -- first
  b, -- second
  c
-- the source
FROM t -- end
-- last`},
	{"select case when a_long_condition_of_some_kind > 100 and another then 'the first of the values' else 'something else altogether' end as v from t left outer join u on t.a=u.a and t.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb = u.ccccccccccccccccccccccccccccccccccccccccccc",
		`SELECT CASE
  WHEN a_long_condition_of_some_kind > 100 AND another THEN 'the first of the values'
  ELSE 'something else altogether'
END AS v
FROM t
LEFT OUTER JOIN u
  ON t.a = u.a
    AND t.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb = u.ccccccccccccccccccccccccccccccccccccccccccc`},
	{"insert into alerts select window, group as select, t.from from t where left = 1", `INSERT INTO alerts
SELECT window, group AS select, t.from
FROM t
WHERE left = 1`},
	{"select k,count(*) from t join (select a from u) v within 5 seconds on t.k=v.a group by k window hopping(size 10 minutes, advance by 1 minute) emit changes", `SELECT k, COUNT(*)
FROM t
JOIN (
  SELECT a
  FROM u
) v WITHIN 5 SECONDS ON t.k = v.a
GROUP BY k
WINDOW HOPPING(SIZE 10 MINUTES, ADVANCE BY 1 MINUTE)
EMIT CHANGES`},
}

func TestFormat(t *testing.T) {
	for _, c := range laidOut {
		got, ds := editor.Format(c.in)
		if len(ds) > 0 || got != c.want {
			t.Errorf("%s\ngave %v\n%s\nwant\n%s", c.in, ds, got, c.want)
		}
		checkFormat(t, c.in)
	}
}

// Errors refuse, with the diagnostics.
func TestFormatRefusesErrors(t *testing.T) {
	got, ds := editor.Format("SELECT FROM")
	if got != "" || !syntax.HasErrors(ds) {
		t.Errorf("%q %v", got, ds)
	}
}

// checkFormat holds the laws of Format for one statement.
func checkFormat(t *testing.T, sql string) {
	t.Helper()
	once, ds := editor.Format(sql)
	if len(ds) > 0 {
		return
	}
	twice, ds := editor.Format(once)
	if len(ds) > 0 {
		t.Fatalf("%q is formatted to %q, which has problems: %v", sql, once, ds)
	}
	if once != twice {
		t.Errorf("%q\nis formatted to\n%s\nand then to\n%s", sql, once, twice)
	}
	_, a, _, _ := syntax.SplitInsert(sql)
	_, b, _, _ := syntax.SplitInsert(once)
	before, _ := syntax.Parse(a)
	after, _ := syntax.Parse(b)
	if before.String() != after.String() {
		t.Errorf("%q\nmeans  %s\nbut\n%s\nmeans  %s", sql, before, once, after)
	}
	if x, y := comments(sql), comments(once); x != y {
		t.Errorf("%q\nhas the comments %q, but\n%s\nhas %q", sql, x, once, y)
	}
}

// Every statement of the scripts, as it is and with a comment behind every word, keeps its meaning and its comments.
func TestFormatKeepsTheScripts(t *testing.T) {
	for _, sql := range statements(t) {
		checkFormat(t, sql)
		checkFormat(t, strings.ReplaceAll(sql, " ", " -- why\n"))
		checkFormat(t, strings.ReplaceAll(sql, " ", "\n-- what\n  -- why\n"))
		checkFormat(t, strings.ReplaceAll(sql, " ", "\n"))
	}
}

func FuzzFormat(f *testing.F) {
	for _, sql := range statements(f) {
		f.Add(sql)
	}
	for _, c := range laidOut {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, sql string) { checkFormat(t, sql) })
}

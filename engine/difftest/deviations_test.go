package difftest_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
)

// deviations are the rows of docs/sql-deviations.md: a statement of ours over the relation d, its only row as
// appendCell writes it ("" is no row), and what PostgreSQL says to its own way of asking: a text, or an error.
var deviations = []struct{ name, ours, want, postgres, theirs string }{
	{"division", "SELECT 7 / 2 AS v FROM d", "3.5|", "SELECT (7 / 2)::text", "3"},
	{"division-by-zero", "SELECT 1 / 0 AS v, 1 % 0 AS w FROM d", "NULL|NULL|", "SELECT (1 / 0)::text", "error"},
	{"overflow", "SELECT 9223372036854775807 + 1 AS v FROM d", "NULL|", "SELECT (9223372036854775807 + 1)::text", "error"},
	{"double-overflow", "SELECT d.big * 10.0 AS v, d.big * 10.0 - d.big * 10.0 AS w FROM d", "+Inf|NULL|", "SELECT (1e308::float8 * 10)::text", "error"},
	{"double-underflow", "SELECT d.small / d.big AS v FROM d", "0.0|", "SELECT (1e-308::float8 / 1e308)::text", "error"},
	{"double-modulo", "SELECT 5.5 % 2.0 AS v FROM d", "1.5|", "SELECT (5.5::float8 % 2.0::float8)::text", "error"},
	{"kinds", "SELECT d.s = 1 AS v, d.s < 1 AS w FROM d", "false|NULL|", "SELECT ('1'::text = 1)::text", "error"},
	{"long-double", "SELECT 9007199254740993 = 9007199254740992.0 AS v FROM d", "false|", "SELECT (9007199254740993 = 9007199254740992.0::float8)::text", "true"},
	{"text-arithmetic", "SELECT d.s + 1 AS v FROM d", "NULL|", "SELECT ('1'::text + 1)::text", "error"},
	{"join-keys", "SELECT 1 AS v FROM d AS l JOIN d AS r ON l.one = r.onef", "", "SELECT count(*)::text FROM (VALUES (1::bigint)) l(x) JOIN (VALUES (1::float8)) r(x) ON l.x = r.x", "1"},
	{"sum-of-nothing", "SELECT d.one AS k, SUM(d.nothing) AS v FROM d GROUP BY d.one", "1|0|", "SELECT coalesce(sum(x)::text, 'NULL') FROM (VALUES (NULL::bigint)) v(x)", "NULL"},
	{"global-aggregate", "SELECT COUNT(*) AS v FROM d WHERE FALSE", "", "SELECT count(*)::text FROM (VALUES (1)) v(x) WHERE false", "0"},
	{"sum-of-doubles", "SELECT SUM(u.x) AS v FROM (SELECT 10000000000000000.0 AS x FROM d UNION ALL SELECT 1.0 FROM d UNION ALL SELECT -10000000000000000.0 FROM d) AS u", "1.0|",
		"SELECT sum(x)::text FROM (VALUES (1e16::float8), (1), (-1e16)) v(x)", "0"},
	{"sum-overflow", "SELECT SUM(u.x) AS v FROM (SELECT 9223372036854775807 AS x FROM d UNION ALL SELECT 1 FROM d) AS u", "NULL|",
		"SELECT sum(x)::text FROM (VALUES (9223372036854775807), (1)) v(x)", "9223372036854775808"},
	{"average", "SELECT AVG(d.one) AS v FROM d", "1.0|", "SELECT pg_typeof(avg(x))::text FROM (VALUES (1)) v(x)", "numeric"},
	{"extremes-of-bool", "SELECT MIN(d.yes) AS v FROM d", "true|", "SELECT min(x)::text FROM (VALUES (true)) v(x)", "error"},
	{"in-subquery-null", "SELECT 1 AS v FROM d WHERE d.one NOT IN (SELECT e.nothing FROM d AS e)", "1|",
		"SELECT count(*)::text FROM (VALUES (1)) v(x) WHERE x NOT IN (SELECT NULL::int)", "0"},
	{"round", "SELECT ROUND(1.005, 2) AS v, ROUND(2.5) AS w, ROUND(15.0, -1) AS u FROM d", "1.01|3.0|15.0|", "SELECT round(2.5::float8)::text", "2"},
	{"coalesce", "SELECT COALESCE(d.nothing, 2.5) AS v FROM d", "2|", "SELECT coalesce(NULL::bigint, 2.5::float8)::text", "2.5"},
	{"cast-total", "SELECT CAST('x' AS LONG) AS v FROM d", "NULL|", "SELECT 'x'::text::bigint::text", "error"},
	{"cast-truncates", "SELECT CAST(3.5 AS LONG) AS v FROM d", "3|", "SELECT 3.5::float8::bigint::text", "4"},
	{"cast-text-double", "SELECT TO_STRING(d.quadrillion) AS v FROM d", `"1000000000000000"|`, "SELECT 1e15::float8::text", "1e+15"},
	{"timestamp-number", "SELECT d.t + 1 AS v, CAST(d.t AS TEXT) AS w FROM d", `1001.0|"1000"|`, "SELECT (to_timestamp(1) + 1)::text", "error"},
	{"like-escape", `SELECT 'a\b' LIKE 'a\b' AS v FROM d`, "true|", `SELECT ('a\b' LIKE 'a\b')::text`, "false"},
	{"json-null", "SELECT d.j -> 'n' IS NULL AS v FROM d", "true|", `SELECT ('{"n":null}'::jsonb -> 'n' IS NULL)::text`, "false"},
	{"json-scalar-index", "SELECT d.j -> 'five' -> 0 AS v FROM d", "NULL|", "SELECT coalesce(('5'::jsonb -> 0)::text, 'NULL')", "5"},
	{"json-sum", "SELECT SUM(d.j -> 'five') AS v FROM d", "5.0|", "SELECT sum(x)::text FROM (VALUES ('5'::jsonb)) v(x)", "error"},
	{"negative-zero", "SELECT TO_STRING(-(d.onef - d.onef)) AS v FROM d", `"0"|`, "SELECT (-(0::float8))::text", "-0"},
	{"logarithm", "SELECT LN(0.0) AS v, SQRT(-1.0) AS w FROM d", "NULL|NULL|", "SELECT ln(0::float8)::text", "error"},
	{"floor-of-long", "SELECT FLOOR(d.one) AS v FROM d", "1.0|", "SELECT pg_typeof(floor(1))::text", "double precision"},
	{"window-ties", "SELECT ROW_NUMBER() OVER (ORDER BY d.nothing) AS v FROM d", "1|", "", ""},
	{"window-aggregates", "SELECT COUNT(DISTINCT d.one) OVER () AS v FROM d", "1|", "SELECT (count(DISTINCT x) OVER ())::text FROM (VALUES (1)) v(x)", "error"},
	{"latest-by", "SELECT d.one AS v FROM d LATEST BY (one)", "1|", "", ""},
}

// TestDeviations holds that docs/sql-deviations.md is true, row by row, and names nothing else.
func TestDeviations(t *testing.T) {
	c := connect(t)
	page, err := os.ReadFile("../../docs/sql-deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllSubmatch(page, -1) {
		named = append(named, string(m[1]))
	}
	var tested []string
	cat := catalog{{Name: "d", Kind: engine.Source, EventTime: true, AppendOnly: true, Schema: types.Schema{{Name: "one", Kind: types.Long},
		{Name: "onef", Kind: types.Double}, {Name: "nothing", Kind: types.Long}, {Name: "s", Kind: types.String}, {Name: "yes", Kind: types.Bool},
		{Name: "t", Kind: types.Timestamp}, {Name: "j", Kind: types.Json}, {Name: "big", Kind: types.Double}, {Name: "small", Kind: types.Double},
		{Name: "quadrillion", Kind: types.Double}}}}
	only := step{"d": {{id: 1, ts: 1, weight: 1, values: []types.Value{types.LongOf(1), types.DoubleOf(1), types.Null(types.Long), types.StringOf("1"),
		types.BoolOf(true), types.TimestampOf(1000), types.JsonOf(`{"n":null,"five":5}`), types.DoubleOf(1e308), types.DoubleOf(1e-308), types.DoubleOf(1e15)}}}}
	for _, d := range deviations {
		tested = append(tested, d.name)
		t.Run(d.name, func(t *testing.T) {
			q, problems := newQuery(d.ours, cat)
			if q == nil {
				t.Fatalf("%s: %v", d.ours, problems)
			}
			q.push(0, cat, only, nil)
			q.end(0, 1)
			have := ""
			for row := range q.folded[0] {
				have += row
			}
			if have != d.want {
				t.Errorf("%s\ngives %q, the page says %q", d.ours, have, d.want)
			}
			if d.postgres == "" {
				return
			}
			var theirs string
			if err := c.QueryRow(context.Background(), d.postgres).Scan(&theirs); err != nil {
				theirs = "error"
			}
			if theirs != d.theirs {
				t.Errorf("PostgreSQL: %s\ngives %q, the page says %q", d.postgres, theirs, d.theirs)
			}
		})
	}
	if !slices.Equal(named, tested) {
		t.Errorf("the page has the rows\n%v\nthe test\n%v", named, tested)
	}
}

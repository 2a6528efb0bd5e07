package engine_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

var rewrite = flag.Bool("rewrite", false, "write docs/sql-functions.md anew")

const functionPage = "../docs/sql-functions.md"

// holds evaluates a condition over one row of trades: symbol, price and qty.
func holds(t *testing.T, condition string) bool {
	t.Helper()
	p := compile(t, "SELECT symbol, price, qty, "+condition+" AS ok FROM trades", engine.TableMode)
	b := zset.NewBuilder([]types.Kind{types.String, types.Double, types.Long, types.Long})
	b.Text(0, []byte("stream"))
	b.Double(1, 2.5)
	b.Long(2, 3)
	b.Long(3, 0) // _ts
	b.EndRow(1)
	f := p.NewFlow()
	f.Push(0, b.Build())
	f.Advance(0)
	d := f.Flush().Delta
	return d.N == 1 && !d.Cols[3].IsNull(0) && d.Cols[3].I64[0] == 1
}

// TestFunctionExamples: the example of every function is true.
func TestFunctionExamples(t *testing.T) {
	for _, f := range expr.Functions() {
		if f.Example != "" && !holds(t, f.Example) {
			t.Errorf("%s: %s is not true", f.Name, f.Example)
		}
	}
}

// TestFunctions: what functions give at their edges, with constants and with columns.
func TestFunctions(t *testing.T) {
	for _, condition := range []string{
		"SUBSTRING('stream', 0, 3) = 'st'", "SUBSTRING('stream', -5) = 'stream'", "SUBSTRING('stream', 3) = 'ream'", "SUBSTRING('ab', 1, -1) IS NULL",
		"SUBSTRING('stream' FROM 2 FOR 3) = 'tre'", "SUBSTRING('stream' FROM 9) = ''", "SUBSTR('über', 1, 2) = 'üb'", "SUBSTRING('abc', 2, 9223372036854775807) = 'bc'",
		"LEFT('stream', -2) = 'stre'", "LEFT('a', -5) = ''", "RIGHT('stream', -2) = 'ream'", "RIGHT('ab', 9) = 'ab'", "LEFT(symbol, qty) = 'str'",
		"LPAD('stream', 3) = 'str'", "LPAD('a', 4, 'xy') = 'xyxa'", "RPAD('ü', 3, '-') = 'ü--'", "LPAD('a', 9999999999) IS NULL", "LPAD('a', -1) = ''", "LPAD('ab', 4, '') = 'ab'",
		"REPEAT('a', 99999999999) IS NULL", "REPEAT('a', -1) = ''", "REPLACE('aaa', 'a', '') = ''", "REPLACE('abc', '', 'x') = 'abc'",
		"SPLIT_PART('a,b,c', ',', -1) = 'c'", "SPLIT_PART('a,b', ',', 3) = ''", "SPLIT_PART('a,b', ',', 0) IS NULL", "SPLIT_PART('ab', '', 1) = 'ab'",
		"POSITION('' IN 'a') = 1", "POSITION('x' IN symbol) = 0", "STRPOS('über', 'b') = 2", "POSITION('r', 'stream') = 3",
		"TRIM('xxaxx', 'x') = 'a'", "LENGTH('') = 0", "LENGTH(NULL) IS NULL", "CONCAT(NULL, NULL) = ''", "CONCAT(symbol, ':', qty, ':', price) = 'stream:3:2.5'", "REVERSE('aü') = 'üa'",
		"FLOOR(price) = 2", "CEIL(price) = 3", "CEILING(-2.5) = -2", "SQRT(-1) IS NULL", "LN(0) IS NULL", "LOG10(-1) IS NULL", "MOD(7, 0) IS NULL", "MOD(qty, 2) = 1", "TO_STRING(MOD(qty, 2)) = '1'", "MOD(5.5, 2) = 1.5", "POWER(0, -1) IS NULL",
		"POWER(-8, 0.5) IS NULL", "POWER(10, 400) IS NULL", "TRUNC(2.99) = 2", "TRUNC(1.239, 2) = 1.23", "TRUNC(-1.5) = -1", "SIGN(0) = 0", "EXP(1) > 2.718", "FLOOR('1') IS NULL",
		"GREATEST(NULL, NULL) IS NULL", "GREATEST(1, 2.5) = 2.5", "LEAST('b', 'a', symbol) = 'a'", "GREATEST(price, qty) = 3", "NULLIF(qty, 4) = 3", "NULLIF(NULL, 1) IS NULL", "NULLIF('a', 'b') = 'a'",
		"REGEXP_LIKE('a', '(') IS NULL", "REGEXP_EXTRACT('abc', 'x') IS NULL", "REGEXP_EXTRACT('abc', 'b') = 'b'", "REGEXP_EXTRACT('abc', '(b)', 2) IS NULL", "REGEXP_LIKE(symbol, '^STR') = FALSE", "REGEXP_LIKE(symbol, '(?i)^STR')",
		"REGEXP_REPLACE(symbol, '[aeiou]', '') = 'strm'", "MD5('abc') = '900150983cd24fb0d6963f7d28e17f72'", "SHA256('abc') = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'",
		"DATE_TRUNC('week', TO_TIMESTAMP('2026-11-29T10:00:00')) = TO_TIMESTAMP('2026-11-23')", "DATE_TRUNC('quarter', TO_TIMESTAMP('2026-11-29')) = TO_TIMESTAMP('2026-10-01')",
		"DATE_TRUNC('day', TO_TIMESTAMP('1969-12-31T23:59:59.999')) = TO_TIMESTAMP('1969-12-31')", "DATE_TRUNC('hour', -1) = -3600000", "DATE_TRUNC('century', 0) IS NULL",
		"DATE_TRUNC('year', TO_TIMESTAMP('2026-11-29')) = TO_TIMESTAMP('2026-01-01')", "DATE_TRUNC('month', TO_TIMESTAMP('2024-02-29T01:00:00')) = TO_TIMESTAMP('2024-02-01')",
		// Time zones: a day in Berlin starts at 22:00 or 23:00 UTC.
		"DATE_TRUNC('day', TO_TIMESTAMP('2026-07-01T12:00:00Z'), 'Europe/Berlin') = TO_TIMESTAMP('2026-06-30T22:00:00Z')",
		"DATE_TRUNC('day', TO_TIMESTAMP('2026-12-01T12:00:00Z'), 'Europe/Berlin') = TO_TIMESTAMP('2026-11-30T23:00:00Z')",
		"DATE_TRUNC('day', TO_TIMESTAMP('2026-03-29T12:00:00Z'), 'Europe/Berlin') = TO_TIMESTAMP('2026-03-28T23:00:00Z')",
		"EXTRACT('hour', TO_TIMESTAMP('2026-03-29T00:59:59Z'), 'Europe/Berlin') = 1", "EXTRACT('hour', TO_TIMESTAMP('2026-03-29T01:00:00Z'), 'Europe/Berlin') = 3",
		"EXTRACT('hour', TO_TIMESTAMP('2026-03-08T06:59:59Z'), 'America/New_York') = 1", "EXTRACT('hour', TO_TIMESTAMP('2026-03-08T07:00:00Z'), 'America/New_York') = 3",
		"EXTRACT('hour', TO_TIMESTAMP('2026-11-01T05:59:59Z'), 'America/New_York') = 1", "EXTRACT('hour', TO_TIMESTAMP('2026-11-01T06:00:00Z'), 'America/New_York') = 1",
		"EXTRACT('hour', TO_TIMESTAMP('2006-03-12T12:00:00Z'), 'America/New_York') = 7", "EXTRACT('hour', TO_TIMESTAMP('2026-01-01T00:00:00Z'), '+05:30') = 5", "EXTRACT('hour', 0, 'Mars/Base') IS NULL",
		"EXTRACT(epoch FROM TO_TIMESTAMP('1970-01-01T00:00:01.5Z')) = 1.5", "EXTRACT(dow FROM TO_TIMESTAMP('2026-11-29')) = 0", "EXTRACT(isodow FROM TO_TIMESTAMP('2026-11-29')) = 7",
		"EXTRACT(week FROM TO_TIMESTAMP('2027-01-01')) = 53", "EXTRACT(doy FROM TO_TIMESTAMP('2024-12-31')) = 366", "EXTRACT(second FROM TO_TIMESTAMP('2026-01-01T00:00:01.25')) = 1.25", "EXTRACT('fortnight', 0) IS NULL",
		"TO_TIMESTAMP('2024-02-29') + INTERVAL '1 year' = TO_TIMESTAMP('2025-02-28')", "INTERVAL '90 minutes' + TO_TIMESTAMP(0) = TO_TIMESTAMP('1970-01-01T01:30:00')", "TO_TIMESTAMP(0) - INTERVAL '1 day' = -86400000",
		"TO_TIMESTAMP(0) + INTERVAL '1 month -1 day' = TO_TIMESTAMP('1970-01-31')", "INTERVAL '02:30' = 9000000", "INTERVAL '1.5 hours' = 5400000", "INTERVAL 'soon' IS NULL", "INTERVAL '' IS NULL", "qty + INTERVAL '1 second' = 1003",
		"TO_TIMESTAMP(0) + INTERVAL '999999 years' IS NULL", "INTERVAL '9e300 days' IS NULL", "TO_TIMESTAMP('2026-03-31') - INTERVAL '1 month' = TO_TIMESTAMP('2026-02-28')",
		"TO_CHAR(TO_TIMESTAMP('2026-05-06T17:08:09.007'), 'YY-Mon-DD HH12:MI:SS.MS AM Dy Q DDD') = '26-May-06 05:08:09.007 PM Wed 2 126'", "TO_CHAR(0, '\"at\" HH24 TZ', 'Asia/Kolkata') = 'at 05 +05:30'",
	} {
		if !holds(t, condition) {
			t.Errorf("%s is not true", condition)
		}
	}
}

// TestFunctionPage: docs/sql-functions.md is what the tables say.
func TestFunctionPage(t *testing.T) {
	want := page()
	if *rewrite {
		if err := os.WriteFile(functionPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(functionPage)
	if err != nil || string(have) != want {
		t.Errorf("%s is not up to date (%v): go test ./engine -run TestFunctionPage -rewrite", functionPage, err)
	}
}

func page() string {
	var b strings.Builder
	cell := func(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
	also := func(names []string) string {
		if len(names) == 0 {
			return ""
		}
		return " Also " + strings.Join(names, ", ") + "."
	}
	b.WriteString("# SQL functions\n\nThis page is written from the tables of the engine. Names are case-insensitive. No function raises: what has no result is NULL.\n")
	b.WriteString("\n## Aggregates\n\nEvery aggregate takes `FILTER (WHERE condition)`, is exact when rows are taken back, and depends on the rows only, not on their order.\n")
	b.WriteString("\n| aggregate | result | of nothing | meaning |\n|---|---|---|---|\n")
	for _, a := range agg.Aggregates() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s%s |\n", cell(a.Signature), a.Result, a.Empty, cell(a.Doc), also(a.Aliases))
	}
	b.WriteString("\n## Window functions\n\nThey stand in a table as `f(x) OVER (PARTITION BY a ORDER BY b [frame])`, and so does every aggregate. [SQL window functions](sql-window-functions.md) says how.\n")
	b.WriteString("\n| function | result | frame | meaning |\n|---|---|---|---|\n")
	for _, f := range over.Functions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", cell(f.Signature), f.Result, map[bool]string{true: "counts", false: ""}[f.Framed], cell(f.Doc))
	}
	for _, operators := range []bool{false, true} {
		b.WriteString(map[bool]string{false: "\n## Functions\n\n| function | result | meaning | example |\n|---|---|---|---|\n", true: "\n## Operators\n\n| operator | result | meaning |\n|---|---|---|\n"}[operators])
		for _, f := range expr.Functions() {
			switch {
			case f.Operator != operators:
			case operators:
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", cell(f.Signature), f.Result, cell(f.Doc))
			default:
				example := f.Example
				if example != "" {
					example = "`" + cell(example) + "`"
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s%s | %s |\n", cell(f.Signature), f.Result, cell(f.Doc), also(f.Aliases), example)
			}
		}
	}
	b.WriteString("\n## Time zones\n\nFunctions of times take a zone as their last argument: a fixed offset such as `+02:00`, or a name of the built-in table, such as\n`Europe/Berlin` or `America/New_York`, with the rules since 1996 (Europe) and since 1987 (North America). Without one, times are UTC.\n")
	return b.String()
}

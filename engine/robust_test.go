package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// TestLargeStatements compiles statements that are large in every way there is: each is answered, and none takes longer
// than its size explains.
func TestLargeStatements(t *testing.T) {
	repeat := strings.Repeat
	var columns []string
	for i := range 10_000 {
		columns = append(columns, fmt.Sprintf("qty AS c%d", i))
	}
	var typos []string
	for i := range 5_000 {
		typos = append(typos, fmt.Sprintf("nme%d", i))
	}
	for name, sql := range map[string]string{
		"one MB":                "SELECT '" + repeat("x", 1<<20) + "' AS x FROM trades",
		"10,000 columns":        "SELECT " + strings.Join(columns, ", ") + " FROM trades",
		"10,000 repeated names": "SELECT " + repeat("qty, ", 9_999) + "qty FROM trades",
		"5,000 unknown columns": "SELECT " + strings.Join(typos, ", ") + " FROM trades",
		"10,000 values of IN":   "SELECT symbol FROM trades WHERE qty IN (" + repeat("1, ", 9_999) + "1)",
		"parentheses":           "SELECT " + repeat("(", 100_000) + "1" + repeat(")", 100_000) + " FROM trades",
		"open parentheses":      "SELECT " + repeat("(", 100_000),
		"closing parentheses":   "SELECT symbol FROM trades" + repeat(")", 100_000),
		"queries":               "SELECT symbol FROM " + repeat("(SELECT symbol FROM ", 5_000) + "trades" + repeat(") x", 5_000),
		"NOT":                   "SELECT symbol FROM trades WHERE " + repeat("NOT ", 50_000) + "TRUE",
		"minus":                 "SELECT " + repeat("- ", 50_000) + "1 AS x FROM trades",
		"AND":                   "SELECT symbol FROM trades WHERE qty > 1" + repeat(" AND qty > 1", 15_000),
		"plus":                  "SELECT 1" + repeat(" + 1", 50_000) + " AS x FROM trades",
		"CASE":                  "SELECT " + repeat("CASE WHEN TRUE THEN ", 5_000) + "1" + repeat(" END", 5_000) + " AS x FROM trades",
		"branches of CASE":      "SELECT CASE " + repeat("WHEN qty > 1 THEN 2 ", 10_000) + "END AS x FROM trades",
		"JSON steps":            "SELECT legs" + repeat(" -> 'a'", 20_000) + " AS x FROM trades",
		"casts":                 "SELECT qty" + repeat("::text", 30_000) + " AS x FROM trades",
		"subscripts":            "SELECT legs" + repeat("[0]", 50_000) + " AS x FROM trades",
		"UNION":                 "SELECT symbol FROM trades" + repeat(" UNION ALL SELECT symbol FROM trades", 5_000),
		"joins":                 "SELECT t.symbol FROM trades t" + repeat(" JOIN quotes q ON t.symbol = q.symbol", 5_000),
		"WITH":                  "WITH a AS (SELECT symbol FROM trades)" + repeat(", a AS (SELECT symbol FROM a)", 5_000) + " SELECT symbol FROM a",
		"misspelled clauses":    "SELECT symbol FROM trades" + repeat(" WHER qty > 1", 15_000),
		"clauses":               "SELECT symbol FROM trades" + repeat(" WHERE qty > 1", 15_000),
		"commas":                "SELECT " + repeat(",", 200_000) + " FROM trades",
		"semicolons":            "SELECT symbol FROM trades" + repeat(";", 200_000),
		"GROUP without BY":      "SELECT symbol FROM trades" + repeat(" GROUP symbol", 15_000),
		"quotes":                "SELECT " + repeat("`a` ", 50_000) + "FROM trades",
		"open quotes":           "SELECT " + repeat("\"", 200_001) + " FROM trades",
		"open brackets":         "SELECT " + repeat("[a ", 80_000) + " FROM trades",
		"comments":              "SELECT " + repeat("/* a */ ", 30_000) + " symbol FROM trades",
		"open comments":         repeat("/*", 120_000),
		"strange characters":    "SELECT " + repeat("§", 100_000) + " FROM trades",
		"bytes":                 "SELECT " + repeat("\xff", 200_000) + " FROM trades",
		"NUL":                   "SELECT \x00 symbol FROM\x00 trades",
		"digits":                "SELECT " + repeat("9", 200_000) + " AS x FROM trades",
		"points":                "SELECT " + repeat("1.", 100_000) + " AS x FROM trades",
		"a long name":           "SELECT " + repeat("x", 200_000) + " FROM trades",
		"a long type":           "SELECT CAST(qty AS " + repeat("x", 200_000) + ") AS x FROM trades",
		"a long function":       "SELECT " + repeat("x", 200_000) + "(qty) AS x FROM trades",
		"TRY_CAST":              "SELECT " + repeat("TRY_CAST(", 20_000) + "1",
		"ALL of grouping":       "SELECT symbol FROM trades GROUP BY " + repeat("ROLLUP (symbol), ", 10_000) + "symbol",
		"names before a point":  "SELECT symbol FROM a" + repeat(".a", 60_000),
		"interval units":        "SELECT " + repeat("INTERVAL '1' DAY + ", 10_000) + "1 AS x FROM trades",
	} {
		start := time.Now()
		_, problems := engine.Compile(sql, demo, engine.TableMode, engine.Options{})
		// The bound is far above what is needed, so that a loaded machine passes, and far below what anything that is
		// not about linear would take.
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %v", name, took)
		} else if took > time.Second {
			t.Logf("%s: %v", name, took)
		}
		for _, d := range problems {
			if n := len([]rune(d.Message + d.Hint)); n > 400 {
				t.Errorf("%s: a message of %d characters: %.200s", name, n, d)
				break
			}
		}
		if name == "one MB" && (len(problems) != 1 || problems[0].Code != "too-long") {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// TestNotWarned: comparisons that treat NULL as a value are meant.
func TestNotWarned(t *testing.T) {
	for _, sql := range []string{
		"SELECT symbol FROM trades WHERE qty IS DISTINCT FROM NULL", "SELECT symbol FROM trades WHERE symbol IS NOT DISTINCT FROM NULL",
		"SELECT symbol FROM trades WHERE CASE WHEN qty > 1 THEN NULL ELSE TRUE END",
	} {
		if _, problems := engine.Compile(sql, demo, engine.TableMode, engine.Options{StateWarnings: true}); len(problems) > 0 {
			t.Errorf("%s: %v", sql, problems)
		}
	}
}

// TestPlacesOfOddText holds line, column and length behind tabs, carriage returns, characters of several bytes, and
// characters outside of the basic plane.
func TestPlacesOfOddText(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want string // line:column+length of each problem
	}{
		{"SELECT\tnope\tFROM trades", "1:8+4"},
		{"SELECT symbol,\r\n\tnope\r\nFROM trades", "2:2+4"},
		{"SELECT '😀' AS e, nope FROM trades", "1:18+4"},
		{"SELECT 'e\u0301' AS e, nope FROM trades", "1:19+4"},
		{"-- größer 😀\nSELECT nope FROM trades", "2:8+4"},
		{"SELECT 'two\nlines' AS x, nope FROM trades", "2:14+4"},
		{"\ufeffSELECT nope FROM trades", "1:9+4"},
		{"SELECT größe FROM trades", "1:8+5"},
		{"SELECT symbol FROM trades WHERE\n\n  qty", "3:3+3"},
		{"SELECT symbol FROM trades WHERE qty +\n 1", "1:33+8"},
		{"SELECT `symbol`, \"x y\" AS z, nope FROM trades", "1:8+8 1:18+5 1:30+4"},
		{"SELCT symbol\nFORM trades\nWHER nope > 1", "1:1+5 2:1+4 3:1+4 3:6+4"},
		{"SELECT symbol FROM trades WHERE", "1:32+0"},
		{"SELECT symbol FROM trades WHERE\n", "2:1+0"},
	} {
		_, problems := engine.Compile(c.sql, demo, engine.TableMode, engine.Options{})
		var got []string
		for _, d := range problems {
			got = append(got, fmt.Sprintf("%s+%d", d.Pos, d.Pos.Length))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q: %s, want %s: %v", c.sql, s, c.want, problems)
		}
	}
}

// FuzzAnalyze compiles texts: no panic, every place is inside of the text, every offered fix can be applied.
func FuzzAnalyze(f *testing.F) {
	for _, sql := range seeds(f) {
		f.Add(sql, false)
		f.Add(sql, true)
	}
	f.Fuzz(func(t *testing.T, sql string, pipeline bool) {
		mode := engine.TableMode
		if pipeline {
			mode = engine.PipelineMode
		}
		p, problems := engine.Compile(sql, demo, mode, engine.Options{})
		if p == nil && !engine.HasErrors(problems) {
			t.Fatal("no program, and no reason")
		}
		checkProblems(t, sql, problems)
		if p != nil {
			_ = p.Explain()
			p.NewFlow().Flush()
		}
	})
}

func checkProblems(t *testing.T, sql string, problems []engine.Diagnostic) {
	t.Helper()
	inside := func(p syntax.Pos) {
		if p.Offset < 0 || p.End < p.Offset || p.End > len(sql) || p.Line < 1 || p.Column < 1 || p.Length < 0 {
			t.Fatalf("%q: place %+v", sql, p)
		}
	}
	for _, d := range problems {
		inside(d.Pos)
		if d.Code == "" || d.Message == "" {
			t.Fatalf("%q: %+v", sql, d)
		}
		if d.Fix == nil {
			continue
		}
		for _, e := range d.Fix.Edits {
			inside(e.Pos)
		}
		if d.Fix.Apply(sql) == sql {
			t.Fatalf("%q: %s: %q changes nothing", sql, d, d.Fix.Title)
		}
	}
}

package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// catalog is a list of relations.
type catalog []engine.Relation

func (c catalog) Relations(name string) (out []engine.Relation) {
	for _, r := range c {
		if r.Name == name {
			out = append(out, r)
		}
	}
	return out
}

func (c catalog) Names() (out []string) {
	for _, r := range c {
		out = append(out, r.Name)
	}
	return out
}

var demo = catalog{
	{Name: "trades", Kind: engine.Source, Schema: types.Schema{
		{Name: "symbol", Kind: types.String}, {Name: "price", Kind: types.Double}, {Name: "qty", Kind: types.Long},
		{Name: "legs", Kind: types.Json, IsArray: true, Children: []types.Field{{Name: "ccy", Kind: types.String}}},
	}},
	{Name: "quotes", Kind: engine.Source, Schema: types.Schema{{Name: "symbol", Kind: types.String}, {Name: "bid", Kind: types.Double}}},
	{Name: "twice", Kind: engine.Source, Schema: types.Schema{{Name: "a", Kind: types.Long}}},
	{Name: "twice", Kind: engine.Table, Schema: types.Schema{{Name: "a", Kind: types.Long}}},
	{Name: "positions", Kind: engine.Table, Schema: types.Schema{{Name: "symbol", Kind: types.String}, {Name: "total", Kind: types.Long}}, Key: []string{"symbol"}},
}

func compile(t *testing.T, sql string, mode engine.Mode) *engine.Program {
	t.Helper()
	p, problems := engine.Compile(sql, demo, mode, engine.Options{})
	if p == nil {
		t.Fatalf("%s: %v", sql, problems)
	}
	return p
}

// A table is compiled once and run by pushing rows, ending epochs and taking deltas.
func Example() {
	p, problems := engine.Compile("SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol", demo, engine.TableMode, engine.Options{})
	if p == nil {
		fmt.Println(problems)
		return
	}
	f := p.NewFlow()
	for epoch, rows := range [][]int64{{5, 2}, {-1}} {
		b := zset.NewBuilder([]types.Kind{types.String, types.Long})
		for _, qty := range rows {
			b.Text(0, []byte("AAPL"))
			b.Long(1, qty)
			b.EndRow(1)
		}
		f.Push(0, b.Build())
		f.Advance(int64(epoch) * 1000)
		delta := f.Flush().Delta
		for i := range delta.N {
			fmt.Printf("%+d %s\n", delta.W(i), zset.AppendJSON(nil, p.Output(), delta, i))
		}
	}
	// Output:
	// +1 {"symbol":"AAPL","total":7}
	// +1 {"symbol":"AAPL","total":6}
	// -1 {"symbol":"AAPL","total":7}
}

// Compile reports every problem of a statement, each with its place.
func ExampleCompile() {
	_, problems := engine.Compile("SELECT symbl, SUM(price) FROM trades\nWHERE qty GROUP BY symbol", demo, engine.TableMode, engine.Options{})
	for _, d := range problems {
		fmt.Println(d)
	}
	// Output:
	// 1:8: unknown-column: no column "symbl" in trades; did you mean "symbol"?
	// 2:7: not-boolean: WHERE takes a Bool, found Long; compare it with something
}

// Explain prints the optimized plan with the changelog mode of every node.
func ExampleProgram_Explain() {
	p, _ := engine.Compile("SELECT t.symbol, p.total FROM trades t JOIN positions p ON t.symbol = p.symbol WHERE t.qty > 10", demo, engine.TableMode, engine.Options{})
	fmt.Print(p.Explain())
	// Output:
	// Project t.symbol, p.total, t._ts -> Retract
	//   Join INNER on t.symbol = p.symbol -> Retract
	//     Filter t.qty > 10 -> Append
	//       Scan trades AS t [symbol, qty, _ts] -> Append
	//     Scan positions AS p [symbol, total] -> Upsert(symbol)
}

func TestProgramDescribesItself(t *testing.T) {
	for _, c := range []struct {
		sql     string
		mode    engine.Mode
		inputs  string
		output  string
		hidden  bool
		key     string
		mode2   string
		summary string
	}{
		{"SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol", engine.TableMode,
			"trades(symbol)", "symbol String, n Long", false, "symbol", "Upsert(symbol)", "trades AS trades GROUP BY trades_symbol SELECT 2"},
		{"SELECT COUNT(*) FROM trades", engine.TableMode,
			"trades()", "count_star Long", false, "", "Upsert()", "trades AS trades SELECT 1"},
		{"SELECT symbol AS s, qty FROM trades t WHERE qty > 1 LATEST BY (symbol)", engine.TableMode,
			"trades(symbol, qty, _ts, _retract)", "s String, qty Long", true, "s", "Upsert(s)", "trades AS t WHERE LATEST BY symbol SELECT 2"},
		{"SELECT legs FROM trades", engine.TableMode,
			"trades(legs, _ts)", "legs Json[]", true, "whole", "Append", "trades AS trades SELECT 1"},
		{"SELECT total FROM positions", engine.TableMode,
			"positions(total)", "total Long", false, "whole", "Retract", "positions AS positions SELECT 1"},
		{"SELECT t.symbol, q.bid FROM trades t JOIN quotes q ON t.symbol = q.symbol", engine.TableMode,
			"trades(symbol, _ts) quotes(symbol, bid, _ts)", "symbol String, bid Double", true, "whole", "Append", "trades AS t ⋈ quotes AS q SELECT 2"},
		{"SELECT symbol FROM trades WHERE price > 1", engine.PipelineMode,
			"trades(symbol, price, _ts)", "symbol String", true, "whole", "Append", "trades AS trades WHERE SELECT 1"},
		{"SELECT AVG(price) AS p FROM trades WINDOW TUMBLING(SIZE 1 MINUTE)", engine.PipelineMode,
			"trades(price, _ts)", "p Double, window_start Long, window_end Long", true, "whole", "Append", "trades AS trades TUMBLING(1m) SELECT 1"},
	} {
		p := compile(t, c.sql, c.mode)
		var inputs []string
		for _, in := range p.Inputs() {
			inputs = append(inputs, in.Name+"("+strings.Join(in.Columns.Names(), ", ")+")")
		}
		keys, whole := p.KeyFields()
		key := strings.Join(keys, ", ")
		if whole {
			key = "whole"
		}
		got := []any{strings.Join(inputs, " "), p.Output().String(), p.EventTime(), key, p.Changelog().String(), p.Summary(), p.SQL()}
		want := []any{c.inputs, c.output, c.hidden, c.key, c.mode2, c.summary, c.sql}
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %v\nwant %v", c.sql, got, want)
		}
	}
}

// TestRelationOfAProgram holds that what one program gives is what another one reads.
func TestRelationOfAProgram(t *testing.T) {
	p := compile(t, "SELECT symbol AS s, SUM(qty) AS total FROM trades GROUP BY symbol", engine.TableMode)
	r := p.Relation("totals")
	if r.Kind != engine.Table || r.EventTime || r.AppendOnly || !slices.Equal(r.Key, []string{"s"}) || r.Schema.String() != "s String, total Long" {
		t.Errorf("%+v", r)
	}
	v := compile(t, "SELECT COUNT(*) AS n FROM trades WINDOW TUMBLING(SIZE 1 SECOND)", engine.PipelineMode).Relation("counts")
	if v.Kind != engine.Pipeline || !v.EventTime || !v.AppendOnly {
		t.Errorf("%+v", v)
	}
	next, problems := engine.Compile("SELECT t.s, t.total, t._ts AS at, t._source AS origin FROM totals t", catalog{r}, engine.TableMode, engine.Options{})
	if next == nil {
		t.Fatal(problems)
	}
	if next.EventTime() || next.Changelog().String() != "Upsert(s)" {
		t.Errorf("event time %v, %s", next.EventTime(), next.Changelog())
	}
	copied := compile(t, "SELECT legs, symbol FROM trades", engine.TableMode).Output()
	if !copied[0].IsArray || len(copied[0].Children) != 1 {
		t.Errorf("a passed-on array lost its shape: %+v", copied[0])
	}
}

func TestAmbiguousRelation(t *testing.T) {
	_, problems := engine.Compile("SELECT a FROM twice", demo, engine.TableMode, engine.Options{})
	if len(problems) != 1 || problems[0].Code != "ambiguous-relation" || problems[0].Pos.String() != "1:15" {
		t.Errorf("%v", problems)
	}
}

// TestDeclaredReservedColumns holds that a declared _ts, _source or _retract is the column of that name.
func TestDeclaredReservedColumns(t *testing.T) {
	declared := catalog{{Name: "d", Kind: engine.Source, Schema: types.Schema{
		{Name: "_ts", Kind: types.Timestamp}, {Name: "_source", Kind: types.Long}, {Name: "_retract", Kind: types.Bool}, {Name: "v", Kind: types.Long},
	}}, {Name: "text_time", Kind: engine.Source, Schema: types.Schema{{Name: "_ts", Kind: types.String}}}}
	p, problems := engine.Compile("SELECT _ts, _source, v FROM d LATEST BY (v)", declared, engine.TableMode, engine.Options{})
	if p == nil {
		t.Fatal(problems)
	}
	if got := p.Output().String(); got != "_ts Timestamp, _source Long, v Long" {
		t.Error(got)
	}
	if got := p.Inputs()[0].Columns.String(); got != "_ts Timestamp, _source Long, _retract Bool, v Long" {
		t.Error(got)
	}
	_, problems = engine.Compile("SELECT COUNT(*) FROM text_time WINDOW TUMBLING(SIZE 1 SECOND)", declared, engine.PipelineMode, engine.Options{})
	if len(problems) != 1 || problems[0].Code != "event-time" {
		t.Error(problems)
	}
}

func TestStatementsAreBounded(t *testing.T) {
	ctes := "WITH c0 AS (SELECT symbol FROM trades)"
	for i := range 12 {
		ctes += fmt.Sprintf(", c%d AS (SELECT a.symbol FROM c%d a JOIN c%d b ON a.symbol = b.symbol)", i+1, i, i)
	}
	_, problems := engine.Compile(ctes+" SELECT symbol FROM c12", demo, engine.TableMode, engine.Options{})
	if len(problems) == 0 || problems[0].Code != "too-large" {
		t.Errorf("%v", problems)
	}
}

// Stars of queries of stars multiply, and a list of equal names is numbered: both end early.
func TestColumnsAreBounded(t *testing.T) {
	stars := "SELECT symbol FROM trades"
	for range 5 {
		stars = "SELECT " + strings.Repeat("a.*, ", 30) + "a.symbol FROM (" + stars + ") a"
	}
	for _, sql := range []string{stars, "SELECT " + strings.Repeat("symbol, ", 8000) + "symbol FROM trades"} {
		_, problems := engine.Compile(sql, demo, engine.TableMode, engine.Options{})
		if !slices.ContainsFunc(problems, func(d engine.Diagnostic) bool { return d.Code == "too-large" }) {
			t.Errorf("%d problems, none of them too-large", len(problems))
		}
	}
	// Names are compared as everywhere, without their case, also where one letter has several forms.
	p := compile(t, "SELECT symbol, SYMBOL, 1 AS K, qty AS a, qty FROM trades", engine.TableMode)
	if got := p.Output().String(); got != "symbol String, SYMBOL_2 String, K Long, a Long, qty Long" {
		t.Error(got)
	}
}

// FuzzCompile holds that no text makes the compiler panic or hang, that diagnostics lie in the text, and that what
// compiles explains itself the same way after another optimization and makes a flow.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		"SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 5 SECONDS)",
		"SELECT * FROM trades t JOIN quotes q ON t.symbol = q.symbol AND t.price > q.bid WHERE NOT (t.qty IN (1, 2, NULL)) ",
		"WITH a AS (SELECT DISTINCT symbol FROM trades), b AS (SELECT * FROM a UNION ALL SELECT symbol FROM quotes) SELECT COUNT(*) FROM b HAVING COUNT(*) > 1",
		"SELECT l ->> 'ccy' AS ccy, COUNT(DISTINCT l -> 'n') FROM trades s, UNNEST(s.legs) AS l GROUP BY ALL",
		"SELECT CASE symbol WHEN 'A' THEN CAST(qty AS TEXT) ELSE symbol END, _ts, _source FROM trades LATEST BY (symbol, qty)",
		"SELECT a FROM twice LEFT JOIN positions USING (x) EMIT CHANGES UNION SELECT 1",
		"SELECT t.symbol FROM trades t LEFT JOIN quotes q ON q.bid > t.price AND t.qty IN (SELECT qty FROM trades) WHERE NOT EXISTS (SELECT 1 FROM quotes z WHERE z.symbol = t.symbol EXCEPT SELECT 2 FROM trades)",
		"SELECT symbol, (SELECT MAX(q.bid) FROM quotes q WHERE q.ask < t.price HAVING COUNT(*) > 1) FROM trades t CROSS JOIN LATERAL (SELECT l FROM UNNEST(t.legs) AS l) x",
		"WITH RECURSIVE r AS (SELECT symbol, 1 AS n FROM trades UNION SELECT t.symbol, r.n + 1 FROM r JOIN trades t USING (symbol)) MAX RECURSION 5 SELECT * FROM r NATURAL FULL JOIN quotes",
		"SELECT t.symbol, q.bid FROM trades t ASOF LEFT JOIN quotes q ON t.symbol = q.symbol AND q._ts < t._ts WHERE t.symbol IN (SELECT symbol FROM nope WHERE _ts > t._ts)",
		"SELECT symbol, SUM(SUM(qty)) OVER (PARTITION BY symbol ORDER BY MAX(price) DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM trades GROUP BY symbol",
		"SELECT * FROM (SELECT *, ROW_NUMBER() OVER w AS rn, LAG(price, 2, 0) OVER (w RANGE 1 PRECEDING) FROM trades WINDOW w AS (ORDER BY qty)) x WHERE rn <= 2",
		"SELECT window_start, window_end, window_start AS window_end FROM trades WINDOW TUMBLING(SIZE 1 HOUR)",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, sql string, table bool) {
		mode := engine.PipelineMode
		if table {
			mode = engine.TableMode
		}
		p, problems := engine.Compile(sql, demo, mode, engine.Options{})
		for _, d := range problems {
			if d.Pos.Offset < 0 || d.Pos.End > len(sql) || d.Pos.Line < 1 || d.Pos.Column < 1 || d.Code == "" || d.Message == "" {
				t.Fatalf("%q: %+v", sql, d)
			}
		}
		if (p == nil) != engine.HasErrors(problems) {
			t.Fatalf("%q: program %v, problems %v", sql, p != nil, problems)
		}
		if p == nil {
			return
		}
		if again := p.Explain(); again == "" || p.NewFlow() == nil {
			t.Fatalf("%q: no plan", sql)
		}
	})
}

// TestNestedCorrelation holds that a deep nest of correlated subqueries is planned or refused in time.
func TestNestedCorrelation(t *testing.T) {
	for _, depth := range []int{3, 12, 40} {
		for _, op := range []string{"=", "<"} {
			sql := "SELECT k FROM events t0 WHERE n > 0"
			for i := 1; i <= depth; i++ {
				sql += fmt.Sprintf(" AND EXISTS (SELECT 1 FROM events t%d WHERE t%d.n %s t%d.n", i, i, op, i-1)
			}
			sql += strings.Repeat(")", depth)
			p, problems := engine.Compile(sql, nested{}, engine.TableMode, engine.Options{})
			if p == nil && (depth < 4 || problems[0].Code != "too-large" && problems[0].Code != "too-deep") {
				t.Errorf("depth %d, %s: %v", depth, op, problems)
			}
		}
	}
}

type nested struct{}

func (nested) Relations(name string) []engine.Relation {
	return []engine.Relation{{Name: name, Kind: engine.Source, Schema: types.Schema{{Name: "k", Kind: types.String}, {Name: "n", Kind: types.Long}}}}
}

func (nested) Names() []string { return []string{"events"} }

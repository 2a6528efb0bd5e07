package editor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/editor"
	"github.com/streamsforge/streamsforge/engine/types"
)

var world = catalog{
	{Name: "trades", Kind: engine.Source, AppendOnly: true, EventTime: true, Schema: types.Schema{
		{Name: "symbol", Kind: types.String}, {Name: "price", Kind: types.Double}, {Name: "qty", Kind: types.Long},
		{Name: "legs", Kind: types.Json, IsArray: true, Children: []types.Field{{Name: "ccy", Kind: types.String}}},
	}},
	{Name: "quotes", Kind: engine.Source, AppendOnly: true, EventTime: true, Schema: types.Schema{{Name: "symbol", Kind: types.String}, {Name: "bid", Kind: types.Double}}},
	{Name: "positions", Kind: engine.Table, Schema: types.Schema{{Name: "symbol", Kind: types.String}, {Name: "total", Kind: types.Long}}, Key: []string{"symbol"}},
}

// mark takes the cursor "|" out of a text.
func mark(t *testing.T, s string) (string, int) {
	t.Helper()
	at := strings.IndexByte(s, '|')
	if at < 0 {
		t.Fatalf("no cursor in %q", s)
	}
	return s[:at] + s[at+1:], at
}

// At the cursor the first labels are those of want; a label behind ! is not offered at all.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		mode engine.Mode
		at   string
		want string
	}{
		{engine.TableMode, "|", "SELECT WITH"},
		{engine.TableMode, "sel|", "SELECT"},
		{engine.TableMode, "SELECT * FROM |", "positions quotes trades UNNEST"},
		{engine.TableMode, "SELECT * FROM tr|", "trades !positions"},
		{engine.TableMode, "SELECT * FROM tr|ades WHERE qty > 1", "trades"},
		{engine.TableMode, "SELECT sy| FROM trades", "symbol"},
		{engine.TableMode, "SELECT | FROM trades", "symbol price qty legs"},
		{engine.TableMode, "SELECT t.| FROM trades t JOIN quotes q ON t.symbol = q.symbol", "symbol price qty legs * _ts !bid !SUM"},
		{engine.TableMode, "SELECT q.b| FROM trades t JOIN quotes q ON t.symbol = q.symbol", "bid !symbol"},
		{engine.TableMode, "SELECT sym| FROM trades t JOIN quotes q ON t.symbol = q.symbol", "symbol"},
		{engine.TableMode, "SELECT * FROM trades t JOIN quotes q ON |", "t.symbol_=_q.symbol t.symbol price qty legs q.symbol bid t q !SUM"},
		{engine.TableMode, "SELECT * FROM trades t JOIN quotes q |", "ON USING !AS !WITHIN"},
		{engine.PipelineMode, "SELECT * FROM trades t JOIN quotes q |", "ON USING WITHIN"},
		{engine.PipelineMode, "SELECT * FROM trades t JOIN quotes q WITHIN 5 |", "SECONDS MINUTES HOURS MILLISECONDS"},
		{engine.PipelineMode, "SELECT * FROM |", "quotes trades !positions"},
		{engine.TableMode, "WITH big AS (SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol) SELECT | FROM big", "symbol total"},
		{engine.TableMode, "WITH big AS (SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol) SELECT * FROM |", "big positions"},
		{engine.TableMode, "WITH big AS (SELECT symbol, nonsense(qty) AS total FROM trades) SELECT b.| FROM big b", "symbol total"},
		{engine.TableMode, "SELECT d.| FROM (SELECT symbol AS s, price * qty AS worth FROM trades) AS d", "s worth"},
		{engine.TableMode, "SELECT * FROM trades t WHERE EXISTS (SELECT 1 FROM quotes q WHERE q.symbol = t.|)", "symbol price qty legs"},
		{engine.TableMode, "SELECT * FROM trades WHERE symbol IN (|", "symbol price qty legs"},
		{engine.TableMode, "SELECT * FROM trades WHERE qty > 1 |", "AND OR !SUM !WHERE !WINDOW !symbol"},
		{engine.TableMode, "SELECT symbol, COUNT(*) FROM trades GROUP BY symbol |", "HAVING !WINDOW !EMIT"},
		{engine.PipelineMode, "SELECT symbol, COUNT(*) FROM trades GROUP BY symbol |", "WINDOW WINDOW_TUMBLING !LATEST_BY"},
		{engine.PipelineMode, "SELECT symbol, COUNT(*) FROM trades GROUP BY symbol WINDOW |", "TUMBLING HOPPING SESSION"},
		{engine.PipelineMode, "SELECT symbol, COUNT(*) FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 5 |)", "SECONDS MINUTES HOURS MILLISECONDS"},
		{engine.PipelineMode, "SELECT symbol, COUNT(*) FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 5 SECONDS) EMIT |", "FINAL CHANGES"},
		{engine.TableMode, "SELECT * FROM trades LAT|", "LATEST_BY"},
		{engine.TableMode, "SELECT CAST(qty AS |", "TEXT BIGINT"},
		{engine.TableMode, "SELECT CAST(qty AS DOUBLE |) FROM trades", "PRECISION"},
		{engine.TableMode, "SELECT cou| FROM trades", "COUNT"},
		{engine.TableMode, "SELECT symbol FROM trades ORDER |", "BY"},
		{engine.TableMode, "SELECT qty IS | FROM trades", "NULL"},
		{engine.TableMode, "SELECT CASE WHEN qty > 1 | FROM trades", "THEN"},
		{engine.TableMode, "SELECT qty AS n, | FROM trades GROUP BY n", "symbol"},
		{engine.TableMode, "SELECT l FROM trades t, UNNEST(t.|) AS l", "symbol price qty legs"},
		{engine.TableMode, "SELECT * FROM trades JOIN quotes USING (|", "symbol !bid"},
		{engine.TableMode, "SELECT 'sy|' FROM trades", ""},
		{engine.TableMode, "SELECT 'sy| FROM trades", ""},
		{engine.TableMode, "SELECT symbol -- sy|\nFROM trades", ""},
		{engine.TableMode, "SELECT symbol FROM trades WHERE qty > 5|", ""},
		{engine.TableMode, "SELECT symbol AS | FROM trades", ""},
		{engine.TableMode, "SELECT stdp| FROM trades", "STDDEV_POP"},
		{engine.TableMode, "INSERT INTO alerts SELECT | FROM quotes", "symbol bid"},
	} {
		sql, at := mark(t, c.at)
		l := editor.Complete(sql, at, world, c.mode)
		var labels []string
		have := map[string]bool{}
		for _, it := range l.Items {
			label := strings.ReplaceAll(it.Label, " ", "_")
			labels = append(labels, label)
			have[label] = true
		}
		n := 0
		for _, w := range strings.Fields(c.want) {
			if no, is := strings.CutPrefix(w, "!"); is {
				if have[no] {
					t.Errorf("%s (%s): %s is offered", c.at, c.mode, no)
				}
				continue
			}
			if n >= len(labels) || labels[n] != w {
				t.Errorf("%s (%s): offered %v, want %s as number %d", c.at, c.mode, labels[:min(len(labels), 12)], w, n+1)
			}
			n++
		}
		if c.want == "" && len(labels) > 0 {
			t.Errorf("%s: offered %v, want nothing", c.at, labels[:min(len(labels), 12)])
		}
	}
}

// The range that an item replaces is the whole word at the cursor.
func TestCompleteReplacesTheWord(t *testing.T) {
	sql, at := mark(t, "SELECT Ünï, pri|ce FROM trades")
	l := editor.Complete(sql, at, world, engine.TableMode)
	if sql[l.From:l.To] != "price" || l.Items[0].Insert != "price" || l.Items[0].Detail != "Double" {
		t.Errorf("%q %+v", sql[l.From:l.To], l.Items[0])
	}
	sql, at = mark(t, "SELECT SU|(price) FROM trades")
	if it := editor.Complete(sql, at, world, engine.TableMode).Items[0]; it.Insert != "SUM" || it.Snippet {
		t.Errorf("%+v", it)
	}
	sql, at = mark(t, "SELECT SU| FROM trades")
	if it := editor.Complete(sql, at, world, engine.TableMode).Items[0]; it.Insert != "SUM(${1})" || !it.Snippet || it.Doc == "" {
		t.Errorf("%+v", it)
	}
}

func TestHover(t *testing.T) {
	for at, want := range map[string]string{
		"SELECT sym|bol FROM trades":                                            "symbol String / Column of trades (source).",
		"SELECT t.qty| FROM trades t":                                           "qty Long / Column of t (source trades).",
		"SELECT q.bid| FROM trades t LEFT JOIN quotes q ON t.symbol = q.symbol": "bid Double / Column of q (source quotes). / NULL for rows without a partner: the join is an outer one.",
		"SELECT symbol| FROM trades t JOIN quotes q ON t.symbol = q.symbol":     "symbol: in several relations / It is a column of t (String) and q (String).",
		"SELECT symbol| FROM positions":                                         "symbol String / Column of positions (table). / Part of its key.",
		"SELECT legs| FROM trades":                                              "legs Json[] / Column of trades (source). / -> 'ccy' String",
		"SELECT _ts| FROM trades":                                               "_ts Long / Event time of the row in milliseconds since the epoch. / Column of trades (source).",
		"SELECT * FROM tra|des":                                                 "trades: source / Append: no row is taken back. / symbol String / price Double / qty Long / legs Json[]",
		"SELECT * FROM positions| AS p":                                         "p is positions: table / Upsert: a row replaces the one with the same key (symbol). / symbol String / total Long",
		"SELECT * FROM positions AS p|":                                         "p is positions: table / Upsert: a row replaces the one with the same key (symbol). / symbol String / total Long",
		"SELECT p|.total FROM positions p":                                      "p is positions: table / Upsert: a row replaces the one with the same key (symbol). / symbol String / total Long",
		"WITH b|ig AS (SELECT symbol, SUM(qty) AS n FROM trades GROUP BY symbol) SELECT * FROM big": "big: query of WITH / symbol String / n Long",
		"WITH big AS (SELECT symbol, SUM(qty) AS n FROM trades GROUP BY symbol) SELECT * FROM big|": "big: query of WITH / symbol String / n Long",
		"WITH big AS (SELECT symbol, SUM(qty) AS n FROM trades GROUP BY symbol) SELECT n| FROM big": "n Long / Column of big (WITH).",
		"SELECT d|.n FROM (SELECT SUM(qty) AS n FROM trades) d":                                     "d: subquery / n Long",
		"SELECT SUM(qty) AS tot|al FROM trades":                                                     "total Long / Output column: SUM(qty)",
		"SELECT su|m(qty) FROM trades":                                                              "SUM(x) → Long for Long, else Double / Exact sum of the numbers, with DISTINCT of different ones; everything that is not a number is ignored. NULL when a Long result leaves 64 bits. / Over no rows it is 0.",
		"SELECT VAR|IANCE(qty) FROM trades":                                                         "VAR_SAMP(x) → Double / The same as VAR_SAMP. / Variance of the numbers as a sample, from exact sums; NULL for one. / Over no rows it is NULL.",
		"SELECT FLO|OR(price) FROM trades":                                                          "FLOOR(x) → Double / The largest whole number that is not above x. / Example: FLOOR(-1.2) = -2",
		"SELECT legs -|> 0 FROM trades":                                                             "x -> 'key', x -> 0 → Json / Member or element of a Json value, also by a computed key; NULL when absent.",
		"SELECT * FROM trades GROU|P BY symbol":                                                     "GROUP BY / One row for each group of equal keys.",
		"SELECT * FROM trades WINDOW TUM|BLING(SIZE 5 SECONDS)":                                     "TUMBLING / Windows of one size, one after the other: TUMBLING(SIZE 5 SECONDS).",
		"SELECT CAST(qty AS TE|XT) FROM trades":                                                     "TEXT / The kind String.",
		"SELECT l| FROM trades t, UNNEST(t.legs) AS l":                                              "l: element of an array, Json / One row for each element; read members with -> and ->>.",
		"SELECT * FROM trades t WHERE EXISTS (SELECT 1 FROM quotes q WHERE q.bid > t.pri|ce)":       "price Double / Column of t (source trades), of the query around this one.",
		"SELECT window_|end FROM trades WINDOW TUMBLING(SIZE 5 SECONDS)":                            "window_end Long / End of the window, which is no part of it, in milliseconds since the epoch.",
		"SELECT 'sym|bol' FROM trades":                                                              "",
		"SELECT nothing| FROM trades":                                                               "",
		"SELECT symbol FROM trades -- sym|bol":                                                      "",
		"|":                                                                                         "",
	} {
		sql, offset := mark(t, at)
		got := ""
		if tip := editor.Hover(sql, offset, world, engine.TableMode); tip != nil {
			got = strings.Join(append([]string{tip.Title}, tip.Lines...), " / ")
		}
		if got != want {
			t.Errorf("%s\ngave %s\nwant %s", at, got, want)
		}
	}
}

func TestSignature(t *testing.T) {
	for at, want := range map[string]string{
		"SELECT SUM(|":                                "SUM(x) 0:x",
		"SELECT ROUND(price, | FROM trades":           "ROUND(x [, digits]) 1:digits",
		"SELECT ROUND(SUM(|price), 2)":                "SUM(x) 0:x",
		"SELECT ROUND(SUM(price)|, 2)":                "ROUND(x [, digits]) 0:x",
		"SELECT ROUND((price + |), 2)":                "ROUND(x [, digits]) 0:x",
		"SELECT COALESCE(a, b, c, |":                  "COALESCE(a, ...) 1:...",
		"SELECT STRING_AGG(DISTINCT a, ',| ":          "STRING_AGG([DISTINCT] x, separator [ORDER BY y [DESC], ...]) 1:separator",
		"SELECT COUNT(|":                              "COUNT(*), COUNT([DISTINCT] x) 0:x",
		"SELECT ABS(a, |":                             "ABS(x) -1:",
		"SELECT POSITION('a' IN |":                    "POSITION(part IN s) 1:s",
		"SELECT SUBSTRING(a FROM 1 FOR |":             "SUBSTRING(s, from [, n]) 2:n",
		"SELECT pow(a, |":                             "POWER(x, y) 1:y",
		"SELECT CAST(|":                               "CAST(x AS kind) 0:x",
		"SELECT SUM|(a)":                              "",
		"SELECT SUM(a)|":                              "",
		"SELECT nothing(|":                            "",
		"SELECT SUM((SELECT |":                        "",
		"SELECT IF(a, ')', |":                         "IF(condition, a, b) 2:b",
		"SELECT a FROM t WHERE LPAD(a, -- ,,\n 2, |)": "LPAD(s, n [, fill]) 2:fill",
	} {
		sql, offset := mark(t, at)
		got := ""
		if c := editor.Signature(sql, offset); c != nil {
			active := ""
			if c.Active >= 0 {
				p := c.Parameters[c.Active]
				active = c.Label[p.From:p.To]
				if active != p.Label {
					t.Errorf("%s: parameter %q is at %q", at, p.Label, active)
				}
			}
			got = fmt.Sprintf("%s %d:%s", c.Label, c.Active, active)
		}
		if want == "POWER(x, y) 1:y" {
			want = "POW(x, y) 1:y"
		}
		if got != want {
			t.Errorf("%s\ngave %s\nwant %s", at, got, want)
		}
	}
}

// Example shows what stands behind the alias of a relation.
func ExampleComplete() {
	list := editor.Complete("SELECT t. FROM trades t", 9, world, engine.TableMode)
	for _, it := range list.Items[:3] {
		fmt.Println(it.Label, it.Detail)
	}
	// Output:
	// symbol String
	// price Double
	// qty Long
}

// Any text and any offset is answered without a panic, and every range lies in the text.
func FuzzServices(f *testing.F) {
	for i, sql := range statements(f) {
		f.Add(sql, i%(len(sql)+3)-1)
		f.Add(sql[:len(sql)/2], len(sql)/2)
	}
	f.Add("SELECT 'ünï🎉 FROM", 11)
	f.Add("SELECT (((((", 99)
	f.Fuzz(func(t *testing.T, sql string, offset int) {
		for _, mode := range []engine.Mode{engine.TableMode, engine.PipelineMode} {
			l := editor.Complete(sql, offset, world, mode)
			if l.From < 0 || l.From > l.To || l.To > len(sql) {
				t.Errorf("%q at %d: range %d to %d", sql, offset, l.From, l.To)
			}
			if tip := editor.Hover(sql, offset, world, mode); tip != nil && (tip.From < 0 || tip.From > tip.To || tip.To > len(sql) || tip.Title == "") {
				t.Errorf("%q at %d: %+v", sql, offset, tip)
			}
		}
		if c := editor.Signature(sql, offset); c != nil && c.Active >= len(c.Parameters) {
			t.Errorf("%q at %d: %+v", sql, offset, c)
		}
	})
}

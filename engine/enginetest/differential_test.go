package enginetest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/enginetest"
	"github.com/streamsforge/streamsforge/engine/types"
)

var (
	rounds = flag.Int("rounds", 400, "random worlds of TestDifferential")
	seed   = flag.Uint64("seed", 1, "first seed of TestDifferential")
)

// TestDifferential makes random statements over random rows with retractions, and holds that the engine agrees with
// the reference after every step, and with itself however the rows are cut.
func TestDifferential(t *testing.T) {
	n := *rounds
	if testing.Short() {
		n = min(n, 100)
	}
	for i := range n {
		if s := *seed + uint64(i); !differential(t, s) {
			t.Logf("again with -run TestDifferential -args -seed=%d -rounds=1", s)
			return
		}
	}
}

func differential(t *testing.T, s uint64) bool {
	g := &generator{Rand: rand.New(rand.NewPCG(s, 7))}
	mode := engine.TableMode
	if g.IntN(4) == 0 {
		mode = engine.PipelineMode
	}
	g.tables = mode == engine.TableMode
	sql := g.statement(mode)
	strict := g.IntN(4) == 0
	steps := g.steps(2 + g.IntN(5))
	var want []enginetest.Row
	for _, v := range []enginetest.Variant{enginetest.Oracle, enginetest.AsWritten, enginetest.Restarted, enginetest.SingleRows, enginetest.Coalesced, enginetest.Joined} {
		o := engine.Options{StrictNotIn: strict}
		if v != enginetest.Oracle && mode == engine.PipelineMode {
			o.IdleMs = 1 << 40 // when an input falls idle depends on how epochs are cut
		}
		w := enginetest.NewWorld(v)
		for _, r := range relations {
			w.Declare(r)
		}
		if p, problems := w.Define("q", sql, mode, o); p == nil {
			t.Errorf("seed %d: %s\ndoes not compile: %v", s, sql, problems)
			return false
		}
		for _, rows := range steps {
			if err := w.Step(append([]enginetest.Event(nil), rows...)); err != nil {
				t.Errorf("seed %d, %s: %s\n%v\n%s", s, v, sql, err, describe(steps))
				return false
			}
		}
		have, err := w.Rows("q")
		if err != nil {
			t.Errorf("seed %d, %s: %s\n%v", s, v, sql, err)
			return false
		}
		if v == enginetest.AsWritten {
			want = have
		} else if v == enginetest.Oracle {
			continue
		} else if diff := enginetest.Difference(want, have); diff != "" {
			t.Errorf("seed %d, %s: %s\nthe reference is the run as written\n%s", s, v, sql, diff)
			return false
		}
	}
	return true
}

func describe(steps [][]enginetest.Event) string {
	var b strings.Builder
	for _, rows := range steps {
		b.WriteString("step\n")
		for _, r := range rows {
			fmt.Fprintf(&b, "%s %+d @%dms %s\n", r.Relation, r.Weight, r.Ts, enginetest.FormatRow(nil, enginetest.Row{Values: r.Values}))
		}
	}
	return b.String()
}

func field(name string, k types.Kind) types.Field { return types.Field{Name: name, Kind: k} }

var columns = types.Schema{
	field("k", types.String), field("a", types.Long), field("b", types.Long), field("x", types.Double),
	field("f", types.Bool), field("t", types.Timestamp), field("j", types.Json), field("l", types.Json),
}

// relations are two sources and two tables of somebody else with the same columns.
var relations = []engine.Relation{
	{Name: "events", Kind: engine.Source, Schema: columns, EventTime: true, AppendOnly: true},
	{Name: "others", Kind: engine.Source, Schema: columns, EventTime: true, AppendOnly: true},
	{Name: "bag", Kind: engine.Table, Schema: columns, EventTime: true},
	{Name: "state", Kind: engine.Table, Schema: columns},
}

// generator makes random statements and rows.
type generator struct {
	*rand.Rand
	aliases []string
	tables  bool // the statement is a table
	depth   int
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) steps(n int) [][]enginetest.Event {
	present := map[string][]enginetest.Event{}
	now := int64(1000)
	out := make([][]enginetest.Event, n)
	for i := range out {
		for range g.IntN(8) {
			r := pick(g, relations...)
			now += int64(g.IntN(1500))
			e := enginetest.Event{Relation: r.Name, Weight: 1, Ts: now - int64(g.IntN(2500))}
			if have := present[r.Name]; r.Kind == engine.Table && len(have) > 0 && g.IntN(3) == 0 {
				at := g.IntN(len(have))
				e = have[at]
				e.Weight = -1
				present[r.Name] = append(have[:at:at], have[at+1:]...)
				out[i] = append(out[i], e)
				continue
			}
			for _, f := range r.Schema {
				e.Values = append(e.Values, g.cell(f))
			}
			if r.Kind == engine.Table {
				present[r.Name] = append(present[r.Name], e)
			}
			out[i] = append(out[i], e)
		}
	}
	return out
}

func (g *generator) cell(f types.Field) types.Value {
	if g.IntN(6) == 0 {
		return types.Null(f.Kind)
	}
	switch f.Kind {
	case types.String:
		return types.StringOf(pick(g, "A", "B", "Apple", "", "7", "ünï", "1.5"))
	case types.Long:
		return types.LongOf(pick(g, int64(0), 1, 2, 3, -1, 7, 1<<62, -1<<63))
	case types.Double:
		return types.DoubleOf(pick(g, 0.0, 1, 2.5, -0.5, 1e300, 0.1, 3))
	case types.Bool:
		return types.BoolOf(g.IntN(2) == 0)
	case types.Timestamp:
		return types.TimestampOf(pick(g, int64(0), 1000, 86_400_000))
	}
	if f.Name == "l" {
		return types.JsonOf(pick(g, `[]`, `[1,2]`, `[{"c":"x","n":1},{"c":"y","n":2.5}]`, `[null,{"c":null}]`))
	}
	return types.JsonOf(pick(g, `{"n":1,"s":"A"}`, `{"n":"2.5"}`, `{"n":null,"o":{"s":"deep"}}`, `5`, `[3]`))
}

// statement makes a whole statement of a mode.
func (g *generator) statement(mode engine.Mode) string {
	if mode == engine.PipelineMode {
		switch g.IntN(10) {
		case 0:
			return g.plain("events")
		case 8, 9:
			return g.rolling()
		case 1:
			return g.plain("events", types.String) + " UNION ALL " + g.samePlain("events")
		case 2, 3:
			g.aliases = []string{"r", "q"}
			from := g.interval()
			return "SELECT " + g.scalar(types.String) + " AS c1, r.a AS c2, q.a AS c3, q._ts AS ts" + from + g.where() + g.lateness()
		case 4:
			g.aliases = []string{"r", "q"}
			return "SELECT r.k AS c1, COUNT(*) AS n, SUM(q.a % 9) AS s" + g.interval() + g.where() + " GROUP BY r.k" + g.window()
		case 5:
			return "SELECT w.k, COUNT(*) AS n, SUM(w.n) AS m FROM (SELECT k, COUNT(*) AS n FROM events GROUP BY k" + g.window() + ") AS w GROUP BY w.k" + g.window()
		}
		return g.grouped("events") + g.window()
	}
	switch g.IntN(10) {
	case 0:
		return g.plain(g.relation())
	case 8:
		one := func() string {
			return "SELECT r.k, " + pick(g, "r.a", "r.x") + " FROM " + g.relation() + " AS r" + g.where()
		}
		g.aliases = []string{"r"}
		op := func() string { return pick(g, " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL ") }
		set := one() + op() + one()
		switch g.IntN(3) {
		case 0:
			return set + pick(g, " UNION ALL ", op()) + one()
		case 1:
			return "SELECT r.k AS c1 FROM bag AS r WHERE (r.k IN (SELECT k FROM (" + set + ") s))"
		}
		if g.IntN(2) == 0 {
			return "WITH RECURSIVE z AS (SELECT r.k, r.a FROM " + g.relation() + " AS r" + g.where() + pick(g, " UNION ", " UNION ALL ") +
				"SELECT r.k, r.b FROM z JOIN " + g.relation() + " AS r ON r.a = z.a" + g.where() + ")" + pick(g, "", " MAX RECURSION 1", " MAX RECURSION 3") +
				pick(g, " SELECT k AS c1, a AS c2 FROM z", " SELECT a AS c1, COUNT(*) AS n FROM z GROUP BY a")
		}
		return set
	case 9:
		g.aliases = []string{"r"}
		inner := pick(g, "SELECT z.k, z.x AS v FROM "+g.relation()+" AS z WHERE z.a = r.a", "SELECT SUM(z.a) AS v FROM "+g.relation()+" AS z WHERE z.a > r.b",
			"SELECT e AS v FROM UNNEST(r.l) AS e", "SELECT COUNT(*) AS v FROM "+g.relation()+" AS z GROUP BY z.k, r.k HAVING COUNT(*) > 1", "SELECT DISTINCT z.k AS v FROM bag AS z WHERE z.k <> r.k")
		join := pick(g, "CROSS JOIN LATERAL (", "JOIN LATERAL (", "LEFT JOIN LATERAL (")
		sql := "SELECT r.k AS c1, s.v AS c2 FROM " + g.relation() + " AS r " + join + inner + ") s"
		if !strings.HasPrefix(join, "CROSS") {
			sql += " ON " + pick(g, "TRUE", g.scalar(types.Bool))
		}
		return sql + g.where()
	case 1:
		return "SELECT DISTINCT " + g.scalar(types.String) + " AS c1, " + g.withAlias("r", func() string { return g.scalar(types.Long) }) + " AS c2 FROM " + g.relation() + " AS r" + g.where()
	case 2:
		return g.joined()
	case 3:
		return g.plain(g.relation(), types.String) + " UNION ALL " + g.samePlain(g.relation())
	case 4:
		return "SELECT k AS c1 FROM events UNION SELECT k FROM bag UNION SELECT k FROM state"
	case 5:
		g.aliases = []string{"r"}
		g.tables = false // over an input that takes rows back, LATEST BY depends on how changes are put together
		return "SELECT k, a, x, _ts AS ts FROM events AS r" + g.where() + " LATEST BY (" + pick(g, "k", "a", "k, a") + ")"
	}
	if g.IntN(4) == 0 {
		return g.limited()
	}
	return g.grouped(g.relation())
}

// interval is the FROM of a join of two streams, one of them perhaps with itself.
func (g *generator) interval() string {
	within := pick(g, "500 MILLISECONDS", "1 SECOND", "3 SECONDS")
	right := pick(g, "others", "others", "events", "(SELECT k, MAX(a) AS a, MIN(b) AS b, MAX(x) AS x FROM others GROUP BY k WINDOW TUMBLING(SIZE 1 SECOND))")
	if right[0] == '(' {
		g.aliases = []string{"r"} // q has fewer columns
	}
	if g.IntN(6) == 0 {
		return " FROM events AS r CROSS JOIN " + right + " AS q WITHIN " + within
	}
	on := pick(g, "r.k = q.k", "r.a = q.x", "q.x = r.x AND r.k = q.k", "r.a = q.b")
	if g.IntN(2) == 0 {
		on += " AND " + g.scalar(types.Bool)
	}
	return " FROM events AS r " + pick(g, "JOIN ", "LEFT JOIN ", "RIGHT JOIN ", "FULL JOIN ") + right + " AS q WITHIN " + within + " ON " + on
}

// rolling reads snapshots of windows.
func (g *generator) rolling() string {
	final := func() string {
		return strings.TrimSuffix(strings.TrimSuffix(g.window(), " EMIT CHANGES"), " EMIT FINAL")
	}
	from := pick(g, "events", "others")
	pred := pick(g,
		"r.k "+pick(g, "", "NOT ")+"IN (SELECT k FROM "+from+" GROUP BY k HAVING COUNT(*) < 3"+final()+")",
		"r.a IN (SELECT s.x FROM (SELECT k, MAX(x) AS x FROM "+from+" GROUP BY k"+final()+") AS s)",
		pick(g, "", "NOT ")+"EXISTS (SELECT COUNT(*) FROM "+from+" HAVING COUNT(*) > 1"+final()+")",
		"(r.x > (SELECT AVG(x) FROM "+from+final()+") OR r.f)")
	if g.IntN(2) == 0 {
		return "SELECT r.k AS c1, r.a AS c2, (SELECT COUNT(*) FROM others" + final() + ") AS c3 FROM events AS r WHERE " + pred
	}
	return "SELECT r.k AS c1, COUNT(*) AS n FROM events AS r WHERE " + pred + " GROUP BY r.k" + g.window()
}

func (g *generator) lateness() string {
	return pick(g, "", "", " ALLOWED LATENESS 1 SECOND", " ALLOWED LATENESS 2500 MILLISECONDS",
		" ALLOWED LATENESS 1 SECOND DROP", " ALLOWED LATENESS 0 SECONDS SIDE STREAM")
}

func (g *generator) window() string {
	return " WINDOW " + pick(g, "TUMBLING(SIZE 1 SECOND)", "TUMBLING(SIZE 3 SECONDS)", "TUMBLING(SIZE 500 MILLISECONDS)",
		"HOPPING(SIZE 2 SECONDS, ADVANCE BY 1 SECOND)", "HOPPING(SIZE 1500 MILLISECONDS, ADVANCE BY 400 MILLISECONDS)",
		"HOPPING(SIZE 1 SECOND, ADVANCE BY 2 SECONDS)", "SESSION(GAP 500 MILLISECONDS)", "SESSION(GAP 2 SECONDS)") +
		g.lateness() + pick(g, "", "", " EMIT FINAL", " EMIT CHANGES")
}

func (g *generator) relation() string { return pick(g, "events", "bag", "state") }

func (g *generator) withAlias(alias string, f func() string) string {
	old := g.aliases
	g.aliases = []string{alias}
	defer func() { g.aliases = old }()
	return f()
}

func (g *generator) plain(relation string, last ...types.Kind) string {
	if last == nil {
		last = []types.Kind{types.String, types.Bool, types.Long}
	}
	g.aliases = []string{"r"}
	if g.tables && len(last) == 3 && g.IntN(6) == 0 {
		return "SELECT r.k AS c1, " + g.subquery() + " AS c2 FROM " + relation + " AS r" + g.where()
	}
	return "SELECT r.k AS c1, " + g.scalar(types.Double) + " AS c2, " + g.scalar(pick(g, last...)) +
		" AS c3 FROM " + relation + " AS r" + g.where()
}

// samePlain fits plain in a union.
func (g *generator) samePlain(relation string) string {
	g.aliases = []string{"r"}
	return "SELECT " + g.scalar(types.String) + ", " + g.scalar(pick(g, types.Double, types.Long)) + ", NULL FROM " + relation + " AS r" + g.where()
}

func (g *generator) where() string {
	switch {
	case g.IntN(2) == 0:
		return ""
	case g.tables && g.IntN(2) == 0:
		return " WHERE " + pick(g, "", "NOT ", g.scalar(types.Bool)+" OR ", g.scalar(types.Bool)+" AND ", g.scalar(types.Bool)+" AND NOT ") + g.subquery()
	}
	return " WHERE " + g.scalar(types.Bool)
}

// subquery is a condition with a subquery. Its relation is called z; correlation is by equality, by more, or none.
func (g *generator) subquery() string {
	r := g.alias() + "."
	from := pick(g, g.relation()+" AS z", "(SELECT * FROM "+g.relation()+" AS y WHERE y.a > 0) AS z",
		g.relation()+" AS z LEFT JOIN "+g.relation()+" AS y ON y.k = z.k")
	correlation := pick(g, "", " WHERE z.k = "+r+"k", " WHERE z.a = "+r+"b AND z.f", " WHERE z.a < "+r+"a", " WHERE z.k = "+r+"k AND z.x > "+r+"x",
		" WHERE UPPER(z.k) = "+r+"k OR "+r+"f", " WHERE z.b > 0")
	switch g.IntN(4) {
	case 0:
		return "EXISTS (SELECT 1 FROM " + from + correlation + ")"
	case 1:
		return "(" + r + pick(g, "k", "k || ''") + pick(g, " IN ", " NOT IN ") + "(SELECT z.k FROM " + from + correlation + "))"
	case 2:
		return "(" + r + pick(g, "a", "x", "b") + pick(g, " IN ", " NOT IN ") + "(SELECT " + pick(g, "z.a", "z.x", "z.b + 1") + " FROM " + from + correlation + "))"
	}
	return "(" + g.scalar(types.Double) + pick(g, " > ", " <= ", " = ") + "(SELECT " + pick(g, "AVG(z.a)", "MAX(z.x)", "COUNT(*)", "SUM(z.b)") + " FROM " + from + correlation + "))"
}

// from is one of the forms of FROM with the alias r.
func (g *generator) from(relation string) string {
	switch g.IntN(4) {
	case 0:
		return "(SELECT * FROM " + relation + " AS r" + g.where() + ") AS r"
	case 1:
		return "(SELECT k, a + 1 AS a, b, x, f, t, j, l FROM " + relation + " AS r" + g.where() + ") AS r"
	}
	return relation + " AS r"
}

func (g *generator) grouped(relation string) string {
	g.aliases = []string{"r"}
	from := g.from(relation)
	if g.IntN(4) == 0 {
		from += pick(g, ", UNNEST(r.l) AS e", " LEFT JOIN UNNEST(r.l) AS e")
	}
	var keys, items []string
	for i := range g.IntN(3) {
		key := pick(g, "r.k", "r.a % 3", "r.f", "r.x", g.scalar(types.Long), g.scalar(types.String))
		keys = append(keys, key)
		items = append(items, fmt.Sprintf("%s AS k%d", key, i))
	}
	for i := range 1 + g.IntN(3) {
		items = append(items, fmt.Sprintf("%s AS g%d", g.aggregate(), i))
	}
	if g.IntN(3) == 0 {
		items = append(items, g.listing()+" AS l1")
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + from + g.where()
	if len(keys) > 0 {
		sql += " GROUP BY " + g.groupBy(keys)
	}
	if g.IntN(3) == 0 {
		sql += " HAVING " + g.aggregate() + " > " + pick(g, "0", "1", "1.5")
	}
	return sql
}

func (g *generator) aggregate() string {
	one := func() string {
		switch g.IntN(8) {
		case 0:
			return "COUNT(*)"
		case 1:
			return "COUNT(" + g.scalar(pick(g, types.String, types.Bool)) + ")"
		case 2:
			return pick(g, "COUNT", "COUNT", "SUM", "AVG", "MAX") + "(DISTINCT " + g.scalar(pick(g, types.Long, types.Double)) + ")"
		case 3:
			return "SUM(r.j -> 'n')"
		case 4:
			return pick(g, "MIN", "MAX") + "(" + g.scalar(types.Double) + ")"
		}
		if g.IntN(2) == 0 {
			return g.furtherAggregate()
		}
		return pick(g, "SUM", "AVG", "MIN", "MAX") + "(" + g.scalar(pick(g, types.Long, types.Double)) + ")"
	}
	if g.IntN(4) == 0 {
		return one() + pick(g, " + ", " - ", " / ", " * ") + one()
	}
	return one()
}

func (g *generator) joined() string {
	g.aliases = []string{"r", "q"}
	on := pick(g, "r.k = q.k", "r.a = q.b AND q.k = r.k", "r.a % 3 = q.a % 3", "UPPER(r.k) = q.k", "r.a > q.b", "r.t <> q.t")
	if g.IntN(2) == 0 {
		on += " AND " + g.scalar(types.Bool)
	}
	from := " FROM " + g.relation() + " AS r " + pick(g, "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL OUTER JOIN") + " " + g.relation() + " AS q ON " + on
	if g.IntN(6) == 0 {
		from = " FROM " + pick(g, "events", "bag") + " AS r ASOF " + pick(g, "JOIN ", "LEFT JOIN ") + pick(g, "events", "bag") + " AS q ON r.k = q.k" +
			pick(g, "", " AND q._ts <= r._ts", " AND r.a > q.a AND q.f", " AND r.t >= q.t")
	} else if g.IntN(8) == 0 {
		from = " FROM " + g.relation() + " AS r CROSS JOIN " + g.relation() + " AS q"
	}
	if g.IntN(4) == 0 {
		from += " " + pick(g, "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN") + " " + g.relation() + " AS s ON s.k = q.k" + pick(g, "", " AND s.a = r.a", " AND s.a > r.b")
	}
	from += g.where()
	if g.IntN(2) == 0 {
		return "SELECT " + g.scalar(types.String) + " AS c1, " + g.scalar(types.Long) + " AS c2" + from
	}
	key := pick(g, "r.k", "q.a", "r.f")
	return "SELECT " + key + " AS c1, COUNT(*) AS n, SUM(" + g.scalar(types.Long) + ") AS s" + from + " GROUP BY " + key
}

// scalar makes an expression of a kind.
func (g *generator) scalar(k types.Kind) string {
	if g.depth > 2 || g.IntN(3) == 0 {
		return g.leaf(k)
	}
	g.depth++
	defer func() { g.depth-- }()
	sub := g.scalar
	if g.IntN(6) == 0 {
		return "CASE WHEN " + sub(types.Bool) + " THEN " + sub(k) + pick(g, "", " ELSE "+sub(k), " ELSE NULL") + " END"
	}
	switch k {
	case types.Long:
		return pick(g, "("+sub(k)+pick(g, " + ", " - ", " * ", " % ")+sub(k)+")", "ABS("+sub(k)+")", "-("+sub(k)+")",
			"TO_LONG("+sub(pick(g, types.String, types.Double, types.Bool))+")", "COALESCE("+sub(k)+", 0)", "ROUND("+sub(k)+", 1)")
	case types.Double:
		return pick(g, "("+sub(k)+pick(g, " + ", " - ", " * ", " / ", " % ")+sub(pick(g, k, types.Long))+")", "ROUND("+sub(k)+", 1)",
			"CAST("+sub(pick(g, types.String, types.Long))+" AS DOUBLE)", "("+sub(types.Long)+" / "+sub(types.Long)+")", "ABS("+sub(k)+")")
	case types.Bool:
		n := pick(g, types.Long, types.Double)
		return pick(g, "("+sub(k)+pick(g, " AND ", " OR ")+sub(k)+")", "NOT ("+sub(k)+")",
			"("+sub(n)+pick(g, " = ", " <> ", " < ", " <= ", " > ", " >= ")+sub(pick(g, n, types.Long))+")",
			"("+sub(types.String)+pick(g, " = ", " < ", " >= ")+sub(types.String)+")", "("+sub(n)+" IS NULL)", "("+sub(k)+" IS NOT TRUE)",
			"("+sub(n)+" BETWEEN "+sub(n)+" AND "+sub(n)+")", "("+sub(types.Long)+" NOT IN (1, "+sub(types.Long)+", NULL))",
			"("+sub(types.Long)+" IN (1, 2, 3.0))", "("+sub(types.String)+" LIKE 'A%')", "("+sub(n)+" IS DISTINCT FROM "+sub(n)+")")
	}
	return pick(g, "UPPER("+sub(k)+")", "("+sub(k)+" || "+sub(k)+")", "TO_STRING("+sub(pick(g, types.Long, types.Double, types.Bool))+")",
		"COALESCE("+sub(k)+", 'none')", "IF("+sub(types.Bool)+", "+sub(k)+", 'else')", "TO_STRING(TO_TIMESTAMP("+sub(types.Long)+"))", "CAST("+g.alias()+".t AS TEXT)")
}

func (g *generator) alias() string {
	if len(g.aliases) == 0 {
		g.aliases = []string{"r"}
	}
	return pick(g, g.aliases...)
}

func (g *generator) leaf(k types.Kind) string {
	r := g.alias() + "."
	switch k {
	case types.Long:
		return pick(g, r+"a", r+"b", "1", "0", "2", r+"a")
	case types.Double:
		return pick(g, r+"x", "0.5", "2.0", "TO_DOUBLE("+r+"j -> 'n')", r+"x")
	case types.Bool:
		return pick(g, r+"f", "TRUE", "("+r+"a > 1)", "("+r+"k = 'A')", "(NULL IS NULL)")
	}
	return pick(g, r+"k", "'A'", r+"j ->> 's'", r+"j -> 'o' ->> 's'", r+"l -> 0 ->> 'c'")
}

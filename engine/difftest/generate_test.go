package difftest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
)

// generator makes random schemas, rows and statements.
type generator struct {
	*rand.Rand
	schema  types.Schema
	aliases []string // what columns can be taken of
	depth   int
	// names of the relations that statements read.
	names []string
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// chance is true once in n.
func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 11)), names: []string{"events", "bag", "state", "newest"}}
	fixed := []struct {
		name string
		kind types.Kind
	}{{"k", types.String}, {"a", types.Long}, {"b", types.Long}, {"x", types.Double}, {"f", types.Bool}, {"t", types.Timestamp},
		{"j", types.Json}, {"l", types.Json}}
	for _, f := range fixed {
		g.schema = append(g.schema, types.Field{Name: f.name, Kind: f.kind})
	}
	for i := range g.IntN(4) {
		g.schema = append(g.schema, types.Field{Name: fmt.Sprintf("e%d", i), Kind: pick(g, types.String, types.Long, types.Double, types.Bool, types.Timestamp)})
	}
	g.Shuffle(len(g.schema), func(i, j int) { g.schema[i], g.schema[j] = g.schema[j], g.schema[i] })
	return g
}

var texts = []string{"A", "A", "b", "B", "", " ", "Ä", "ß", "é", "日本", "12", "-7", "1.5", "1,234", "a%b", "a_b", "O'Neil", "true", "0", "\U0001F600", "zz top"}

var doubles = []float64{0, math.Copysign(0, -1), 0.5, 1, -1.25, 2.5, 0.1, 100, -3, 1e15, 9007199254740993, 1e308, -1e308, 5e-324, 1e-7, 123456.789}

var longs = []int64{0, 1, 1, 2, 3, -1, -2, 7, 100, math.MaxInt64, math.MinInt64, 9007199254740993, 1 << 31}

// cell is a random value. Keys repeat, so that groups and joins meet.
func (g *generator) cell(f types.Field) types.Value {
	if g.chance(7) {
		return types.Null(f.Kind)
	}
	rare := g.chance(3)
	switch f.Kind {
	case types.String:
		if rare {
			return types.StringOf(pick(g, texts...))
		}
		return types.StringOf(pick(g, "A", "B", "c"))
	case types.Long:
		if rare {
			return types.LongOf(pick(g, longs...))
		}
		return types.LongOf(int64(g.IntN(5)))
	case types.Double:
		if rare {
			return types.DoubleOf(pick(g, doubles...))
		}
		return types.DoubleOf(float64(g.IntN(9)) / 4)
	case types.Bool:
		return types.BoolOf(g.chance(2))
	case types.Timestamp:
		return types.TimestampOf(pick(g, int64(0), 1, 1000, 86_400_000, 1_700_000_000_123, -1))
	}
	if f.Name == "l" {
		return types.JsonOf(pick(g, `[]`, `[1,2]`, `[{"c":"x","n":1},{"c":"y","n":2.5}]`, `[null,{"c":null}]`, `"no"`, `{"c":[1]}`, `[2,2,[3]]`))
	}
	return types.JsonOf(pick(g, `{"n":1,"s":"A"}`, `{"n":"2.5"}`, `{"n":null,"o":{"s":"deep"}}`, `5`, `[3]`, `{"n":true,"s":12}`, `{"n":-0.25,"s":"Ä"}`))
}

// statement makes a table's statement.
func (g *generator) statement() string {
	g.depth = 0
	switch g.IntN(22) {
	case 0, 1:
		return g.plain()
	case 2:
		g.aliases = []string{"r"}
		return "SELECT DISTINCT " + g.scalar(types.String) + " AS c1, " + g.scalar(types.Long) + " AS c2, " + g.scalar(types.Double) + " AS c3 FROM " + g.from("r") + g.where()
	case 3, 4, 5:
		return g.joined()
	case 6:
		return g.setOperation()
	case 7:
		return g.topN()
	case 8:
		return g.membership()
	case 9:
		return g.withQuery()
	case 11:
		return g.recursive()
	case 12, 13:
		return g.groupingSets()
	case 19, 20, 21:
		return g.windowed()
	case 10:
		g.aliases = []string{"r"}
		return "SELECT " + g.columns("r") + " FROM events AS r" + g.where() + " LATEST BY (" + pick(g, "k", "a", "k, a", "r.f") + ")"
	}
	return g.grouped()
}

func (g *generator) columns(alias string) string {
	out := make([]string, len(g.schema))
	for i, f := range g.schema {
		out[i] = alias + "." + f.Name
	}
	return strings.Join(out, ", ")
}

func (g *generator) relation() string { return pick(g, g.names...) }

func (g *generator) from(alias string) string {
	if g.depth > 0 || !g.chance(5) {
		return g.relation() + " AS " + alias
	}
	return g.derived(alias)
}

// derived is a query in FROM with the columns of the schema.
func (g *generator) derived(alias string) string {
	old := g.aliases
	defer func() { g.aliases = old }()
	g.aliases = []string{"d"}
	var items []string
	for _, f := range g.schema {
		item := "d." + f.Name
		if g.chance(4) && (f.Kind == types.Long || f.Kind == types.Double || f.Kind == types.String || f.Kind == types.Bool) {
			item = g.scalar(f.Kind)
		}
		items = append(items, item+" AS "+f.Name)
	}
	return "(SELECT " + pick(g, "", "", "DISTINCT ") + strings.Join(items, ", ") + " FROM " + g.relation() + " AS d" + g.where() + ") AS " + alias
}

func (g *generator) where() string {
	if g.chance(2) {
		return ""
	}
	return " WHERE " + g.scalar(types.Bool)
}

func (g *generator) plain() string {
	g.aliases = []string{"r"}
	if g.chance(8) {
		return "SELECT * FROM " + g.relation() + " AS r" + g.where()
	}
	return "SELECT " + g.scalar(types.String) + " AS c1, " + g.scalar(types.Double) + " AS c2, " + g.scalar(types.Long) + " AS c3, " +
		g.scalar(types.Bool) + " AS c4, " + pick(g, "r.t", "r.j", "r.l", "r.j -> 'o'") + " AS c5 FROM " + g.from("r") + g.where()
}

func (g *generator) branch() string {
	g.aliases = []string{"r"}
	return "SELECT " + g.scalar(types.String) + " AS c1, " + g.scalar(types.Double) + " AS c2, " + pick(g, "r.a", "r.b", "1") + " AS c3 FROM " + g.from("r") + g.where()
}

func (g *generator) setOperation() string {
	op := pick(g, "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
	narrow := func() string {
		return "SELECT r." + pick(g, "a", "b") + " AS c1, r." + pick(g, "f") + " AS c2 FROM " + g.relation() + " AS r"
	}
	if g.chance(2) {
		return narrow() + " " + op + " " + narrow()
	}
	out := g.branch() + " " + op + " " + g.branch()
	if g.chance(3) && strings.HasPrefix(op, "UNION") {
		out += " " + op + " " + g.branch()
	}
	return out
}

func (g *generator) topN() string {
	g.aliases = []string{"r"}
	cols := []string{g.scalar(types.String) + " AS c1", g.scalar(types.Long) + " AS c2", g.scalar(types.Double) + " AS c3"}
	order := []string{"c1", "c2", "c3"}
	g.Shuffle(3, func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i := range order {
		order[i] += pick(g, "", " DESC") + pick(g, " NULLS FIRST", " NULLS LAST")
	}
	return "SELECT " + pick(g, "", "DISTINCT ") + strings.Join(cols, ", ") + " FROM " + g.from("r") + g.where() + " ORDER BY " + strings.Join(order, ", ") +
		fmt.Sprintf(" LIMIT %d", 1+g.IntN(6)) + pick(g, "", " OFFSET 2")
}

func (g *generator) membership() string {
	g.aliases = []string{"r"}
	condition := pick(g,
		"r.k "+pick(g, "", "NOT ")+"IN (SELECT q.k FROM "+g.relation()+" AS q WHERE q.a > 1)",
		"r.a "+pick(g, "", "NOT ")+"IN (SELECT q.b FROM "+g.relation()+" AS q)",
		pick(g, "", "NOT ")+"EXISTS (SELECT 1 FROM "+g.relation()+" AS q WHERE q.k = r.k AND q.f)",
		pick(g, "", "NOT ")+"EXISTS (SELECT 1 FROM "+g.relation()+" AS q WHERE q.a = r.b)",
		"r.a "+pick(g, ">", "<=", "=")+" (SELECT "+pick(g, "MAX", "MIN", "SUM")+"(q.b) FROM "+g.relation()+" AS q)",
		pick(g, "", "NOT ")+"EXISTS (SELECT 1 FROM "+g.relation()+" AS q WHERE q.a < r.b AND q.k = r.k)",
		"("+g.scalar(types.Bool)+" OR r.k IN (SELECT q.k FROM "+g.relation()+" AS q WHERE q.f))",
		"r.a "+pick(g, "<", ">=")+" (SELECT COUNT(*) FROM "+g.relation()+" AS q WHERE q.k = r.k)",
		"r.x >= (SELECT AVG(q.x) FROM "+g.relation()+" AS q WHERE q.k = r.k)")
	if g.chance(3) {
		condition += " AND " + g.scalar(types.Bool)
	}
	if g.chance(3) {
		return "SELECT r.k AS c1, COUNT(*) AS n, SUM(r.a) AS s FROM " + g.relation() + " AS r WHERE " + condition + " GROUP BY r.k"
	}
	return "SELECT r.k AS c1, " + g.scalar(types.Long) + " AS c2, r.x AS c3 FROM " + g.relation() + " AS r WHERE " + condition
}

func (g *generator) withQuery() string {
	g.aliases = []string{"d"}
	return "WITH w AS (SELECT d.k AS k, COUNT(*) AS n, SUM(d.a) AS s, MAX(d.x) AS m FROM " + g.relation() + " AS d" + g.where() + " GROUP BY d.k) " +
		pick(g, "SELECT w.k AS k, w.n AS n, w.m AS m FROM w WHERE w.n > 1",
			"SELECT SUM(w.n) AS n, MIN(w.s) AS s, COUNT(w.m) AS m FROM w",
			"SELECT r.a AS a, w.n AS n, w.s AS s FROM "+g.relation()+" AS r JOIN w ON r.k = w.k",
			"SELECT w.n AS n, COUNT(*) AS c FROM w GROUP BY w.n",
			"SELECT v.k AS k, w.n AS n, v.n AS o FROM w JOIN w AS v ON w.n = v.n")
}

func (g *generator) grouped() string {
	g.aliases = []string{"r"}
	from := g.from("r")
	if g.chance(4) {
		from += pick(g, ", UNNEST(r.l) AS e", " CROSS JOIN UNNEST(r.l) AS e", " LEFT JOIN UNNEST(r.l) AS e")
	}
	return g.groupedOver(from + g.where())
}

func (g *generator) groupedOver(from string) string {
	var keys, items []string
	for i := range g.IntN(4) {
		key := pick(g, "r.k", "r.a % 3", "r.f", "r.x", "r.t", g.scalar(types.Long), g.scalar(types.String))
		keys = append(keys, key)
		items = append(items, fmt.Sprintf("%s AS k%d", key, i))
	}
	for i := range 1 + g.IntN(4) {
		items = append(items, fmt.Sprintf("%s AS g%d", g.aggregate(), i))
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + from
	if len(keys) > 0 {
		list := strings.Join(keys, ", ")
		sql += " GROUP BY " + pick(g, list, list, "ALL")
	}
	if g.chance(3) {
		sql += " HAVING " + g.aggregate() + pick(g, " > ", " <= ") + pick(g, "0", "1", "1.5")
	}
	return sql
}

func (g *generator) aggregate() string {
	one := func() string {
		filter := ""
		if g.chance(6) {
			filter = " FILTER (WHERE " + g.scalar(types.Bool) + ")"
		}
		switch g.IntN(11) {
		case 8:
			small := pick(g, "r.a % 100", "r.x % 10", "r.b")
			return "ROUND(" + pick(g, "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP") + "(" + strings.Replace(small, "r.b", "r.b % 7", 1) + ")" + filter + ", 5)"
		case 9:
			return "ROUND(" + pick(g, "MEDIAN(", "PERCENTILE_CONT(0.25, ", "PERCENTILE_CONT(0.9, ") + pick(g, "r.a % 100", "r.x % 10") + ")" + filter + ", 5)"
		case 10:
			x := pick(g, "r.k", g.scalar(types.String))
			return pick(g, "STRING_AGG("+x+", ',' ORDER BY "+x+pick(g, "", " DESC")+")"+filter, pick(g, "BOOL_AND", "BOOL_OR")+"("+g.scalar(types.Bool)+")"+filter)
		case 0:
			return "COUNT(*)" + filter
		case 1:
			return "COUNT(" + g.scalar(pick(g, types.String, types.Bool)) + ")" + filter
		case 2:
			return "COUNT(DISTINCT " + g.scalar(pick(g, types.Long, types.Double, types.String)) + ")"
		case 3:
			return "SUM(r.j -> 'n')" + filter
		case 4:
			return pick(g, "MIN", "MAX") + "(" + g.scalar(pick(g, types.Double, types.Long, types.String, types.Bool)) + ")" + filter
		}
		return pick(g, "SUM", "AVG", "MIN", "MAX") + "(" + g.scalar(pick(g, types.Long, types.Double)) + ")" + filter
	}
	agg := one()
	for strings.HasPrefix(agg, "M") && g.chance(2) {
		agg = one()
	}
	return agg
}

func (g *generator) joined() string {
	g.aliases = []string{"r", "q"}
	kind := pick(g, "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")
	on := ""
	switch kind {
	case "CROSS JOIN":
	case "FULL JOIN": // PostgreSQL wants an equality that it can hash
		on = " ON " + pick(g, "r.k = q.k", "r.a = q.b", "r.k = q.k AND q.a = r.a", "r.a = q.a")
	default:
		on = " ON " + pick(g, "r.k = q.k", "r.a = q.b AND q.k = r.k", "r.a % 3 = q.a % 3", "UPPER(r.k) = q.k", "r.x = q.x", "r.a = q.x")
		if g.chance(2) {
			on += " AND " + g.scalar(types.Bool)
		}
	}
	from := g.from("r") + " " + kind + " " + g.from("q") + on
	if kind != "CROSS JOIN" && g.chance(4) {
		from += pick(g, " JOIN ", " LEFT JOIN ") + g.relation() + " AS p ON p.k = " + pick(g, "q.k", "r.k")
		g.aliases = append(g.aliases, "p")
	}
	from += g.where()
	if g.chance(2) {
		return "SELECT " + g.scalar(types.String) + " AS c1, " + g.scalar(types.Long) + " AS c2, r.x AS c3, q.x AS c4, q.k AS c5 FROM " + from
	}
	return g.groupedOver(from)
}

// recursive is the reach of a graph, whose edges come and go.
func (g *generator) recursive() string {
	edges := pick(g, "bag", "state", "newest")
	return "WITH RECURSIVE w AS (SELECT d.a AS a, d.b AS b FROM " + edges + " AS d WHERE d.a IS NOT NULL UNION SELECT w.a AS a, q.b AS b FROM w JOIN " + edges +
		" AS q ON q.a = w.b" + pick(g, "", " WHERE q.f") + ") " + pick(g, "SELECT w.a AS a, w.b AS b FROM w", "SELECT w.a AS a, COUNT(*) AS n FROM w GROUP BY w.a")
}

func (g *generator) groupingSets() string {
	g.aliases = []string{"r"}
	sets := pick(g, "ROLLUP (r.k, r.f)", "CUBE (r.k, r.f)", "GROUPING SETS ((r.k), (r.f), ())", "r.k, ROLLUP (r.f)", "GROUPING SETS ((r.k, r.f), (r.k))")
	return "SELECT r.k AS c1, r.f AS c2, " + g.aggregate() + " AS g0, " + g.aggregate() + " AS g1, GROUPING(r.k, r.f) AS g FROM " + g.from("r") + g.where() +
		" GROUP BY " + sets + pick(g, "", "", " HAVING COUNT(*) > 1")
}

package enginetest_test

import "github.com/streamsforge/streamsforge/engine/types"

// limited is a query with ORDER BY, LIMIT and OFFSET, or with DISTINCT ON.
func (g *generator) limited() string {
	g.aliases = []string{"r"}
	relation := g.relation()
	items := "r.k AS c1, " + g.scalar(types.Double) + " AS c2, " + g.scalar(pick(g, types.Long, types.String, types.Bool)) + " AS c3 FROM " + relation + " AS r" + g.where()
	order := " ORDER BY " + pick(g, "c1", "c2 DESC", "c2 NULLS FIRST", "3 DESC NULLS LAST", "r.k") + pick(g, "", ", c3", ", _ts DESC")
	bounds := pick(g, " LIMIT 1", " LIMIT 3", " LIMIT 2 OFFSET 1", " OFFSET 2", " LIMIT 0")
	switch g.IntN(4) {
	case 0:
		return "SELECT DISTINCT ON (" + pick(g, "c1", "c1, c3", "r.k") + ") " + items + order + pick(g, "", "", bounds)
	case 1:
		return "SELECT z.c1, COUNT(*) AS n, SUM(z.c2) AS s FROM (SELECT " + items + pick(g, order, "") + bounds + ") AS z GROUP BY z.c1"
	case 2:
		return g.grouped(relation) + " ORDER BY 1" + pick(g, "", " DESC") + bounds
	}
	return "SELECT " + items + order + bounds
}

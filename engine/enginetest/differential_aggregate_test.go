package enginetest_test

import "github.com/streamsforge/streamsforge/engine/types"

// furtherAggregate is a numeric aggregate beside the base ones.
func (g *generator) furtherAggregate() string {
	number := g.scalar(pick(g, types.Long, types.Double))
	filter := pick(g, "", "", " FILTER (WHERE "+g.scalar(types.Bool)+")")
	switch g.IntN(7) {
	case 0, 1:
		return pick(g, "VAR_SAMP", "VAR_POP", "STDDEV", "STDDEV_POP") + "(" + number + ")" + filter
	case 2:
		return "MEDIAN(" + pick(g, number, "r.j -> 'n'") + ")" + filter
	case 3:
		return "PERCENTILE_CONT(" + pick(g, "0", "0.25", "0.9", "1") + ", " + number + ")" + filter
	case 4:
		return "APPROX_COUNT_DISTINCT(" + number + ")" + filter
	case 5:
		return pick(g, "ARG_MIN", "ARG_MAX") + "(" + number + ", " + g.scalar(pick(g, types.String, types.Double, types.Bool)) + ")" + filter
	}
	return pick(g, "COUNT(*)", "SUM("+number+")", "MAX("+number+")", "COUNT(DISTINCT "+number+")") + filter
}

// listing is an aggregate that gives a list, a Bool or a text.
func (g *generator) listing() string {
	filter := pick(g, "", "", " FILTER (WHERE "+g.scalar(types.Bool)+")")
	kind := pick(g, types.String, types.Long, types.Double, types.Bool)
	order := pick(g, "", " ORDER BY "+g.scalar(kind)+pick(g, "", " DESC", " NULLS FIRST"), " ORDER BY "+g.scalar(types.Bool)+" DESC NULLS LAST, "+g.scalar(types.Long))
	switch g.IntN(6) {
	case 0:
		return "STRING_AGG(" + g.scalar(types.String) + ", ';'" + order + ")" + filter
	case 1:
		return "STRING_AGG(DISTINCT " + g.scalar(types.String) + ", '')" + filter
	case 2:
		return "ARRAY_AGG(" + g.scalar(kind) + order + ")" + filter
	case 3:
		return "ARRAY_AGG(DISTINCT " + g.scalar(kind) + ")" + filter
	case 4:
		return pick(g, "BOOL_AND", "BOOL_OR") + "(" + g.scalar(types.Bool) + ")" + filter
	}
	return pick(g, "ARG_MIN", "ARG_MAX") + "(" + g.scalar(types.String) + ", " + g.scalar(types.Long) + ")" + filter
}

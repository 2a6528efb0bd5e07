package difftest_test

import (
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
)

// scalar makes an expression of a kind.
func (g *generator) scalar(k types.Kind) string {
	if g.depth > 2 || g.chance(3) {
		return g.leaf(k)
	}
	g.depth++
	defer func() { g.depth-- }()
	sub := g.scalar
	if g.chance(7) {
		return "CASE WHEN " + sub(types.Bool) + " THEN " + sub(k) + pick(g, "", " ELSE "+sub(k), " ELSE NULL") + " END"
	}
	switch k {
	case types.Long:
		return pick(g, "("+sub(k)+pick(g, " + ", " - ", " * ", " % ")+sub(k)+")", "ABS("+sub(k)+")", "-("+sub(k)+")",
			"TO_LONG("+sub(pick(g, types.String, types.Double, types.Bool))+")", "COALESCE("+sub(k)+", 0)",
			"COALESCE("+sub(k)+", "+sub(pick(g, types.String, types.Double))+")", "ROUND("+sub(k)+", 1)", "CAST("+g.alias()+".t AS BIGINT)",
			"LENGTH("+sub(types.String)+")", "STRPOS("+sub(types.String)+", "+sub(types.String)+")", "NULLIF("+sub(k)+", "+sub(k)+")",
			pick(g, "GREATEST", "LEAST")+"("+sub(k)+", "+sub(k)+")", "MOD("+sub(k)+", 3)")
	case types.Double:
		return pick(g, "("+sub(k)+pick(g, " + ", " - ", " * ", " / ", " % ")+sub(pick(g, k, types.Long))+")", "ROUND("+sub(k)+", "+pick(g, "0", "1", "2", "-1")+")",
			"ROUND("+sub(k)+")", "CAST("+sub(pick(g, types.String, types.Long))+" AS DOUBLE)", "("+sub(types.Long)+" / "+sub(types.Long)+")",
			"ABS("+sub(k)+")", "-("+sub(k)+")", "("+g.alias()+".t + "+sub(types.Long)+")", "COALESCE("+sub(k)+", "+sub(types.Long)+")",
			pick(g, "FLOOR", "CEIL", "SIGN", "SQRT")+"("+sub(pick(g, k, types.Long))+")", "NULLIF("+sub(k)+", "+sub(k)+")", pick(g, "GREATEST", "LEAST")+"("+sub(k)+", "+sub(k)+")",
			"ROUND(LN("+sub(k)+"), 6)")
	case types.Bool:
		return g.truth()
	}
	return pick(g, "UPPER("+sub(k)+")", "LOWER("+sub(k)+")", "("+sub(k)+" || "+sub(k)+")", "TO_STRING("+sub(pick(g, types.Long, types.Double, types.Bool))+")",
		"COALESCE("+sub(k)+", 'none')", "IF("+sub(types.Bool)+", "+sub(k)+", 'else')", "TO_STRING(TO_TIMESTAMP("+g.alias()+".t))",
		"CAST("+g.alias()+".t AS TEXT)", "("+sub(k)+" || "+sub(types.Long)+")", "TO_STRING("+g.alias()+".j)", "TO_STRING("+g.alias()+".l)",
		"SUBSTRING("+sub(k)+", "+pick(g, "1", "2", "-1", "0")+", "+pick(g, "0", "1", "2", "3")+")", "SUBSTRING("+sub(k)+", 2)",
		pick(g, "LEFT", "RIGHT")+"("+sub(k)+", "+pick(g, "1", "2", "-1", "0")+")", pick(g, "LPAD", "RPAD")+"("+sub(k)+", 3, "+pick(g, "'*'", "'ä-'")+")",
		pick(g, "TRIM", "LTRIM", "RTRIM")+"("+sub(k)+")", pick(g, "TRIM", "LTRIM", "RTRIM")+"("+sub(k)+", 'aA ')", "REPLACE("+sub(k)+", 'A', "+sub(k)+")",
		"REVERSE("+sub(k)+")", "REPEAT("+sub(k)+", 2)", "SPLIT_PART("+sub(k)+", '.', "+pick(g, "1", "2", "-1")+")", "MD5("+sub(k)+")",
		"CONCAT("+sub(k)+", "+sub(types.Long)+", "+sub(k)+")", "NULLIF("+sub(k)+", "+sub(k)+")", pick(g, "GREATEST", "LEAST")+"("+sub(k)+", "+sub(k)+")")
}

// truth makes a condition.
func (g *generator) truth() string {
	sub := g.scalar
	n := pick(g, types.Long, types.Double)
	not := pick(g, "", "NOT ")
	compare := func() string { return pick(g, " = ", " <> ", " < ", " <= ", " > ", " >= ") }
	return pick(g, "("+sub(types.Bool)+pick(g, " AND ", " OR ")+sub(types.Bool)+")", "(NOT "+sub(types.Bool)+")",
		"("+sub(n)+compare()+sub(pick(g, n, types.Long, types.Double))+")", "("+sub(types.String)+compare()+sub(types.String)+")",
		"("+sub(types.Bool)+compare()+sub(types.Bool)+")", "("+sub(types.String)+compare()+sub(types.Long)+")",
		"("+sub(pick(g, n, types.String))+" IS "+not+"NULL)", "("+sub(types.Bool)+" IS "+not+pick(g, "TRUE", "FALSE")+")",
		"("+sub(n)+" "+not+"BETWEEN "+sub(n)+" AND "+sub(n)+")", "("+sub(types.Long)+" "+not+"IN (1, "+sub(types.Long)+", NULL))",
		"("+sub(types.Long)+" "+not+"IN (1, 2, 3.0))", "("+sub(types.String)+" "+not+"IN ('A', 'Ä'))",
		"("+sub(types.String)+" "+not+"LIKE "+pick(g, "'A%'", "'%'", "'_'", "'%a%'", "'a\\%b'", "''", "'_%'")+")",
		"("+sub(types.String)+" "+not+"ILIKE 'a%')", "("+sub(types.String)+" LIKE 'a!%b' ESCAPE '!')",
		"("+sub(n)+" IS "+not+"DISTINCT FROM "+sub(n)+")", "("+g.alias()+".t"+compare()+sub(n)+")", "TO_BOOL("+sub(pick(g, n, types.String))+")",
		"STARTS_WITH("+sub(types.String)+", "+sub(types.String)+")")
}

func (g *generator) alias() string {
	if len(g.aliases) == 0 {
		g.aliases = []string{"r"}
	}
	return pick(g, g.aliases...)
}

// column names a column of a kind.
func (g *generator) column(k types.Kind) string {
	var names []string
	for _, f := range g.schema {
		if f.Kind == k {
			names = append(names, f.Name)
		}
	}
	return g.alias() + "." + pick(g, names...)
}

func (g *generator) leaf(k types.Kind) string {
	if !g.chance(3) {
		return g.column(k)
	}
	r := g.alias() + "."
	switch k {
	case types.Long:
		return pick(g, "1", "0", "2", "-3", "9223372036854775807", fmt.Sprint(g.IntN(100)))
	case types.Double:
		return pick(g, "0.5", "2.0", "0.1", "TO_DOUBLE("+r+"j -> 'n')", "TO_DOUBLE("+r+"j ->> 'n')")
	case types.Bool:
		return pick(g, "TRUE", "("+r+"a > 1)", "("+r+"k = 'A')", "("+r+"j ->> 's' = 'A')")
	}
	return pick(g, "'"+strings.ReplaceAll(pick(g, texts...), "'", "''")+"'", r+"j ->> 's'", r+"j -> 'o' ->> 's'", r+"l -> 0 ->> 'c'", r+"j ->> 'n'", r+"l ->> 1")
}

package enginetest_test

import "strings"

// groupBy groups by keys, in a table now and then by sets of them.
func (g *generator) groupBy(keys []string) string {
	list := strings.Join(keys, ", ")
	if !g.tables {
		return pick(g, list, "ALL")
	}
	return pick(g, list, list, "ALL", "ALL", "ROLLUP ("+list+")", "CUBE ("+list+")", "GROUPING SETS (("+list+"), ())", keys[0]+", ROLLUP ("+list+")")
}

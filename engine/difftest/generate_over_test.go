package difftest_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
)

// overRows is what the window functions of one statement read: columns that are all in the select list, so that rows
// which differ can be told apart in an order over all of them.
type overRows struct {
	g       *generator
	columns []overColumn
	// told says that a function tells rows apart that are equal in all columns. A second one over another window could
	// number them otherwise.
	told bool
	// windows are the named ones.
	windows []string
}

type overColumn struct {
	sql  string
	kind types.Kind
}

// windowed is a statement with window functions.
func (g *generator) windowed() string {
	switch g.IntN(6) {
	case 0:
		return g.windowedGroups()
	case 1, 2:
		return g.firstOfGroup()
	}
	g.aliases = []string{"r"}
	from := g.from("r")
	if g.chance(5) {
		from += pick(g, " JOIN ", " LEFT JOIN ") + g.relation() + " AS q ON r.k = q.k"
		g.aliases = []string{"r", "q"}
	}
	o := g.overColumns()
	var items []string
	for i, c := range o.columns {
		items = append(items, fmt.Sprintf("%s AS c%d", c.sql, i))
	}
	for i := range 1 + g.IntN(3) {
		items = append(items, fmt.Sprintf("%s AS w%d", o.function(), i))
	}
	out := "SELECT " + pick(g, "", "", "", "DISTINCT ") + strings.Join(items, ", ") + " FROM " + from + g.where()
	if len(o.windows) > 0 {
		out += " WINDOW " + strings.Join(o.windows, ", ")
	}
	return out
}

// overColumns chooses a few columns, or expressions, of the relations.
func (g *generator) overColumns() *overRows {
	o := &overRows{g: g}
	for range 2 + g.IntN(3) {
		c := pick(g, overColumn{".k", types.String}, overColumn{".a", types.Long}, overColumn{".b", types.Long}, overColumn{".x", types.Double},
			overColumn{".f", types.Bool}, overColumn{".t", types.Timestamp})
		c.sql = g.alias() + c.sql
		if g.chance(6) {
			c.kind = pick(g, types.Long, types.Double, types.String)
			c.sql = g.scalar(c.kind)
		}
		o.columns = append(o.columns, c)
	}
	return o
}

// windowedGroups are window functions over groups.
func (g *generator) windowedGroups() string {
	g.aliases = []string{"r"}
	o := &overRows{g: g, columns: []overColumn{{"r.k", types.String}, {"r.f", types.Bool}, {"COUNT(*)", types.Long}, {"SUM(r.a)", types.Long}, {"MAX(r.x)", types.Double}}}
	var items []string
	for i, c := range o.columns {
		items = append(items, fmt.Sprintf("%s AS c%d", c.sql, i))
	}
	for i := range 1 + g.IntN(3) {
		items = append(items, fmt.Sprintf("%s AS w%d", o.function(), i))
	}
	out := "SELECT " + strings.Join(items, ", ") + " FROM " + g.from("r") + g.where() + " GROUP BY " + pick(g, "r.k, r.f", "ALL", "ROLLUP (r.k, r.f)", "GROUPING SETS ((r.k), (r.f), ())") + pick(g, "", " HAVING COUNT(*) > 1")
	if len(o.windows) > 0 {
		out += " WINDOW " + strings.Join(o.windows, ", ")
	}
	return out
}

// firstOfGroup are the first rows of each group by ROW_NUMBER, or another condition on window functions.
func (g *generator) firstOfGroup() string {
	g.aliases = []string{"r"}
	o := g.overColumns()
	var items, outer []string
	for i, c := range o.columns {
		items = append(items, fmt.Sprintf("%s AS c%d", c.sql, i))
		outer = append(outer, fmt.Sprintf("q.c%d AS c%d", i, i))
	}
	partition, order := o.partition(), o.order(true)
	items = append(items, "ROW_NUMBER() OVER ("+partition+order+") AS rn")
	if g.chance(3) {
		items = append(items, pick(g, "RANK()", "DENSE_RANK()", "COUNT(*)", "LAG("+o.argument().sql+")", "COUNT("+o.argument().sql+")")+" OVER ("+partition+order+pick(g, "", " ROWS UNBOUNDED PRECEDING")+") AS z")
		outer = append(outer, "q.z AS z")
	}
	if g.chance(2) {
		outer = append(outer, "q.rn AS rn")
	}
	condition := pick(g, "q.rn <= 2", "q.rn < 3", "q.rn = 1", "q.rn = 2", "1 >= q.rn", "q.rn BETWEEN 2 AND 3", "q.rn <= 2 AND q.c0 IS NOT NULL", "q.rn > 1")
	return "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + strings.Join(items, ", ") + " FROM " + g.relation() + " AS r" + g.where() + ") AS q WHERE " + condition
}

// partition is PARTITION BY with a space, or nothing.
func (o *overRows) partition() string {
	if o.g.chance(3) {
		return ""
	}
	out := "PARTITION BY " + pick(o.g, o.columns...).sql
	if o.g.chance(3) {
		out += ", " + pick(o.g, o.columns...).sql
	}
	return out + " "
}

// order is ORDER BY some of the columns, or all.
func (o *overRows) order(total bool) string {
	cols := append([]overColumn(nil), o.columns...)
	o.g.Shuffle(len(cols), func(i, j int) { cols[i], cols[j] = cols[j], cols[i] })
	if !total {
		cols = cols[:1+o.g.IntN(2)]
	}
	keys := make([]string, len(cols))
	for i, c := range cols {
		keys[i] = c.sql + o.direction()
	}
	return "ORDER BY " + strings.Join(keys, ", ")
}

func (o *overRows) direction() string {
	return pick(o.g, "", " DESC", " ASC") + pick(o.g, "", "", " NULLS FIRST", " NULLS LAST")
}

// argument is a column, or something computed of one.
func (o *overRows) argument() overColumn {
	c := pick(o.g, o.columns...)
	if o.g.chance(4) && c.kind == types.Long {
		c.sql = "(" + c.sql + " % 7)"
	}
	return c
}

// function is a window function that gives the same in every order of rows that are equal in its window's.
func (o *overRows) function() string {
	g := o.g
	x := o.argument()
	if o.told || g.chance(2) { // peers count together
		call := pick(g, "RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()", o.aggregate(), o.aggregate(), o.aggregate())
		if g.chance(4) {
			return call + " OVER (" + strings.TrimSuffix(o.partition(), " ") + ")"
		}
		if strings.HasSuffix(call, "RANK()") || call == "CUME_DIST()" || g.chance(2) {
			return o.over(call, o.partition()+o.order(false), "")
		}
		if g.chance(2) {
			return o.over(call, o.partition()+o.order(false), o.frame("GROUPS", func() string { return strconv.Itoa(g.IntN(3)) }, pick(g, "", "", " EXCLUDE GROUP")))
		}
		c := pick(g, o.columns...)
		off := func() string { return pick(g, "0", "1", "2", "100", "9223372036854775807") }
		switch c.kind {
		case types.Double:
			off = func() string { return pick(g, "0.0", "0.5", "1.25", "1000000.0") }
		case types.Timestamp:
			off = func() string { return pick(g, "INTERVAL '1 second'", "INTERVAL '1 day'", "INTERVAL '0 seconds'") }
		case types.Long:
		default:
			return o.over(call, o.partition()+"ORDER BY "+c.sql+o.direction(), o.frame("RANGE", nil, ""))
		}
		return o.over(call, o.partition()+"ORDER BY "+c.sql+o.direction(), o.frame("RANGE", off, pick(g, "", "", " EXCLUDE GROUP")))
	}
	o.told = true
	rows := func() string {
		return o.frame(pick(g, "ROWS", "ROWS", "GROUPS"), func() string { return pick(g, "0", "1", "2", "3", "100") }, pick(g, "", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP", " EXCLUDE NO OTHERS"))
	}
	window := o.partition() + o.order(true)
	switch g.IntN(5) {
	case 0:
		return o.over(pick(g, "ROW_NUMBER()", "NTILE("+pick(g, "1", "2", "3", "10")+")"), window, "")
	case 1:
		more := pick(g, "", ", 0", ", 2", ", 2, "+x.sql, ", -1", ", 1, NULL")
		return o.over(pick(g, "LAG", "LEAD")+"("+x.sql+more+")", window, "")
	case 2:
		return o.over(pick(g, "FIRST_VALUE("+x.sql+")", "LAST_VALUE("+x.sql+")", "NTH_VALUE("+x.sql+", "+pick(g, "1", "2", "3")+")"), window, pick(g, "", rows()))
	case 3:
		if x.kind == types.String {
			return o.over("STRING_AGG("+x.sql+", '/')", window, pick(g, "", rows()))
		}
	}
	return o.over(o.aggregate(), window, rows())
}

// over writes the window in place, or as a named one.
func (o *overRows) over(call, window, frame string) string {
	name := "v" + strconv.Itoa(len(o.windows))
	switch o.g.IntN(8) {
	case 0:
		o.windows = append(o.windows, name+" AS ("+strings.TrimSpace(window+frame)+")")
		return call + " OVER " + name
	case 1:
		o.windows = append(o.windows, name+" AS ("+window+")")
		return call + " OVER (" + name + frame + ")"
	}
	return call + " OVER (" + window + frame + ")"
}

// frame is a frame with distances of off; nil: without any.
func (o *overRows) frame(mode string, off func() string, exclude string) string {
	g := o.g
	bounds := []func() string{func() string { return "UNBOUNDED PRECEDING" }, nil, func() string { return "CURRENT ROW" }, nil, func() string { return "UNBOUNDED FOLLOWING" }}
	if off != nil {
		bounds[1] = func() string { return off() + " PRECEDING" }
		bounds[3] = func() string { return off() + " FOLLOWING" }
	}
	for {
		from, to := g.IntN(4), 1+g.IntN(4)
		if bounds[from] == nil || bounds[to] == nil || from > to {
			continue
		}
		if to == 2 && from < 3 && g.chance(3) {
			return " " + mode + " " + bounds[from]() + exclude
		}
		return " " + mode + " BETWEEN " + bounds[from]() + " AND " + bounds[to]() + exclude
	}
}

func (o *overRows) aggregate() string {
	g := o.g
	filter := ""
	if g.chance(6) {
		filter = " FILTER (WHERE " + pick(g, o.columns[:2]...).sql + " IS NOT NULL)" // keys, if it is grouped: PostgreSQL takes no aggregate here
	}
	c := o.argument()
	switch c.kind {
	case types.Long, types.Double:
		return pick(g, "SUM", "AVG", "MIN", "MAX", "COUNT", "SUM") + "(" + c.sql + ")" + filter
	case types.Bool:
		return pick(g, "BOOL_AND", "BOOL_OR", "MIN", "COUNT") + "(" + c.sql + ")" + filter
	}
	return pick(g, "COUNT(*)", "COUNT("+c.sql+")", "MIN("+c.sql+")", "MAX("+c.sql+")") + filter
}

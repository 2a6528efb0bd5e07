package difftest_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// translator writes a statement of ours as PostgreSQL SQL with the same meaning.
type translator struct {
	strings.Builder
	tables map[string]types.Schema // relations with hidden columns, whose stars are spelled out
	// sides holds the aliases on the left of the join whose ON is being written; nil elsewhere.
	sides map[string]bool
	right string
}

// translate gives the PostgreSQL form of a statement. It panics for what it does not know: a generator and a
// translator that do not fit are a fault of this package.
func translate(sql string, tables map[string]types.Schema) (out string, err error) {
	q, problems := syntax.Parse(sql)
	if syntax.HasErrors(problems) {
		return "", fmt.Errorf("%s: %v", sql, problems)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: no translation: %v", sql, p)
		}
	}()
	t := &translator{tables: tables}
	t.query(q)
	return t.String(), nil
}

func (t *translator) add(parts ...string) {
	for _, s := range parts {
		t.WriteString(s)
	}
}

func (t *translator) list(n int, one func(i int)) {
	for i := range n {
		if i > 0 {
			t.add(", ")
		}
		one(i)
	}
}

func (t *translator) exprs(es []syntax.Expr) { t.list(len(es), func(i int) { t.expr(es[i]) }) }

func (t *translator) query(q *syntax.Query) {
	if len(q.With) > 0 {
		t.add("WITH ")
		if q.Recursive {
			t.add("RECURSIVE ")
		}
		t.list(len(q.With), func(i int) {
			t.add(q.With[i].Name.Name, " AS (")
			t.query(q.With[i].Query)
			t.add(")")
		})
		t.add(" ")
	}
	t.body(q.Body)
	for i, o := range q.OrderBy {
		t.add([]string{" ORDER BY ", ", "}[min(i, 1)])
		t.order(o)
	}
	if q.Limit != nil {
		t.add(" LIMIT ")
		t.expr(q.Limit)
	}
	if q.Offset != nil {
		t.add(" OFFSET ")
		t.expr(q.Offset)
	}
}

func (t *translator) order(o *syntax.OrderItem) {
	t.expr(o.Expr)
	if o.Desc {
		t.add(" DESC")
	}
	if o.Nulls != "" {
		t.add(" NULLS ", o.Nulls)
	}
}

func (t *translator) body(b syntax.Body) {
	switch b := b.(type) {
	case *syntax.Select:
		t.selectClause(b)
	case *syntax.SetOp:
		t.add("(")
		t.body(b.Left)
		t.add(") ", string(b.Kind))
		if b.All {
			t.add(" ALL")
		}
		t.add(" (")
		t.body(b.Right)
		t.add(")")
	}
}

func (t *translator) selectClause(s *syntax.Select) {
	if s.Latest != nil {
		t.latest(s)
		return
	}
	t.add("SELECT ")
	if s.Distinct != nil {
		t.add("DISTINCT ")
		if len(s.Distinct.On) > 0 {
			t.add("ON (")
			t.exprs(s.Distinct.On)
			t.add(") ")
		}
	}
	t.items(s)
	t.from(s)
	if s.Where != nil {
		t.add(" WHERE ")
		t.expr(s.Where.Expr)
	}
	t.group(s)
	t.namedWindows(s.Windows)
}

// latest writes LATEST BY over rows that are only added: the newest of each key by time, then by arrival; a
// retraction mark is not filtered by WHERE, and the key is gone when it is the newest.
func (t *translator) latest(s *syntax.Select) {
	name := s.From.(*syntax.TableName)
	alias := aliasOf(name)
	marked := slices.ContainsFunc(t.tables[name.Name.Name], func(f types.Field) bool { return f.Name == types.RetractColumn })
	t.add("SELECT ")
	t.items(s)
	t.add(" FROM (SELECT DISTINCT ON (")
	t.exprs(s.Latest.Cols)
	t.add(") * FROM ", name.Name.Name, " AS ", alias)
	if s.Where != nil {
		t.add(" WHERE ")
		if marked {
			t.add(alias, "._retract OR ")
		}
		t.expr(s.Where.Expr)
	}
	t.add(" ORDER BY ")
	t.exprs(s.Latest.Cols)
	t.add(", ", alias, "._ts DESC, ", alias, "._seq DESC) AS ", alias)
	if marked {
		t.add(" WHERE ", alias, "._retract IS NOT TRUE")
	}
}

func (t *translator) items(s *syntax.Select) {
	t.list(len(s.Items), func(i int) {
		it := s.Items[i]
		if !it.Star {
			t.expr(it.Expr)
			if it.Alias != nil {
				t.add(" AS ", it.Alias.Name)
			}
			return
		}
		first := true
		items := []syntax.TableItem{s.From}
		for _, j := range s.Joins {
			items = append(items, j.Item)
		}
		for _, item := range items {
			alias := aliasOf(item)
			if it.Qualifier != nil && it.Qualifier.Name != alias {
				continue
			}
			cols := []string{"*"}
			if n, ok := item.(*syntax.TableName); ok && t.tables[n.Name.Name] != nil {
				cols = t.tables[n.Name.Name].Names()
			}
			for _, c := range cols {
				if !first {
					t.add(", ")
				}
				first = false
				t.add(alias, ".", c)
			}
		}
	})
}

func aliasOf(item syntax.TableItem) string {
	switch i := item.(type) {
	case *syntax.TableName:
		if i.Alias != nil {
			return i.Alias.Name
		}
		return i.Name.Name
	case *syntax.Derived:
		return i.Alias.Name
	case *syntax.Unnest:
		return i.Alias.Name
	}
	panic(fmt.Sprintf("%T", item))
}

func (t *translator) from(s *syntax.Select) {
	t.add(" FROM ")
	t.item(s.From)
	left := map[string]bool{aliasOf(s.From): true}
	for _, j := range s.Joins {
		kind := string(j.Kind)
		if u, ok := j.Item.(*syntax.Unnest); ok {
			if j.Kind == syntax.JoinLeft {
				t.add(" LEFT JOIN LATERAL sf.elements(")
			} else {
				t.add(" CROSS JOIN LATERAL sf.elements(")
			}
			t.expr(u.Arg)
			t.add(") AS ", u.Alias.Name, "(", u.Alias.Name, ")")
			if j.Kind == syntax.JoinLeft {
				t.add(" ON true")
			}
			left[u.Alias.Name] = true
			continue
		}
		if j.Natural {
			kind = "NATURAL " + kind
		}
		if j.Kind == syntax.JoinComma {
			t.add(", ")
		} else {
			t.add(" ", kind, " ")
		}
		t.item(j.Item)
		if j.On != nil {
			t.add(" ON ")
			t.sides, t.right = left, aliasOf(j.Item)
			t.on(j.On)
			t.sides = nil
		}
		if len(j.Using) > 0 {
			t.add(" USING (")
			t.list(len(j.Using), func(i int) { t.add(j.Using[i].Name) })
			t.add(")")
		}
		left[aliasOf(j.Item)] = true
	}
}

func (t *translator) item(item syntax.TableItem) {
	switch i := item.(type) {
	case *syntax.TableName:
		t.add(i.Name.Name)
		if i.Alias != nil {
			t.add(" AS ", i.Alias.Name)
		}
	case *syntax.Derived:
		if i.Lateral {
			t.add("LATERAL ")
		}
		t.add("(")
		t.query(i.Query)
		t.add(") AS ", i.Alias.Name)
	default:
		panic(fmt.Sprintf("%T", item))
	}
}

// on writes the conditions of a join. An equality with columns of one side each is a key, and keys are typed.
func (t *translator) on(e syntax.Expr) {
	b, ok := e.(*syntax.Binary)
	switch {
	case ok && b.Op == "AND":
		t.add("(")
		t.on(b.L)
		t.add(" AND ")
		t.on(b.R)
		t.add(")")
	case ok && b.Op == "=" && (t.side(b.L) == 1 && t.side(b.R) == 2 || t.side(b.L) == 2 && t.side(b.R) == 1):
		t.call("sf.keyeq", b.L, b.R)
	default:
		t.expr(e)
	}
}

// side is 1 for an expression over columns of the left, 2 of the right, 3 of both, 0 of none.
func (t *translator) side(e syntax.Expr) (s int) {
	syntax.Walk(e, func(n syntax.Expr) bool {
		if c, ok := n.(*syntax.ColumnRef); ok && c.Qualifier != nil {
			if c.Qualifier.Name == t.right {
				s |= 2
			} else if t.sides[c.Qualifier.Name] {
				s |= 1
			}
		}
		return true
	})
	return s
}

func hasAggregate(e syntax.Expr) (found bool) {
	syntax.Walk(e, func(n syntax.Expr) bool {
		if c, ok := n.(*syntax.Call); ok && c.Over == nil {
			if _, is := agg.Lookup(c.Name.Name); is {
				found = true
			}
		}
		return !found
	})
	return found
}

func hasOver(e syntax.Expr) (found bool) {
	syntax.Walk(e, func(n syntax.Expr) bool {
		if c, ok := n.(*syntax.Call); ok && c.Over != nil {
			found = true
		}
		return !found
	})
	return found
}

// group writes GROUP BY and HAVING. A select of aggregates alone has no row while nothing is counted.
func (t *translator) group(s *syntax.Select) {
	aggregates := s.Having != nil && hasAggregate(s.Having.Expr)
	for _, it := range s.Items {
		aggregates = aggregates || !it.Star && hasAggregate(it.Expr)
	}
	var keys []syntax.Expr
	if g := s.GroupBy; g != nil {
		keys = g.Items
		if g.All {
			for _, it := range s.Items {
				if !hasAggregate(it.Expr) && !hasOver(it.Expr) {
					keys = append(keys, it.Expr)
				}
			}
		}
	}
	t.keys(s.GroupBy, keys)
	global := len(keys) == 0 && aggregates || s.GroupBy != nil && s.GroupBy.Sets != nil
	if global || s.Having != nil {
		t.add(" HAVING ")
	}
	if global {
		t.add("count(*) > 0")
		if s.Having != nil {
			t.add(" AND ")
		}
	}
	if s.Having != nil {
		t.add("(")
		t.expr(s.Having.Expr)
		t.add(")")
	}
}

func (t *translator) keys(g *syntax.GroupBy, keys []syntax.Expr) {
	if len(keys) == 0 {
		return
	}
	t.add(" GROUP BY ")
	if g.Sets == nil {
		t.exprs(keys)
		return
	}
	t.add("GROUPING SETS (")
	t.list(len(g.Sets), func(i int) {
		t.add("(")
		t.list(len(g.Sets[i]), func(k int) { t.expr(keys[g.Sets[i][k]]) })
		t.add(")")
	})
	t.add(")")
}

func (t *translator) call(name string, args ...syntax.Expr) {
	t.add(name, "(")
	t.exprs(args)
	t.add(")")
}

package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// grouping collects what one grouped SELECT computes per group. Behind it, expressions read the grouped row: keys
// first, then aggregates, then, with a window, its borders.
type grouping struct {
	keys    []expr.Expr
	keyAt   map[string]int
	aggs    []agg.Call
	aggAt   map[string]int
	fields  map[int]types.Field // declared shape of keys that are plain columns
	window  bool
	borders [2]*expr.Column // window_start and window_end, set with their positions when all aggregates are known
	// explicit says that there is a GROUP BY.
	explicit bool
	// subs are the subqueries of keys and of arguments of aggregates.
	subs *subqueries
}

func newGrouping(window, explicit bool) *grouping {
	g := &grouping{keyAt: map[string]int{}, aggAt: map[string]int{}, fields: map[int]types.Field{}, window: window, explicit: explicit, subs: &subqueries{}}
	g.borders[0] = &expr.Column{Name: plan.WindowStart, K: types.Long}
	g.borders[1] = &expr.Column{Name: plan.WindowEnd, K: types.Long}
	return g
}

// key adds a key; the same key twice is one.
func (g *grouping) key(e expr.Expr) {
	if e.Kind() == types.Unknown {
		e = expr.As(e, types.String)
	}
	s := e.String()
	if _, there := g.keyAt[s]; !there {
		g.keyAt[s] = len(g.keys)
		g.keys = append(g.keys, e)
	}
}

// aggColumn reads an aggregate behind the grouping. Positions are final once every key is known, which is before the
// first aggregate.
func (g *grouping) aggColumn(c agg.Call) expr.Expr {
	s := c.String()
	i, there := g.aggAt[s]
	if !there {
		i = len(g.aggs)
		g.aggAt[s] = i
		g.aggs = append(g.aggs, c)
	}
	return &expr.Column{Index: len(g.keys) + i, Name: s, K: c.K}
}

// finish sets the positions of the window's borders.
func (g *grouping) finish() {
	g.borders[0].Index = len(g.keys) + len(g.aggs)
	g.borders[1].Index = len(g.keys) + len(g.aggs) + 1
}

// reduce is the grouping of a table.
func (g *grouping) reduce(node plan.Node) plan.Node {
	node, resolve := g.subs.apply(node, identity)
	keys := make([]expr.Expr, len(g.keys))
	for i, k := range g.keys {
		keys[i] = resolve(k)
	}
	aggs := make([]agg.Call, len(g.aggs))
	for i, c := range g.aggs {
		aggs[i] = c.Map(resolve)
	}
	return plan.NewReduce(node, keys, aggs)
}

// isAggregate reports whether the call is one of an aggregate.
func isAggregate(e syntax.Expr) bool {
	c, ok := e.(*syntax.Call)
	if !ok {
		return false
	}
	_, is := agg.Lookup(c.Name.Name)
	return is
}

// firstAggregate is the first aggregate call in an expression, nil when there is none.
func firstAggregate(e syntax.Expr) *syntax.Call {
	var found *syntax.Call
	syntax.Walk(e, func(x syntax.Expr) bool {
		if found == nil && isAggregate(x) {
			found = x.(*syntax.Call)
		}
		return found == nil
	})
	return found
}

// groupKey matches an expression without aggregates against the keys.
func (b *binder) groupKey(e syntax.Expr) (expr.Expr, bool) {
	if _, literal := e.(*syntax.Literal); literal && len(b.group.keys) == 0 || firstAggregate(e) != nil {
		return nil, false
	}
	mark := len(b.ds)
	inner := &binder{analyzer: b.analyzer, scope: b.scope, clause: b.clause, ctes: b.ctes, subs: &subqueries{}}
	x, ok := inner.bind(e)
	b.ds = b.ds[:mark]
	if !ok {
		return nil, false
	}
	if x.Kind() == types.Unknown {
		x = expr.As(x, types.String)
	}
	i, there := b.group.keyAt[x.String()]
	if !there {
		return nil, false
	}
	return &expr.Column{Index: i, Name: x.String(), K: x.Kind()}, true
}

// windowColumn reads window_start or window_end of the own window, unless a relation has a column of that name.
func (b *binder) windowColumn(c *syntax.ColumnRef) (expr.Expr, bool) {
	if !b.group.window || c.Qualifier != nil {
		return nil, false
	}
	for i, name := range []string{plan.WindowStart, plan.WindowEnd} {
		if !strings.EqualFold(c.Name.Name, name) {
			continue
		}
		for _, in := range b.scope.inputs {
			if _, there := in.find(name); there {
				return nil, false
			}
		}
		return b.group.borders[i], true
	}
	return nil, false
}

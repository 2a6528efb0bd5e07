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
	keys   []expr.Expr
	keyAt  map[string]int
	aggs   []agg.Call
	aggAt  map[string]int
	fields map[int]types.Field // declared shape of keys that are plain columns
	window *plan.Window        // the shape of the window, nil without one
	// added are the columns that the window adds, window_start first and _ts last, set with their positions when all
	// aggregates are known.
	added []*expr.Column
	// sets are the grouping sets: which keys are in each; nil: one set of them all.
	sets      [][]bool
	groupings []groupingCall
	// broken says that a key could not be bound.
	broken bool
	// explicit says that there is a GROUP BY.
	explicit bool
	// subs are the subqueries of keys and of arguments of aggregates.
	subs *subqueries
}

func newGrouping(window *plan.Window, explicit bool) *grouping {
	g := &grouping{keyAt: map[string]int{}, aggAt: map[string]int{}, fields: map[int]types.Field{}, window: window, explicit: explicit, subs: &subqueries{}}
	if window != nil {
		for _, f := range window.Added() {
			g.added = append(g.added, &expr.Column{Name: f.Name, K: f.Kind})
		}
	}
	return g
}

// key adds a key; the same key twice is one.
func (g *grouping) key(e expr.Expr) (at int) {
	if e.Kind() == types.Unknown {
		e = expr.As(e, types.String)
	}
	s := e.String()
	if _, there := g.keyAt[s]; !there {
		g.keyAt[s] = len(g.keys)
		g.keys = append(g.keys, e)
	}
	return g.keyAt[s]
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

// finish sets the positions of what the window adds.
func (g *grouping) finish() {
	for i, c := range g.added {
		c.Index = len(g.keys) + len(g.aggs) + i
	}
	for i, c := range g.groupings {
		c.column.Index = len(g.keys) + len(g.aggs) + i
	}
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
	if g.sets != nil {
		return g.union(node, keys, aggs)
	}
	return plan.NewReduce(node, keys, aggs)
}

// isAggregate reports whether the call is one of an aggregate.
func isAggregate(e syntax.Expr) bool {
	c, ok := e.(*syntax.Call)
	if !ok || c.Over != nil {
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
	if _, literal := e.(*syntax.Literal); literal && len(b.group.keys) == 0 || firstAggregate(e) != nil || firstOver(e) != nil {
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

// windowColumn reads a column that the own window adds, unless a relation has a column of that name.
func (b *binder) windowColumn(c *syntax.ColumnRef) (expr.Expr, bool) {
	if b.group.window == nil || c.Qualifier != nil {
		return nil, false
	}
	for _, added := range b.group.visible() {
		if !strings.EqualFold(c.Name.Name, added.Name) {
			continue
		}
		for _, in := range b.scope.inputs {
			if _, there := in.find(added.Name); there {
				return nil, false
			}
		}
		return added, true
	}
	return nil, false
}

// visible is what the window adds to the output: all but the event time.
func (g *grouping) visible() []*expr.Column { return g.added[:max(0, len(g.added)-1)] }

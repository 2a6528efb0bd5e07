package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// correlation ties a subquery to the query around it.
//
// A subquery that reads columns of the outer query is a function of them. Its plan computes that function for every
// value that the outer query has: the domain, the distinct values of what is read, is joined into the FROM of the
// subquery, and its columns come first in every relation from there up. Grouping is by them too, so each value keeps
// its own groups. What the outer query then joins by these columns, NULL equal to NULL, is the result for each of its
// rows. Package plan drops the domain where equalities make it superfluous.
//
// A subquery is bound twice when it is correlated: once to find what it reads, and once more with the domain.
type correlation struct {
	outer *binder // resolves names of the query around it
	exprs []expr.Expr
	at    map[string]int
	// domain is the distinct values of exprs; nil while they are being found.
	domain plan.Node
}

// width is the number of columns of the domain in every relation of the subquery.
func (c *correlation) width() int {
	if c == nil || c.domain == nil {
		return 0
	}
	return len(c.exprs)
}

// column reads the i-th column of the domain.
func (c *correlation) column(i int) *expr.Column {
	return &expr.Column{Index: i, Name: "outer." + c.exprs[i].String(), K: stored(c.exprs[i])}
}

func (c *correlation) columns() ([]expr.Expr, []string) {
	var exprs []expr.Expr
	var names []string
	for i := range c.width() {
		exprs = append(exprs, c.column(i))
		names = append(names, c.column(i).Name)
	}
	return exprs, names
}

func stored(e expr.Expr) types.Kind {
	if e.Kind() == types.Unknown {
		return types.String
	}
	return e.Kind()
}

// knows reports whether a name means something in a scope or in one around it.
func (s *scope) knows(c *syntax.ColumnRef) bool {
	if c.Qualifier != nil {
		if s.byAlias(c.Qualifier.Name) != nil {
			return true
		}
	} else {
		if s.mergedAs(c.Name.Name) != nil {
			return true
		}
		for _, in := range s.inputs {
			if _, ok := in.find(c.Name.Name); ok {
				return true
			}
		}
	}
	return s.outer != nil && s.outer.outer.scope.knows(c)
}

// own reports whether a name means something in the scope itself, or cannot be told because something is broken.
func (s *scope) own(c *syntax.ColumnRef) bool {
	if c.Qualifier != nil {
		return s.byAlias(c.Qualifier.Name) != nil
	}
	if s.mergedAs(c.Name.Name) != nil || s.broken() {
		return true
	}
	for _, in := range s.inputs {
		if _, ok := in.find(c.Name.Name); ok {
			return true
		}
	}
	return false
}

// resolveOuter reads a column of the query around the scope. found is false when the name is none of it.
func (a *analyzer) resolveOuter(s *scope, c *syntax.ColumnRef) (r ref, ok, found bool) {
	if s.outer == nil || s.own(c) || !s.outer.outer.scope.knows(c) {
		return ref{}, false, false
	}
	e, bound := s.outer.outer.bind(c)
	if !bound {
		return ref{}, false, true
	}
	r = ref{expr: e, field: types.Field{Name: c.Name.Name, Kind: stored(e)}, outer: true}
	if _, constant := e.(*expr.Literal); constant {
		return r, true, true
	}
	corr := s.outer
	i, there := corr.at[e.String()]
	if !there {
		i = len(corr.exprs)
		corr.at[e.String()] = i
		corr.exprs = append(corr.exprs, e)
	}
	if s.inFrom && s.sel != nil {
		a.readsInFrom[s.sel] = true
	}
	r.expr = corr.column(i)
	return r, true, true
}

// dependent is a query that may read the query around it, bound without its domain.
type dependent struct {
	*analyzer
	query *syntax.Query
	ctes  *cteScope
	corr  *correlation
	// rel has the right columns; its node can run only when the query reads nothing of the outer one.
	rel *relation
}

// dependent binds a query within the scope of a binder. nil means that a problem was reported.
func (a *analyzer) dependent(q *syntax.Query, ctes *cteScope, outer *binder) *dependent {
	d := &dependent{analyzer: a, query: q, ctes: ctes, corr: &correlation{outer: outer, at: map[string]int{}}}
	saved := a.outer
	a.outer = d.corr
	a.probing++
	d.rel = a.query(q, ctes)
	a.probing--
	if d.rel != nil && len(d.corr.exprs) == 0 && a.probing == 0 {
		// Parts that were skipped while it was not known what the query reads are bound now.
		d.rel = a.again(q, ctes)
	}
	a.outer = saved
	if d.rel == nil {
		return nil
	}
	return d
}

// again binds a query once more. What it says and reads was counted the first time.
func (a *analyzer) again(q *syntax.Query, ctes *cteScope) *relation {
	scans := a.scans
	a.scans = 0
	r := a.query(q, ctes)
	a.scans = scans
	return r
}

// over gives the relation for every value that the query reads of node: its first columns are those of the domain, the
// others those of the relation. resolve turns what was bound in the outer scope into columns of node.
func (d *dependent) over(node plan.Node, resolve func(expr.Expr) expr.Expr) (*relation, []expr.Expr) {
	n := len(d.corr.exprs)
	if n == 0 {
		return d.rel, nil
	}
	keys := make([]expr.Expr, n)
	names := make([]string, n)
	for i, e := range d.corr.exprs {
		keys[i] = expr.As(resolve(e), stored(e))
		names[i] = d.corr.column(i).Name
	}
	// A domain reads everything below it once more, and domains nest.
	if d.probing > 0 || !d.spend(plan.Scans(node, maxScans+1), d.query.Body) {
		return d.shape(keys, names), keys
	}
	saved := d.analyzer.outer
	d.analyzer.outer = &correlation{outer: d.corr.outer, exprs: d.corr.exprs, at: d.corr.at, domain: plan.NewDomain(plan.NewProject(node, keys, names))}
	r := d.again(d.query, d.ctes)
	d.analyzer.outer = saved
	return r, keys
}

// shape is a relation with the columns that the real one will have; it is not run.
func (d *dependent) shape(keys []expr.Expr, names []string) *relation {
	out := *d.rel
	var exprs []expr.Expr
	for _, k := range keys {
		exprs = append(exprs, &expr.Literal{V: types.Null(k.Kind())})
	}
	for i, f := range d.rel.node.Schema() {
		exprs = append(exprs, &expr.Column{Index: i, Name: f.Name, K: f.Stored()})
		names = append(names[:len(names):len(names)], f.Name)
	}
	out.node = plan.NewProject(d.rel.node, exprs, names)
	out.outer = len(keys)
	return &out
}

// domainColumns are the key columns of a relation for a domain.
func domainColumns(r *relation, keys []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(keys))
	for i := range keys {
		out[i] = readColumn(r.node, i)
	}
	return out
}

func readColumn(n plan.Node, i int) *expr.Column {
	f := n.Schema()[i]
	return &expr.Column{Index: i, Name: f.Name, K: f.Stored()}
}

// warnDomain says what a correlation costs that is no equality.
func (d *dependent) warnDomain(at syntax.Node, r *relation) {
	if d.probing > 0 || r == nil || r.outer == 0 || !plan.ComparesDomain(plan.Simplify(r.node)) {
		return
	}
	var names []string
	for _, e := range d.corr.exprs {
		names = append(names, e.String())
	}
	d.warn(at, CodeNestedLoop, "correlate with an equality, or rewrite it as a JOIN",
		"every row of the subquery is compared with every value of %s", strings.Join(names, ", "))
}

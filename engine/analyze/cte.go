package analyze

import (
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// cteScope is a list of named queries, the newest first.
type cteScope struct {
	name  string
	bound *relation // nil: a problem was reported
	scans int       // relations that one use of it reads
	// pending marks the name of a query that is declared in the same list at or after the reader.
	pending bool
	next    *cteScope
}

// declare binds one query of a WITH list and makes it visible.
func (a *analyzer) declare(c *syntax.CTE, outer *cteScope, list []*syntax.CTE, recursive bool) *cteScope {
	at := 0
	for i, other := range list {
		if other == c {
			at = i
		}
	}
	for _, other := range list[:at] {
		if other.Name.Name == c.Name.Name {
			a.report(c.Name, CodeDuplicateCTE, "give one of them another name", "two queries of WITH are called %q", c.Name.Name)
			break
		}
	}
	// The names from here on are known, so that using them too early is said as such.
	inner := outer
	for _, other := range list[at:] {
		inner = &cteScope{name: other.Name.Name, pending: true, next: inner}
	}
	before, outer0 := a.scans, a.outer
	a.outer = nil // a named query reads nothing of the query around it
	a.timed++     // who reads it is not known yet
	var r *relation
	if recursive && mentions(c.Query, c.Name.Name) {
		r = a.recursive(c, outer, inner)
	} else {
		r = a.query(c.Query, inner)
	}
	a.timed--
	a.outer = outer0
	return &cteScope{name: c.Name.Name, bound: r, scans: a.scans - before, next: outer}
}

// cte finds a relation's name among the named queries. found with a nil relation means that a problem was reported.
func (a *analyzer) cte(t *syntax.TableName, ctes *cteScope) (r *relation, found bool) {
	if t.Ref {
		return nil, false
	}
	name := t.Name.Name
	for s := ctes; s != nil; s = s.next {
		if s.name != name {
			continue
		}
		if !s.pending {
			if !a.spend(s.scans, t.Name) {
				return nil, true
			}
			return s.bound, true
		}
		if len(a.cat.Relations(name)) > 0 {
			continue // the relation of the catalog is meant
		}
		a.report(t.Name, CodeCTEOrder, "a query of WITH reads those before it; write WITH RECURSIVE for one that reads itself",
			"%q is not declared before its use", name)
		return nil, true
	}
	return nil, false
}

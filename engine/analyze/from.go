package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// from is what FROM and its joins make: a node, the scope over its columns, and words for the summary. The node is
// nil when a problem was reported; the scope is there all the same.
type from struct {
	node    plan.Node
	scope   *scope
	summary string
	// windowed says that a derived table below has a window.
	windowed bool
	// ts is the event time of the joined rows of a pipeline; nil before the first join.
	ts *expr.Column
	// domainFirst says that the node begins with the domain of a correlated subquery.
	domainFirst bool
	// keys are what the relation at hand, a query that reads other ones, has to be joined by.
	keys []expr.Expr
}

func (a *analyzer) from(s *syntax.Select, ctes *cteScope) from {
	f := from{scope: &scope{outer: a.outer, sel: s, inFrom: true}}
	defer func() { f.scope.inFrom = false }()
	if s.From == nil {
		return f
	}
	if u, ok := s.From.(*syntax.Unnest); ok && a.outer != nil && (a.probing > 0 || a.readsInFrom[s]) {
		a.firstUnnest(s, u, &f)
	} else if ok {
		a.report(u, CodeUnnest, "write FROM source s, UNNEST(s.column) AS element", "UNNEST cannot be the first relation")
		f.scope.inputs = append(f.scope.inputs, &input{alias: aliasOf(u), broken: true, retract: -1})
	} else {
		a.startDomain(s, &f)
		node, in := a.relation(s.From, ctes, &f)
		f.node = a.afterDomain(&f, node, in)
		f.scope.inputs = append(f.scope.inputs, in)
		f.summary = sourceSummary(s.From, in)
	}
	before := s.From
	for _, j := range s.Joins {
		a.warnKeywordAlias(before, j)
		before = j.Item
		a.join(j, ctes, &f)
	}
	a.withDomain(s, &f)
	return f
}

func aliasOf(t syntax.TableItem) string {
	switch t := t.(type) {
	case *syntax.TableName:
		if t.Alias != nil {
			return t.Alias.Name
		}
		return t.Name.Name
	case *syntax.Derived:
		if t.Alias != nil {
			return t.Alias.Name
		}
	case *syntax.Unnest:
		if t.Alias != nil {
			return t.Alias.Name
		}
	}
	return ""
}

func sourceSummary(t syntax.TableItem, in *input) string {
	switch t := t.(type) {
	case *syntax.TableName:
		return t.Name.Name + " AS " + in.alias
	default:
		return "(...) AS " + in.alias
	}
}

// relation binds one relation of FROM. The node is nil when it is unknown; its input is then broken.
func (a *analyzer) relation(t syntax.TableItem, ctes *cteScope, f *from) (plan.Node, *input) {
	alias := aliasOf(t)
	broken := &input{alias: alias, broken: true, retract: -1}
	if !a.spend(1, t) {
		return nil, broken
	}
	a.checkAlias(t, alias, f.scope)
	switch t := t.(type) {
	case *syntax.TableName:
		if c, found := a.cte(t, ctes); found {
			if c == nil {
				return nil, broken
			}
			f.windowed = f.windowed || c.windowed
			return c.node, derive(c, alias)
		}
		r, ok := a.lookup(t)
		if !ok {
			return nil, broken
		}
		return a.scan(r, alias)
	case *syntax.Derived:
		if t.Alias == nil {
			a.report(t, CodeAliasMissing, "write (SELECT ...) AS name", "a query in FROM needs an alias")
		}
		if t.Lateral && a.mode == Pipeline {
			a.later(t, "LATERAL in a pipeline", "make it a table")
		}
		before := len(a.ds)
		r := a.derived(t, ctes, f)
		a.lateralMeant(t, f, before)
		if r == nil {
			return nil, broken
		}
		f.windowed = f.windowed || r.windowed
		return r.node, derive(r, alias)
	}
	return nil, broken
}

// spend counts relations that are read, and reports once when they are too many.
func (a *analyzer) spend(n int, at syntax.Node) bool {
	before := a.scans
	a.scans += n
	if a.scans <= maxScans {
		return true
	}
	if before <= maxScans {
		a.report(at, CodeTooLarge, "make tables of the parts", "the statement reads more than %d relations", maxScans)
	}
	a.scans = maxScans + 1
	return false
}

func (a *analyzer) checkAlias(t syntax.TableItem, alias string, s *scope) {
	if alias == "" || s.byAlias(alias) == nil {
		return
	}
	var at syntax.Node = t
	switch t := t.(type) {
	case *syntax.TableName:
		at = t.Name
		if t.Alias != nil {
			at = t.Alias
		}
	case *syntax.Derived:
		at = t.Alias
	case *syntax.Unnest:
		at = t.Alias
	}
	a.report(at, CodeDuplicateAlias, "give one of them another alias with AS", "two relations are called %q", alias)
}

// lookup finds a relation of the catalog that the mode may read.
func (a *analyzer) lookup(t *syntax.TableName) (Relation, bool) {
	if t.Ref {
		return a.lookupRef(t)
	}
	name := t.Name.Name
	found := a.cat.Relations(name)
	switch {
	case len(found) == 0:
		noun := inputsNoun
		if a.mode == Pipeline {
			noun = sourcesNoun
		}
		a.reportName(t.Name, t.Name, CodeUnknownRelation, a.readable(), noun, "no source, table or pipeline %q", name)
		return Relation{}, false
	case len(found) > 1:
		kinds := make([]string, len(found))
		for i, r := range found {
			kinds[i] = "a " + r.Kind.String()
		}
		a.report(t.Name, CodeAmbiguousRelation, "rename one of them", "%q is %s", name, strings.Join(kinds, " and "))
		return Relation{}, false
	}
	r := found[0]
	if a.mode == Pipeline && r.Kind != plan.Source && !a.lookups {
		hint := "make a table of this query"
		if r.Kind == plan.Table {
			hint += ", or look it up: FROM a source JOIN " + name + " ON a key"
		}
		a.report(t.Name, CodePipelineInput, hint, "%q is a %s; a pipeline reads sources only", name, r.Kind)
		return Relation{}, false
	}
	return r, true
}

// readable lists the names that the mode may read.
func (a *analyzer) readable() []string {
	names := a.cat.Names()
	if a.mode == Table {
		return names
	}
	var out []string
	for _, n := range names {
		for _, r := range a.cat.Relations(n) {
			if r.Kind == plan.Source {
				out = append(out, n)
			}
		}
	}
	return out
}

// join adds one relation. Every rule is checked before what is not planned is said.
func (a *analyzer) join(j *syntax.Join, ctes *cteScope, f *from) {
	if u, ok := j.Item.(*syntax.Unnest); ok {
		a.unnest(j, u, f)
		return
	}
	switch {
	case a.mode == Table:
		a.tableJoin(j, ctes, f)
	case a.looksUp(j, ctes):
		a.lookupJoin(j, ctes, f)
	default:
		a.intervalJoin(j, ctes, f)
	}
}

func joinName(j *syntax.Join) string {
	name := string(j.Kind)
	if j.Asof {
		name = "ASOF " + name
	}
	if j.Natural {
		return "NATURAL " + name
	}
	if len(j.Using) > 0 {
		return name + " ... USING"
	}
	return name
}

// joinRules checks what the mode asks of the words of a join.
func (a *analyzer) joinRules(j *syntax.Join) {
	name := joinName(j)
	if j.Asof && a.mode == Pipeline {
		a.report(j.KindPos, CodeAsof, "make it a table", "%s is not allowed in a pipeline", name)
		return
	}
	switch {
	case j.Kind == syntax.JoinComma:
		a.report(j.KindPos, CodeCommaJoin, "write JOIN ... ON, or CROSS JOIN", "only UNNEST can follow a comma in FROM")
		return
	case (j.Natural || len(j.Using) > 0 || j.Kind == syntax.JoinCross) && j.On != nil:
		if j.Kind == syntax.JoinCross {
			a.report(j.KindPos, CodeCrossJoinOn, "write JOIN instead, or move the condition to WHERE", "CROSS JOIN takes no ON")
		} else {
			a.report(j.KindPos, CodeUsing, "write the columns in ON too", "%s takes no ON", name)
		}
	case j.Natural || len(j.Using) > 0:
	case j.Kind == syntax.JoinCross && j.On != nil:
		a.report(j.KindPos, CodeCrossJoinOn, "write JOIN instead, or move the condition to WHERE", "CROSS JOIN takes no ON")
	case j.Kind != syntax.JoinCross && j.On == nil:
		a.report(j.KindPos, CodeJoinWithoutOn, "write ON left.column = right.column", "%s needs ON", name)
	}
	switch {
	case a.mode == Pipeline && j.Within == nil:
		a.report(j.KindPos, CodeJoinWithoutWithin, "write "+name+" ... WITHIN 5 SECONDS", "a join in a pipeline needs WITHIN")
	case a.mode == Table && j.Within != nil:
		a.report(j.KindPos, CodeJoinWithin, "remove WITHIN: a table joins all current rows", "WITHIN is not allowed in a table")
	}
}

// splitOn takes the equalities between both sides out of a condition over left columns (below width) and right ones.
func splitOn(on expr.Expr, width int) (left, right []expr.Expr, residual expr.Expr) {
	for _, c := range plan.Conjuncts(on) {
		if l, r, ok := equality(c, width); ok {
			left, right = append(left, l), append(right, plan.Shift(r, -width))
			continue
		}
		residual = plan.And(residual, c)
	}
	return left, right, residual
}

// equality splits l = r with columns of one side each.
func equality(e expr.Expr, width int) (l, r expr.Expr, ok bool) {
	c, is := e.(*expr.Call)
	if !is || c.Fn.Name != "=" {
		return nil, nil, false
	}
	l, r = c.Args[0], c.Args[1]
	if onSide(l, width, true) && onSide(r, width, false) {
		return l, r, true
	}
	if onSide(r, width, true) && onSide(l, width, false) {
		return r, l, true
	}
	return nil, nil, false
}

// onSide reports whether an expression reads columns, all of them of one side.
func onSide(e expr.Expr, width int, left bool) bool {
	cols := plan.Columns(e)
	for _, c := range cols {
		if (c < width) != left {
			return false
		}
	}
	return len(cols) > 0
}

func (a *analyzer) warnKeyKinds(j *syntax.Join, left, right []expr.Expr) {
	if a.mode != Table {
		return
	}
	for i := range left {
		if l, r := left[i].Kind(), right[i].Kind(); l != r {
			a.warn(j.On, CodeJoinKeyKinds, "convert one side with CAST", "%s is %s and %s is %s: keys of different kinds never match",
				left[i], l, right[i], r)
		}
	}
}

// neverEqual reports whether a pair of keys is a Timestamp and a Long. Keys are typed, so the two are different, although
// their bytes are the same.
func neverEqual(left, right []expr.Expr) bool {
	for i := range left {
		l, r := left[i].Kind(), right[i].Kind()
		if l == types.Timestamp && r == types.Long || l == types.Long && r == types.Timestamp {
			return true
		}
	}
	return false
}

// unnest adds the elements of an array.
func (a *analyzer) unnest(j *syntax.Join, u *syntax.Unnest, f *from) {
	alias := aliasOf(u)
	in := &input{alias: alias, unnest: true, retract: -1, ts: &expr.Literal{V: types.LongOf(0)}}
	in.columns = []types.Field{{Name: alias, Kind: types.Json}}
	ok := true
	fail := func(n syntax.Node, code, hint, format string, args ...any) {
		a.report(n, code, hint, format, args...)
		ok = false
	}
	if u.Alias == nil {
		fail(u, CodeAliasMissing, "write UNNEST(...) AS element", "UNNEST needs an alias")
	}
	a.checkAlias(u, alias, f.scope)
	switch {
	case j.Kind == syntax.JoinRight || j.Kind == syntax.JoinFull:
		fail(j.KindPos, CodeUnnest, "write LEFT JOIN UNNEST, CROSS JOIN UNNEST, or a comma", "%s UNNEST is not possible", j.Kind)
	case j.On != nil && !isTrue(j.On) || j.Within != nil || len(j.Using) > 0 || j.Natural:
		fail(j.KindPos, CodeUnnest, "move the condition to WHERE", "UNNEST takes no ON, USING or WITHIN")
	}
	b := &binder{analyzer: a, scope: f.scope, clause: "UNNEST"}
	arg, bound := b.bind(u.Arg)
	if bound && arg.Kind() != types.Json {
		fail(u.Arg, CodeUnnest, "name an array column or a Json value", "UNNEST takes an array or a Json value, found %s", arg.Kind())
	}
	left := f.node
	f.node = nil
	if left != nil {
		in.at = []int{len(left.Schema())}
	} else {
		in.at = []int{0}
	}
	f.scope.inputs = append(f.scope.inputs, in)
	f.summary += " → " + alias
	if left != nil && bound && ok {
		u := plan.NewUnnest(left, arg, alias)
		u.Outer = j.Kind == syntax.JoinLeft
		f.node = u
	}
}

func joinSummary(j *syntax.Join, in *input) string {
	s := " ⋈ "
	if j.Kind == syntax.JoinCross {
		s = " × "
	} else if j.Kind != syntax.JoinInner {
		s += strings.TrimSuffix(string(j.Kind), " JOIN") + " "
	}
	s += sourceSummary(j.Item, in)
	if j.Within != nil {
		s += " WITHIN " + plan.FormatMillis(j.Within.Millis())
	}
	return s
}

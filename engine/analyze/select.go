package analyze

import (
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// selecting is the work on one SELECT.
type selecting struct {
	*analyzer
	s    *syntax.Select
	ctes *cteScope
	// post are the subqueries of HAVING and the select list.
	post *subqueries
	// windows are the window functions of the select list.
	windows *windowing
	from    from
	node    plan.Node // nil once a problem makes a plan impossible
	// grouped says that rows are groups from here on; group is set then.
	grouped bool
	group   *grouping
	out     outputs
}

func (a *analyzer) selectQuery(s *syntax.Select, ctes *cteScope) *relation {
	before := len(a.ds)
	crosses := a.crosses
	a.crosses = nil
	defer a.allow(s)()
	below := a.below(s)
	q := &selecting{analyzer: a, s: s, ctes: ctes, post: &subqueries{}, from: a.from(s, ctes)}
	below()
	q.node = q.from.node
	q.windows = q.namedWindows()
	q.modeRules()
	q.where()
	q.warnCrosses()
	a.crosses = crosses
	q.grouping()
	q.latestBy()
	q.items()
	q.having()
	r := q.finish()
	if syntax.HasErrors(a.ds[before:]) {
		return nil
	}
	return r
}

func (q *selecting) binder(clause string) *binder {
	return &binder{analyzer: q.analyzer, scope: q.from.scope, clause: clause, ctes: q.ctes}
}

// aggregateIn is the first aggregate of the select list and HAVING.
func (q *selecting) aggregateIn() *syntax.Call {
	for _, it := range q.s.Items {
		if it.Expr != nil {
			if c := firstAggregate(it.Expr); c != nil {
				return c
			}
		}
	}
	if q.s.Having != nil {
		return firstAggregate(q.s.Having.Expr)
	}
	return nil
}

// modeRules checks which clauses a table and a pipeline may have.
func (q *selecting) modeRules() {
	s, agg := q.s, q.aggregateIn()
	switch q.mode {
	case Table:
		if s.Window != nil {
			q.report(s.Window, CodeWindowNotAllowed, "remove WINDOW: a table keeps running totals; windows belong in a pipeline", "WINDOW is not allowed in a table")
			q.fix(syntax.Remove("WINDOW", s.Window.Pos))
		}
		if s.Lateness != nil {
			q.report(s.Lateness, CodeLateness, "remove it: the rows of a table count whenever they come", "ALLOWED LATENESS is not allowed in a table")
			q.fix(syntax.Remove("ALLOWED LATENESS", s.Lateness.Pos))
		}
		if s.Emit != nil {
			q.report(s.Emit, CodeEmitNotAllowed, "remove EMIT: a table gives out every change", "EMIT is not allowed in a table")
			q.fix(syntax.Remove("EMIT", s.Emit.Pos))
		}
	case Pipeline:
		q.pipelineRules(agg)
	}
	if l := s.Latest; l != nil && (s.GroupBy != nil || agg != nil) {
		what := "an aggregate"
		if s.GroupBy != nil {
			what = "GROUP BY"
		}
		q.report(l, CodeLatestBy, "aggregate in a second table over this one", "LATEST BY and %s exclude each other", what)
	}
}

func (q *selecting) pipelineRules(agg *syntax.Call) {
	s := q.s
	const hint = "add WINDOW TUMBLING(SIZE 5 SECONDS), or make it a table"
	if s.Latest != nil {
		q.report(s.Latest, CodeLatestBy, "make it a table", "LATEST BY is not allowed in a pipeline")
	}
	if s.Lateness != nil && !keepsTime(s) {
		q.report(s.Lateness, CodeLateness, "add a window, or remove it", "ALLOWED LATENESS needs a window or a join: nothing else drops late rows")
	}
	if s.Window == nil {
		if agg != nil {
			q.report(agg, CodeWindowMissing, hint, "aggregates in a pipeline need a window")
		}
		if s.GroupBy != nil {
			q.report(s.GroupBy, CodeWindowMissing, hint, "GROUP BY in a pipeline needs a window")
		}
		if s.Having != nil && agg == nil && s.GroupBy == nil {
			q.report(s.Having, CodeWindowMissing, hint, "HAVING in a pipeline needs a window")
		}
		if s.Emit != nil {
			q.report(s.Emit, CodeWindowMissing, "remove EMIT, or add a window", "EMIT in a pipeline needs a window")
		}
		if s.Distinct != nil {
			q.report(s.Distinct, CodeWindowMissing, hint, "DISTINCT in a pipeline needs a window")
		}
		return
	}
	q.windowRules()
	for _, in := range q.from.scope.inputs {
		if !in.hasTs && !in.broken && !in.unnest && !in.lookedUp {
			q.report(s.Window, CodeEventTime, "declare _ts as Long or Timestamp, or leave it out", "a window needs the event time of %q, and its column _ts is no time", in.alias)
		}
		if in.changes {
			q.warn(s.Window, CodeKeyedChanges, "make it a table, whose aggregates follow updates and deletes, or aggregate what a change means by itself",
				"%q is a source with a key: this window counts every change of a row, updates and deletes included", in.alias)
		}
	}
	q.distinctRules(agg)
}

func (q *selecting) where() {
	if q.s.Where == nil {
		return
	}
	b := q.binder("WHERE")
	b.subs = &subqueries{}
	pred, ok := b.condition(q.s.Where.Expr)
	if !ok {
		q.node = nil
		return
	}
	if q.s.Latest != nil && len(q.from.scope.inputs) == 1 {
		// The retraction mark of a source removes its key whatever WHERE says of the row.
		if in := q.from.scope.inputs[0]; in.retract >= 0 {
			or, _ := expr.Lookup("OR")
			pred, _ = or.Bind([]expr.Expr{pred, q.retractColumn(in)})
		}
	}
	if q.node != nil {
		// What reads no subquery comes first: a domain is taken from the rows that are left.
		without, with := apart(pred)
		if without != nil {
			q.node = &plan.Filter{In: q.node, Pred: without}
		}
		if with != nil {
			node, resolve := b.subs.apply(q.node, identity)
			q.node = &plan.Filter{In: node, Pred: resolve(with)}
		}
	}
}

func (q *selecting) retractColumn(in *input) expr.Expr {
	return &expr.Column{Index: in.retract, Name: in.alias + "." + types.RetractColumn, K: types.Bool}
}

// grouping binds the keys when the SELECT is grouped.
func (q *selecting) grouping() {
	s := q.s
	agg := q.aggregateIn()
	if agg == nil && s.GroupBy == nil && s.Having == nil && s.Window == nil || s.Latest != nil {
		return
	}
	q.grouped = true
	q.group = newGrouping(q.window(), s.GroupBy != nil || q.distinctWindow(agg))
	keys, _ := q.outer.columns()
	for _, k := range keys {
		q.group.key(k)
	}
	if q.distinctWindow(agg) {
		q.distinctKeys()
	}
	if s.GroupBy == nil {
		return
	}
	if s.GroupBy.All {
		for _, it := range s.Items {
			if it.Star {
				q.report(s.GroupBy.AllPos, CodeStarWithGroup, "list the columns", "GROUP BY ALL cannot stand with *")
			} else if firstAggregate(it.Expr) == nil && firstOver(it.Expr) == nil {
				q.bindKey(it.Expr)
			}
		}
		return
	}
	positions := make([]int, len(s.GroupBy.Items))
	for i, e := range s.GroupBy.Items {
		q.warnConstantKey(e)
		positions[i] = q.bindKey(q.aliased(e))
	}
	if s.GroupBy.Sets != nil {
		q.groupingSets(positions, len(keys))
	}
}

// bindKey adds a grouping key.
func (q *selecting) bindKey(e syntax.Expr) (position int) {
	b := q.binder("GROUP BY")
	b.subs = q.group.subs
	k, ok := b.bind(e)
	if !ok {
		q.node, q.group.broken = nil, true
		return -1
	}
	at := len(q.group.keys)
	position = q.group.key(k)
	if c, is := e.(*syntax.ColumnRef); is && len(q.group.keys) > at {
		mark := len(q.ds)
		if r, found := q.resolve(q.from.scope, c); found {
			q.group.fields[at] = r.field
		}
		q.ds = q.ds[:mark]
	}
	return position
}

// aliased replaces the alias of a select item by the item's expression, unless a column has the name.
func (q *selecting) aliased(e syntax.Expr) syntax.Expr {
	c, ok := e.(*syntax.ColumnRef)
	if !ok || c.Qualifier != nil {
		return e
	}
	for _, in := range q.from.scope.inputs {
		if _, there := in.find(c.Name.Name); there || in.broken {
			return e
		}
	}
	for _, it := range q.s.Items {
		if it.Alias != nil && strings.EqualFold(it.Alias.Name, c.Name.Name) && firstAggregate(it.Expr) == nil {
			return it.Expr
		}
	}
	return e
}

// latestBy keeps the newest row per key.
func (q *selecting) latestBy() {
	l := q.s.Latest
	if l == nil {
		return
	}
	keys := firstN(q.outer.width())
	ok := true
	for _, e := range l.Cols {
		c, is := e.(*syntax.ColumnRef)
		if !is {
			q.report(e, CodeLatestBy, "name columns of the relation", "LATEST BY takes columns, not expressions")
			ok = false
			continue
		}
		r, found := q.resolve(q.from.scope, c)
		if !found {
			ok = false
			continue
		}
		col, is := r.expr.(*expr.Column)
		if !is {
			q.report(e, CodeLatestBy, "name a column that differs between rows", "%q is the same in every row", syntax.Format(e))
			ok = false
			continue
		}
		keys = append(keys, col.Index)
		q.out.latestKeys = append(q.out.latestKeys, col)
	}
	inputs := q.from.scope.inputs
	if len(inputs) != 1 {
		if ok && len(inputs) > 1 {
			q.later(l, "LATEST BY over several relations", "make a table of the join, and LATEST BY over that")
		}
		return
	}
	if !ok || q.node == nil {
		q.node = nil
		return
	}
	in := inputs[0]
	node := q.node
	ts, is := in.ts.(*expr.Column)
	if !is {
		// Rows without event time all have 0: the last one to come wins.
		node, ts = q.appendTs(node)
	}
	q.node = &plan.LatestBy{In: node, Keys: keys, Ts: ts.Index, Retract: in.retract}
}

// having filters groups. Its aggregates are known before the grouping node is made.
func (q *selecting) having() {
	h := q.s.Having
	if h == nil {
		return
	}
	if q.group == nil {
		q.report(h, CodeGroupingWithoutKey, "write WHERE", "HAVING needs groups")
		return
	}
	b := &binder{analyzer: q.analyzer, scope: q.from.scope, clause: "HAVING", group: q.group, item: h.Expr, subs: q.post, ctes: q.ctes}
	pred, ok := b.condition(h.Expr)
	if !ok {
		q.node = nil
		return
	}
	q.out.having = pred
}

// finish puts the node together from below: grouping, HAVING, select list, DISTINCT.
func (q *selecting) finish() *relation {
	r := &relation{label: q.label(), windowed: q.from.windowed || q.s.Window != nil, summary: q.summary()}
	if q.node == nil || !q.out.ok {
		return nil
	}
	node := q.node
	if q.grouped {
		if s := q.s; s.GroupBy != nil {
			q.warnGroupState("GROUP BY", s.GroupBy, q.group.keys, q.group.aggs)
		} else if q.aggregateIn() != nil {
			q.warnGroupState("the aggregate", q.aggregateIn(), nil, q.group.aggs)
		}
		node = q.groupNode(node)
		q.group.finish()
	}
	node, resolve := q.post.apply(node, identity)
	if q.out.having != nil {
		node = &plan.Filter{In: node, Pred: resolve(q.out.having)}
	}
	q.windowOutputs()
	ts := q.eventTime()
	exprs, names := q.outer.columns()
	r.outer = len(exprs)
	for _, e := range q.out.exprs {
		exprs = append(exprs, resolve(e))
	}
	names = append(names, q.out.names...)
	if ts != nil && !(q.mode == Table && q.s.Distinct != nil && len(q.s.Distinct.On) == 0) {
		exprs = append(exprs[:len(exprs):len(exprs)], ts)
		names = append(names[:len(names):len(names)], types.TsColumn)
		r.hasTs = true
	}
	node, exprs = q.windows.apply(node, r.outer, exprs, resolve)
	r.node = plan.NewProject(node, exprs, names)
	r.fields = q.out.fields
	if q.s.Distinct != nil && len(q.s.Distinct.On) == 0 && q.s.Window == nil {
		q.warnGroupState("DISTINCT", q.s.Distinct, q.out.exprs, nil)
		r.node = distinct(r.node)
	}
	r.keyFields, r.wholeRow = q.keyFields()
	return r
}

func (q *selecting) groupNode(node plan.Node) plan.Node {
	g := q.group
	if g.window == nil {
		return g.reduce(node)
	}
	// The event time may come from several columns or have another kind; the window wants one Long column.
	ts, is := q.inputTs().(*expr.Column)
	if !is || ts.K != types.Long {
		var at *expr.Column
		node, at = q.appendTs(node)
		ts = at
	}
	return g.window.With(node, ts.Index, g.keys, g.aggs)
}

// label is what _source reads of the output: the labels of the inputs.
func (q *selecting) label() string {
	var labels []string
	for _, in := range q.from.scope.inputs {
		if in.label != "" && (len(labels) == 0 || labels[len(labels)-1] != in.label) {
			labels = append(labels, in.label)
		}
	}
	return strings.Join(labels, ",")
}

// distinct keeps each row once.
func distinct(node plan.Node) plan.Node {
	s := node.Schema()
	keys := make([]expr.Expr, len(s))
	for i, f := range s {
		keys[i] = &expr.Column{Index: i, Name: f.Name, K: f.Kind}
	}
	return plan.NewReduce(node, keys, nil)
}

// keyFields matches the keys of GROUP BY or LATEST BY to output columns.
func (q *selecting) keyFields() (names []string, whole bool) {
	switch {
	case q.s.Distinct != nil || q.mode == Pipeline:
		return nil, true
	case q.s.Latest != nil:
		for _, k := range q.out.latestKeys {
			name, ok := q.out.nameOf(k.Index)
			if !ok {
				return nil, true
			}
			names = append(names, name)
		}
		return names, false
	case q.grouped && q.group.sets != nil:
		return nil, true
	case q.grouped:
		names = []string{}
		for i := range q.group.keys {
			name, ok := q.out.nameOf(i)
			if !ok {
				return nil, true
			}
			names = append(names, name)
		}
		return names, false
	}
	return nil, true
}

func (q *selecting) summary() string {
	var b strings.Builder
	b.WriteString(q.from.summary)
	if q.s.Where != nil {
		b.WriteString(" WHERE")
	}
	if w := q.s.Window; w != nil {
		b.WriteString(" " + string(w.Kind) + "(" + plan.FormatMillis(w.Size.Millis()) + ")")
	}
	if q.grouped && len(q.group.keys) > 0 {
		keys := make([]string, len(q.group.keys))
		for i, k := range q.group.keys {
			keys[i] = k.String()
			if _, is := k.(*expr.Column); is {
				keys[i] = strings.Replace(keys[i], ".", "_", 1)
			}
		}
		b.WriteString(" GROUP BY " + strings.Join(keys, ", "))
	}
	if l := q.s.Latest; l != nil {
		cols := make([]string, len(l.Cols))
		for i, c := range l.Cols {
			cols[i] = syntax.Format(c)
		}
		b.WriteString(" LATEST BY " + strings.Join(cols, ", "))
	}
	b.WriteString(" SELECT " + strconv.Itoa(len(q.out.exprs)))
	return strings.TrimSpace(b.String())
}

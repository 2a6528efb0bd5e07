package enginetest

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// query evaluates a query with the CTEs that are visible in it.
func (r *reference) query(q *syntax.Query, ctes map[string]*table) (*table, error) {
	if len(q.With) > 0 {
		visible := map[string]*table{}
		for n, t := range ctes {
			visible[n] = t
		}
		for _, c := range q.With {
			outer := r.outer
			r.outer = nil
			r.timed++
			var t *table
			var err error
			if q.Recursive && c.Query.Body != nil && r.isRecursive(c) {
				t, err = r.recursive(c, visible)
			} else {
				t, err = r.query(c.Query, visible)
			}
			r.timed--
			r.outer = outer
			if err != nil {
				return nil, err
			}
			visible[c.Name.Name] = t
		}
		ctes = visible
	}
	t, err := r.body(q.Body, ctes)
	if err != nil {
		return nil, err
	}
	return r.ordered(q, t), nil
}

func (r *reference) body(b syntax.Body, ctes map[string]*table) (*table, error) {
	if s, ok := b.(*syntax.Select); ok {
		return r.selectQuery(s, ctes)
	}
	return r.union(b.(*syntax.SetOp), ctes)
}

// union puts the rows of both sides together; without ALL each row is there once.
func (r *reference) union(s *syntax.SetOp, ctes map[string]*table) (*table, error) {
	left, err := r.body(s.Left, ctes)
	if err != nil {
		return nil, err
	}
	right, err := r.body(s.Right, ctes)
	if err != nil {
		return nil, err
	}
	out := &table{fields: left.fields.Clone(), hasTs: left.hasTs && right.hasTs, label: left.label + "," + right.label,
		inputs: append(append([]string(nil), left.inputs...), right.inputs...), folded: left.folded || right.folded,
		behind: max(left.behind, right.behind)}
	for i := range out.fields {
		if k := common(left.fields[i].Stored(), right.fields[i].Stored()); k != left.fields[i].Stored() {
			out.fields[i] = types.Field{Name: left.fields[i].Name, Kind: k}
		}
	}
	sides := make([][]rrow, 2)
	for k, side := range [][]rrow{left.rows, right.rows} {
		for _, row := range side {
			vals := make([]types.Value, len(row.vals))
			for i, v := range row.vals {
				vals[i] = types.Convert(v, out.fields[i].Stored())
			}
			row.vals = vals
			sides[k] = append(sides[k], row)
		}
	}
	if s.Kind != syntax.Union {
		out.rows, out.hasTs, out.folded, out.label = setOperation(s, sides[0], sides[1]), false, true, left.label
		return out, nil
	}
	out.rows = append(sides[0], sides[1]...)
	sort.SliceStable(out.rows, func(i, j int) bool { return out.rows[i].at < out.rows[j].at })
	if !s.All {
		out.rows, out.hasTs, out.folded = once(out.rows), false, true
	}
	return out, nil
}

// once keeps one of each row that is there.
func once(rows []rrow) []rrow {
	out := net(rows, false)
	kept := out[:0]
	for _, row := range out {
		if row.w > 0 {
			row.w, row.ts = 1, 0
			kept = append(kept, row)
		}
	}
	return kept
}

// source is one relation of FROM with the position of its columns in a joined row.
type source struct {
	alias  string
	fields types.Schema
	from   int // first column in the joined row
	unnest bool
	label  string
	hasTs  bool
}

// env is what expressions of one SELECT read: a joined row, the event times of its parts.
type env struct {
	r       *reference
	sources []source
	vals    []types.Value
	ts      []int64 // per source
	at      int     // the place of the row in the history
	merged  []mergedColumn
	// outer is the query around a subquery, ctes the named queries that subqueries read.
	outer *env
	ctes  map[string]*table
	// group is set behind a grouping: the rows of the group, with their weights.
	group []jrow
	// rolled are the keys outside of the grouping set at hand, by their text: they are NULL behind the grouping.
	rolled map[string]bool
	// over are the values of the window functions of the current row.
	over map[*syntax.Call]types.Value
	// window is the own window of a grouped row.
	window *borders
}

// jrow is a row of FROM: the columns of all relations one after the other.
type jrow struct {
	rrow
	parts []int64 // event time of each source
}

func (r *reference) selectQuery(s *syntax.Select, ctes map[string]*table) (*table, error) {
	e := &env{r: r, outer: r.outer, ctes: ctes}
	allowed := r.allowed
	if s.Lateness != nil {
		r.allowed = s.Lateness.For.Millis()
	}
	defer func() { r.allowed = allowed }()
	if r.keepsTime(s) {
		r.timed++
	}
	rows, t, err := r.from(s, ctes, e)
	if r.keepsTime(s) {
		r.timed--
	}
	if err != nil {
		return nil, err
	}
	if r.pipeline {
		e.touch(s)
	}
	var passed []jrow
	for _, row := range rows {
		if s.Where == nil || row.retract && s.Latest != nil || e.on(row).truth(s.Where.Expr) {
			passed = append(passed, row)
		}
	}
	out := &table{label: t.label, inputs: t.inputs, folded: t.folded, behind: t.behind, closes: t.closes}
	for _, src := range e.sources {
		out.hasTs = out.hasTs || src.hasTs
	}
	grouped := s.GroupBy != nil || s.Having != nil || s.Window != nil
	for _, it := range s.Items {
		grouped = grouped || it.Expr != nil && containsAggregate(it.Expr)
	}
	switch {
	case s.Latest != nil:
		if t.folded || s.Where != nil && hasSubquery(s.Where.Expr) {
			return nil, fmt.Errorf("%w: LATEST BY over a grouped query", ErrNoReference)
		}
		passed = e.latest(passed, s.Latest)
		out.folded = true
	case grouped:
		return r.grouped(s, e, passed, out)
	}
	if len(overCalls(s)) > 0 {
		e.projectOver(s, out, passed)
	} else {
		e.project(s, out, passed)
	}
	if s.Distinct != nil && len(s.Distinct.On) == 0 {
		out.rows, out.hasTs, out.folded = once(out.rows), false, true
	}
	return out, nil
}

// on moves the environment to a row.
func (e *env) on(row jrow) *env {
	e.vals, e.ts, e.group, e.window, e.at = row.vals, row.parts, nil, nil, row.at
	return e
}

// project computes the select list for every row.
func (e *env) project(s *syntax.Select, out *table, rows []jrow) {
	out.fields = e.outputFields(s)
	for _, row := range rows {
		e.on(row)
		var vals []types.Value
		for _, it := range s.Items {
			if !it.Star {
				vals = append(vals, e.value(it.Expr))
				continue
			}
			for _, p := range e.starred(it) {
				vals = append(vals, e.columnValue(p.place))
			}
		}
		r := row.rrow
		r.vals = e.typed(vals, out.fields)
		r.ts = e.rowTs()
		out.rows = append(out.rows, r)
	}
}

// typed gives values the kinds of their columns: a Long in a Double column, a bare NULL.
func (e *env) typed(vals []types.Value, fields types.Schema) []types.Value {
	out := make([]types.Value, len(vals))
	for i, v := range vals {
		out[i] = types.Convert(v, fields[i].Stored())
	}
	return out
}

// rowTs is the event time of the current row: the latest of its parts.
func (e *env) rowTs() int64 {
	var ts int64
	first := true
	for i, src := range e.sources {
		if e.ts[i] == noTime {
			continue
		}
		if src.hasTs && (first || e.ts[i] > ts) {
			ts, first = e.ts[i], false
		}
	}
	return ts
}

// latest keeps the newest row of each key. Rows of one epoch are taken in order, what an updating input takes back
// before what it adds.
func (e *env) latest(rows []jrow, l *syntax.LatestBy) []jrow {
	sort.SliceStable(rows, func(i, j int) bool {
		if rows[i].epoch != rows[j].epoch {
			return rows[i].epoch < rows[j].epoch
		}
		return rows[i].w < 0 && rows[j].w > 0
	})
	kept := map[string]latestKept{}
	newest := int64(math.MinInt64)
	bounds := e.r.options.Retention
	for i, row := range rows {
		if i > 0 && rows[i-1].epoch != row.epoch {
			evictLatest(kept, newest, bounds)
		}
		e.on(row)
		var key []types.Value
		for _, c := range l.Cols {
			key = append(key, e.value(c))
		}
		k := keyOf(key)
		have, ok := kept[k]
		switch {
		case row.w < 0:
			if ok && keyOf(have.vals) == keyOf(row.vals) && have.ts == row.ts {
				delete(kept, k)
			}
		case ok && row.ts < have.ts:
		case row.retract:
			delete(kept, k)
		default:
			row.w = 1
			kept[k] = latestKept{row, key}
			newest = max(newest, row.ts)
		}
	}
	evictLatest(kept, newest, bounds)
	var out []jrow
	for _, row := range kept {
		out = append(out, row.jrow)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].at < out[j].at })
	return out
}

// first evaluates the first relation of FROM.
func (r *reference) first(s *syntax.Select, ctes map[string]*table, e *env) ([]jrow, *table, error) {
	if u, ok := s.From.(*syntax.Unnest); ok { // of an array of the query around
		return e.unnest([]jrow{{rrow: rrow{w: 1}}}, u, false), &table{folded: true}, nil
	}
	t, alias, err := r.relation(s.From, ctes)
	if err != nil {
		return nil, nil, err
	}
	e.add(source{alias: alias, fields: t.fields, label: t.label, hasTs: t.hasTs})
	rows := make([]jrow, len(t.rows))
	for i, row := range t.rows {
		rows[i] = jrow{rrow: row, parts: []int64{row.ts}}
	}
	return rows, &table{label: t.label, inputs: t.inputs, folded: t.folded, behind: t.behind, closes: t.closes}, nil
}

// from evaluates FROM and its joins.
func (r *reference) from(s *syntax.Select, ctes map[string]*table, e *env) ([]jrow, *table, error) {
	rows, all, err := r.first(s, ctes, e)
	if err != nil {
		return nil, nil, err
	}
	for _, j := range s.Joins {
		if u, ok := j.Item.(*syntax.Unnest); ok {
			rows = e.unnest(rows, u, j.Kind == syntax.JoinLeft)
			continue
		}
		if r.pipeline && r.isTable(j.Item, ctes) {
			if rows, err = r.lookup(rows, all, j, ctes, e); err != nil {
				return nil, nil, err
			}
			continue
		}
		if r.pipeline {
			if rows, err = r.within(rows, all, j, ctes, e); err != nil {
				return nil, nil, err
			}
			continue
		}
		if d, ok := j.Item.(*syntax.Derived); ok && d.Lateral {
			if rows, err = r.lateral(rows, d, j, e, ctes); err != nil {
				return nil, nil, err
			}
			all.folded = true
			continue
		}
		right, alias, err := r.relation(j.Item, ctes)
		if err != nil {
			return nil, nil, err
		}
		using := e.usingOf(j, right)
		e.add(source{alias: alias, fields: right.fields, label: right.label, hasTs: right.hasTs})
		if j.Asof {
			rows = e.asof(rows, right.rows, j, using)
		} else {
			rows = e.join(rows, right.rows, j, using)
		}
		if right.label != all.label {
			all.label += "," + right.label
		}
		all.inputs = append(all.inputs, right.inputs...)
		all.folded = true
	}
	return rows, all, nil
}

func (e *env) add(s source) {
	for _, have := range e.sources {
		s.from = have.from + len(have.fields)
	}
	e.sources = append(e.sources, s)
}

// relation reads one relation of FROM.
func (r *reference) relation(item syntax.TableItem, ctes map[string]*table) (*table, string, error) {
	if d, ok := item.(*syntax.Derived); ok {
		t, err := r.query(d.Query, ctes)
		return t, d.Alias.Name, err
	}
	n := item.(*syntax.TableName)
	alias := n.Name.Name
	if n.Alias != nil {
		alias = n.Alias.Name
	}
	if t, ok := ctes[n.Name.Name]; ok && !n.Ref {
		return t, alias, nil
	}
	found := r.catalog.Relations(n.Name.Name)
	if len(found) != 1 {
		return nil, "", fmt.Errorf("%d relations are called %q", len(found), n.Name.Name)
	}
	return r.base(found[0]), alias, nil
}

// base lists the rows that a relation of the catalog ever had.
func (r *reference) base(rel engine.Relation) *table {
	t := &table{fields: rel.Schema, label: rel.Name, inputs: []string{rel.Name}, hasTs: rel.Kind == engine.Source || rel.EventTime}
	declaredTs, isTs := rel.Schema.Find(types.TsColumn)
	declaredRetract, isRetract := rel.Schema.Find(types.RetractColumn)
	if isTs {
		k := rel.Schema[declaredTs].Stored()
		t.hasTs = k == types.Long || k == types.Timestamp
	}
	for _, ev := range r.history {
		if ev.Relation != rel.Name {
			continue
		}
		row := rrow{vals: ev.Values, ts: ev.Ts, w: ev.Weight, at: ev.at, epoch: ev.epoch}
		if isTs && t.hasTs {
			row.ts = ev.Values[declaredTs].Int()
		}
		if !t.hasTs {
			row.ts = 0
		}
		if rel.Kind == engine.Source {
			row.retract = ev.Retract
			if isRetract {
				row.retract = rel.Schema[declaredRetract].Stored() == types.Bool && ev.Values[declaredRetract].Bool()
			}
		}
		t.rows = append(t.rows, row)
	}
	if rel.Kind == engine.Source && len(rel.Key) > 0 && !r.pipeline {
		t.rows = upserted(t.rows, rel)
	}
	return t
}

// upserted replays the changes of a keyed source: a row takes the one back that its key had, and a marked one is none
// itself. What came and went within an epoch was never there.
func upserted(rows []rrow, rel engine.Relation) (out []rrow) {
	held := map[string]rrow{}
	for i := 0; i < len(rows); {
		last := map[string]int{} // the last change of each key in the epoch
		var order []string
		end := i
		for ; end < len(rows) && rows[end].epoch == rows[i].epoch; end++ {
			var key []types.Value
			for _, name := range rel.Key {
				c, _ := rel.Schema.Find(name)
				key = append(key, rows[end].vals[c])
			}
			k := keyOf(key)
			if _, ok := last[k]; !ok {
				order = append(order, k)
			}
			last[k] = end
		}
		for _, k := range order {
			row := rows[last[k]]
			if old, ok := held[k]; ok {
				old.w, old.at, old.epoch = -1, row.at, row.epoch
				out = append(out, old)
			}
			delete(held, k)
			if !row.retract {
				held[k] = row
				out = append(out, row)
			}
		}
		i = end
	}
	return out
}

// unnest gives one row per element of an array.
func (e *env) unnest(rows []jrow, u *syntax.Unnest, outer bool) []jrow {
	var out []jrow
	for _, row := range rows {
		v := e.on(row).value(u.Arg)
		before := len(out)
		elements := func(b []byte, f func(node []byte) bool) {
			if !v.IsNull() {
				types.JsonElements(b, f)
			}
			if outer && len(out) == before {
				f([]byte("null"))
			}
		}
		elements(textOf(v), func(node []byte) bool {
			element := types.JsonOf(string(node))
			if types.JsonIsNull(node) {
				element = types.Null(types.Json)
			}
			next := row
			next.vals = append(append([]types.Value(nil), row.vals...), element)
			next.parts = append(append([]int64(nil), row.parts...), 0)
			out = append(out, next)
			return true
		})
	}
	e.add(source{alias: u.Alias.Name, fields: types.Schema{{Name: u.Alias.Name, Kind: types.Json}}, unnest: true})
	return out
}

// side says which relations an expression reads: 0 none, 1 the left ones, 2 the newest, 3 both.
func (e *env) side(x syntax.Expr) int {
	out := 0
	syntax.Walk(x, func(x syntax.Expr) bool {
		if c, ok := x.(*syntax.ColumnRef); ok {
			if i := e.find(c); i.constant == nil && i.outer == nil {
				if i.source == len(e.sources)-1 {
					out |= 2
				} else {
					out |= 1
				}
			}
		}
		return true
	})
	return out
}

func conjuncts(e syntax.Expr) []syntax.Expr {
	if b, ok := e.(*syntax.Binary); ok && b.Op == "AND" {
		return append(conjuncts(b.L), conjuncts(b.R)...)
	}
	return []syntax.Expr{e}
}

func isAggregateCall(c *syntax.Call) bool {
	_, is := agg.Lookup(c.Name.Name)
	return is
}

func containsAggregate(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(x syntax.Expr) bool {
		if c, ok := x.(*syntax.Call); ok {
			found = found || c.Over == nil && isAggregateCall(c)
		}
		return !found
	})
	return found
}

// outputFields are the names and kinds of the select list.
func (e *env) outputFields(s *syntax.Select) types.Schema {
	var out types.Schema
	add := func(name string, k types.Kind) {
		if k == types.Unknown {
			k = types.String
		}
		again := name
		for n := 2; ; n++ {
			if _, taken := out.Find(again); !taken {
				break
			}
			again = fmt.Sprintf("%s_%d", name, n)
		}
		out = append(out, types.Field{Name: again, Kind: k})
	}
	for i, it := range s.Items {
		if !it.Star {
			add(itemName(it, i), e.kind(it.Expr))
			continue
		}
		for _, p := range e.starred(it) {
			add(p.name, p.kind)
		}
	}
	if s.Window != nil {
		for _, f := range e.r.added(s) {
			if _, there := out.Find(f.Name); !there {
				add(f.Name, f.Kind)
			}
		}
	}
	return out
}

func itemName(it *syntax.SelectItem, i int) string {
	if it.Alias != nil {
		return it.Alias.Name
	}
	switch e := it.Expr.(type) {
	case *syntax.ColumnRef:
		return e.Name.Name
	case *syntax.Call:
		if e.Star {
			return "count_star"
		}
		return strings.ToLower(e.Name.Name)
	case *syntax.Access:
		if l, ok := e.Key.(*syntax.Literal); ok && l.Kind == syntax.StringLiteral && l.Text != "" {
			return l.Text
		}
	}
	return fmt.Sprintf("col%d", i+1)
}

package enginetest

import (
	"fmt"
	"math/big"
	"sort"
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// grouped evaluates a SELECT with GROUP BY, aggregates or a window.
func (r *reference) grouped(s *syntax.Select, e *env, passed []jrow, out *table) (*table, error) {
	keys := e.groupKeys(s)
	out.fields = e.outputFields(s)
	if s.Window != nil {
		return r.windows(s, e, keys, passed, out), nil
	}
	sets := [][]int{nil}
	if s.GroupBy != nil && s.GroupBy.Sets != nil {
		sets = s.GroupBy.Sets
	}
	for _, set := range sets {
		own := keys
		if s.GroupBy != nil && s.GroupBy.Sets != nil {
			own = e.rollUp(keys, set)
		}
		groups := map[string][]jrow{}
		for _, row := range passed {
			k := e.on(row).key(own)
			groups[k] = append(groups[k], row)
		}
		if len(overCalls(s)) > 0 {
			if len(sets) > 1 {
				return nil, fmt.Errorf("%w: OVER of grouping sets", ErrNoReference)
			}
			var shown [][]jrow
			for _, k := range sortedKeys(groups) {
				if weight(groups[k]) > 0 {
					shown = append(shown, groups[k])
				}
			}
			e.groupedOver(s, out, own, shown)
			continue
		}
		for _, k := range sortedKeys(groups) {
			if weight(groups[k]) > 0 {
				e.emit(s, out, groups[k], nil, 0, 1)
			}
		}
	}
	e.rolled = nil
	out.hasTs, out.folded = false, true
	if s.Distinct != nil && len(s.Distinct.On) == 0 {
		out.rows = once(out.rows)
	}
	return out, nil
}

func weight(rows []jrow) (w int64) {
	for _, row := range rows {
		w += row.w
	}
	return w
}

func sortedKeys(m map[string][]jrow) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// groupKeys are the expressions of GROUP BY: an alias of the select list stands for its item.
func (e *env) groupKeys(s *syntax.Select) []syntax.Expr {
	if s.GroupBy == nil {
		return e.distinctKeys(s)
	}
	var keys []syntax.Expr
	if s.GroupBy.All {
		for _, it := range s.Items {
			if !containsAggregate(it.Expr) && !containsOver(it.Expr) {
				keys = append(keys, it.Expr)
			}
		}
		return keys
	}
	for _, k := range s.GroupBy.Items {
		if c, ok := k.(*syntax.ColumnRef); ok && c.Qualifier == nil && !e.has(c.Name.Name) {
			for _, it := range s.Items {
				if it.Alias != nil && strings.EqualFold(it.Alias.Name, c.Name.Name) {
					k = it.Expr
					break
				}
			}
		}
		keys = append(keys, k)
	}
	return keys
}

// distinctKeys are the items of SELECT DISTINCT with a window and without aggregates, but for the window's own columns.
func (e *env) distinctKeys(s *syntax.Select) []syntax.Expr {
	if s.Distinct == nil || s.Window == nil || s.Having != nil {
		return nil
	}
	var keys []syntax.Expr
	for _, it := range s.Items {
		if containsAggregate(it.Expr) {
			return nil
		}
		c, column := it.Expr.(*syntax.ColumnRef)
		if _, border := windowFields.Find(nameOfColumn(c)); column && border && !e.has(c.Name.Name) {
			continue
		}
		keys = append(keys, it.Expr)
	}
	return keys
}

func nameOfColumn(c *syntax.ColumnRef) string {
	if c == nil {
		return ""
	}
	return c.Name.Name
}

func (e *env) key(keys []syntax.Expr) string {
	vals := make([]types.Value, len(keys))
	for i, k := range keys {
		vals[i] = types.Convert(e.value(k), known(e.kind(k)))
		if e.kind(k) == types.Json {
			vals[i] = e.value(k)
		}
	}
	return keyOf(vals)
}

func known(k types.Kind) types.Kind {
	if k == types.Unknown {
		return types.String
	}
	return k
}

// eventTimes is the event time of every row of the history, by place.
func (r *reference) eventTimes() map[int]int64 {
	out := map[int]int64{}
	seen := map[string]bool{}
	for _, ev := range r.history {
		if ev.Relation == "" || seen[ev.Relation] {
			continue
		}
		seen[ev.Relation] = true
		if found := r.catalog.Relations(ev.Relation); len(found) == 1 {
			for _, row := range r.base(found[0]).rows {
				out[row.at] = row.ts
			}
		}
	}
	return out
}

// watermark follows the newest rows of the inputs: the smallest of those that are not idle, less the lag. When all
// are idle it goes on with the time since the newest row.
type watermark struct {
	lag, idle int64
	at        int64
	started   bool
	inputs    map[string]*inputClock
}

type inputClock struct {
	newest   int64
	admitted int64 // epoch time of the newest row
	fresh    bool  // a row came in the epoch that is open
	idle     bool
}

// newWatermark trails the newest rows by the lag and what an operator waits beyond.
func newWatermark(o analyze.Options, wait int64) *watermark {
	w := &watermark{lag: o.LatenessMs, idle: o.IdleMs, inputs: map[string]*inputClock{}}
	if w.lag == 0 {
		w.lag = analyze.DefaultLatenessMs
	}
	if w.idle == 0 {
		w.idle = analyze.DefaultIdleMs
	}
	w.lag += wait
	return w
}

func (w *watermark) row(input string, ts int64) {
	c := w.inputs[input]
	if c == nil {
		c = &inputClock{newest: ts}
		w.inputs[input] = c
	}
	c.newest = max(c.newest, ts)
	c.fresh, c.idle = true, false
	w.raise()
}

func (w *watermark) raise() {
	lowest, any := int64(0), false
	for _, c := range w.inputs {
		if !c.idle && (!any || c.newest < lowest) {
			lowest, any = c.newest, true
		}
	}
	if any {
		w.to(lowest - w.lag)
	}
}

func (w *watermark) to(at int64) {
	if !w.started || at > w.at {
		w.at, w.started = at, true
	}
}

func (w *watermark) advance(epochMs int64) {
	allIdle := len(w.inputs) > 0
	for _, c := range w.inputs {
		if c.fresh {
			c.admitted, c.fresh = epochMs, false
		}
		c.idle = epochMs-c.admitted >= w.idle
		allIdle = allIdle && c.idle
	}
	if !allIdle {
		w.raise()
		return
	}
	for _, c := range w.inputs {
		w.to(c.newest - w.lag + epochMs - c.admitted)
	}
}

// aggregate computes one aggregate over the rows of the group, one value at a time, exactly.
func (e *env) aggregate(c *syntax.Call) types.Value {
	rows, window := e.group, e.window
	all := rows
	defer func() {
		if len(all) > 0 {
			e.on(all[0])
		}
		e.group, e.window = all, window
	}()
	name := aggregateName(c)
	e.group = nil
	rows = e.filtered(c, rows)
	if c.Star {
		return types.LongOf(weight(rows))
	}
	switch name {
	case "COUNT", "SUM", "AVG", "MIN", "MAX":
	default:
		return e.furtherAggregate(name, c, rows)
	}
	argKind := e.kind(c.Args[0])
	// Equal values are counted together: what is taken back cancels what was added.
	type counted struct {
		v types.Value
		n int64
	}
	values := map[string]*counted{}
	for _, row := range rows {
		v := e.on(row).value(c.Args[0])
		if v.IsNull() {
			continue
		}
		k := keyOf([]types.Value{v})
		if c.Distinct {
			k = equalityKey(v)
			if x, ok := exactNumber(v); ok && name != "COUNT" {
				k = "n" + x.RatString() // the numbers 1 and 1.0 of Json are one
			}
		}
		if values[k] == nil {
			values[k] = &counted{v: v}
		}
		values[k].n += row.w
	}
	sum, n, present := new(big.Rat), int64(0), int64(0)
	var least, most types.Value
	first, distinct := true, c.Distinct
	count := int64(0)
	for _, c := range values {
		if c.n == 0 || distinct && c.n < 0 {
			continue
		}
		if distinct {
			c.n = 1 // each value once, however many rows have it
		}
		count += c.n
		if c.n > 0 {
			present++
		}
		if x, ok := exactNumber(c.v); ok {
			sum.Add(sum, new(big.Rat).Mul(x, new(big.Rat).SetInt64(c.n)))
			n += c.n
		}
		v := c.v
		if argKind == types.Json {
			f, ok := jsonNumber(v)
			if !ok {
				continue
			}
			v = types.DoubleOf(f)
		}
		if c.n < 0 {
			continue
		}
		if first || less(v, least) {
			least = v
		}
		if first || less(most, v) {
			most = v
		}
		first = false
	}
	kind := e.kind(c)
	switch name {
	case "COUNT":
		if c.Distinct {
			return types.LongOf(present)
		}
		return types.LongOf(count)
	case "SUM":
		if kind == types.Long {
			if !sum.IsInt() || !sum.Num().IsInt64() {
				return types.Null(types.Long)
			}
			return types.LongOf(sum.Num().Int64())
		}
		f, _ := sum.Float64()
		return types.DoubleOf(f)
	case "AVG":
		if n == 0 {
			return types.Null(types.Double)
		}
		f, _ := sum.Float64() // AVG is SUM / COUNT: the exact sum is rounded first
		return types.DoubleOf(f / float64(n))
	case "MIN", "MAX":
		if first {
			return types.Null(kind)
		}
		if name == "MIN" {
			return least
		}
		return most
	}
	panic("BUG: the reference has no aggregate " + name)
}

// equalityKey is equal for values that are equal in SQL: the Long 1 and the Double 1.0.
func equalityKey(v types.Value) string {
	if v.Kind() == types.Long || v.Kind() == types.Double || v.Kind() == types.Timestamp {
		if x, ok := exactNumber(v); ok {
			return "n" + x.RatString()
		}
	}
	return keyOf([]types.Value{v})
}

func less(a, b types.Value) bool {
	c, ok := types.Compare(a, b)
	return ok && c < 0
}

// exactNumber is the number that SUM and AVG take of a value.
func exactNumber(v types.Value) (*big.Rat, bool) {
	switch v.Kind() {
	case types.Long, types.Timestamp:
		return new(big.Rat).SetInt64(v.Int()), true
	case types.Double:
		x := new(big.Rat).SetFloat64(v.Float())
		return x, x != nil
	case types.Json:
		f, ok := jsonNumber(v)
		if !ok {
			return nil, false
		}
		x := new(big.Rat).SetFloat64(f)
		return x, x != nil
	}
	return nil, false
}

func jsonNumber(v types.Value) (float64, bool) {
	s := v.Text()
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

package enginetest

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// overRow is one row on which window functions are computed: a row of FROM, or a group.
type overRow struct {
	enter func() // makes it the current row
	// base is what tells rows apart that are equal in the order: what the SELECT reads, then the values so far.
	base   []types.Value
	values map[*syntax.Call]types.Value
}

// overCalls lists the window functions of a select list in the order in which they are written.
func overCalls(s *syntax.Select) (calls []*syntax.Call) {
	for _, it := range s.Items {
		syntax.Walk(it.Expr, func(x syntax.Expr) bool {
			if c, ok := x.(*syntax.Call); ok && c.Over != nil {
				calls = append(calls, c)
			}
			return true
		})
	}
	return calls
}

// projectOver computes a select list with window functions.
func (e *env) projectOver(s *syntax.Select, out *table, rows []jrow) {
	out.fields, out.folded = e.outputFields(s), true
	read := e.columnsRead(s)
	timed := out.hasTs && (s.Distinct == nil || len(s.Distinct.On) > 0)
	// Rows that are equal in what is read are one, as often as their weights say.
	var keys []string
	distinct := map[string]*jrow{}
	base := func(row jrow) (vals []types.Value) {
		e.on(row)
		for i, src := range e.sources {
			for j := range src.fields {
				if read[src.from+j] {
					vals = append(vals, row.vals[src.from+j])
				}
			}
			if src.hasTs && timed || read[-1-i] {
				vals = append(vals, e.columnValue(place{source: i, ts: src.hasTs, kind: types.Long, constant: zeroUnless(src.hasTs)}))
			}
		}
		return vals
	}
	for _, row := range rows {
		k := keyOf(base(row))
		if have, there := distinct[k]; there {
			have.w += row.w
			continue
		}
		distinct[k] = &row
		keys = append(keys, k)
	}
	var list []*overRow
	for _, k := range keys {
		row := *distinct[k]
		for range row.w {
			list = append(list, &overRow{enter: func() { e.on(row) }, base: base(row), values: map[*syntax.Call]types.Value{}})
		}
	}
	e.windowed(s, list)
	for _, o := range list {
		o.enter()
		e.over = o.values
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
		out.rows = append(out.rows, rrow{vals: e.typed(vals, out.fields), ts: e.rowTs(), w: 1})
	}
	e.over = nil
}

func zeroUnless(known bool) *types.Value {
	if known {
		return nil
	}
	zero := types.LongOf(0)
	return &zero
}

// columnsRead are the columns that the select list reads; -1-i is the event time of source i.
func (e *env) columnsRead(s *syntax.Select) map[int]bool {
	read := map[int]bool{}
	for _, it := range s.Items {
		if it.Star {
			for _, p := range e.starred(it) {
				read[p.place.column] = true
			}
			continue
		}
		syntax.Walk(it.Expr, func(x syntax.Expr) bool {
			if c, ok := x.(*syntax.ColumnRef); ok {
				switch p := e.find(c); {
				case p.outer != nil || p.constant != nil:
				case p.merged != nil:
					read[p.merged.left.column], read[p.merged.right.column] = true, true
				case p.ts:
					read[-1-p.source] = true
				default:
					read[p.column] = true
				}
			}
			return true
		})
	}
	return read
}

// groupedOver computes a select list with window functions over the groups that pass HAVING.
func (e *env) groupedOver(s *syntax.Select, out *table, keys []syntax.Expr, groups [][]jrow) {
	var list []*overRow
	for _, rows := range groups {
		o := &overRow{values: map[*syntax.Call]types.Value{}}
		o.enter = func() {
			e.on(rows[0])
			e.group = rows
		}
		o.enter()
		if s.Having != nil && !e.truth(s.Having.Expr) {
			continue
		}
		for _, k := range keys {
			o.base = append(o.base, e.value(k))
		}
		for _, it := range s.Items {
			syntax.Walk(it.Expr, func(x syntax.Expr) bool {
				if c, ok := x.(*syntax.Call); ok && c.Over == nil && isAggregateCall(c) {
					o.base = append(o.base, e.value(c))
				}
				return true
			})
		}
		list = append(list, o)
	}
	e.windowed(s, list)
	for _, o := range list {
		o.enter()
		e.over = o.values
		var vals []types.Value
		for _, it := range s.Items {
			vals = append(vals, e.value(it.Expr))
		}
		out.rows = append(out.rows, rrow{vals: e.typed(vals, out.fields), w: 1})
	}
	e.over = nil
}

// overWindow is a window with its name resolved.
type overWindow struct {
	partition []syntax.Expr
	order     []*syntax.OrderItem
	frame     *syntax.Frame
}

func (w overWindow) text() string {
	var b strings.Builder
	for _, x := range w.partition {
		b.WriteString(syntax.Format(x) + ", ")
	}
	for _, o := range w.order {
		fmt.Fprintf(&b, "; %s %v %v", syntax.Format(o.Expr), o.Desc, o.NullsFirst())
	}
	return b.String()
}

func windowOf(s *syntax.Select, o *syntax.Over) overWindow {
	w := overWindow{partition: o.Partition, order: o.OrderBy, frame: o.Frame}
	if o.Base == nil {
		return w
	}
	for _, n := range s.Windows {
		if strings.EqualFold(n.Name.Name, o.Base.Name) {
			base := windowOf(s, n.Over)
			if o.Bare {
				return base
			}
			w.partition = base.partition
			if len(w.order) == 0 {
				w.order = base.order
			}
		}
	}
	return w
}

// windowed computes the window functions of a select list, window after window.
func (e *env) windowed(s *syntax.Select, rows []*overRow) {
	calls := overCalls(s)
	done := map[string]bool{}
	for _, first := range calls {
		w := windowOf(s, first.Over)
		if done[w.text()] {
			continue
		}
		done[w.text()] = true
		var same []*syntax.Call
		for _, c := range calls {
			if windowOf(s, c.Over).text() == w.text() {
				same = append(same, c)
			}
		}
		partitions := map[string][]*overRow{}
		for _, o := range rows {
			o.enter()
			k := e.key(w.partition)
			partitions[k] = append(partitions[k], o)
		}
		for _, part := range partitions {
			e.partition(s, w, same, part)
		}
		for _, o := range rows {
			for _, c := range same {
				o.base = append(o.base, o.values[c])
			}
		}
	}
}

// partition sorts one partition and computes functions over it.
func (e *env) partition(s *syntax.Select, w overWindow, calls []*syntax.Call, part []*overRow) {
	keys := map[*overRow][]types.Value{}
	for _, o := range part {
		o.enter()
		for _, k := range w.order {
			keys[o] = append(keys[o], e.value(k.Expr))
		}
	}
	order := func(a, b *overRow) int {
		for i, k := range w.order {
			if c := orderOf(keys[a][i], keys[b][i], k.Desc, k.Nulls); c != 0 {
				return c
			}
		}
		return 0
	}
	sort.SliceStable(part, func(i, j int) bool {
		if c := order(part[i], part[j]); c != 0 {
			return c < 0
		}
		for k := range part[i].base {
			if c := orderOf(part[i].base[k], part[j].base[k], false, "FIRST"); c != 0 {
				return c < 0
			}
		}
		return false
	})
	for _, c := range calls {
		f := &overFunction{e: e, c: c, w: w, rows: part, frame: windowOf(s, c.Over).frame, peer: func(i, j int) bool { return order(part[i], part[j]) == 0 }}
		f.key = func(i int) types.Value { return keys[part[i]][0] }
		for i, o := range part {
			o.values[c] = types.Convert(f.value(i), e.kind(c))
		}
	}
}

// overFunction is one window function over one sorted partition.
type overFunction struct {
	e     *env
	c     *syntax.Call
	w     overWindow
	frame *syntax.Frame
	rows  []*overRow
	peer  func(i, j int) bool
	key   func(i int) types.Value
}

// arg is the n-th argument in row i.
func (f *overFunction) arg(n, i int) types.Value {
	f.rows[i].enter()
	return f.e.value(f.c.Args[n])
}

// constant is the n-th argument as a number; ok is false for a NULL.
func (f *overFunction) constant(n int) (int, bool) {
	v := f.arg(n, 0)
	if v.IsNull() {
		return 0, false
	}
	return int(min(max(v.Int(), -math.MaxInt32), math.MaxInt32)), true
}

func (f *overFunction) value(i int) types.Value {
	n := len(f.rows)
	before, distinct, upTo := 0, 0, 0
	for j := range n {
		switch {
		case f.peer(i, j):
			upTo++
		case j < i:
			before++
			upTo++
			if j == 0 || !f.peer(j, j-1) {
				distinct++
			}
		}
	}
	switch name := strings.ToUpper(f.c.Name.Name); name {
	case "ROW_NUMBER":
		return types.LongOf(int64(i) + 1)
	case "RANK":
		return types.LongOf(int64(before) + 1)
	case "DENSE_RANK":
		return types.LongOf(int64(distinct) + 1)
	case "PERCENT_RANK":
		if n == 1 {
			return types.DoubleOf(0)
		}
		return types.DoubleOf(float64(before) / float64(n-1))
	case "CUME_DIST":
		return types.DoubleOf(float64(upTo) / float64(n))
	case "NTILE":
		parts, ok := f.constant(0)
		if !ok {
			return null
		}
		// Rows are dealt out part by part.
		at := 0
		for p := range parts {
			size := n / parts
			if p < n%parts {
				size++
			}
			if at += size; i < at {
				return types.LongOf(int64(p) + 1)
			}
		}
		panic("BUG: a row in no part")
	case "LAG", "LEAD":
		by := 1
		if len(f.c.Args) > 1 {
			var ok bool
			if by, ok = f.constant(1); !ok {
				return null
			}
		}
		if name == "LAG" {
			by = -by
		}
		if at := i + by; at >= 0 && at < n {
			return f.arg(0, at)
		}
		if len(f.c.Args) > 2 {
			return f.arg(2, i)
		}
		return null
	case "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE":
		frame := f.inFrame(i)
		at := 0
		switch name {
		case "LAST_VALUE":
			at = len(frame) - 1
		case "NTH_VALUE":
			k, ok := f.constant(1)
			if !ok {
				return null
			}
			at = k - 1
		}
		if at < 0 || at >= len(frame) {
			return null
		}
		return f.arg(0, frame[at])
	}
	return f.aggregate(f.inFrame(i))
}

// inFrame lists the rows of the frame of row i: every row of the partition is asked.
func (f *overFunction) inFrame(i int) (out []int) {
	frame := f.frame
	if frame == nil {
		frame = &syntax.Frame{Mode: syntax.FrameRange, Start: &syntax.Bound{Kind: syntax.UnboundedPreceding}}
	}
	end := frame.End
	if end == nil {
		end = &syntax.Bound{Kind: syntax.CurrentRow}
	}
	for j := range f.rows {
		if f.side(frame.Mode, frame.Start, i, j) < 0 || f.side(frame.Mode, end, i, j) > 0 {
			continue
		}
		switch frame.Exclude {
		case syntax.ExcludeRow:
			if i == j {
				continue
			}
		case syntax.ExcludeGroup:
			if f.peer(i, j) {
				continue
			}
		case syntax.ExcludeTies:
			if i != j && f.peer(i, j) {
				continue
			}
		}
		out = append(out, j)
	}
	return out
}

// side is negative when row j lies before a border of the frame of row i, positive when behind it.
func (f *overFunction) side(mode syntax.FrameMode, b *syntax.Bound, i, j int) int {
	switch b.Kind {
	case syntax.UnboundedPreceding:
		return 1
	case syntax.UnboundedFollowing:
		return -1
	case syntax.CurrentRow:
		switch {
		case mode == syntax.FrameRows:
			return j - i
		case f.peer(i, j):
			return 0
		}
		return j - i
	}
	f.rows[i].enter()
	off := f.e.value(b.N)
	if mode == syntax.FrameRange {
		return f.distance(b.Kind, off, i, j)
	}
	by := new(big.Int).SetInt64(off.Int())
	if b.Kind == syntax.Preceding {
		by.Neg(by)
	}
	steps := j - i
	if mode == syntax.FrameGroups {
		steps = 0
		for k := min(i, j); k < max(i, j); k++ {
			if !f.peer(k, k+1) {
				steps++
			}
		}
		if j < i {
			steps = -steps
		}
	}
	return new(big.Int).SetInt64(int64(steps)).Cmp(by)
}

// distance compares the value of row j with that of row i less or more a distance, in the direction of the order.
func (f *overFunction) distance(kind syntax.BoundKind, off types.Value, i, j int) int {
	a, b := f.key(i), f.key(j)
	if a.IsNull() || b.IsNull() {
		if a.IsNull() && b.IsNull() {
			return 0
		}
		return j - i // NULLs stand at one end
	}
	up := (kind == syntax.Following) != f.w.order[0].Desc
	out := 0
	if a.Kind() == types.Double {
		border := a.Float() - asFloat(off)
		if up {
			border = a.Float() + asFloat(off)
		}
		out = new(big.Float).SetFloat64(b.Float()).Cmp(new(big.Float).SetFloat64(border))
	} else {
		border, by := big.NewInt(a.Int()), big.NewInt(off.Int())
		if up {
			border.Add(border, by)
		} else {
			border.Sub(border, by)
		}
		out = big.NewInt(b.Int()).Cmp(border)
	}
	if f.w.order[0].Desc {
		return -out
	}
	return out
}

// aggregate computes an aggregate over rows of the partition: its arguments are made the columns of a relation.
func (f *overFunction) aggregate(at []int) types.Value {
	c := *f.c
	c.Over = nil
	rel := source{alias: "w"}
	var read []syntax.Expr
	column := func(x syntax.Expr) syntax.Expr {
		if _, constant := x.(*syntax.Literal); constant {
			return x
		}
		name := "c" + strconv.Itoa(len(read))
		read = append(read, x)
		rel.fields = append(rel.fields, types.Field{Name: name, Kind: known(f.e.kind(x))})
		return &syntax.ColumnRef{Name: syntax.Ident{Name: name}}
	}
	c.Args = nil
	for _, a := range f.c.Args {
		c.Args = append(c.Args, column(a))
	}
	if c.Filter != nil {
		c.Filter = column(c.Filter)
	}
	c.OrderBy = nil
	keys := f.c.OrderBy
	if name := aggregateName(f.c); len(keys) == 0 && !f.c.Distinct && (name == "STRING_AGG" || name == "ARRAY_AGG") {
		keys = f.w.order
	}
	for _, o := range keys {
		k := *o
		k.Expr = column(o.Expr)
		c.OrderBy = append(c.OrderBy, &k)
	}
	inner := &env{r: f.e.r}
	inner.add(rel)
	group := []jrow{}
	for _, j := range at {
		row := jrow{rrow: rrow{w: 1}, parts: []int64{0}}
		f.rows[j].enter()
		for k, x := range read {
			row.vals = append(row.vals, types.Convert(f.e.value(x), rel.fields[k].Kind))
		}
		group = append(group, row)
	}
	inner.group = group
	return inner.aggregate(&c)
}

// overKind is the kind of a window function that is no aggregate.
func (e *env) overKind(c *syntax.Call) (types.Kind, bool) {
	switch strings.ToUpper(c.Name.Name) {
	case "ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE":
		return types.Long, true
	case "PERCENT_RANK", "CUME_DIST":
		return types.Double, true
	case "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE":
		return known(e.kind(c.Args[0])), true
	case "LAG", "LEAD":
		k := e.kind(c.Args[0])
		if len(c.Args) > 2 {
			k = common(k, e.kind(c.Args[2]))
		}
		return known(k), true
	}
	return types.Unknown, false
}

func containsOver(x syntax.Expr) bool {
	return len(overCalls(&syntax.Select{Items: []*syntax.SelectItem{{Expr: x}}})) > 0
}

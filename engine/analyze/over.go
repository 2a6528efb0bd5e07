package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// windowing collects the window functions of one select list. Expressions read each as a column that does not exist
// yet, a place holder with a negative position; apply computes them and says where the columns went.
type windowing struct {
	named []*syntax.NamedWindow
	specs []*windowSpec
}

// windowSpec is a partition and an order with the functions over it.
type windowSpec struct {
	text      string
	partition []expr.Expr
	order     []agg.OrderKey
	calls     []over.Call
	columns   []*expr.Column
}

// namedWindows checks the names of WINDOW name AS (...).
func (q *selecting) namedWindows() *windowing {
	w := &windowing{}
	for _, n := range q.s.Windows {
		if w.find(n.Name.Name) != nil {
			q.report(n.Name, CodeOver, "choose another name", "two windows are called %q", n.Name.Name)
			continue
		}
		if base := n.Over.Base; base != nil && w.find(base.Name) == nil {
			q.unknownWindow(w, *base)
		}
		w.named = append(w.named, n)
	}
	return w
}

func (w *windowing) find(name string) *syntax.Over {
	for _, n := range w.named {
		if strings.EqualFold(n.Name.Name, name) {
			return n.Over
		}
	}
	return nil
}

func (a *analyzer) unknownWindow(w *windowing, id syntax.Ident) {
	names := make([]string, len(w.named))
	for i, n := range w.named {
		names[i] = n.Name.Name
	}
	a.reportName(id, id, CodeOver, names, "windows", "no window %q", id.Name)
}

// firstOver is the first call of a window function in an expression, nil when there is none.
func firstOver(e syntax.Expr) *syntax.Call {
	var found *syntax.Call
	syntax.Walk(e, func(x syntax.Expr) bool {
		if c, ok := x.(*syntax.Call); ok && c.Over != nil && found == nil {
			found = c
		}
		return found == nil
	})
	return found
}

// windowFunction is the clause of a binder inside a window function.
const windowFunction = "a window function"

// over binds a window function to a place holder.
func (b *binder) over(e *syntax.Call) (expr.Expr, bool) {
	switch {
	case b.mode == Pipeline:
		b.report(e, CodeOver, "make a table over the pipeline, and write it there", "window functions are not allowed in a pipeline: a later row would change what was given out")
		return nil, false
	case b.windows == nil:
		hint := "compute it in a query in FROM, and read it outside: SELECT * FROM (SELECT ..., " + strings.ToUpper(e.Name.Name) + "(...) OVER (...) AS w FROM ...) t WHERE w = 1"
		if b.clause == "ORDER BY" || b.clause == "DISTINCT ON" {
			hint = "select it too, and order by its alias"
		}
		b.report(e, CodeOver, hint, "%s OVER cannot stand in %s", strings.ToUpper(e.Name.Name), b.clause)
		return nil, false
	}
	inner := &binder{analyzer: b.analyzer, scope: b.scope, clause: windowFunction, ctes: b.ctes, subs: b.subs, group: b.group, item: b.item}
	call, bound := inner.windowCall(e)
	spec, frame, ok := b.window(e.Over, inner)
	if !ok || !bound {
		return nil, false
	}
	if call.Framed() {
		call.Frame = over.Default()
		if frame != nil {
			if call.Frame, ok = b.frame(frame, spec, inner); !ok {
				return nil, false
			}
		}
	}
	if call.What == over.Aggregate && len(call.Agg.Order) == 0 && !call.Agg.Distinct && call.Agg.Listed() {
		call.Agg.Order = spec.order // the list follows the window
	}
	if len(spec.order) == 0 && ordersRows[call.What] {
		b.warn(e, CodeOrder, "add ORDER BY to the window", "without ORDER BY, %s takes the rows in the order of their values as a whole", call.Name)
	}
	return b.windows.add(b.analyzer, spec, call), true
}

// ordersRows are the functions that tell rows apart that are equal in the order.
var ordersRows = map[over.What]bool{over.RowNumber: true, over.Ntile: true, over.Lag: true, over.Lead: true}

// windowCall binds the function and its arguments.
func (b *binder) windowCall(e *syntax.Call) (over.Call, bool) {
	if a, is := agg.Lookup(e.Name.Name); is {
		c, ok := b.written(e, b)
		return over.Call{What: over.Aggregate, Name: a.Name, Agg: c, K: c.K}, ok
	}
	f, is := over.Lookup(e.Name.Name)
	if !is {
		if s, scalar := expr.Lookup(e.Name.Name); scalar && !s.Operator {
			b.report(e, CodeOver, "remove OVER", "%s is no window function and no aggregate", s.Name)
		} else {
			b.reportName(e.Name, e.Name, CodeUnknownFunction, append(over.Names(), agg.Names()...), "window functions", "no window function %q", e.Name.Name)
		}
		b.bindAll(e.Args)
		return over.Call{}, false
	}
	args, ok := b.bindAll(e.Args)
	for _, wrong := range []struct {
		is   bool
		at   syntax.Node
		what string
	}{
		{e.Star, e, "*"}, {e.Distinct, e, "DISTINCT"}, {e.Filter != nil, e.Filter, "FILTER"}, {len(e.OrderBy) > 0, e, "ORDER BY among its arguments"},
	} {
		if wrong.is {
			b.report(wrong.at, CodeOver, "write "+f.Signature+" OVER (...)", "%s takes no %s: only aggregates do", f.Name, wrong.what)
			ok = false
		}
	}
	if !ok {
		return over.Call{}, false
	}
	c, err := f.Bind(args)
	if err != nil {
		b.bindError(e, e.Args, err)
		return over.Call{}, false
	}
	return c, true
}

// window binds the partition and the order of a window, which may start from a named one, and finds its frame.
func (b *binder) window(o *syntax.Over, inner *binder) (*windowSpec, *syntax.Frame, bool) {
	full, ok := b.resolved(o, 0)
	if !ok {
		return nil, nil, false
	}
	spec := &windowSpec{}
	for _, e := range full.Partition {
		x, bound := inner.bind(e)
		ok = ok && bound
		if bound && x.Kind() == types.Unknown {
			x = expr.As(x, types.String)
		}
		spec.partition = append(spec.partition, x)
	}
	for _, k := range full.OrderBy {
		x, bound := inner.bind(k.Expr)
		ok = ok && bound
		if !bound {
			continue
		}
		if x.Kind() == types.Json {
			b.report(k, expr.CodeJSONBare, "take a value out with ->> and convert it with a TO_ function", "ORDER BY cannot compare Json values")
			ok = false
		}
		if x.Kind() == types.Unknown {
			x = expr.As(x, types.String)
		}
		spec.order = append(spec.order, agg.OrderKey{X: x, Desc: k.Desc, NullsFirst: k.NullsFirst()})
	}
	if !ok {
		return nil, nil, false
	}
	for _, x := range spec.partition {
		spec.text += x.String() + ", "
	}
	for _, k := range spec.order {
		spec.text += "; " + k.String()
	}
	return spec, full.Frame, true
}

// resolved puts a named window in the place of its name.
func (b *binder) resolved(o *syntax.Over, depth int) (*syntax.Over, bool) {
	if o.Base == nil {
		return o, true
	}
	base := b.windows.find(o.Base.Name)
	if base == nil || depth > len(b.windows.named) {
		b.unknownWindow(b.windows, *o.Base)
		return nil, false
	}
	base, ok := b.resolved(base, depth+1)
	if !ok || o.Bare {
		return base, ok
	}
	out := *o
	out.Base, out.Partition = nil, base.Partition
	problem := ""
	switch {
	case base.Frame != nil:
		problem = "has a frame and can only be used as it is"
	case len(o.Partition) > 0:
		problem = "says itself how rows are partitioned"
	case len(base.OrderBy) > 0 && len(o.OrderBy) > 0:
		problem = "has an ORDER BY of its own"
	}
	if problem != "" {
		b.report(o, CodeOver, "write the window out", "the window %q %s", o.Base.Name, problem)
		return nil, false
	}
	if len(o.OrderBy) == 0 {
		out.OrderBy = base.OrderBy
	}
	return &out, true
}

// frame binds a written frame.
func (b *binder) frame(f *syntax.Frame, spec *windowSpec, inner *binder) (over.Frame, bool) {
	out := over.Frame{Mode: frameModes[f.Mode], Exclude: exclusions[f.Exclude], End: over.Bound{Kind: over.CurrentRow}}
	var ok, okEnd bool
	out.Start, ok = b.frameBound(f, f.Start, spec, inner)
	okEnd = true
	if f.End != nil {
		out.End, okEnd = b.frameBound(f, f.End, spec, inner)
	}
	if !ok || !okEnd {
		return out, false
	}
	if wrong := out.Shape(); wrong != "" {
		b.report(f, CodeFrame, "write the border that comes first in the partition first", "%s", wrong)
		return out, false
	}
	if out.Mode == over.Groups && len(spec.order) == 0 {
		b.report(f, CodeFrame, "add ORDER BY to the window", "GROUPS needs an ORDER BY, which makes the groups")
		return out, false
	}
	return out, true
}

var frameModes = map[syntax.FrameMode]over.Mode{syntax.FrameRows: over.Rows, syntax.FrameRange: over.Range, syntax.FrameGroups: over.Groups}

var exclusions = map[syntax.Exclusion]over.Exclude{
	syntax.ExcludeNothing: over.ExcludeNothing, syntax.ExcludeRow: over.ExcludeRow, syntax.ExcludeGroup: over.ExcludeGroup, syntax.ExcludeTies: over.ExcludeTies,
}

// frameBound binds one border: a number of rows or groups, or a distance of the one ORDER BY expression.
func (b *binder) frameBound(f *syntax.Frame, w *syntax.Bound, spec *windowSpec, inner *binder) (over.Bound, bool) {
	out := over.Bound{Kind: over.BoundKind(w.Kind)}
	if w.N == nil {
		return out, true
	}
	x, ok := inner.bind(w.N)
	if !ok {
		return out, false
	}
	l, constant := expr.Fold(x).(*expr.Literal)
	want := types.Long
	if f.Mode == syntax.FrameRange {
		if len(spec.order) != 1 || !isNumber(spec.order[0].X.Kind()) {
			b.report(f, CodeFrame, "use ROWS, or order by one number or time", "RANGE with a distance needs an ORDER BY of exactly one Long, Double or Timestamp")
			return out, false
		}
		if spec.order[0].X.Kind() == types.Double {
			want = types.Double
		}
	}
	if constant && want == types.Double && l.V.Kind() == types.Long && !l.V.IsNull() {
		l = &expr.Literal{V: types.DoubleOf(float64(l.V.Int()))}
	}
	if !constant || l.V.IsNull() || l.V.Kind() != want {
		hint := "write a number such as 3"
		if f.Mode == syntax.FrameRange && spec.order[0].X.Kind() == types.Timestamp {
			hint = "write a duration such as INTERVAL '10 minutes', or milliseconds"
		}
		b.report(w.N, CodeFrame, hint, "the distance of %s %s has to be a constant %s", f.Mode, w.Kind, want)
		return out, false
	}
	if want == types.Long && l.V.Int() < 0 || want == types.Double && l.V.Float() < 0 {
		b.report(w.N, CodeFrame, "write PRECEDING for what comes before and FOLLOWING for what comes after", "the distance of a frame is not negative")
		return out, false
	}
	out.Off = l.V
	return out, true
}

// add makes a place holder; the same function over the same window twice is one.
func (w *windowing) add(a *analyzer, spec *windowSpec, c over.Call) *expr.Column {
	var in *windowSpec
	for _, s := range w.specs {
		if s.text == spec.text {
			in = s
		}
	}
	if in == nil {
		in = spec
		w.specs = append(w.specs, in)
	}
	text := c.String()
	for i, have := range in.calls {
		if have.String() == text {
			return in.columns[i]
		}
	}
	a.holders++
	column := &expr.Column{Index: -a.holders, Name: text, K: c.K}
	in.calls, in.columns = append(in.calls, c), append(in.columns, column)
	return column
}

// apply computes the window functions over the rows of node, of which the first outer columns are those of the query
// around a correlated subquery, and returns the expressions over the new node. The rows hold the columns that are read
// and nothing else: by those, rows that are equal in the order are told apart.
func (w *windowing) apply(node plan.Node, outer int, exprs []expr.Expr, resolve func(expr.Expr) expr.Expr) (plan.Node, []expr.Expr) {
	if len(w.specs) == 0 {
		return node, exprs
	}
	in := &windowInput{at: map[int]int{}, computed: map[string]int{}}
	in.columnsOf(exprs...)
	for _, s := range w.specs {
		s.replace(resolve)
		s.replace(func(e expr.Expr) expr.Expr {
			in.columnsOf(e)
			return e
		})
	}
	in.place(node)
	for _, s := range w.specs {
		s.replace(in.column)
	}
	out := plan.Node(plan.NewProject(node, in.exprs, in.names))
	holders := map[int]*expr.Column{}
	for _, s := range w.specs {
		var partition []expr.Expr
		for i := range outer {
			c := exprs[i].(*expr.Column)
			partition = append(partition, &expr.Column{Index: in.at[c.Index], Name: c.Name, K: c.K})
		}
		names := make([]string, len(s.calls))
		for i, c := range s.calls {
			names[i] = c.String()
			holders[s.columns[i].Index] = &expr.Column{Index: len(out.Schema()) + i, Name: names[i], K: c.K}
		}
		out = plan.NewOver(out, append(partition, s.partition...), s.order, s.calls, names)
	}
	moved := make([]expr.Expr, len(exprs))
	for i, e := range exprs {
		moved[i] = plan.Rewrite(e, func(c *expr.Column) expr.Expr {
			if h, is := holders[c.Index]; is {
				return h
			}
			return &expr.Column{Index: in.at[c.Index], Name: c.Name, K: c.K}
		})
	}
	return out, moved
}

// replace replaces every expression of the window and its functions.
func (s *windowSpec) replace(f func(expr.Expr) expr.Expr) {
	for i, e := range s.partition {
		s.partition[i] = f(e)
	}
	order := make([]agg.OrderKey, len(s.order))
	for i, o := range s.order {
		order[i] = agg.OrderKey{X: f(o.X), Desc: o.Desc, NullsFirst: o.NullsFirst}
	}
	s.order = order
	for i, c := range s.calls {
		s.calls[i] = c.Map(f)
	}
}

// windowInput is the rows that window functions read: columns of the input in their order, then what is computed of
// them.
type windowInput struct {
	at       map[int]int // from columns of the input
	computed map[string]int
	exprs    []expr.Expr
	names    []string
}

// columnsOf notes the columns that expressions read.
func (in *windowInput) columnsOf(es ...expr.Expr) {
	for _, e := range es {
		for _, c := range plan.Columns(e) {
			if c >= 0 {
				in.at[c] = 0
			}
		}
	}
}

// place gives the noted columns their positions.
func (in *windowInput) place(node plan.Node) {
	for i, f := range node.Schema() {
		if _, read := in.at[i]; read {
			in.at[i] = len(in.exprs)
			in.exprs = append(in.exprs, &expr.Column{Index: i, Name: f.Name, K: f.Kind})
			in.names = append(in.names, f.Name)
		}
	}
}

// column is an expression as a column of the rows, or a constant.
func (in *windowInput) column(e expr.Expr) expr.Expr {
	switch e := e.(type) {
	case *expr.Literal:
		return e
	case *expr.Column:
		return &expr.Column{Index: in.at[e.Index], Name: e.Name, K: e.K}
	}
	text := e.String()
	i, there := in.computed[text]
	if !there {
		i = len(in.exprs)
		in.computed[text] = i
		in.exprs, in.names = append(in.exprs, e), append(in.names, text)
	}
	return &expr.Column{Index: i, Name: text, K: stored(e)}
}

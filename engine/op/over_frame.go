package op

import (
	"math"
	"sort"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// overFrame is one frame and the aggregates over it. The borders never go back from row to row, so that each row enters
// the aggregates once and leaves them once; they are exact under retraction.
type overFrame struct {
	def   over.Frame
	calls []agg.Call
	// kept says that the aggregates of each partition hold all of its rows from flush to flush. They are not part of a
	// snapshot: its rows are.
	kept bool

	columns []int // that the aggregates read, sorted
	batch   *zset.Builder
	states  *agg.Table
	part    uint32 // whose aggregates move
	list    *agg.Results
	results []zset.Column // of each aggregate
	picked  []int         // of each computed row, its place in the results
	from    []int         // of each computed row, the first of its frame
	to      []int         // and the one after the last
	first   int           // the first computed row
	loaded  int           // the first row of the batch
	in      [2]int        // rows that the aggregates hold
	sel     []int32
	groups  []uint32
}

// prepare makes the states of the aggregates over a batch of the columns that they read.
func (f *overFrame) prepare(kinds []types.Kind) {
	wanted := map[int]bool{}
	for _, c := range f.calls {
		for _, e := range c.Exprs() {
			if col, ok := e.(*expr.Column); ok {
				wanted[col.Index] = true
			}
		}
	}
	place := map[int]int{}
	var own []types.Kind
	for c, k := range kinds {
		if wanted[c] {
			place[c] = len(f.columns)
			f.columns = append(f.columns, c)
			own = append(own, k)
		}
	}
	calls := make([]agg.Call, len(f.calls))
	for i, c := range f.calls {
		calls[i] = c.Map(func(e expr.Expr) expr.Expr {
			if col, ok := e.(*expr.Column); ok {
				return &expr.Column{Index: place[col.Index], Name: col.Name, K: col.K}
			}
			return e
		})
	}
	f.batch = zset.NewBuilder(own)
	f.states = agg.NewTable(calls, false)
	f.states.Grow(1)
	f.list = f.states.NewResults()
}

// compute finds the frames and the aggregates of the rows of a partition from first on.
func (f *overFrame) compute(v *overValues, part uint32, first int, old bool) {
	n := len(v.ids)
	f.from, f.to, f.first = grow(f.from, n-first), grow(f.to, n-first), first
	if n == first {
		return
	}
	values := f.orderValues(v)
	lowest := n
	for i := first; i < n; i++ {
		from := min(max(f.border(v, values, i, f.def.Start, false), 0), n)
		to := max(min(max(f.border(v, values, i, f.def.End, true), 0), n), from)
		f.from[i-first], f.to[i-first] = from, to
		if f.kept {
			from = min(first, to)
		}
		lowest = min(lowest, from)
	}
	if len(f.calls) == 0 {
		return
	}
	plus, minus := f.load(v, lowest)
	f.part, f.in = 0, [2]int{}
	if f.kept {
		f.part = part
		if f.in[1] = first; old {
			f.in[1] = n
		}
	}
	f.slide(v, plus, minus)
	switch {
	case !f.kept:
		f.states.Release(0)
	case old:
		f.move(plus, minus, 0, first) // what the rows as they are have too
	default:
		f.move(plus, minus, 0, n)
	}
}

// load makes batches of the columns that the aggregates read, of the rows from lowest on: one that adds them and one that
// takes them back.
func (f *overFrame) load(v *overValues, lowest int) (plus, minus *zset.Batch) {
	f.loaded = lowest
	for _, id := range v.ids[lowest:] {
		row := v.rowOf(id)
		c := 0
		for k, want := range f.columns {
			row = zset.SkipCells(row, want-c)
			rest := zset.SkipCells(row, 1)
			f.batch.Record(row[:len(row)-len(rest)], k)
			row, c = rest, want+1
		}
		f.batch.EndRow(1)
	}
	plus = f.batch.Build()
	minus = &zset.Batch{N: plus.N, Cols: plus.Cols, Weight: make([]int64, plus.N)}
	for i := range minus.Weight {
		minus.Weight[i] = -1
	}
	return plus, minus
}

// slide moves the aggregates along the frames and reads them.
func (f *overFrame) slide(v *overValues, plus, minus *zset.Batch) {
	f.list.Reset()
	f.picked = f.picked[:0]
	for k := range f.from {
		from, to := f.from[k], f.to[k]
		if k == 0 || f.in != [2]int{from, to} || f.def.Exclude != over.ExcludeNothing {
			f.move(plus, minus, from, to)
			f.excluded(v, f.first+k, func(a, b int) { f.add(minus, a, b) })
			f.states.Read([]uint32{f.part}, f.list)
			f.excluded(v, f.first+k, func(a, b int) { f.add(plus, a, b) })
		}
		f.picked = append(f.picked, f.list.Len()-1)
	}
	picks := make([]agg.Pick, f.list.Len())
	for i := range picks {
		picks[i] = agg.Old(int32(i))
	}
	f.results = f.results[:0]
	for c := range f.calls {
		f.results = append(f.results, agg.Column(c, [2]*agg.Results{f.list, f.list}, picks))
	}
}

// move changes the rows that the aggregates hold to [from, to).
func (f *overFrame) move(plus, minus *zset.Batch, from, to int) {
	if from >= f.in[1] || to <= f.in[0] { // nothing in common
		f.add(minus, f.in[0], f.in[1])
		f.add(plus, from, to)
	} else {
		f.add(minus, f.in[0], from)
		f.add(plus, from, f.in[0])
		f.add(plus, f.in[1], to)
		f.add(minus, to, f.in[1])
	}
	f.in = [2]int{from, to}
}

// add adds the rows [from, to) of a batch to the aggregates.
func (f *overFrame) add(b *zset.Batch, from, to int) {
	if from >= to {
		return
	}
	f.sel, f.groups = f.sel[:0], f.groups[:0]
	for i := from; i < to; i++ {
		f.sel = append(f.sel, int32(i-f.loaded))
		f.groups = append(f.groups, f.part)
	}
	f.states.Add(b, f.sel, f.groups)
}

// excluded calls out with the stretches of the frame of row i that EXCLUDE leaves out.
func (f *overFrame) excluded(v *overValues, i int, out func(from, to int)) {
	clip := func(from, to int) {
		if from, to = max(from, f.from[i-f.first]), min(to, f.to[i-f.first]); from < to {
			out(from, to)
		}
	}
	a, b := v.starts[v.groupOf(i)], v.starts[v.groupOf(i)+1]
	switch f.def.Exclude {
	case over.ExcludeRow:
		clip(i, i+1)
	case over.ExcludeGroup:
		clip(a, b)
	case over.ExcludeTies:
		clip(a, i)
		clip(i+1, b)
	}
}

// nth is the n-th row of the frame of row i, counted from 1, or from the end with -1; -1 when there is none.
func (f *overFrame) nth(v *overValues, i int, n int64) int {
	// The frame is at most three stretches.
	var parts [3][2]int
	at, start := 0, f.from[i-f.first]
	f.excluded(v, i, func(from, to int) {
		parts[at] = [2]int{start, from}
		at, start = at+1, to
	})
	parts[at] = [2]int{start, f.to[i-f.first]}
	if n < 0 {
		for ; at >= 0; at-- {
			if parts[at][0] < parts[at][1] {
				return parts[at][1] - 1
			}
		}
		return -1
	}
	for _, p := range parts[:at+1] {
		size := int64(max(p[1]-p[0], 0))
		if n <= size {
			return p[0] + int(n) - 1
		}
		n -= size
	}
	return -1
}

// border is the first row of the frame of row i, or with end the one after the last. It can lie outside of the
// partition.
func (f *overFrame) border(v *overValues, values *orderValues, i int, b over.Bound, end bool) int {
	n := len(v.ids)
	switch b.Kind {
	case over.UnboundedPreceding:
		return 0
	case over.UnboundedFollowing:
		return n
	}
	after := 0
	if end {
		after = 1
	}
	g := v.groupOf(i)
	if f.def.Mode == over.Range && b.Kind != over.CurrentRow {
		return values.border(v, i, b, end)
	}
	by := 0
	if b.Kind != over.CurrentRow {
		by = int(min(b.Off.Int(), int64(n)+1))
		if b.Kind == over.Preceding {
			by = -by
		}
	}
	if f.def.Mode == over.Rows {
		return i + by + after
	}
	return v.starts[min(max(g+by+after, 0), len(v.starts)-1)]
}

// orderValues are the values by which RANGE measures distances.
type orderValues struct {
	ints    []int64
	floats  []float64 // of a Double order
	double  bool
	desc    bool
	known   [2]int // the rows whose value is not NULL
	unknown []bool
}

// orderValues reads the values of the one ORDER BY expression, nil when the frame has no distances of values.
func (f *overFrame) orderValues(v *overValues) *orderValues {
	if f.def.Mode != over.Range || !f.def.Start.Distant() && !f.def.End.Distant() {
		return nil
	}
	o := &orderValues{double: v.order[0].X.Kind() == types.Double, desc: v.order[0].Desc}
	first := true
	for i, id := range v.ids {
		c, _, err := zset.ReadCell(v.peerOf(id))
		if err != nil {
			panic("BUG: " + err.Error())
		}
		null := c.Kind == types.Unknown
		o.unknown = append(o.unknown, null)
		o.ints, o.floats = append(o.ints, c.I), append(o.floats, c.F)
		if !null {
			if first {
				o.known[0], first = i, false
			}
			o.known[1] = i + 1
		}
	}
	return o
}

// border is where the values are at a distance from that of row i. A NULL is at no distance from anything but NULL.
func (o *orderValues) border(v *overValues, i int, b over.Bound, end bool) int {
	if o.unknown[i] {
		if end {
			return v.starts[v.groupOf(i)+1]
		}
		return v.starts[v.groupOf(i)]
	}
	less := o.lessThan(i, b, (b.Kind == over.Preceding) != o.desc)
	lo, hi := o.known[0], o.known[1]
	return lo + sort.Search(hi-lo, func(k int) bool {
		c := less(lo + k)
		if o.desc {
			c = -c
		}
		if end {
			return c > 0
		}
		return c >= 0
	})
}

// lessThan returns the comparison of the value of a row with that of row i less (or more) the distance. What leaves the
// range of Long is smaller or larger than all values.
func (o *orderValues) lessThan(i int, b over.Bound, down bool) func(row int) int {
	if o.double {
		off := b.Off.Float()
		if down {
			off = -off
		}
		border := o.floats[i] + off
		return func(row int) int { return compareNumbers(o.floats[row], border) }
	}
	x, off := o.ints[i], b.Off.Int()
	switch {
	case down && x < math.MinInt64+off:
		return func(int) int { return 1 }
	case down:
		return func(row int) int { return compareNumbers(o.ints[row], x-off) }
	case x > math.MaxInt64-off:
		return func(int) int { return -1 }
	}
	return func(row int) int { return compareNumbers(o.ints[row], x+off) }
}

func compareNumbers[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

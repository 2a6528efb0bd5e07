package enginetest

import (
	"sort"

	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// windowFields are the columns that windows add, in order.
var windowFields = types.Schema{
	{Name: "window_start", Kind: types.Long}, {Name: "window_end", Kind: types.Long},
	{Name: "_final", Kind: types.Bool}, {Name: "_revision", Kind: types.Long},
}

// borders is what the columns of a window read.
type borders struct {
	start, end int64
	final      bool
	revision   int64
}

func (b *borders) value(i int) types.Value {
	switch i {
	case 0:
		return types.LongOf(b.start)
	case 1:
		return types.LongOf(b.end)
	case 2:
		return types.BoolOf(b.final)
	}
	return types.LongOf(b.revision)
}

// keepsTime reports whether a SELECT has an operator that keeps time above its relations.
func (r *reference) keepsTime(s *syntax.Select) bool {
	timed := s.Window != nil || s.Where != nil && hasSubquery(s.Where.Expr)
	for _, it := range s.Items {
		timed = timed || it.Expr != nil && hasSubquery(it.Expr)
	}
	for _, j := range s.Joins {
		_, unnest := j.Item.(*syntax.Unnest)
		timed = timed || !unnest
	}
	return r.pipeline && timed
}

// amends is how late a row may be to change what the window of a SELECT gave out; waits is how much longer it waits.
func (r *reference) amends() (amends, waits int64) {
	if r.timed > 0 {
		return 0, r.allowed
	}
	return r.allowed, 0
}

// added are the columns that the window of a SELECT adds to its output.
func (r *reference) added(s *syntax.Select) types.Schema {
	out := append(types.Schema(nil), windowFields[:2]...)
	if s.Emit != nil && s.Emit.Changes {
		out = append(out, windowFields[2])
	}
	if amends, _ := r.amends(); amends > 0 {
		out = append(out, windowFields[3])
	}
	return out
}

// tooLate counts a row that is further behind the watermark than is allowed.
func (r *reference) tooLate(ts int64, mark *watermark, allowed int64) bool {
	if !mark.started || mark.at-ts <= allowed {
		return false
	}
	by := mark.at - ts
	r.late++
	r.lateMs += by
	r.lateMaxMs = max(r.lateMaxMs, by)
	return true
}

// bucket is one window of one group.
type bucket struct {
	key        string
	start, end int64
	rows       []jrow
	revisions  int64 // how often it was given out as final
}

// windowing is the evaluation of the window of one SELECT.
type windowing struct {
	r       *reference
	s       *syntax.Select
	e       *env
	out     *table
	mark    *watermark
	amends  int64
	buckets []*bucket // by the order in which they were opened
}

// windows walks the history once: rows move the watermark, a row behind it is late, a window is given out when the
// watermark reaches its end, a session when the watermark is past its end and the gap.
func (r *reference) windows(s *syntax.Select, e *env, keys []syntax.Expr, passed []jrow, out *table) *table {
	rowsAt := map[int][]jrow{} // an UNNEST makes several rows of one
	for _, row := range passed {
		rowsAt[row.at] = append(rowsAt[row.at], row)
	}
	reads := map[string]bool{}
	for _, in := range out.inputs {
		reads[in] = true
	}
	amends, waits := r.amends()
	out.behind = max(out.behind, waits)
	out.closes = nil
	w := &windowing{r: r, s: s, e: e, out: out, amends: amends, mark: newWatermark(r.options, out.behind)}
	tsAt := r.eventTimes()
	for _, ev := range r.history {
		for _, row := range rowsAt[ev.at] {
			ts := e.on(row).rowTs()
			if !r.tooLate(ts, w.mark, amends) {
				w.add(row, ts, e.on(row).key(keys), ev.at)
			}
		}
		switch {
		case ev.Relation == "":
			w.mark.advance(ev.EpochMs)
		case reads[ev.Relation]:
			w.mark.row(ev.Relation, tsAt[ev.at])
		}
		w.close(ev.at)
	}
	if s.Window.Kind == syntax.Session {
		out.behind += s.Window.Size.Millis()
	}
	out.hasTs = true
	return out
}

// over says whether the watermark is past a bucket, and after how long.
func (w *windowing) over(b *bucket, after int64) bool {
	if !w.mark.started {
		return false
	}
	if w.s.Window.Kind == syntax.Session {
		return w.mark.at > b.end+w.s.Window.Size.Millis()+after
	}
	return w.mark.at >= b.end+after
}

// add puts a row into its windows.
func (w *windowing) add(row jrow, ts int64, key string, at int) {
	for _, b := range w.of(ts, key) {
		if b.revisions > 0 {
			w.give(b, at, true, b.revisions-1, -1)
		}
		b.rows = append(b.rows, row)
		switch {
		case b.revisions > 0 || w.over(b, 0):
			if w.s.Window.Kind == syntax.Session {
				b.end = max(b.end, ts)
			}
			w.give(b, at, true, b.revisions, 1)
			b.revisions++
		default:
			if w.s.Window.Kind == syntax.Session {
				b.end = max(b.end, ts)
			}
			if w.s.Emit != nil && w.s.Emit.Changes {
				w.give(b, at, false, 0, 1)
			}
		}
	}
}

// of finds or opens the windows of a time and a key.
func (w *windowing) of(ts int64, key string) []*bucket {
	size := w.s.Window.Size.Millis()
	if w.s.Window.Kind == syntax.Session {
		late := w.mark.started && ts < w.mark.at
		for i := len(w.buckets) - 1; i >= 0; i-- {
			b := w.buckets[i]
			switch {
			case b.key != key:
			case late && ts >= b.start-size && ts <= b.end+size:
				return []*bucket{b}
			case late || w.over(b, 0):
			case ts <= b.end+size:
				return []*bucket{b}
			default:
				return []*bucket{w.open(key, ts, ts)}
			}
		}
		return []*bucket{w.open(key, ts, ts)}
	}
	step := size
	if w.s.Window.Kind == syntax.Hopping {
		step = w.s.Window.Advance.Millis()
	}
	var out []*bucket
	first := ts - size + 1
	first += ((-first)%step + step) % step // the first multiple of the advance from which the window holds ts
next:
	for start := first; start <= ts; start += step {
		for _, b := range w.buckets {
			if b.key == key && b.start == start {
				out = append(out, b)
				continue next
			}
		}
		out = append(out, w.open(key, start, start+size))
	}
	return out
}

func (w *windowing) open(key string, start, end int64) *bucket {
	b := &bucket{key: key, start: start, end: end}
	w.buckets = append(w.buckets, b)
	return b
}

// close gives the windows out that are over, and forgets those that nothing can amend any more.
func (w *windowing) close(at int) {
	var over, stay []*bucket
	for _, b := range w.buckets {
		if b.revisions == 0 && w.over(b, 0) {
			over = append(over, b)
		}
		if !w.over(b, w.amends) {
			stay = append(stay, b)
		}
	}
	sort.SliceStable(over, func(i, j int) bool { return over[i].end < over[j].end })
	for _, b := range over {
		w.out.closes = append(w.out.closes, closing{at: at, end: b.end})
		w.give(b, at, true, 0, 1)
		b.revisions = 1
	}
	w.buckets = stay
}

func (w *windowing) give(b *bucket, at int, final bool, revision, weight int64) {
	w.e.emit(w.s, w.out, b.rows, &borders{start: b.start, end: b.end, final: final, revision: revision}, at, weight)
}

// emit adds the row of one group, unless HAVING drops it.
func (e *env) emit(s *syntax.Select, out *table, rows []jrow, window *borders, at int, weight int64) {
	e.on(rows[0])
	e.group, e.window = rows, window
	if s.Having != nil && !e.truth(s.Having.Expr) {
		return
	}
	var vals []types.Value
	for _, it := range s.Items {
		vals = append(vals, e.value(it.Expr))
	}
	row := rrow{w: weight, at: at}
	if window != nil {
		for _, f := range out.fields[len(vals):] {
			for i := range windowFields {
				if windowFields[i].Name == f.Name {
					vals = append(vals, window.value(i))
				}
			}
		}
		row.ts = window.end
	}
	row.vals = e.typed(vals, out.fields)
	out.rows = append(out.rows, row)
}

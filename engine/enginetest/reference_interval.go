package enginetest

import (
	"sort"

	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// waiting is a row of one side of a join that can still find partners.
type waiting struct {
	row   jrow
	ts    int64
	seq   int
	right bool
	found bool
}

// leave parts the rows that are kept from those that the watermark has passed.
func leave(rows []*waiting, before int64, gone []*waiting) (stay, out []*waiting) {
	for _, w := range rows {
		if w.ts >= before {
			stay = append(stay, w)
		} else {
			gone = append(gone, w)
		}
	}
	return stay, gone
}

// within joins rows whose event times differ by at most a duration. It walks the history once and compares every row
// with every row of the other side that has not left; a row leaves when the watermark is past its time and the
// duration.
func (r *reference) within(left []jrow, all *table, j *syntax.Join, ctes map[string]*table, e *env) ([]jrow, error) {
	right, alias, err := r.relation(j.Item, ctes)
	if err != nil {
		return nil, err
	}
	leftTs := map[int]int64{}
	for i, row := range left {
		leftTs[i] = e.on(row).rowTs()
	}
	using := e.usingOf(j, right)
	e.add(source{alias: alias, fields: right.fields, label: right.label, hasTs: right.hasTs})
	all.label += "," + right.label
	all.inputs = append(append([]string(nil), all.inputs...), right.inputs...)
	all.behind = max(all.behind, right.behind)

	leftAt, rightAt := map[int][]int{}, map[int][]int{}
	for i, row := range left {
		leftAt[row.at] = append(leftAt[row.at], i)
	}
	for i, row := range right.rows {
		rightAt[row.at] = append(rightAt[row.at], i)
	}
	reads := map[string]bool{}
	for _, in := range all.inputs {
		reads[in] = true
	}
	keepLeft := j.Kind == syntax.JoinLeft || j.Kind == syntax.JoinFull
	keepRight := j.Kind == syntax.JoinRight || j.Kind == syntax.JoinFull
	d := j.Within.Millis()
	tsAt := r.eventTimes()
	all.behind = max(all.behind, r.allowed)
	mark := newWatermark(r.options, all.behind)
	var lefts, rights []*waiting
	var out []jrow
	seq := 0
	pair := func(l, rt *waiting, at int) {
		if l.ts-rt.ts > d || rt.ts-l.ts > d {
			return
		}
		row := jrow{rrow: rrow{w: 1, at: at}}
		row.vals = append(append([]types.Value(nil), l.row.vals...), rt.row.vals...)
		row.parts = append(append([]int64(nil), l.row.parts...), rt.ts)
		if j.On != nil && !e.on(row).truth(j.On) {
			return
		}
		for _, m := range using {
			e.on(row)
			if eq := compare("=", e.columnValue(m.left), e.columnValue(m.right)); eq.IsNull() || !eq.Bool() {
				return
			}
		}
		l.found, rt.found = true, true
		out = append(out, row)
	}
	for _, ev := range r.history {
		for _, i := range leftAt[ev.at] {
			w := &waiting{row: left[i], ts: leftTs[i], seq: seq}
			seq++
			if r.tooLate(w.ts, mark, 0) {
				continue
			}
			for _, o := range rights {
				pair(w, o, ev.at)
			}
			lefts = append(lefts, w)
		}
		for _, i := range rightAt[ev.at] {
			row := right.rows[i]
			w := &waiting{row: jrow{rrow: row}, ts: row.ts, seq: seq, right: true}
			seq++
			if r.tooLate(w.ts, mark, 0) {
				continue
			}
			for _, o := range lefts {
				pair(o, w, ev.at)
			}
			rights = append(rights, w)
		}
		switch {
		case ev.Relation == "":
			mark.advance(ev.EpochMs)
		case reads[ev.Relation]:
			mark.row(ev.Relation, tsAt[ev.at])
		}
		if !mark.started {
			continue
		}
		var gone []*waiting
		lefts, gone = leave(lefts, mark.at-d, gone)
		rights, gone = leave(rights, mark.at-d, gone)
		sort.Slice(gone, func(i, j int) bool {
			return gone[i].ts < gone[j].ts || gone[i].ts == gone[j].ts && gone[i].seq < gone[j].seq
		})
		for _, w := range gone {
			row := jrow{rrow: rrow{w: 1, at: ev.at}}
			switch {
			case w.found || !w.right && !keepLeft || w.right && !keepRight:
				continue
			case !w.right:
				row.vals = append(append(row.vals, w.row.vals...), nulls(right.fields)...)
				row.parts = append(append(row.parts, w.row.parts...), noTime)
			default:
				for _, src := range e.sources[:len(e.sources)-1] {
					row.vals = append(row.vals, nulls(src.fields)...)
					row.parts = append(row.parts, noTime)
				}
				row.vals = append(row.vals, w.row.vals...)
				row.parts = append(row.parts, w.ts)
			}
			out = append(out, row)
		}
	}
	e.mergeNames(using)
	if keepLeft || keepRight {
		all.behind += d
	}
	return out, nil
}

func nulls(fields types.Schema) []types.Value {
	out := make([]types.Value, len(fields))
	for i, f := range fields {
		out[i] = types.Null(f.Stored())
	}
	return out
}

package enginetest

import (
	"bytes"

	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// asof gives each left row the latest right row at or before its time for which the rest of ON is TRUE; of several of
// one time the greatest.
func (e *env) asof(left []jrow, right []rrow, j *syntax.Join, using []mergedColumn) []jrow {
	src := len(e.sources) - 1
	var order *syntax.Binary
	var rest syntax.Expr
	if j.On != nil {
		for _, c := range conjuncts(j.On) {
			b, ok := c.(*syntax.Binary)
			if ok && order == nil && (b.Op == ">=" || b.Op == ">" || b.Op == "<=" || b.Op == "<") && e.side(b.L)+e.side(b.R) == 3 && e.side(b.L)*e.side(b.R) == 2 {
				order = b
				continue
			}
			if rest == nil {
				rest = c
			} else {
				rest = &syntax.Binary{Op: "AND", L: rest, R: c}
			}
		}
	}
	matches := e.matcher(rest, using)
	times := func(pair jrow) (l, r types.Value) {
		e.on(pair)
		if order == nil {
			l, r = types.Null(types.Long), types.LongOf(e.ts[src])
			for i, s := range e.sources[:src] {
				if s.hasTs && e.ts[i] != noTime {
					l = types.LongOf(e.ts[i])
				}
			}
			return l, r
		}
		l, r = e.value(order.L), e.value(order.R)
		if e.side(order.L) == 2 {
			l, r = r, l
		}
		return l, r
	}
	var out []jrow
	left, right = netJoined(left), net(right, true)
	for _, l := range left {
		best := -1
		var bestTime int64
		var bestRow []byte
		for i, r := range right {
			pair := jrow{rrow: l.rrow, parts: append(append([]int64(nil), l.parts...), r.ts)}
			pair.vals = append(append([]types.Value(nil), l.vals...), r.vals...)
			if r.w <= 0 || !matches(pair) {
				continue
			}
			lt, rt := times(pair)
			if lt.IsNull() || rt.IsNull() || rt.Int() > lt.Int() || rt.Int() == lt.Int() && order != nil && len(order.Op) == 1 {
				continue
			}
			var row []byte
			for _, v := range append(append([]types.Value(nil), r.vals...), types.LongOf(r.ts)) {
				row = zset.AppendValue(row, v)
			}
			if best < 0 || rt.Int() > bestTime || rt.Int() == bestTime && bytes.Compare(row, bestRow) > 0 {
				best, bestTime, bestRow = i, rt.Int(), row
			}
		}
		pair := jrow{rrow: l.rrow}
		switch {
		case best >= 0:
			r := right[best]
			pair.vals = append(append([]types.Value(nil), l.vals...), r.vals...)
			pair.parts = append(append([]int64(nil), l.parts...), r.ts)
		case j.Kind == syntax.JoinLeft:
			pair.vals = append([]types.Value(nil), l.vals...)
			for _, f := range e.sources[src].fields {
				pair.vals = append(pair.vals, types.Null(f.Stored()))
			}
			pair.parts = append(append([]int64(nil), l.parts...), noTime)
		default:
			continue
		}
		out = append(out, pair)
	}
	e.mergeNames(using)
	return out
}

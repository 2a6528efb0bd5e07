package enginetest

import (
	"math"
	"slices"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
)

// retained plays the rows of a plain table epoch by epoch, and after each takes away what the bounds do not allow. It
// holds a list and looks through all of it every time.
func retained(rows []rrow, withTs bool, bounds engine.Retention) []rrow {
	rows = slices.Clone(rows)
	if !withTs {
		for i := range rows {
			rows[i].ts = 0
		}
	}
	slices.SortStableFunc(rows, func(a, b rrow) int { return a.epoch - b.epoch })
	var held []rrow
	newest := int64(math.MinInt64)
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to].epoch == rows[from].epoch {
			if rows[to].w > 0 {
				newest = max(newest, rows[to].ts)
			}
			to++
		}
		held = net(append(held, rows[from:to]...), true)
		held = slices.DeleteFunc(held, func(r rrow) bool { return r.w < 0 || tooOld(r.ts, newest, bounds) })
		slices.SortFunc(held, func(a, b rrow) int { return older(a.ts, b.ts, a.vals, b.vals) })
		total := int64(0)
		for _, r := range held {
			total += r.w
		}
		for bounds.MaxRows > 0 && total > bounds.MaxRows {
			total--
			if held[0].w--; held[0].w == 0 {
				held = held[1:]
			}
		}
		held = slices.Clone(held)
		from = to
	}
	return held
}

func tooOld(ts, newest int64, bounds engine.Retention) bool {
	return bounds.TTLMs > 0 && newest >= math.MinInt64+bounds.TTLMs && ts < newest-bounds.TTLMs
}

// older orders by time, then by values.
func older(a, b int64, x, y []types.Value) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	for i := range x {
		if c := compareValues(x[i], y[i]); c != 0 {
			return c
		}
	}
	return 0
}

// latestKept is a row of LATEST BY with its key.
type latestKept struct {
	jrow
	key []types.Value
}

// evictLatest takes away the keys that the bounds do not allow.
func evictLatest(kept map[string]latestKept, newest int64, bounds engine.Retention) {
	for k, row := range kept {
		if tooOld(row.ts, newest, bounds) {
			delete(kept, k)
		}
	}
	for bounds.MaxRows > 0 && int64(len(kept)) > bounds.MaxRows {
		first := ""
		for k, row := range kept {
			if first == "" || older(row.ts, kept[first].ts, row.key, kept[first].key) < 0 {
				first = k
			}
		}
		delete(kept, first)
	}
}

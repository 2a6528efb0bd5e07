package changelog

import (
	"slices"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Delta maps the net change of a table to records. Of the batch's columns the first visible ones are read: rows that
// differ only in the hidden event time are the same row.
func Delta(b *zset.Batch, visible int, id Identity) []Record {
	if b == nil || b.N == 0 {
		return nil
	}
	b = zset.Consolidate(shown(b, visible))
	if id.Whole {
		return byRow(b)
	}
	return byKey(b, id.Key)
}

// Sequence maps the results of a pipeline to records, in the order of the batch. A row that takes the last one of its
// key back right before the next comes is one update with it.
func Sequence(b *zset.Batch, visible int, id Identity) []Record {
	if b == nil || b.N == 0 {
		return nil
	}
	b = shown(b, visible)
	keys := columns(b, id.Key)
	out := make([]Record, 0, b.N)
	for i := 0; i < b.N; i++ {
		w := b.W(i)
		switch {
		case w == 0:
		case w > 0:
			out = append(out, Record{Op: Insert, Row: b.Row(i), Count: w})
		case !id.Whole && i+1 < b.N && w == -b.W(i+1) && zset.CompareRows(keys, i, i+1) == 0:
			out = append(out, Record{Op: Update, Row: b.Row(i + 1), Before: b.Row(i), Count: -w})
			i++
		default:
			out = append(out, Record{Op: Delete, Row: b.Row(i), Count: -w})
		}
	}
	return out
}

// byRow gives what goes before what comes: the batch is in canonical order already.
func byRow(b *zset.Batch) []Record {
	var gone, come []Record
	for i := range b.N {
		if w := b.W(i); w < 0 {
			gone = append(gone, Record{Op: Delete, Row: b.Row(i), Count: -w})
		} else {
			come = append(come, Record{Op: Insert, Row: b.Row(i), Count: w})
		}
	}
	return append(gone, come...)
}

// byKey pairs what goes with what comes, key after key. In a relation that keeps its key there is at most one row on
// each side; a relation that does not (a negative weight before its row, a key that is none) still gets records that
// add up to the delta.
func byKey(b *zset.Batch, key []int) []Record {
	keys := columns(b, key)
	order := make([]int, b.N)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return zset.CompareRows(keys, i, j) })
	var out []Record
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && zset.CompareRows(keys, order[from], order[to]) == 0 {
			to++
		}
		out = pair(out, b, order[from:to])
		from = to
	}
	return out
}

// side is a row with how often it is still to be told.
type side struct {
	row []types.Value
	n   int64
}

func pair(out []Record, b *zset.Batch, rows []int) []Record {
	var gone, come []side
	for _, i := range rows {
		if w := b.W(i); w < 0 {
			gone = append(gone, side{b.Row(i), -w})
		} else {
			come = append(come, side{b.Row(i), w})
		}
	}
	for len(gone) > 0 && len(come) > 0 {
		n := min(gone[0].n, come[0].n)
		out = append(out, Record{Op: Update, Row: come[0].row, Before: gone[0].row, Count: n})
		gone, come = spend(gone, n), spend(come, n)
	}
	for _, s := range gone {
		out = append(out, Record{Op: Delete, Row: s.row, Count: s.n})
	}
	for _, s := range come {
		out = append(out, Record{Op: Insert, Row: s.row, Count: s.n})
	}
	return out
}

func spend(s []side, n int64) []side {
	if s[0].n -= n; s[0].n == 0 {
		return s[1:]
	}
	return s
}

// shown is the batch without its hidden columns.
func shown(b *zset.Batch, visible int) *zset.Batch {
	if len(b.Cols) == visible {
		return b
	}
	return &zset.Batch{N: b.N, Cols: b.Cols[:visible], Weight: b.Weight}
}

// columns is the batch of some of the columns.
func columns(b *zset.Batch, at []int) *zset.Batch {
	out := &zset.Batch{N: b.N}
	for _, c := range at {
		out.Cols = append(out.Cols, b.Cols[c])
	}
	return out
}

package zset

import (
	"slices"
)

// Consolidate returns the batch as a Z-set delta: sorted by canonical record, equal rows merged into one with the
// sum of their weights, rows of weight zero gone. A batch that is one already is returned as it is.
//
// Invariant 3: every delta batch at a package border went through here.
func Consolidate(b *Batch) *Batch {
	if IsConsolidated(b) {
		return b
	}
	order := sortRows(b)
	sel := make([]int32, 0, b.N)
	weight := make([]int64, 0, b.N)
	plain := true
	for i := 0; i < len(order); {
		first := int(order[i].row)
		w := b.W(first)
		for i++; i < len(order) && order[i].same; i++ {
			w += b.W(int(order[i].row))
		}
		if w != 0 {
			sel = append(sel, int32(first))
			weight = append(weight, w)
			plain = plain && w == 1
		}
	}
	out := Gather(&Batch{N: b.N, Cols: b.Cols}, sel)
	if !plain {
		out.Weight = weight
	}
	return out
}

// IsConsolidated reports whether the batch is sorted, without equal rows and without zero weights.
func IsConsolidated(b *Batch) bool {
	for _, w := range b.Weight {
		if w == 0 {
			return false
		}
	}
	for i := 1; i < b.N; i++ {
		if CompareRows(b, i-1, i) >= 0 {
			return false
		}
	}
	return true
}

// ranked is a row with the sort key of its first column. The key is coarse: rows in order have keys in order, but
// different rows can have the same key.
type ranked struct {
	key  uint64
	row  uint32
	same bool // it is the row before, in the result of sortRows
}

// radixFrom is the number of rows from which counting digits is faster than comparing.
const radixFrom = 96

// sortRows returns the rows in canonical order; equal rows keep their order. It sorts by the key of the first
// column, which mostly decides, and compares whole rows only where keys are equal.
func sortRows(b *Batch) []ranked {
	rows := make([]ranked, b.N)
	for i := range rows {
		rows[i].row = uint32(i)
	}
	if len(b.Cols) > 0 {
		rankColumn(&b.Cols[0], rows)
		if len(rows) < radixFrom {
			slices.SortFunc(rows, func(x, y ranked) int {
				if x.key == y.key {
					return int(x.row) - int(y.row)
				}
				if x.key < y.key {
					return -1
				}
				return 1
			})
		} else {
			rows = radixSort(rows)
		}
	}
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && rows[to].key == rows[from].key {
			to++
		}
		if to-from > 1 {
			sortTies(b, rows[from:to])
		}
		from = to
	}
	return rows
}

// sortTies sorts rows with equal keys and marks the equal ones.
func sortTies(b *Batch, rows []ranked) {
	if len(rows) == 2 {
		// The usual case: the old and the new row of a group.
		c := CompareRows(b, int(rows[0].row), int(rows[1].row))
		if c > 0 {
			rows[0], rows[1] = rows[1], rows[0]
		}
		rows[1].same = c == 0
		return
	}
	slices.SortStableFunc(rows, func(x, y ranked) int { return CompareRows(b, int(x.row), int(y.row)) })
	for i := 1; i < len(rows); i++ {
		rows[i].same = CompareRows(b, int(rows[i-1].row), int(rows[i].row)) == 0
	}
}

// radixSort sorts by key, least significant byte first, and leaves out the bytes in which all keys agree.
func radixSort(rows []ranked) []ranked {
	var counts [8][256]uint32
	for i := range rows {
		k := rows[i].key
		for d := range counts {
			counts[d][byte(k>>(8*d))]++
		}
	}
	to := make([]ranked, len(rows))
	for d := range counts {
		count := &counts[d]
		shift := 8 * d
		if count[byte(rows[0].key>>shift)] == uint32(len(rows)) {
			continue
		}
		at := uint32(0)
		for i, n := range count {
			count[i] = at
			at += n
		}
		for _, r := range rows {
			digit := byte(r.key >> shift)
			to[count[digit]] = r
			count[digit]++
		}
		rows, to = to, rows
	}
	return rows
}

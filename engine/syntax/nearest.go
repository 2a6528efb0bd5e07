package syntax

import "strings"

// Nearest is the one of the names that a word most likely means: within a third of its letters, at least one, counted
// as insertions, deletions, replacements and swaps of neighbours, in any case. It is "" when there is none; ties go to
// the first in sort order.
func Nearest(word string, names []string) string {
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, n := range names {
		d := distance(strings.ToLower(word), strings.ToLower(n), bestDistance+1)
		if d < bestDistance || d == bestDistance && best != "" && n < best {
			best, bestDistance = n, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours between two words; limit or
// more is given as limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d >= limit || -d >= limit {
		return limit
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], limit)
}

package analyze

import (
	"sort"
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// didYouMean is the hint for a name that does not exist: the closest of the names that do, or the names themselves
// when they are few.
func didYouMean(name string, names []string, noun string) string {
	if best := closest(name, names); best != "" {
		return `did you mean "` + best + `"?`
	}
	names = unique(names)
	if len(names) == 0 || len(names) > 12 {
		return ""
	}
	return noun + ": " + strings.Join(names, ", ")
}

// reportName reports a name that does not exist, with the closest one that does as hint and fix.
func (a *analyzer) reportName(at syntax.Node, id syntax.Ident, code string, names []string, noun, format string, args ...any) {
	a.report(at, code, didYouMean(id.Name, names, noun), format, args...)
	if best := closest(id.Name, names); best != "" {
		a.fix(syntax.Replace(id.Pos, id.Name, best))
	}
}

// fix offers a change of the text with the diagnostic that was reported last.
func (a *analyzer) fix(f *syntax.Fix) { a.ds[len(a.ds)-1].Fix = f }

// closest is the name within a third of the letters, "" when there is none. Ties go to the first in sort order.
func closest(name string, names []string) string {
	best, bestDistance := "", max(1, len(name)/3)+1
	for _, n := range unique(names) {
		d := distance(strings.ToLower(name), strings.ToLower(n), bestDistance)
		if d < bestDistance {
			best, bestDistance = n, d
		}
	}
	return best
}

func unique(names []string) []string {
	names = append([]string(nil), names...)
	sort.Strings(names)
	out := names[:0]
	for i, n := range names {
		if i == 0 || n != out[len(out)-1] {
			out = append(out, n)
		}
	}
	return out
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

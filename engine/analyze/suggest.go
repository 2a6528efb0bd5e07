package analyze

import (
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// didYouMean is the hint for a name that does not exist: the closest of the names that do, or the names themselves
// when they are few.
func didYouMean(name string, names []string, noun string) string {
	if best := syntax.Nearest(name, names); best != "" {
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
	if best := syntax.Nearest(id.Name, names); best != "" {
		a.fix(syntax.Replace(id.Pos, id.Name, best))
	}
}

// fix offers a change of the text with the diagnostic that was reported last.
func (a *analyzer) fix(f *syntax.Fix) { a.ds[len(a.ds)-1].Fix = f }

func unique(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

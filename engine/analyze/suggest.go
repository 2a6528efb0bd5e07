package analyze

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// What a table and what a pipeline can read.
const (
	inputsNoun  = "inputs"
	sourcesNoun = "sources"
)

// didYouMean is the hint for a name that does not exist: the closest of the names that do, or the names themselves
// when they are few. Of many inputs it lists some: unlike functions, nobody knows them by heart.
func didYouMean(name string, names []string, noun string) string {
	if best := syntax.Nearest(name, names); best != "" {
		return `did you mean "` + best + `"?`
	}
	names = unique(names)
	const most = 12
	switch more := len(names) - most; {
	case len(names) == 0, more > 0 && noun != inputsNoun && noun != sourcesNoun:
		return ""
	case more > 0:
		return noun + ": " + strings.Join(names[:most], ", ") + " and " + strconv.Itoa(more) + " more"
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

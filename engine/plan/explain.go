package plan

import (
	"strconv"
	"strings"
)

// Explain prints a plan as stable text: one line per node, children indented below, with the derived changelog mode
// after the arrow.
func Explain(n Node) string {
	var b strings.Builder
	explain(&b, n, 0)
	return b.String()
}

func explain(b *strings.Builder, n Node, depth int) {
	for range depth {
		b.WriteString("  ")
	}
	b.WriteString(n.Name())
	if d := n.Detail(); d != "" {
		b.WriteString(" " + d)
	}
	b.WriteString(" -> " + n.Changelog().String() + "\n")
	for _, c := range n.Children() {
		explain(b, c, depth+1)
	}
	if r, ok := n.(*Recursive); ok {
		for range depth + 1 {
			b.WriteString("  ")
		}
		b.WriteString("Step\n")
		explain(b, r.Step, depth+2)
	}
}

// FormatMillis prints a duration of SQL in its largest whole unit: 5s, 250ms, 1m, 2h.
func FormatMillis(ms int64) string {
	switch {
	case ms != 0 && ms%3_600_000 == 0:
		return strconv.FormatInt(ms/3_600_000, 10) + "h"
	case ms != 0 && ms%60_000 == 0:
		return strconv.FormatInt(ms/60_000, 10) + "m"
	case ms%1000 == 0:
		return strconv.FormatInt(ms/1000, 10) + "s"
	default:
		return strconv.FormatInt(ms, 10) + "ms"
	}
}

package difftest_test

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// windowFunction writes a window function that is no aggregate; false when the call is none.
func (t *translator) windowFunction(e *syntax.Call) bool {
	f, is := over.Lookup(e.Name.Name)
	if !is {
		return false
	}
	t.add(strings.ToLower(f.Name), "(")
	for i, a := range e.Args {
		if i > 0 {
			t.add(", ")
		}
		t.expr(a)
		if f.Name == "NTILE" || i == 1 {
			t.add("::int")
		}
	}
	t.add(")")
	t.over(e.Over)
	if f.Name == "NTILE" {
		t.add("::bigint")
	}
	return true
}

// over writes OVER and its window; nothing for nil.
func (t *translator) over(o *syntax.Over) {
	switch {
	case o == nil:
	case o.Bare:
		t.add(" OVER ", o.Base.Name)
	default:
		t.add(" OVER ")
		t.window(o)
	}
}

func (t *translator) window(o *syntax.Over) {
	t.add("(")
	if o.Base != nil {
		t.add(o.Base.Name, " ")
	}
	if len(o.Partition) > 0 {
		t.add("PARTITION BY ")
		t.exprs(o.Partition)
	}
	for i, k := range o.OrderBy {
		t.add([]string{" ORDER BY ", ", "}[min(i, 1)])
		t.order(k)
	}
	if f := o.Frame; f != nil {
		t.add(" ", string(f.Mode), " BETWEEN ")
		t.bound(f.Start)
		t.add(" AND ")
		if f.End == nil {
			t.add("CURRENT ROW")
		} else {
			t.bound(f.End)
		}
		if f.Exclude != syntax.ExcludeNothing {
			t.add(" EXCLUDE ", string(f.Exclude))
		}
	}
	t.add(")")
}

func (t *translator) bound(b *syntax.Bound) {
	if c, ok := b.N.(*syntax.Call); ok { // INTERVAL
		t.add("interval '", c.Args[0].(*syntax.Literal).Text, "' ")
	} else if b.N != nil {
		t.expr(b.N)
		t.add(" ")
	}
	t.add(b.Kind.String())
}

func (t *translator) namedWindows(list []*syntax.NamedWindow) {
	for i, w := range list {
		t.add([]string{" WINDOW ", ", "}[min(i, 1)], w.Name.Name, " AS ")
		t.window(w.Over)
	}
}

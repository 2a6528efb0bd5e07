package op_test

import (
	"fmt"
	"testing"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

func aggregate(t *testing.T, name string, args ...expr.Expr) agg.Call {
	t.Helper()
	a, ok := agg.Lookup(name)
	if !ok {
		t.Fatalf("no aggregate %s", name)
	}
	c, err := a.Bind(args, len(args) == 0, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func flush(r *op.Reduce) string {
	out := ""
	r.Flush(func(d op.Delta) {
		if !zset.IsConsolidated(d.B) {
			out += "not consolidated: "
		}
		for i := range d.B.N {
			out += fmt.Sprintf("%+d %v ", d.B.W(i), d.B.Row(i))
		}
	})
	return out
}

// TestReduceGroups: a group appears with its first row, is updated as a retraction and an assertion, is quiet when
// nothing changes, and leaves with its last row; a debt is kept and not shown.
func TestReduceGroups(t *testing.T) {
	k := &expr.Column{Index: 1, Name: "v", K: types.String}
	v := &expr.Column{Index: 0, Name: "k", K: types.Long}
	r := op.NewReduce([]expr.Expr{k}, []agg.Call{aggregate(t, "SUM", v), aggregate(t, "COUNT")}, false, nil)
	for i, step := range []struct {
		rows []pairRow
		want string
	}{
		{[]pairRow{{k: 5, v: "a", w: 1}, {k: 2, v: "b", w: 1}, {k: 0, v: "a", w: 1}}, `+1 ["a" 5 2] +1 ["b" 2 1] `},
		{[]pairRow{{k: 5, v: "a", w: 1}}, `-1 ["a" 5 2] +1 ["a" 10 3] `},
		{[]pairRow{{k: 5, v: "a", w: -1}, {k: 5, v: "a", w: 1}}, ``},
		{[]pairRow{{k: 2, v: "b", w: -1}}, `-1 ["b" 2 1] `},
		{[]pairRow{{k: 7, v: "c", w: -2}}, ``},
		{[]pairRow{{k: 7, v: "c", w: 2}}, ``},
		{[]pairRow{{k: 7, v: "c", w: -1}}, ``},
		{[]pairRow{{k: 8, v: "c", w: 2}}, `+1 ["c" 9 1] `},
	} {
		r.Apply(0, op.Delta{B: pairBatch(step.rows)}, nil)
		if got := flush(r); got != step.want {
			t.Errorf("step %d: got %q, want %q", i, got, step.want)
		}
	}
}

// TestReduceGlobal: without keys there is one row while a row is counted.
func TestReduceGlobal(t *testing.T) {
	r := op.NewReduce(nil, []agg.Call{aggregate(t, "COUNT")}, false, nil)
	if got := flush(r); got != "" {
		t.Errorf("before any row: %q", got)
	}
	r.Apply(0, op.Delta{B: pairBatch([]pairRow{{k: 1, v: "a", w: 1}})}, nil)
	if got := flush(r); got != "+1 [1] " {
		t.Errorf("first row: %q", got)
	}
	r.Apply(0, op.Delta{B: pairBatch([]pairRow{{k: 1, v: "a", w: -1}})}, nil)
	if got := flush(r); got != "-1 [1] " {
		t.Errorf("last row gone: %q", got)
	}
}

// TestReduceOverflow: a sum of Longs that leaves 64 bits is NULL and counted, and comes back when it fits again.
func TestReduceOverflow(t *testing.T) {
	v := &expr.Column{Index: 0, Name: "k", K: types.Long}
	r := op.NewReduce(nil, []agg.Call{aggregate(t, "SUM", v)}, false, nil)
	r.Apply(0, op.Delta{B: pairBatch([]pairRow{{k: 1 << 62, v: "a", w: 2}})}, nil)
	if got := flush(r); got != "+1 [NULL] " || r.Overflows != 1 {
		t.Errorf("got %q, %d overflows", got, r.Overflows)
	}
	r.Apply(0, op.Delta{B: pairBatch([]pairRow{{k: 1 << 62, v: "a", w: -1}})}, nil)
	if got := flush(r); got != fmt.Sprintf("-1 [NULL] +1 [%d] ", int64(1)<<62) || r.Overflows != 1 {
		t.Errorf("got %q, %d overflows", got, r.Overflows)
	}
}

// TestReduceManyGroups: keys with long common beginnings come out in the order of their records.
func TestReduceManyGroups(t *testing.T) {
	k := &expr.Column{Index: 1, Name: "v", K: types.String}
	r := op.NewReduce([]expr.Expr{k}, []agg.Call{aggregate(t, "COUNT")}, true, nil)
	var rows []pairRow
	for i := range 500 {
		rows = append(rows, pairRow{k: 1, v: fmt.Sprintf("a long common beginning %d", i*7919%1000), w: 1})
		rows = append(rows, pairRow{k: 1, v: fmt.Sprintf("a long common beginning of another kind %d", i*7919%1000), w: 1})
	}
	for range 2 {
		r.Apply(0, op.Delta{B: pairBatch(rows)}, nil)
		n := 0
		r.Flush(func(d op.Delta) {
			n += d.B.N
			if !zset.IsConsolidated(d.B) {
				t.Error("the delta is not sorted")
			}
		})
		if n < 1000 {
			t.Errorf("%d rows", n)
		}
	}
}

package op_test

import (
	"fmt"
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

var pair = types.Schema{{Name: "k", Kind: types.Long}, {Name: "v", Kind: types.String}}

var pairKinds = []types.Kind{types.Long, types.String}

type pairRow struct {
	k    int64 // 0 is NULL
	v    string
	w    int64
	side int
}

func pairBatch(rows []pairRow) *zset.Batch {
	b := zset.NewBuilder(pairKinds)
	for _, r := range rows {
		if r.k == 0 {
			b.Null(0)
		} else {
			b.Long(0, r.k)
		}
		b.Text(1, []byte(r.v))
		b.EndRow(r.w)
	}
	return b.Build()
}

// net collects what an operator emits as a Z-set.
type net map[string]int64

func (n net) take(d op.Delta) {
	for k := range d.Len() {
		i := d.At(k)
		row := ""
		for c := range d.B.Cols {
			row += d.B.Cols[c].Value(i).String() + " | "
		}
		if n[row] += d.B.W(i); n[row] == 0 {
			delete(n, row)
		}
	}
}

func newPairJoin() *op.Join {
	key := []expr.Expr{&expr.Column{Index: 0, Name: "k", K: types.Long}}
	return op.NewJoin(pair, pair, key, key, 0, nil)
}

func drawPairs(t *rapid.T, side int, name string) []pairRow {
	rows := make([]pairRow, rapid.IntRange(0, 6).Draw(t, name))
	for i := range rows {
		rows[i] = pairRow{
			k: int64(rapid.IntRange(0, 3).Draw(t, "key")), v: rapid.SampledFrom([]string{"", "a", "b\x00"}).Draw(t, "value"),
			w: rapid.SampledFrom([]int64{1, 1, 2, -1, -3}).Draw(t, "weight"), side: side,
		}
	}
	return rows
}

func join(parts ...[]pairRow) net {
	j, out := newPairJoin(), net{}
	for _, p := range parts {
		if len(p) > 0 {
			j.Apply(p[0].side, op.Delta{B: pairBatch(p)}, out.take)
		}
	}
	return out
}

// TestJoinIsBilinear: (A+A')⋈(B+B') = A⋈B + A⋈B' + A'⋈B + A'⋈B', whatever order the changes come in, and with
// negative weights.
func TestJoinIsBilinear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, a2 := drawPairs(t, 0, "A"), drawPairs(t, 0, "A'")
		b, b2 := drawPairs(t, 1, "B"), drawPairs(t, 1, "B'")
		want := net{}
		for _, l := range append(a[:len(a):len(a)], a2...) {
			for _, r := range append(b[:len(b):len(b)], b2...) {
				if l.k == 0 || l.k != r.k {
					continue
				}
				row := fmt.Sprintf("%d | %q | %d | %q | ", l.k, l.v, r.k, r.v)
				if want[row] += l.w * r.w; want[row] == 0 {
					delete(want, row)
				}
			}
		}
		for _, order := range [][][]pairRow{{a, a2, b, b2}, {b, a, b2, a2}, {a, b, a2, b2}, {b2, b, a2, a}} {
			if got := join(order...); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("order %v\ngot  %v\nwant %v", order, got, want)
			}
		}
	})
}

// TestJoinKeysAreTyped: Long 1 is not Double 1.0, and NULL matches nothing, not even NULL.
func TestJoinKeysAreTyped(t *testing.T) {
	right := types.Schema{{Name: "x", Kind: types.Double}}
	j := op.NewJoin(pair, right, []expr.Expr{&expr.Column{Index: 0, Name: "k", K: types.Long}},
		[]expr.Expr{&expr.Column{Index: 0, Name: "x", K: types.Double}}, 0, nil)
	out := net{}
	j.Apply(0, op.Delta{B: pairBatch([]pairRow{{k: 1, v: "a", w: 1}, {k: 0, v: "null", w: 1}})}, out.take)
	b := zset.NewBuilder([]types.Kind{types.Double})
	b.Double(0, 1)
	b.EndRow(1)
	b.Null(0)
	b.EndRow(1)
	j.Apply(1, op.Delta{B: b.Build()}, out.take)
	if len(out) != 0 {
		t.Errorf("got %v, want no pair", out)
	}
	if j.StateBytes() == 0 {
		t.Error("a join with rows has no state")
	}
}

// TestJoinSelection: only selected rows exist.
func TestJoinSelection(t *testing.T) {
	j, out := newPairJoin(), net{}
	j.Apply(0, op.Delta{B: pairBatch([]pairRow{{k: 1, v: "a", w: 1}, {k: 1, v: "b", w: 1}}), Sel: []int32{1}}, out.take)
	j.Apply(1, op.Delta{B: pairBatch([]pairRow{{k: 2, v: "c", w: 1}, {k: 1, v: "d", w: 1}}), Sel: []int32{1}}, out.take)
	if fmt.Sprint(out) != fmt.Sprint(net{`1 | "b" | 1 | "d" | `: 1}) {
		t.Errorf("got %v", out)
	}
}

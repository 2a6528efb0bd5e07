package expr_test

import (
	"strings"

	"fmt"
	"math"
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

// layout is the columns of the random batches: two of most kinds, one text column with a dictionary.
var layout = []types.Kind{
	types.Long, types.Long, types.Double, types.Double, types.String, types.String, types.Bool, types.Bool,
	types.Timestamp, types.Json, types.Json,
}

const dictColumn = 5

func column(c int) *expr.Column {
	return &expr.Column{Index: c, Name: fmt.Sprintf("c%d_%s", c, layout[c]), K: layout[c]}
}

var (
	longs   = []int64{0, 1, -1, 2, 3, 5, 10, 1 << 31, -1 << 31, 1<<53 + 1, -(1<<53 + 1), math.MaxInt64, math.MinInt64}
	doubles = []float64{
		0, 1, -1, 0.5, 2.5, -2.5, 1.005, 1e-9, 3, 5, 1 << 53, 1<<53 + 2, 1e18, 9.3e18, -9.3e18, 1e300, -1e300,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1),
	}
	texts = []string{"", "a", "A", "abc", "aBc%_", "é", "ß", "true", "False", "0", "12", "-7.5", "1e3", "1,234", "9223372036854775808",
		"2026-11-30T20:50:00Z", "a\x00b"}
	jsons = []string{`{"a":1,"b":{"a":"x"}}`, `[1,"two",null,{"a":2.5}]`, `12`, `-0.5`, `"12"`, `"a\u00e9\n"`, `true`, `{}`, `[]`, `{"a":null}`}
)

func drawValue(t *rapid.T, k types.Kind) types.Value {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return types.Null(k)
	}
	switch k {
	case types.Long:
		return types.LongOf(rapid.SampledFrom(longs).Draw(t, "long"))
	case types.Timestamp:
		return types.TimestampOf(rapid.SampledFrom(longs).Draw(t, "time"))
	case types.Double:
		return types.DoubleOf(rapid.SampledFrom(doubles).Draw(t, "double"))
	case types.Bool:
		return types.BoolOf(rapid.Bool().Draw(t, "bool"))
	case types.Json:
		return types.JsonOf(rapid.SampledFrom(jsons).Draw(t, "json"))
	default:
		return types.StringOf(rapid.SampledFrom(texts).Draw(t, "text"))
	}
}

func drawBatch(t *rapid.T) *zset.Batch {
	b := zset.NewBuilder(layout)
	b.Intern(dictColumn)
	for range rapid.IntRange(0, 80).Draw(t, "rows") {
		for c, k := range layout {
			b.Value(c, drawValue(t, k))
		}
		b.EndRow(1)
	}
	return b.Build()
}

func drawSelection(t *rapid.T, n int) []int32 {
	if rapid.Bool().Draw(t, "all rows") {
		return nil
	}
	sel := []int32{}
	for i := range n {
		if rapid.Bool().Draw(t, "selected") {
			sel = append(sel, int32(i))
		}
	}
	return sel
}

// drawExpr draws a bound expression; calls that do not bind are drawn again as leaves.
func drawExpr(t *rapid.T, depth int) expr.Expr {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		return drawLeaf(t)
	}
	if rapid.IntRange(0, 9).Draw(t, "case") == 0 {
		whens := []expr.When{}
		for range rapid.IntRange(1, 2).Draw(t, "whens") {
			whens = append(whens, expr.When{Cond: drawExpr(t, depth-1), Then: drawExpr(t, depth-1)})
		}
		var els expr.Expr
		if rapid.Bool().Draw(t, "else") {
			els = drawExpr(t, depth-1)
		}
		if e, err := expr.BindCase(whens, els); err == nil {
			return e
		}
		return drawLeaf(t)
	}
	f := rapid.SampledFrom(basic()).Draw(t, "function")
	n := f.Min
	if f.Max < 0 {
		n += rapid.IntRange(0, 2).Draw(t, "more")
	} else if f.Max > f.Min {
		n = rapid.IntRange(f.Min, f.Max).Draw(t, "arguments")
	}
	args := make([]expr.Expr, n)
	for i := range args {
		args[i] = drawExpr(t, depth-1)
	}
	if f.Name == "->" || f.Name == "->>" {
		args[1] = rapid.SampledFrom([]expr.Expr{text("a"), text("b"), long(0), long(3), args[1]}).Draw(t, "key")
	}
	e, err := f.Bind(args)
	if err != nil {
		return drawLeaf(t)
	}
	return e
}

func drawLeaf(t *rapid.T) expr.Expr {
	if rapid.IntRange(0, 2).Draw(t, "literal") == 0 {
		k := rapid.SampledFrom([]types.Kind{types.Long, types.Double, types.String, types.Bool, types.Unknown}).Draw(t, "kind")
		if k == types.Unknown {
			return &expr.Literal{V: types.Null(types.Unknown)}
		}
		return &expr.Literal{V: drawValue(t, k)}
	}
	return column(rapid.IntRange(0, len(layout)-1).Draw(t, "column"))
}

func text(s string) expr.Expr { return &expr.Literal{V: types.StringOf(s)} }

func long(i int64) expr.Expr { return &expr.Literal{V: types.LongOf(i)} }

// TestKernelEqualsReference: for random expressions, batches and selections a kernel gives what the reference
// gives row by row, as a dense column, as an aligned column and as a filter, also when it is used again.
func TestKernelEqualsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExpr(t, rapid.IntRange(1, 4).Draw(t, "depth"))
		k := expr.Compile(e)
		for range 2 {
			b := drawBatch(t)
			sel := drawSelection(t, b.N)
			rows := b.N
			if sel != nil {
				rows = len(sel)
			}
			want := make([]types.Value, rows)
			var pass []int32
			for i := range want {
				at := i
				if sel != nil {
					at = int(sel[i])
				}
				want[i] = reference(e, b.Row(at))
				if v := want[i]; v.Kind() == types.Bool && !v.IsNull() && v.Bool() {
					pass = append(pass, int32(at))
				}
			}
			aligned := k.Aligned(b, sel)
			for i := range want {
				at := i
				if sel != nil {
					at = int(sel[i])
				}
				if got := aligned.Value(at); !same(got, want[i]) {
					t.Fatalf("%s\nrow %v\naligned: got %v, want %v", e, b.Row(at), got, want[i])
				}
			}
			dense := k.Eval(b, sel)
			for i := range want {
				if got := dense.Value(i); !same(got, want[i]) {
					t.Fatalf("%s\ndense row %d: got %v, want %v", e, i, got, want[i])
				}
			}
			got := k.Filter(b, sel)
			if len(got) != len(pass) {
				t.Fatalf("%s\nfilter: got rows %v, want %v", e, got, pass)
			}
			for i := range got {
				if got[i] != pass[i] {
					t.Fatalf("%s\nfilter: got rows %v, want %v", e, got, pass)
				}
			}
		}
	})
}

func same(a, b types.Value) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() == b.IsNull()
	}
	if a.Kind() != b.Kind() {
		return false
	}
	if a.Kind() == types.Double {
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	}
	return a == b
}

// TestFoldKeepsMeaning: folding changes no result.
func TestFoldKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExpr(t, 4)
		folded := expr.Fold(e)
		b := drawBatch(t)
		for i := range b.N {
			row := b.Row(i)
			if got, want := reference(folded, row), reference(e, row); !same(got, want) {
				t.Fatalf("%s folded to %s\nrow %v: got %v, want %v", e, folded, row, got, want)
			}
		}
	})
}

// basic are the functions that the reference of this package computes; the others have an example each.
func basic() []*expr.Function {
	var out []*expr.Function
	for _, f := range expr.Functions() {
		if f.Example == "" && !strings.HasPrefix(f.Name, "JSON_") {
			out = append(out, f)
		}
	}
	return out
}

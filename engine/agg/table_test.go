package agg_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"sort"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"pgregory.net/rapid"
)

var layout = []types.Kind{types.Long, types.Double, types.String, types.Json, types.Timestamp, types.Bool}

// calls is every aggregate over every kind of column, in an order that lets aggregates share their parts.
func calls(t testing.TB) []agg.Call {
	var out []agg.Call
	add := func(name string, star, distinct bool, args ...expr.Expr) {
		a, ok := agg.Lookup(name)
		if !ok {
			t.Fatalf("no aggregate %s", name)
		}
		c, err := a.Bind(args, star, distinct)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	add("COUNT", true, false)
	for i, k := range layout {
		col := &expr.Column{Index: i, Name: k.String(), K: k}
		add("COUNT", false, false, col)
		add("COUNT", false, true, col)
		for _, name := range []string{"SUM", "AVG", "MIN", "MAX", "VAR_SAMP", "VAR_POP", "STDDEV_POP", "STDDEV_SAMP", "MEDIAN"} {
			add(name, false, false, col)
		}
		if k != types.Json {
			add("SUM", false, true, col)
			add("AVG", false, true, col)
		}
	}
	return out
}

var samples = map[types.Kind][]types.Value{
	types.Long: {types.LongOf(0), types.LongOf(1), types.LongOf(-1), types.LongOf(7), types.LongOf(math.MaxInt64),
		types.LongOf(math.MinInt64)},
	types.Double: {types.DoubleOf(0), types.DoubleOf(0.1), types.DoubleOf(-0.1), types.DoubleOf(123.45), types.DoubleOf(1e-9),
		types.DoubleOf(1e16), types.DoubleOf(math.MaxFloat64), types.DoubleOf(-math.MaxFloat64),
		types.DoubleOf(math.SmallestNonzeroFloat64), types.DoubleOf(-2.3e-310), types.DoubleOf(math.Inf(1)),
		types.DoubleOf(math.Inf(-1))},
	types.String:    {types.StringOf(""), types.StringOf("a"), types.StringOf("b"), types.StringOf("ab"), types.StringOf("12")},
	types.Json:      {types.JsonOf("1"), types.JsonOf("2.5"), types.JsonOf(`"3"`), types.JsonOf(`{"a":1}`), types.JsonOf("true")},
	types.Timestamp: {types.TimestampOf(0), types.TimestampOf(-5), types.TimestampOf(1700000000000)},
	types.Bool:      {types.BoolOf(true), types.BoolOf(false)},
}

type change struct {
	group uint32
	row   []types.Value
	w     int64
}

func drawChange(t *rapid.T, live []change, appendOnly bool) change {
	if !appendOnly && len(live) > 0 && rapid.IntRange(0, 2).Draw(t, "retract") > 0 {
		c := rapid.SampledFrom(live).Draw(t, "of")
		c.w = -c.w
		return c
	}
	c := change{group: uint32(rapid.IntRange(0, 2).Draw(t, "group")), w: rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(t, "weight")}
	if !appendOnly {
		c.w = rapid.SampledFrom([]int64{1, 1, 1, 2, -1, -2, 1 << 40}).Draw(t, "any weight")
	}
	for _, k := range layout {
		v := types.Null(k)
		if rapid.IntRange(0, 4).Draw(t, "null") > 0 {
			v = rapid.SampledFrom(samples[k]).Draw(t, "value")
		}
		c.row = append(c.row, v)
	}
	return c
}

// TestTableEqualsRecompute: after random changes every result equals the one computed from the net rows, however
// the changes are cut into batches and with a snapshot in between; and a group whose rows are all gone is empty.
func TestTableEqualsRecompute(t *testing.T) {
	cs := calls(t)
	for _, appendOnly := range []bool{true, false} {
		t.Run(fmt.Sprintf("appendOnly=%v", appendOnly), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				table := agg.NewTable(cs, appendOnly)
				table.Grow(3)
				var all []change
				for range rapid.IntRange(1, 6).Draw(t, "batches") {
					b := zset.NewBuilder(layout)
					var groups []uint32
					for range rapid.IntRange(0, 12).Draw(t, "changes") {
						c := drawChange(t, all, appendOnly)
						all = append(all, c)
						for i, v := range c.row {
							b.Value(i, v)
						}
						b.EndRow(c.w)
						groups = append(groups, c.group)
					}
					table.Add(b.Build(), nil, groups)
					if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
						snap := table.AppendSnapshot(nil, 3)
						table = agg.NewTable(cs, appendOnly)
						if err := table.Restore(snap); err != nil {
							t.Fatal(err)
						}
						table.Grow(3)
					}
					check(t, table, cs, all)
				}
				for i := len(all) - 1; i >= 0 && !appendOnly; i-- {
					c := all[i]
					b := zset.NewBuilder(layout)
					for k, v := range c.row {
						b.Value(k, v)
					}
					b.EndRow(-c.w)
					table.Add(b.Build(), nil, []uint32{c.group})
				}
				for g := range uint32(3) {
					if !appendOnly && !table.Empty(g) {
						t.Fatalf("group %d has state left after every row was taken back", g)
					}
				}
			})
		})
	}
}

func check(t *rapid.T, table *agg.Table, cs []agg.Call, all []change) {
	out := table.NewResults()
	table.Read([]uint32{0, 1, 2}, out)
	for g := range uint32(3) {
		for c := range cs {
			col := agg.Column(c, [2]*agg.Results{out, out}, []agg.Pick{agg.Pick(g) << 1})
			got, want := col.Value(0), recompute(cs[c], g, all)
			if !equal(got, want) {
				t.Fatalf("%s of group %d: got %v, want %v", cs[c], g, got, want)
			}
		}
	}
}

func equal(a, b types.Value) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() == b.IsNull()
	}
	return types.Identical(a, b)
}

// recompute evaluates one aggregate over the net rows of a group, with exact arithmetic.
func recompute(c agg.Call, g uint32, all []change) types.Value {
	net := map[string]int64{}
	values := map[string]types.Value{}
	rows := int64(0)
	for _, ch := range all {
		if ch.group != g {
			continue
		}
		rows += ch.w
		if c.Arg == nil {
			continue
		}
		v := ch.row[c.Arg.(*expr.Column).Index]
		if v.IsNull() {
			continue
		}
		net[v.Kind().String()+v.String()] += ch.w
		values[v.Kind().String()+v.String()] = v
	}
	if c.Arg == nil {
		return types.LongOf(rows)
	}
	count, distinct := int64(0), int64(0)
	numbers, inf, minusInf := int64(0), int64(0), int64(0)
	sum := new(big.Rat)
	best := types.Null(c.K)
	for k, w := range net {
		v := values[k]
		if c.Distinct && c.Agg.Name != "COUNT" {
			w = min(max(w, 0), 1) // each value once, while it is there
		}
		count += w
		if w > 0 {
			distinct++
		}
		n, isNumber := asNumber(v)
		switch {
		case !isNumber:
		case math.IsInf(n, 1):
			numbers, inf = numbers+w, inf+w
		case math.IsInf(n, -1):
			numbers, minusInf = numbers+w, minusInf+w
		default:
			numbers += w
			x := new(big.Rat).SetFloat64(n)
			if v.Kind() == types.Long {
				x = new(big.Rat).SetInt64(v.Int())
			}
			sum.Add(sum, x.Mul(x, new(big.Rat).SetInt64(w)))
		}
		if v.Kind() == types.Json {
			if !isNumber {
				continue
			}
			v = types.DoubleOf(n)
		}
		if w > 0 {
			cmp, _ := types.Compare(v, best)
			if best.IsNull() || c.Agg.Name == "MIN" && cmp < 0 || c.Agg.Name == "MAX" && cmp > 0 {
				best = v
			}
		}
	}
	infinite := types.Value{}
	switch {
	case inf > 0 && minusInf > 0:
		infinite = types.Null(types.Double)
	case inf > 0:
		infinite = types.DoubleOf(math.Inf(1))
	case minusInf > 0:
		infinite = types.DoubleOf(math.Inf(-1))
	}
	if strings.HasPrefix(c.Agg.Name, "VAR") || strings.HasPrefix(c.Agg.Name, "STDDEV") {
		if inf != 0 || minusInf != 0 {
			return types.Null(types.Double) // also while an infinity is owed
		}
		return moment(c.Agg.Name, numbers, sum, net, values)
	}
	if c.Agg.Name == "MEDIAN" {
		return middle(net, values)
	}
	hasInfinite := inf > 0 || minusInf > 0
	rounded := new(big.Float).SetPrec(53).SetRat(sum)
	switch c.Agg.Name {
	case "COUNT":
		if c.Distinct {
			return types.LongOf(distinct)
		}
		return types.LongOf(count)
	case "SUM":
		if c.K == types.Long {
			if !sum.IsInt() || !sum.Num().IsInt64() {
				return types.Null(types.Long)
			}
			return types.LongOf(sum.Num().Int64())
		}
		if hasInfinite {
			return infinite
		}
		f, _ := rounded.Float64()
		return types.DoubleOf(f)
	case "AVG":
		if numbers <= 0 {
			return types.Null(types.Double)
		}
		if hasInfinite {
			return infinite
		}
		f, _ := new(big.Float).SetPrec(53).Quo(rounded, new(big.Float).SetPrec(53).SetInt64(numbers)).Float64()
		return types.DoubleOf(f)
	default:
		return best
	}
}

// moment is the variance by its definition, over exact fractions.
func moment(name string, n int64, sum *big.Rat, net map[string]int64, values map[string]types.Value) types.Value {
	divisor := n
	if strings.HasSuffix(name, "SAMP") {
		divisor--
	}
	if n <= 0 || divisor <= 0 {
		return types.Null(types.Double)
	}
	mean := new(big.Rat).Quo(sum, new(big.Rat).SetInt64(n))
	total := new(big.Rat)
	for k, w := range net {
		f, ok := asNumber(values[k])
		if !ok || w == 0 {
			continue
		}
		x := new(big.Rat).SetFloat64(f)
		if values[k].Kind() == types.Long {
			x.SetInt64(values[k].Int())
		}
		x.Sub(x, mean)
		total.Add(total, x.Mul(x, x).Mul(x, new(big.Rat).SetInt64(w)))
	}
	if total.Sign() < 0 {
		return types.Null(types.Double)
	}
	v := new(big.Float).SetPrec(300).SetRat(total.Quo(total, new(big.Rat).SetInt64(divisor)))
	if strings.HasPrefix(name, "STDDEV") {
		v.Sqrt(v)
	}
	f, _ := v.Float64()
	return types.DoubleOf(f)
}

// middle is the median of the values that are there.
func middle(net map[string]int64, values map[string]types.Value) types.Value {
	byValue := map[float64]int64{}
	var xs []float64
	n := int64(0)
	for k, w := range net {
		f, ok := asNumber(values[k])
		if !ok || w <= 0 {
			continue
		}
		if _, there := byValue[f]; !there {
			xs = append(xs, f)
		}
		byValue[f] += w
		n += w
	}
	if n == 0 {
		return types.Null(types.Double)
	}
	sort.Float64s(xs)
	at := func(i int64) float64 {
		for _, x := range xs {
			if i < byValue[x] {
				return x
			}
			i -= byValue[x]
		}
		return xs[len(xs)-1]
	}
	lo, hi := at((n-1)/2), at(n/2)
	if lo != hi {
		lo += 0.5 * (hi - lo)
	}
	if lo != lo {
		return types.Null(types.Double)
	}
	return types.DoubleOf(lo)
}

func asNumber(v types.Value) (float64, bool) {
	switch v.Kind() {
	case types.Double:
		return v.Float(), true
	case types.Long, types.Timestamp:
		return float64(v.Int()), true
	case types.Json:
		return types.NumberToDouble([]byte(v.Text()))
	}
	return 0, false
}

// TestExtremesOfLargeGroups drives one group far over the size at which its log is split into runs, with the
// extreme taken back again and again.
func TestExtremesOfLargeGroups(t *testing.T) {
	col := &expr.Column{Index: 0, Name: "x", K: types.Long}
	text := &expr.Column{Index: 1, Name: "s", K: types.String}
	var cs []agg.Call
	for _, e := range []expr.Expr{col, text} {
		for _, name := range []string{"MIN", "MAX"} {
			a, _ := agg.Lookup(name)
			c, err := a.Bind([]expr.Expr{e}, false, false)
			if err != nil {
				t.Fatal(err)
			}
			cs = append(cs, c)
		}
	}
	table := agg.NewTable(cs, false)
	table.Grow(1)
	out := table.NewResults()
	live := []int64{}
	kinds := []types.Kind{types.Long, types.String}
	seed := uint64(1)
	random := func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed >> 33 % uint64(n))
	}
	for step := range 6000 {
		b := zset.NewBuilder(kinds)
		put := func(v, w int64) {
			b.Long(0, v)
			b.Text(1, fmt.Appendf(nil, "%06d", v))
			b.EndRow(w)
		}
		grow := step < 2000 || step >= 3000 && step < 4000
		if grow || len(live) == 0 {
			v := int64(random(100000))
			live = append(live, v)
			put(v, 1)
		}
		if !grow || step%3 == 0 {
			// Take back the smallest, the largest, or any value.
			at := 0
			switch random(3) {
			case 0:
				for i, v := range live {
					if v < live[at] {
						at = i
					}
				}
			case 1:
				for i, v := range live {
					if v > live[at] {
						at = i
					}
				}
			default:
				at = random(len(live))
			}
			put(live[at], -1)
			live[at] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		batch := b.Build()
		table.Add(batch, nil, make([]uint32, batch.N))
		if step == 2500 {
			snap := table.AppendSnapshot(nil, 1)
			table = agg.NewTable(cs, false)
			if err := table.Restore(snap); err != nil {
				t.Fatal(err)
			}
		}
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		for _, v := range live {
			lo, hi = min(lo, v), max(hi, v)
		}
		out.Reset()
		table.Read([]uint32{0}, out)
		want := []types.Value{types.LongOf(lo), types.LongOf(hi), types.StringOf(fmt.Sprintf("%06d", lo)), types.StringOf(fmt.Sprintf("%06d", hi))}
		for c := range cs {
			col := agg.Column(c, [2]*agg.Results{out, out}, []agg.Pick{0})
			if got := col.Value(0); len(live) == 0 && !got.IsNull() || len(live) > 0 && got != want[c] {
				t.Fatalf("step %d, %d live: %s is %v, want %v", step, len(live), cs[c], got, want[c])
			}
		}
	}
}

// TestSumsLeaveNothing: sums of doubles of any size do not depend on order, and adding and taking back restores the
// sum before.
func TestSumsLeaveNothing(t *testing.T) {
	sum, _ := agg.Lookup("SUM")
	c, err := sum.Bind([]expr.Expr{&expr.Column{Index: 0, Name: "x", K: types.Double}}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64(), 1, 30).Draw(t, "values")
		keep := rapid.IntRange(0, len(xs)-1).Draw(t, "keep")
		order := rapid.Permutation(xs[:keep]).Draw(t, "order")
		table := agg.NewTable([]agg.Call{c}, false)
		table.Grow(2)
		add := func(g uint32, w int64, xs ...float64) {
			b := zset.NewBuilder([]types.Kind{types.Double})
			groups := make([]uint32, len(xs))
			for i, x := range xs {
				b.Double(0, x)
				b.EndRow(w)
				groups[i] = g
			}
			table.Add(b.Build(), nil, groups)
		}
		add(0, 1, xs...)
		add(0, -1, xs[keep:]...)
		add(1, 1, order...)
		out := table.NewResults()
		table.Read([]uint32{0, 1}, out)
		if out.Compare(0, out, 1, []int{0}) != 0 {
			t.Fatalf("sums of %v differ by what was added and taken back, or by order", order)
		}
	})
}

func TestBindRefuses(t *testing.T) {
	x := &expr.Column{Index: 0, Name: "x", K: types.Long}
	for _, tt := range []struct {
		name           string
		args           []expr.Expr
		star, distinct bool
		code           string
	}{
		{"SUM", nil, true, false, expr.CodeArgumentCount},
		{"SUM", nil, false, false, expr.CodeArgumentCount},
		{"AVG", []expr.Expr{x, x}, false, false, expr.CodeArgumentCount},
		{"VAR_POP", []expr.Expr{x}, false, true, agg.CodeDistinct},
	} {
		a, _ := agg.Lookup(tt.name)
		_, err := a.Bind(tt.args, tt.star, tt.distinct)
		var be *expr.BindError
		if !errors.As(err, &be) || be.Code != tt.code {
			t.Errorf("%s(%v): got %v, want code %s", tt.name, tt.args, err, tt.code)
		}
	}
}

package enginetest

import (
	"math"
	"math/big"
	"sort"
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// aggregateName is the name in the table of aggregates, whatever alias is written.
func aggregateName(c *syntax.Call) string {
	name := strings.ToUpper(c.Name.Name)
	if a, ok := agg.Lookup(name); ok {
		return a.Name
	}
	return name
}

// furtherKind is the kind of the aggregates beside the base ones.
func (e *env) furtherKind(c *syntax.Call) (types.Kind, bool) {
	switch aggregateName(c) {
	case "APPROX_COUNT_DISTINCT":
		return types.Long, true
	case "BOOL_AND", "BOOL_OR":
		return types.Bool, true
	case "STRING_AGG":
		return types.String, true
	case "ARRAY_AGG":
		return types.Json, true
	case "ARG_MIN", "ARG_MAX":
		return known(e.kind(c.Args[0])), true
	}
	return types.Unknown, false
}

// filtered are the rows that FILTER lets through.
func (e *env) filtered(c *syntax.Call, rows []jrow) []jrow {
	if c.Filter == nil {
		return rows
	}
	var out []jrow
	for _, row := range rows {
		if e.on(row).truth(c.Filter) {
			out = append(out, row)
		}
	}
	return out
}

// netRow is a value with what else the aggregate reads of its row, and how often it is there.
type netRow struct {
	vals []types.Value
	n    int64
}

// net evaluates expressions for every row and adds equal ones up; what is taken back more often than it was added is
// no row.
func (e *env) net(rows []jrow, xs ...syntax.Expr) []netRow {
	at := map[string]int{}
	var all []netRow
	for _, row := range rows {
		e.on(row)
		var vals []types.Value
		for _, x := range xs {
			vals = append(vals, e.value(x))
		}
		k := keyOf(vals)
		i, there := at[k]
		if !there {
			i = len(all)
			at[k] = i
			all = append(all, netRow{vals: vals})
		}
		all[i].n += row.w
	}
	return all
}

func present(rows []netRow, columns ...int) []netRow {
	var out []netRow
	for _, r := range rows {
		ok := r.n > 0
		for _, c := range columns {
			ok = ok && !r.vals[c].IsNull()
		}
		if ok {
			out = append(out, r)
		}
	}
	return out
}

// furtherAggregate computes the aggregates beside the base ones, from scratch.
func (e *env) furtherAggregate(name string, c *syntax.Call, rows []jrow) types.Value {
	kind := e.kind(c)
	switch name {
	case "APPROX_COUNT_DISTINCT":
		different := map[string]bool{}
		for _, r := range present(e.net(rows, c.Args[0]), 0) {
			different[equalityKey(r.vals[0])] = true
		}
		return types.LongOf(int64(len(different)))
	case "BOOL_AND", "BOOL_OR":
		out := types.Null(types.Bool)
		for _, r := range present(e.net(rows, c.Args[0]), 0) {
			if out.IsNull() || r.vals[0].Bool() == (name == "BOOL_OR") {
				out = r.vals[0]
			}
		}
		return out
	case "VAR_SAMP", "VAR_POP", "STDDEV_SAMP", "STDDEV_POP":
		return variance(name, e.net(rows, c.Args[0]))
	case "MEDIAN":
		return percentile(0.5, present(e.net(rows, c.Args[0]), 0))
	case "PERCENTILE_CONT":
		return percentile(asFloat(e.value(c.Args[0])), present(e.net(rows, c.Args[1]), 0))
	case "ARG_MIN", "ARG_MAX":
		return argExtreme(name == "ARG_MAX", present(e.net(rows, c.Args[0], c.Args[1]), 0, 1), kind)
	case "STRING_AGG", "ARRAY_AGG":
		return e.listed(name, c, rows)
	}
	panic("BUG: the reference has no aggregate " + name)
}

// variance is the mean squared distance from the mean, in two passes over exact fractions.
func variance(name string, rows []netRow) types.Value {
	n, sum := int64(0), new(big.Rat)
	type number struct {
		x *big.Rat
		n int64
	}
	var numbers []number
	for _, r := range rows {
		x, ok := exactNumber(r.vals[0])
		if r.vals[0].IsNull() || !ok {
			continue
		}
		n += r.n
		sum.Add(sum, new(big.Rat).Mul(x, new(big.Rat).SetInt64(r.n)))
		numbers = append(numbers, number{x, r.n})
	}
	divisor := n
	if strings.HasSuffix(name, "SAMP") {
		divisor--
	}
	if n <= 0 || divisor <= 0 {
		return types.Null(types.Double)
	}
	mean := new(big.Rat).Quo(sum, new(big.Rat).SetInt64(n))
	squares := new(big.Rat)
	for _, v := range numbers {
		d := new(big.Rat).Sub(v.x, mean)
		squares.Add(squares, d.Mul(d, d).Mul(d, new(big.Rat).SetInt64(v.n)))
	}
	if squares.Sign() < 0 {
		return types.Null(types.Double)
	}
	v := new(big.Float).SetPrec(400).SetRat(squares.Quo(squares, new(big.Rat).SetInt64(divisor)))
	if strings.HasPrefix(name, "STDDEV") {
		v.Sqrt(v)
	}
	f, _ := v.Float64()
	return types.DoubleOf(f)
}

// percentile writes every number as often as it is there, sorts and interpolates.
func percentile(p float64, rows []netRow) types.Value {
	var xs []float64
	for _, r := range rows {
		v := r.vals[0]
		f := 0.0
		switch {
		case number(v):
			f = asFloat(v)
		case v.Kind() == types.Json:
			var ok bool
			if f, ok = jsonNumber(v); !ok {
				continue
			}
		default:
			continue
		}
		for range r.n {
			xs = append(xs, f)
		}
	}
	if len(xs) == 0 {
		return types.Null(types.Double)
	}
	sort.Float64s(xs)
	at := p * float64(len(xs)-1)
	i := int(math.Floor(at))
	f := xs[i]
	if part := at - float64(i); part > 0 && xs[i+1] != f {
		f += part * (xs[i+1] - f)
	}
	return types.DoubleOf(f)
}

func argExtreme(most bool, rows []netRow, kind types.Kind) types.Value {
	if len(rows) == 0 {
		return types.Null(kind)
	}
	best := rows[0]
	for _, r := range rows[1:] {
		by, _ := types.Compare(r.vals[1], best.vals[1])
		if most {
			by = -by
		}
		if by < 0 || by == 0 && less(r.vals[0], best.vals[0]) {
			best = r
		}
	}
	return best.vals[0]
}

// listed sorts the rows and puts their values one after the other.
func (e *env) listed(name string, c *syntax.Call, rows []jrow) types.Value {
	xs := []syntax.Expr{c.Args[0]}
	for _, o := range c.OrderBy {
		xs = append(xs, o.Expr)
	}
	list := present(e.net(rows, xs...))
	if name == "STRING_AGG" {
		list = present(list, 0)
	}
	sort.SliceStable(list, func(i, j int) bool {
		for k, o := range c.OrderBy {
			if d := orderOf(list[i].vals[k+1], list[j].vals[k+1], o.Desc, o.Nulls); d != 0 {
				return d < 0
			}
		}
		return orderOf(list[i].vals[0], list[j].vals[0], false, "FIRST") < 0
	})
	var parts []string
	seen := map[string]bool{}
	for _, r := range list {
		n := r.n
		if k := keyOf(r.vals[:1]); c.Distinct {
			if seen[k] {
				continue
			}
			seen[k], n = true, 1
		}
		for range n {
			parts = append(parts, e.element(name, r.vals[0]))
		}
	}
	switch {
	case len(parts) == 0:
		return types.Null(e.kind(c))
	case name == "ARRAY_AGG":
		return types.JsonOf("[" + strings.Join(parts, ",") + "]")
	}
	return types.StringOf(strings.Join(parts, e.value(c.Args[1]).Text()))
}

func (e *env) element(name string, v types.Value) string {
	switch {
	case name == "STRING_AGG":
		return types.Convert(v, types.String).Text()
	case v.IsNull():
		return "null"
	case v.Kind() == types.String:
		return string(types.AppendJSONString(nil, v.Text()))
	case v.Kind() == types.Double && (math.IsInf(v.Float(), 0) || math.IsNaN(v.Float())):
		return "null"
	}
	return types.Convert(v, types.String).Text()
}

// orderOf orders two values of one column as ORDER BY does: NULL last, and first with DESC, unless it is said.
func orderOf(a, b types.Value, desc bool, nulls string) int {
	first := nulls == "FIRST" || nulls == "" && desc
	switch {
	case a.IsNull() && b.IsNull():
		return 0
	case a.IsNull() || b.IsNull():
		if a.IsNull() == first {
			return -1
		}
		return 1
	}
	c, _ := types.Compare(a, b)
	if desc {
		return -c
	}
	return c
}

package agg

import (
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Aggregate is one entry of the table of aggregate functions.
type Aggregate struct {
	// Name is the upper-case name.
	Name string
	// Aliases are other names of the same aggregate.
	Aliases []string
	// Signature shows how it is called, for example "SUM(x)".
	Signature string
	// Result says in words which kind comes out.
	Result string
	// Empty says in words what it gives when there is nothing to aggregate.
	Empty string
	// Doc is one line.
	Doc string

	kind func(arg types.Kind) types.Kind
	what what
	// bools says that the argument must be a Bool.
	bools bool
	// always says that different values count, with or without the word DISTINCT.
	always bool
}

// Call is an aggregate with its bound arguments.
type Call struct {
	Agg *Aggregate
	// Arg is nil for COUNT(*).
	Arg      expr.Expr
	Distinct bool
	// K is the kind of the result.
	K types.Kind
	// By is the value that ARG_MIN and ARG_MAX compare.
	By expr.Expr
	// Order is the ORDER BY inside STRING_AGG and ARRAY_AGG.
	Order []OrderKey
	// Keep is the condition of FILTER where it is not written into the argument; nil: every row.
	Keep expr.Expr
	// Fraction is the place that PERCENTILE_CONT reads, from 0 to 1.
	Fraction float64
	// Separator stands between the texts of STRING_AGG.
	Separator string
}

// OrderKey is one key of an ORDER BY.
type OrderKey struct {
	X          expr.Expr
	Desc       bool
	NullsFirst bool
}

// String prints the key as canonical SQL; the default place of NULLs (last, first with DESC) is left out.
func (o OrderKey) String() string {
	s := o.X.String()
	if o.Desc {
		s += " DESC"
	}
	if o.NullsFirst != o.Desc {
		s += [...]string{" NULLS LAST", " NULLS FIRST"}[b2i(o.NullsFirst)]
	}
	return s
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Exprs lists every expression that the call reads.
func (c Call) Exprs() []expr.Expr {
	var out []expr.Expr
	c.Map(func(e expr.Expr) expr.Expr {
		out = append(out, e)
		return e
	})
	return out
}

// Map returns the call with every expression that it reads replaced.
func (c Call) Map(f func(expr.Expr) expr.Expr) Call {
	for _, e := range []*expr.Expr{&c.Arg, &c.By, &c.Keep} {
		if *e != nil {
			*e = f(*e)
		}
	}
	order := make([]OrderKey, len(c.Order))
	for i, o := range c.Order {
		order[i] = OrderKey{X: f(o.X), Desc: o.Desc, NullsFirst: o.NullsFirst}
	}
	c.Order = order
	return c
}

// String prints the call as canonical SQL: "SUM(t.qty)", "COUNT(*)", "COUNT(DISTINCT t.x)".
func (c Call) String() string {
	if c.Arg == nil {
		return c.Agg.Name + "(*)"
	}
	var b strings.Builder
	b.WriteString(c.Agg.Name + "(")
	if c.Agg.what == whatPercentile && c.Agg.Name != "MEDIAN" {
		b.WriteString(strconv.FormatFloat(c.Fraction, 'g', -1, 64) + ", ")
	}
	if c.Distinct && !c.Agg.always {
		b.WriteString("DISTINCT ")
	}
	b.WriteString(c.Arg.String())
	if c.By != nil {
		b.WriteString(", " + c.By.String())
	}
	if c.Agg.what == whatStrings {
		b.WriteString(", " + (&expr.Literal{V: types.StringOf(c.Separator)}).String())
	}
	for i, o := range c.Order {
		b.WriteString([...]string{" ORDER BY ", ", "}[min(i, 1)] + o.String())
	}
	b.WriteString(")")
	if c.Keep != nil {
		b.WriteString(" FILTER (WHERE " + c.Keep.String() + ")")
	}
	return b.String()
}

// what is the value that an aggregate reads from the state of a group.
type what uint8

const (
	whatCount what = iota
	whatSum
	whatAvg
	whatMin
	whatMax
	whatVarSamp
	whatVarPop
	whatDevSamp
	whatDevPop
	whatPercentile
	whatStrings
	whatArray
	whatArgMin
	whatArgMax
)

// aggregates is the table, sorted by name. Documentation, completions and the REST catalog read it.
var aggregates = []*Aggregate{
	{Name: "APPROX_COUNT_DISTINCT", Signature: "APPROX_COUNT_DISTINCT(x)", Result: "Long", Empty: "0", what: whatCount, always: true,
		Doc:  "Number of different values that are not NULL. It is exact, the same as COUNT(DISTINCT x).",
		kind: always(types.Long)},
	{Name: "ARG_MAX", Aliases: []string{"MAX_BY"}, Signature: "ARG_MAX(x, by)", Result: "kind of x", Empty: "NULL", what: whatArgMax,
		Doc:  "The x of the row with the largest by; of several the smallest x. Rows where one of them is NULL are ignored.",
		kind: sameKind},
	{Name: "ARG_MIN", Aliases: []string{"MIN_BY"}, Signature: "ARG_MIN(x, by)", Result: "kind of x", Empty: "NULL", what: whatArgMin,
		Doc:  "The x of the row with the smallest by; of several the smallest x. Rows where one of them is NULL are ignored.",
		kind: sameKind},
	{Name: "ARRAY_AGG", Signature: "ARRAY_AGG([DISTINCT] x [ORDER BY y [DESC], ...])", Result: "Json", Empty: "NULL", what: whatArray,
		Doc:  "All values as a Json array, NULLs too, in the order of ORDER BY and then by value. NULL when it is longer than 1 MiB.",
		kind: always(types.Json)},
	{Name: "AVG", Signature: "AVG(x)", Result: "Double", Empty: "NULL", what: whatAvg,
		Doc:  "Mean of the numbers, the exact sum divided by their count; with DISTINCT of different ones.",
		kind: always(types.Double)},
	{Name: "BOOL_AND", Aliases: []string{"EVERY"}, Signature: "BOOL_AND(x)", Result: "Bool", Empty: "NULL", what: whatMin, bools: true,
		Doc: "True when every value that is not NULL is true.", kind: extremeKind},
	{Name: "BOOL_OR", Signature: "BOOL_OR(x)", Result: "Bool", Empty: "NULL", what: whatMax, bools: true,
		Doc: "True when one of the values is true.", kind: extremeKind},
	{Name: "COUNT", Signature: "COUNT(*), COUNT([DISTINCT] x)", Result: "Long", Empty: "0", what: whatCount,
		Doc:  "Number of rows, or of values that are not NULL; with DISTINCT of different values.",
		kind: always(types.Long)},
	{Name: "MAX", Signature: "MAX(x)", Result: "kind of x", Empty: "NULL", what: whatMax,
		Doc: "Largest value that is not NULL.", kind: extremeKind},
	{Name: "MEDIAN", Signature: "MEDIAN(x)", Result: "Double", Empty: "NULL", what: whatPercentile,
		Doc:  "Middle of the sorted numbers, the mean of both middle ones; the same as PERCENTILE_CONT(0.5, x).",
		kind: always(types.Double)},
	{Name: "MIN", Signature: "MIN(x)", Result: "kind of x", Empty: "NULL", what: whatMin,
		Doc: "Smallest value that is not NULL.", kind: extremeKind},
	{Name: "PERCENTILE_CONT", Signature: "PERCENTILE_CONT(p, x)", Result: "Double", Empty: "NULL", what: whatPercentile,
		Doc:  "Value at the fraction p (a constant from 0 to 1) of the sorted numbers, interpolated between neighbours.",
		kind: always(types.Double)},
	{Name: "STDDEV_POP", Signature: "STDDEV_POP(x)", Result: "Double", Empty: "NULL", what: whatDevPop,
		Doc: "Standard deviation of the numbers as the whole population; 0 for one.", kind: always(types.Double)},
	{Name: "STDDEV_SAMP", Aliases: []string{"STDDEV", "STDEV"}, Signature: "STDDEV_SAMP(x)", Result: "Double", Empty: "NULL", what: whatDevSamp,
		Doc: "Standard deviation of the numbers as a sample; NULL for one.", kind: always(types.Double)},
	{Name: "STRING_AGG", Aliases: []string{"LISTAGG"}, Signature: "STRING_AGG([DISTINCT] x, separator [ORDER BY y [DESC], ...])", Result: "String", Empty: "NULL", what: whatStrings,
		Doc:  "Texts that are not NULL with a separator between them, in the order of ORDER BY and then by value. NULL when it is longer than 1 MiB.",
		kind: always(types.String)},
	{Name: "SUM", Signature: "SUM(x)", Result: "Long for Long, else Double", Empty: "0", what: whatSum,
		Doc: "Exact sum of the numbers, with DISTINCT of different ones; everything that is not a number is ignored. NULL when a Long result leaves 64 bits.",
		kind: func(arg types.Kind) types.Kind {
			if arg == types.Long {
				return types.Long
			}
			return types.Double
		}},
	{Name: "VAR_POP", Signature: "VAR_POP(x)", Result: "Double", Empty: "NULL", what: whatVarPop,
		Doc: "Variance of the numbers as the whole population, from exact sums; 0 for one.", kind: always(types.Double)},
	{Name: "VAR_SAMP", Aliases: []string{"VARIANCE", "VAR"}, Signature: "VAR_SAMP(x)", Result: "Double", Empty: "NULL", what: whatVarSamp,
		Doc: "Variance of the numbers as a sample, from exact sums; NULL for one.", kind: always(types.Double)},
}

func sameKind(arg types.Kind) types.Kind { return arg }

func always(k types.Kind) func(types.Kind) types.Kind {
	return func(types.Kind) types.Kind { return k }
}

// extremeKind is the kind of the argument; a Json value is read as a number.
func extremeKind(arg types.Kind) types.Kind {
	if arg == types.Unknown || arg == types.Json {
		return types.Double
	}
	return arg
}

// Lookup finds an aggregate by its name, ignoring case.
func Lookup(name string) (*Aggregate, bool) {
	for _, a := range aggregates {
		if strings.EqualFold(a.Name, name) {
			return a, true
		}
		for _, other := range a.Aliases {
			if strings.EqualFold(other, name) {
				return a, true
			}
		}
	}
	return nil, false
}

// Names lists the aggregates, sorted.
func Names() []string {
	out := make([]string, len(aggregates))
	for i, a := range aggregates {
		out[i] = a.Name
	}
	return out
}

// Aggregates lists the whole table, sorted by name. The caller must not change it.
func Aggregates() []*Aggregate { return aggregates }

// Listed reports whether the result is a list of the values, in an order.
func (c Call) Listed() bool { return c.Agg.what == whatStrings || c.Agg.what == whatArray }

package over

import (
	"slices"
	"strings"
)

// What is the rule of a function.
type What uint8

// The functions; Aggregate is any aggregate over the frame.
const (
	Aggregate What = iota
	RowNumber
	Rank
	DenseRank
	PercentRank
	CumeDist
	Ntile
	Lag
	Lead
	FirstValue
	LastValue
	NthValue
)

// Function is one entry of the table of window functions.
type Function struct {
	// Name is the upper-case name.
	Name string
	// Signature shows how it is called, for example "LAG(x[, n[, default]])".
	Signature string
	// Result says in words which kind comes out.
	Result string
	// Doc is one line.
	Doc string
	// Framed says that the frame of the window counts; the others look at the whole partition.
	Framed bool

	what     What
	min, max int // number of arguments
}

// functions is the table, sorted by name.
var functions = []*Function{
	{Name: "CUME_DIST", Signature: "CUME_DIST()", Result: "Double", what: CumeDist,
		Doc: "Part of the partition's rows that come before the row or are equal to it in the order, above 0 up to 1."},
	{Name: "DENSE_RANK", Signature: "DENSE_RANK()", Result: "Long", what: DenseRank,
		Doc: "Rank without gaps: rows that are equal in the order have one number, and the next ones the next number."},
	{Name: "FIRST_VALUE", Signature: "FIRST_VALUE(x)", Result: "kind of x", what: FirstValue, min: 1, max: 1, Framed: true,
		Doc: "x of the first row of the frame; NULL for an empty frame."},
	{Name: "LAG", Signature: "LAG(x[, n[, default]])", Result: "kind of x", what: Lag, min: 1, max: 3,
		Doc: "x of the row n places before (a constant, 1 by default) in the partition; the default, or NULL, where there is none."},
	{Name: "LAST_VALUE", Signature: "LAST_VALUE(x)", Result: "kind of x", what: LastValue, min: 1, max: 1, Framed: true,
		Doc: "x of the last row of the frame, which by default ends with the row and those equal to it in the order."},
	{Name: "LEAD", Signature: "LEAD(x[, n[, default]])", Result: "kind of x", what: Lead, min: 1, max: 3,
		Doc: "x of the row n places after (a constant, 1 by default) in the partition; the default, or NULL, where there is none."},
	{Name: "NTH_VALUE", Signature: "NTH_VALUE(x, n)", Result: "kind of x", what: NthValue, min: 2, max: 2, Framed: true,
		Doc: "x of the n-th row of the frame (a constant, counted from 1); NULL where there is none."},
	{Name: "NTILE", Signature: "NTILE(n)", Result: "Long", what: Ntile, min: 1, max: 1,
		Doc: "Number of the row's part, from 1, when the partition is cut into n parts (a constant) as equal as can be; the first ones are the larger."},
	{Name: "PERCENT_RANK", Signature: "PERCENT_RANK()", Result: "Double", what: PercentRank,
		Doc: "(RANK() - 1) / (rows of the partition - 1), from 0 to 1; 0 for a single row."},
	{Name: "RANK", Signature: "RANK()", Result: "Long", what: Rank,
		Doc: "Rank with gaps: one more than the number of rows that come before in the order."},
	{Name: "ROW_NUMBER", Signature: "ROW_NUMBER()", Result: "Long", what: RowNumber,
		Doc: "Number of the row in its partition, from 1. Rows that are equal in the order follow by the columns that the query reads."},
}

// Functions lists the whole table, sorted by name. The caller must not change it.
func Functions() []*Function { return functions }

// Lookup finds a function by its name, ignoring case. Aggregates are not among them.
func Lookup(name string) (*Function, bool) {
	i := slices.IndexFunc(functions, func(f *Function) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return nil, false
	}
	return functions[i], true
}

// Names lists the functions, sorted.
func Names() []string {
	out := make([]string, len(functions))
	for i, f := range functions {
		out[i] = f.Name
	}
	return out
}

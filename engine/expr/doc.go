// Package expr holds bound scalar expressions of StreamsForge SQL, the table of functions and operators, and the
// kernels that evaluate them.
//
// The analyzer looks a name up, binds it to its arguments and gets an immutable tree in which every node knows
// its kind:
//
//	mul, _ := expr.Lookup("*")
//	total, err := mul.Bind([]expr.Expr{price, qty}) // Double, or a *BindError
//	k := expr.Compile(total)
//	col := k.Eval(batch, nil) // one column, row i for row i of the batch
//
// Invariants:
//
//   - No expression raises at run time: what has no defined result is NULL. Long arithmetic that leaves int64 is
//     NULL, and so is double arithmetic without a result (infinity minus infinity).
//   - Results are canonical: no NaN, no negative zero. Equal numbers have equal bytes.
//   - Only the branch that CASE or IF takes is evaluated for a row.
//   - A kernel is a pure function of its batch; it is owned by one goroutine because it reuses its buffers.
package expr

// Package over is the table of window functions, what is written f(args) OVER (window), and their bound form.
//
//	fn, _ := over.Lookup("LAG")
//	call, err := fn.Bind([]expr.Expr{price, two})   // LAG(price, 2)
//
// A window sorts the rows of each value of PARTITION BY. A function gives every row one value, read from the rows of
// its partition; aggregates of package agg are window functions too, over the rows of the frame. Documentation and
// completion read the table; analyze binds calls, op computes them.
package over

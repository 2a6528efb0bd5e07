// Package op holds the physical operators of a flow, one a file.
//
// An operator is a function from changes to changes, with or without state. Changes travel as batches of columns
// with a selection: a filter narrows the selection, a projection computes aligned columns, and nothing is copied
// until rows come to rest in an operator's state or leave the flow.
//
//	Filter, Project, Union, Unnest   linear: no state, Δout = f(Δin)
//	Reduce                           GROUP BY: retracts a group's old row and asserts the new one, once a flush
//	TopN                             the first rows of an order, of each partition
//	LatestBy                         the newest row of a key
//	Join                             inner equi-join: Δ(A⋈B) = ΔA⋈B + A⋈ΔB + ΔA⋈ΔB
//	IntervalJoin                     pairs of two streams that are near in event time, pads for the outer kinds
//	Window, Session                  tumbling, hopping and session windows over event time
//	Rolling                          what the newest closed window of a subquery gave out
//
// Operators are exact under negative weights and under any order of rows: a weight may be negative for a while (a
// debt), which is never shown.
package op

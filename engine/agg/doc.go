// Package agg holds the aggregates of StreamsForge SQL: the table of aggregate functions, and the states of many
// groups at once.
//
// Every aggregate is exact under retraction: a row that is added and taken back leaves nothing behind, and a result
// depends only on the rows that are counted, not on their order or on how they were cut into batches.
//
//   - COUNT is an integer.
//   - SUM of Longs is a 128-bit integer; a result outside int64 is NULL and is counted.
//   - SUM and AVG of Doubles are exact binary fixed-point numbers that are rounded once, when they are read.
//   - MIN and MAX are one value when the plan proves that nothing is retracted, else a lazily sorted log of values.
//
// States live in flat slabs without pointers, addressed by a dense group number (see Table):
//
//	t := agg.NewTable(calls, false)
//	t.Grow(groups)
//	t.Add(groupOfRow, args, sel, weights) // a retraction is a negative weight
//	t.Read(groups, out)
package agg

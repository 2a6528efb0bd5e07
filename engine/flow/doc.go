// Package flow runs a plan: it turns the tree of a plan.Query into operators and holds their state.
//
// A Flow is a pure fold. It has no clock, goroutine or randomness; time enters with Advance. The same pushes and
// advances give the same bytes, however the rows are cut into batches:
//
//	f := flow.New(query)
//	f.Push(0, batch)   // rows of the current epoch, in order of arrival
//	f.Advance(epochMs) // ends the epoch: watermark, idle inputs, windows
//	out := f.Flush()   // what changed since the last Flush
//
// Invariants:
//
//   - A table's delta is sorted, consolidated and free of zero weights; a pipeline's rows are in order of emission.
//   - Rows in = rows passed on + filtered + late + ignored, for every input (Counters).
//   - Restore(Snapshot()) and going on equals never having stopped.
package flow

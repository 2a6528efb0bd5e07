// Package serve holds the rows of a running table for its readers: once, in memory without pointers, at an epoch.
//
// A Store is a Z-set over the visible columns of a table. Its worker applies one delta after another; readers take a
// View, which is a moment of the store that never changes and costs no copy of the rows: pages of slots are copied
// on the next write instead. A reader therefore never waits for a step and a slow reader never holds up a worker.
//
//	s := serve.New(serve.Options{Schema: output})
//	s.Apply(serve.Change{Prev: 41, Epoch: 42, Seq: 7, Position: 7, Batch: delta})
//	v := s.View()
//	v.Each(0, 100, func(rec []byte, w int64) {...})
//
// Rules:
//
//   - A row keeps its slot while it is there, so that pages have a stable order; when a delta takes a row back and
//     gives another one of the same key, the new row takes the old one's slot.
//   - A row whose net weight is negative is a debt: it is kept and not shown (Invariant 5).
//   - The last deltas are kept, so that a View can be read at an earlier epoch (At), and several tables at one.
//   - A Subscription gets the rows at an epoch and every delta after it, without a gap. A subscriber that is too slow
//     is dropped and has to read again; the drop is counted.
package serve

// Package clock is the logical time of one environment inside a process: the epochs that are recorded, the decoded
// rows that belong to them, and how far every worker has come.
//
//	readers ──rows──▶ Sequencer ──record, acknowledged──▶ Clock.Publish ──▶ wakes workers
//	                                                          │
//	worker: Collect ──▶ step, commit, serve ──▶ Done ─────────┘ wakes dependents
//
// A Clock knows sources as tracks and tables and pipelines as nodes of a graph. A track holds, for each epoch that
// moved it, the segments of rows between two positions; they are read-only and shared by every worker. A node has a
// border that it has reached, the first epoch that it still has to take, and a feed of its own deltas for nodes that
// read it.
//
// Rules that the package keeps (the numbers are those of docs/invariants.md where one is named):
//
//   - A node is offered epoch e only when every node it reads has reached e, and only when e is a border of each of
//     them: a delta that covers (p, b] is never cut in two. A chain of tables therefore never shows two moments mixed
//     (Invariant 7).
//   - A node that is behind takes several epochs in one step, and stops at the epoch in reach that is divisible by
//     the highest power of two, so that nodes which coalesce differently still meet at common borders. Coalescing
//     joins commits and never epochs: the rows are handed over epoch by epoch (Invariant 6).
//   - A node that has left counts as having reached everything; from the epoch at which it joins again it is waited
//     for.
//   - An epoch is published only after its record is acknowledged (Invariant 9).
//
// The package does no I/O: the sequencer writes records through an interface.
package clock

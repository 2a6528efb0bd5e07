// Package intake is where rows enter the log: it runs the drivers of the sources that fetch or generate, takes the
// rows that clients push, runs scenarios on request, and hands quarantined rows back.
//
//	catalog ── Changes ──▶ Intake.Run ──▶ one unit a source: a connectors.Driver, a scenario Runner, or a buffer
//
//	push ── check ── dedup ── policy ──▶ write-ahead stream ── drain ──▶ source stream ──▶ readers
//	                                     └ rows, totals, answer, evictions: all in one message
//
// A buffered push is admitted by one append to the write-ahead stream SF_<ENV>_ING_<name>. The message carries, beside
// the rows, everything that must survive with them: the numbers of the rows, what was evicted for them, the answer to
// a push with an idempotency key, the counters. The drain moves it to the source's stream. It removes a message from
// the write-ahead stream only after the rows are in the source's stream and after dedup keys, answers and counters are
// in their buckets; so whatever a crash interrupts is found again in the write-ahead stream, and what of it is
// published already is found by its header in the source's stream. See docs/format/ingest.md.
//
// Invariants
//
//  1. accepted = published + evicted + depth, at every moment and across kill -9.
//  2. rows of a push = accepted + dropped + invalid + duplicate + rejected; no two of them are ever merged.
//  3. An admitted row is in the source's stream exactly once, unless it is evicted.
//  4. A repeated idempotency key gets the first answer and admits nothing.
package intake

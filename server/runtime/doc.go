// Package runtime makes an environment run: it reads sources, writes the shared clock, and drives one worker for each
// running table and pipeline.
//
//	source streams ─▶ source (one reader each) ─▶ Sequencer ─▶ epoch log
//	                        │ segments, decoded once      │ acknowledged
//	                        ▼                             ▼
//	                      clock.Clock: epochs, segments, deltas, frontiers
//	                        │ a step: epochs up to a border
//	                        ▼
//	                      worker: flow ─▶ journal ─▶ acknowledged ─▶ serve.Store, results ─▶ Done
//
// The catalog says what should run; reconcile makes it so. The protocol, with every state and record, is in
// docs/runtime.md. The order that everything rests on:
//
//  1. The record of an epoch is acknowledged, 2. a worker steps to it, 3. its delta with the input positions is
//     acknowledged by the journal, 4. the rows are served and handed to dependents (Invariants 2 and 9).
//
// A worker owns its flow alone. It fails alone too: a panic, an error of the log or a missing input marks the entity
// and takes it out of the clock, and everything else goes on.
package runtime

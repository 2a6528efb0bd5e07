// Package engine compiles StreamsForge SQL and runs it. It is a pure library: no clock, no goroutine, no file, no
// network; the same input gives the same bytes.
//
//	text ──syntax.Parse──▶ *syntax.Query ──analyze.Analyze──▶ *plan.Query ──plan.Optimize──▶ *plan.Query
//	                            │                  │                                             │
//	                            └──[]Diagnostic────┘                                   Program (immutable, shared)
//	                                                                                             │ NewFlow
//	                                                                                             ▼
//	            source rows, deltas of tables ──Push──▶ *flow.Flow (operators, state) ──Flush──▶ deltas
//
// Compile gives a Program; a Program makes Flows; a Flow is the state of one running entity and is owned by one
// goroutine. The runtime pushes the rows of an epoch, ends the epoch with its time, and takes the net change:
//
//	p, problems := engine.Compile("SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol", catalog, engine.TableMode, engine.Options{})
//	f := p.NewFlow()
//	f.Push(0, rows)       // columns as p.Inputs()[0].Columns says
//	f.Advance(epochMs)
//	delta := f.Flush().Delta
//
// The steps live in packages of their own: syntax (text and tree), analyze (names, types, rules), plan (nodes,
// rewrites, stages), expr, agg and over (functions), op and flow (operators and state, in one flow or in partitions), zset and
// types (data). Beside them: changelog (records of insert, update and delete), project and simulate (models that refer
// to each other, run offline), editor (completion, hover, formatting, signatures), pricing (a sample of registered
// functions). Package enginetest holds the slow reference evaluator and the scripts that hold all of it together.
package engine

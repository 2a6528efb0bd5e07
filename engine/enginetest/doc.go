// Package enginetest holds the engine to its word, in two ways.
//
// Evaluate is the reference: it recomputes a query from all the rows that its inputs ever had, one boxed value at a
// time, with maps and nested loops. It walks the syntax tree and shares nothing with planner, kernels and operators,
// so that a fault in them shows as a difference. It is slow and means to be obvious.
//
// World runs the steps of a script (.sft files, see testdata/README.md): sources, tables and pipelines, steps of
// rows, and what has to come out. Tests run every script in variants that must agree: as written, with a restart
// after every step, row by row, coalesced into one commit, joined into one epoch, and against the reference.
//
// The package is for tests, and for tools that check a running system against its log.
package enginetest

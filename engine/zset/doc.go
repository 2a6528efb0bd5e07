// Package zset holds the data that operators exchange and the state they keep: a Batch is a list of rows as typed
// columns, each row with an integer weight (a Z-set delta when consolidated, a plain list of events when not).
//
// Two layouts, one schema. In flight, rows are columns: a kernel reads one column of a few thousand rows at a
// time. At rest, rows are canonical row-major records in byte arenas (see EncodeRow), where equality, hash and
// retraction are one comparison of bytes.
//
// Invariant 3: a delta batch at a package border is sorted by its canonical record, consolidated and free of zero
// weights; a source batch keeps arrival order and has no weight column.
package zset

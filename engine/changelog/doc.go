// Package changelog turns the deltas of a relation into the records that people and sinks read: insert, update and
// delete.
//
// A delta is a Z-set: rows with weights. A record is one change of one row. What ties the two together is the identity
// of a row:
//
//   - by key: -old and +new of one key in one commit are an update, +new alone is an insert, -old alone is a delete.
//     An update carries the row after the change (and, beside it, the one before); a delete carries the last row.
//   - by the whole row: there are no updates; what goes is a delete, what comes is an insert, and a weight beyond one
//     is a count. This is the identity of Append and of Retract.
//
// The records of a delta have one order, whatever the order of the state behind them: by key, in the order of
// canonical records (NULL first); for a whole row what goes before what comes, each in that order. The results of a
// pipeline are no delta but a sequence, and keep the order in which they were given out.
//
// The law of the package: taking the rows of the records with their signs gives the delta back.
package changelog

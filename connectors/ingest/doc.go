// Package ingest is the source kind whose rows are pushed by clients: the parts of it that need neither a log nor a
// clock. Package server/intake puts them in front of the log.
//
//	body ── ParseBody ──▶ Request ── Checker ──▶ admissible rows ── Queue (policy, capacity) ──▶ write-ahead entry
//
// Keys are the machine credentials of one source; ParseBody reads the body of a push and keeps every row's bytes as
// they came; Checker decodes the rows with the source's schema before anything is admitted; Window remembers the
// dedup keys of admitted rows; Queue counts rows in, out and evicted, so that at every moment
//
//	accepted = published + evicted + waiting
package ingest

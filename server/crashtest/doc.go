// Package crashtest kills the real server at random moments under load and compares what it serves after each
// restart with a recomputation from the raw log.
//
// The tests take flags: -crash.rounds (how often to kill) and -crash.seed (0 = a new one, printed). A plain
// `go test` runs a short form; `go tool task test:crash` the long one.
package crashtest

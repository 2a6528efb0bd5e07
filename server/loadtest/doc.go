// Package loadtest publishes a large number of rows from a client in another process and holds counts, sums,
// quarantine and counters to what was published.
//
// -load.rows says how many (a plain `go test` takes a short form; `go tool task test:load` a million).
package loadtest

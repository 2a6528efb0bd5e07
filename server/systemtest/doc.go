// Package systemtest proves the product's promises on the real binary: REST and NATS from the outside, results
// against a recomputation by the reference evaluator from the raw log.
package systemtest

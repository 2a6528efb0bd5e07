// Package difftest proves the engine against PostgreSQL 15: random statements over random data, TPC-H under refresh,
// and the conservation of money in a chain of tables. Everything in it is a test.
//
// A statement of ours is translated (translate_test.go) to one that means the same in PostgreSQL. Operators and
// functions become calls of the schema sf (prelude_test.go), overloaded for every pair of kinds, so that PostgreSQL's
// own resolution of overloads follows the kinds of the expressions. Everywhere else the two mean the same, or the
// difference stands in docs/sql-deviations.md with the name of the test that holds it.
//
//	go test ./engine/difftest                                        a short form, about ten seconds
//	go test ./engine/difftest -args -diff.steps=200000 -diff.seed=7  the long one
//
// A failure prints the seed of its world; -diff.seed=S -diff.worlds=1 runs that world alone.
package difftest

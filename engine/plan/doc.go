// Package plan holds the bound logical plan of a query: a tree of nodes over named inputs, the rules that rewrite
// it, and the words it prints itself with.
//
// A plan has no names to resolve any more: every expression reads column positions of its input, every node knows
// its schema, its changelog mode and the columns that identify its rows. Package analyze builds plans, Optimize
// rewrites them, package flow turns them into operators. Nodes are immutable; a rewrite makes new ones.
//
//	Project symbol, total  ← Upsert(symbol)
//	  Reduce keys=[trades.symbol] aggs=[SUM(trades.qty)]
//	    Filter trades.side = 'BUY'
//	      Scan trades [symbol, qty, side]
//
// Invariants: a node's expressions only read positions below the width of its input; Key is a proof, not a hope
// (no two rows of the node's output ever agree on the key columns at once); AppendOnly is a proof that no row is
// ever retracted. A rule may only strengthen or keep them.
package plan

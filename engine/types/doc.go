// Package types holds the value kinds of StreamsForge SQL: kinds, fields, schemas, single values and the
// coercions between them.
//
// A kind is one of String, Double, Long, Bool, Timestamp and Json; every column may be NULL. Rows travel through
// the engine as columns (package zset); a Value is one boxed cell and appears only at the edges: JSON answers,
// literals in a plan, tests.
//
//	s := types.Schema{{Name: "symbol", Kind: types.String}, {Name: "qty", Kind: types.Long}}
//	i, ok := s.Find("QTY") // column names are case-insensitive: 1, true
package types

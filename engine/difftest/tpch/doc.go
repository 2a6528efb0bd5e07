// Package tpch makes data in the shape of TPC-H and states its 22 queries in our dialect, for engine/difftest.
//
// The tables, columns, keys and correlations are those of the benchmark. It is made for small data: the domains of
// brands, containers, sizes and types are narrower and there are more suppliers, so that every query has rows when an
// official scale factor would be 0.0004. Money is Double, dates are texts in ISO-8601, which order as dates do.
//
// The refresh functions are RF1 (new orders with their lines) and RF2 (orders leave with their lines).
package tpch

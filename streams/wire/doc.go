// Package wire is the format in which batches rest in the log and travel between processes: rows of a source that
// our own producers write, deltas of tables, results of pipelines.
//
//	p := wire.Encode(nil, kinds, batch)
//	kinds, batch, err := wire.Decode(p)
//
// From 16 rows on a batch is a columnar block: each column takes the smallest of a few encodings (dictionary,
// frame of reference, scaled decimals, raw). Below, it is a list of compact rows, because a block has a fixed
// cost. The format is versioned and checked with a CRC-32C; docs/format/batch.md describes every byte.
//
// Decode trusts nothing: any input gives a valid batch or an error, and allocates in proportion to its length.
package wire

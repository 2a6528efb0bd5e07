// Package decode turns the messages of a source into batches. It is the one row decoder: readers of source streams,
// push ingest and tests all use it, so that a row means the same everywhere.
//
//	d := decode.New(fields, decode.Options{OnCoercion: decode.Null})
//	r := d.Append(decode.Message{Payload: []byte(`{"symbol":"AAPL","qty":5}`), TimeMs: 1700000000000})
//	batch := d.Take() // columns of decode.Schema(fields), rows in arrival order
//
// A message is a JSON object, a JSON array of objects, NDJSON, or a block of the own columnar format.
//
// The scanner is compiled from the schema. It expects the members in the order of the row before, finds the ends
// of strings eight bytes at a time and writes straight into columns; nothing is allocated a row. It is strict: it
// accepts what RFC 8259 and RFC 7493 allow, except that a repeated member is not an error (the last one counts).
// Whatever it does not recognise at once, valid or not, it leaves to the slow path (slow.go), where jsontext
// decides. A fuzz test holds the two together.
//
// A failed row adds nothing and is reported with its index, a reason and its original bytes.
package decode

// Package connectors is the contract between the log and the outside: what a source kind and a sink kind are, the
// registry that holds them, the descriptors that describe their settings, and the one loop that drives every source.
//
//	outside ── Read ──▶ Source (one kind) ── Read{Messages, Cursor, Ack} ──▶ Driver ── Publish ──▶ source stream
//	                                                  Ack, cursor ◀── only after the log has confirmed ──┘
//
// A kind only reads. Schedule, back-off, cursor, acknowledgement and counters belong to the Driver, once for all
// kinds, so that a faulty kind cannot lose rows: a cycle that fails keeps the old cursor and is read again.
//
// A kind is one package with one Register call in its init; package connectors/standard lists the kinds of a build.
// A component lives as New (pure, no I/O) → Validate → Open → Read … → Close. Optional abilities (Prober, Replayer)
// are extra small interfaces that callers find by assertion.
//
//	func init() {
//		connectors.Register(connectors.Kind{
//			Name:       "ticks",
//			Descriptor: connectors.Descriptor{Label: "Ticks", Fields: []connectors.Field{{Key: "periodMs", Type: connectors.Number}}},
//			New:        func(d connectors.Definition, e connectors.Env) (connectors.Source, error) { return newTicks(d, e) },
//		})
//	}
package connectors

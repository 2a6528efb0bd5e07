// Package streams is the log of StreamsForge: an embedded NATS JetStream server, one stream for each entity, and
// the few ways in which the product may append to it and read from it.
//
// The log is the truth. Source rows, table deltas, pipeline results, epochs and undecodable rows are messages here;
// operator state and served rows are folds over them that can be thrown away. The package therefore promises three
// things and leaves everything else to its callers:
//
//   - A position is a stream sequence: consecutive, the same for every reader, and it survives a restart. A stream
//     that is deleted and made again has a new incarnation, so an old position never applies to it.
//   - An append to a [Journal], an [EpochLog] or a [Quarantine] is fenced by the expected last sequence. A second
//     writer cannot get between, a repeated append cannot double, and a lost acknowledgement is resolved by reading
//     the tail through the leader (Invariant 2).
//   - A reader learns what is missing. A [Reader] that starts before the first retained message reports a [GapError]
//     instead of starting silently later, and it survives the loss of its server-side consumer.
//
// External NATS clients are authenticated by the platform ([Authenticator]). They live in an account of their own
// and reach only the subjects that their grants name; see docs/adr/0002-external-nats-reads.md.
//
//	s, err := streams.Open(ctx, streams.Options{DataDir: "./data", Listen: "127.0.0.1:4222", Auth: users})
//	src, err := s.EnsureSource(ctx, "default", "trades", streams.Limits{MaxBytes: 1 << 30})
//	seq, err := src.Publish(ctx, []byte(`{"symbol":"AAPL","qty":5}`), nil)
//	r := src.Read(1, streams.ReadOptions{})
//	msgs, err := r.Next(ctx)
package streams

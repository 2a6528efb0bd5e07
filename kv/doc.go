// Package kv gives the product typed, revisioned buckets: definitions, cursors, access documents and leases are
// revisions in JetStream key-value buckets.
//
// Every value has a revision, a number that grows with each write of the bucket and is never used twice. Whoever
// changes a value says which revision the change is based on; when somebody else was faster, the write fails with
// [ErrConflict] and nothing has happened. Nothing is ever overwritten by accident.
//
// Values are stored as JSON, except for the type []byte and types based on json.RawMessage, which are stored as they
// are. Keys are made of the characters A-Z a-z 0-9 - _ = / and dots between parts; callers encode names that have others.
//
//	b, err := kv.Open[Definition](ctx, js, "SF_default_catalog", kv.Options{History: 16})
//	rev, err := b.Create(ctx, "source.trades", def)
//	rev, err = b.Update(ctx, "source.trades", changed, rev)
//	w, err := b.Watch(ctx, "source.*")
//	for {
//		ev, err := w.Next(ctx) // all values, then an event Current, then every change
//	}
//
// [Leases] give one process at a time the right to an entity, with a number that grows with each owner.
package kv

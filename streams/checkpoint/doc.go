// Package checkpoint keeps the state of running entities in local files: what a flow held at an epoch, so that a
// restart replays minutes instead of history.
//
// A checkpoint is a cache. The log is the truth, and an entity without a checkpoint is rebuilt from it; so a damaged
// file is skipped for the one before, never repaired, never trusted in part. A file is written beside its name, synced,
// renamed and its directory synced, and it carries a SHA-256 over everything: a name that exists is a whole checkpoint,
// and a bit that has flipped since is found. The format is docs/format/checkpoint.md.
//
//	store, err := checkpoint.Open(filepath.Join(dataDir, "checkpoints"))
//	in, err := store.Save("table/positions", checkpoint.Meta{Epoch: 4711, Plan: "9f3c"}, flow.Snapshot(nil))
//	err = store.Prune("table/positions", 2)
//	meta, state, skipped, err := store.Load("table/positions", nil)
package checkpoint

// Package catalog holds the definitions of an environment: sources, pipelines and tables, their revisions, their
// desired state, and what compiling their queries found.
//
//	REST, gRPC, seed, import ──write──▶ Store ──compare-and-set──▶ KV bucket SF_<ENV>_catalog
//	                                     │
//	                                     └─▶ Snapshot (immutable) ──▶ runtime: reconcile   REST: list, get
//
// A write validates, compiles, and is stored with compare-and-set; then the in-memory Snapshot is replaced and
// everyone who called Changes is woken. The runtime reads the newest Snapshot and starts what should run: nobody
// pokes a worker. A Snapshot and everything reachable from it is never changed again.
//
// What is stored is what should be: Run.Desired says Running or Stopped, and Run.Revision grows with every change
// that a running worker must follow (start, new SQL, new settings). What is, comes from the runtime as
// view.EntityStatus.
//
// Rules of the package, cited as "Rule N"; "Invariant N" is one of docs/invariants.md:
//
//  1. Sources, pipelines and tables share one namespace of relation names (pipelines may share a name among
//     themselves only in catalogs that had it before the rule).
//  2. revision grows with every change of a definition, schemaRevision of sources and tables only with a change of
//     shape. Neither is ever taken from a client.
//  3. The Layouts of a source cover every stored position: a message is decoded with the layout of its position.
package catalog

package httpapi

import (
	"context"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// Refusals of all these interfaces are *view.Error with a code; view.ErrUnknown stands for an entity that the
// callee does not know (for example one that was deleted meanwhile). Every other error is a fault of the server.

// Runtime is what runs pipelines and tables. Entities are named by id; env is never empty.
type Runtime interface {
	catalog.Observer
	// Await blocks until the runtime has applied at least the given run revision of an entity (catalog.Run.Revision)
	// or the context ends, and returns what it observes then.
	Await(ctx context.Context, env string, kind catalog.InputKind, id string, revision int64) (view.EntityStatus, error)

	// TableRows waits, while the context lasts, for the positions that the query asks for. A table that has never
	// run has no rows; a stopped one serves its last state.
	TableRows(ctx context.Context, env, id string, q view.RowsQuery) (view.TableRows, error)
	// RowsAtEpoch reads several tables at one epoch that all of them have.
	RowsAtEpoch(ctx context.Context, env string, ids []string, limit int) (view.RowsAtEpoch, error)
	TableMetrics(env, id string) (view.TableMetrics, error)
	// Explain asks a running pipeline or table how it runs and what its operators have done; false when it does not run.
	Explain(ctx context.Context, env string, kind catalog.InputKind, id string) (catalog.Explanation, bool, error)
	TableReplay(ctx context.Context, env, id string) (view.ReplayInfo, error)

	// PipelineResults returns the newest rows, oldest first; limit is at least 1.
	PipelineResults(ctx context.Context, env, id string, limit int) ([]view.ResultEnvelope, error)
	PipelineMetrics(env, id string) (view.PipelineMetrics, error)
	PipelineReplay(ctx context.Context, env, id string) (view.ReplayInfo, error)
	// PipelineLate returns the newest late rows, oldest first.
	PipelineLate(ctx context.Context, env, id string, limit int) ([]view.Row, error)

	// AwaitSource blocks until a source of the catalog has its stream, so that a publish is stored, or the context ends.
	AwaitSource(ctx context.Context, env, name string) error
	SourceReplay(ctx context.Context, env, name string) (view.ReplayInfo, error)
	// SourceEvents returns the newest rows of a source, newest first.
	SourceEvents(ctx context.Context, env, name string, limit int) ([]view.Row, error)
	// SourceMetrics counts what has been read of a source's stream.
	SourceMetrics(env, name string) (view.SourceMetrics, error)
}

// Ingest takes rows that clients push.
type Ingest interface {
	// PushBody takes the body of a push as it came, so that one bad row does not hide the others and rows keep their
	// bytes. headerKey is the Idempotency-Key header; the body's own key wins. Refusals are in the result; the error
	// is for faults only.
	PushBody(ctx context.Context, env, source string, body []byte, headerKey string) (view.IngestResult, error)
	Status(ctx context.Context, env, source string) (view.IngestStatus, error)
}

// Scenarios runs scenario generators. A run that breaks rules returns a ProblemsError that
// names all of them.
type Scenarios interface {
	Run(ctx context.Context, env, source string, r view.ScenarioRequest) (view.ScenarioRun, error)
}

// ProblemsError is implemented by refusals that carry several problems; the body lists them in `errors` and joins
// them with "; " in `error`.
type ProblemsError interface {
	error
	Problems() []string
}

// Quarantine lists and replays what could not be read.
type Quarantine interface {
	List(ctx context.Context, env, source string, limit int) (view.Quarantine, error)
	// Replay publishes entries again and removes them; seqs nil means all.
	Replay(ctx context.Context, env, source string, seqs []int64) (view.QuarantineReplay, error)
}

// Connectors answers for sources that fetch or subscribe.
type Connectors interface {
	Status(ctx context.Context, env, source string) (view.ConnectorStatus, error)
}

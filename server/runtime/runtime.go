package runtime

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/checkpoint"
)

// Catalog is what the runtime needs of the catalog.
type Catalog interface {
	Snapshot(env string) (*catalog.Snapshot, error)
	Changes() (<-chan struct{}, func())
	CompileTable(sn *catalog.Snapshot, r *catalog.TableRecord) (*engine.Program, error)
	CompilePipeline(sn *catalog.Snapshot, r *catalog.PipelineRecord) (*engine.Program, error)
	SetLayoutStart(ctx context.Context, env, source string, version int64, from uint64) error
	PruneLayouts(ctx context.Context, env, source string, firstSeq uint64) error
}

var _ Catalog = (*catalog.Store)(nil)

// Options configure a Runtime.
type Options struct {
	Streams *streams.Server
	Catalog Catalog
	// Checkpoints is the directory for checkpoints; "" means none, as with memory storage.
	Checkpoints string
	// CheckpointEvery is Tables:CheckpointMs; 0 means 5 s.
	CheckpointEvery time.Duration
	// Limits of source and result streams where the definition says nothing: Replay:MaxBytesPerStream, RetainMs,
	// MaxEntries.
	Limits streams.Limits
	// QuarantineRetain and QuarantineMaxBytes bound each quarantine stream.
	QuarantineRetain   time.Duration
	QuarantineMaxBytes int64
	// MemoryBytes bounds the decoded rows and deltas that are kept for workers that are behind; 0 means 256 MiB.
	MemoryBytes int
	// Publish, when set, is called for started, stopped and failed pipelines and tables.
	Publish func(env string, e view.LifecycleEvent)
	Now     func() time.Time
	Logger  *slog.Logger

	spreadRows int // of together; 0 is the default
}

// Runtime runs the environments of a server. It is safe for concurrent use.
type Runtime struct {
	opt         Options
	checkpoints *checkpoint.Store
	now         func() time.Time

	env    *environment // of the default environment, the only one for now
	cancel context.CancelFunc
	done   chan struct{}
	failed chan error
	once   sync.Once
}

// errStopped says that the runtime is going away.
var errStopped = view.Errorf(view.Unavailable, "the server is stopping")

// Open reads the log, takes over the clock of the environment, and starts everything that the catalog wants to run. It
// returns when every journal has been looked at; entities recover on their own then.
func Open(ctx context.Context, o Options) (*Runtime, error) {
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = 5 * time.Second
	}
	if o.spreadRows == 0 {
		o.spreadRows = spreadRows
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	rt := &Runtime{opt: o, now: o.Now, done: make(chan struct{}), failed: make(chan error, 1)}
	if o.Checkpoints != "" && o.Streams.Storage() != streams.StorageMemory {
		s, err := checkpoint.Open(o.Checkpoints)
		if err != nil {
			return nil, err
		}
		rt.checkpoints = s
	}
	env, err := rt.openEnvironment(ctx, catalog.DefaultEnvironment)
	if err != nil {
		return nil, err
	}
	rt.env = env
	env.begin()
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	rt.cancel = cancel
	first := make(chan struct{})
	go func() {
		defer close(rt.done)
		rt.reconcile(run, first)
	}()
	select {
	case <-first:
		return rt, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), rt.Close(context.WithoutCancel(ctx)))
	}
}

// Failed receives an error that ends the whole runtime: another process has taken over the clock.
func (rt *Runtime) Failed() <-chan error { return rt.failed }

func (rt *Runtime) fail(err error) {
	select {
	case rt.failed <- err:
	default: // one is enough
	}
}

// Close stops every worker after its present step, writes checkpoints, and waits. It is idempotent.
func (rt *Runtime) Close(context.Context) error {
	rt.once.Do(func() {
		rt.cancel()
		<-rt.done
		rt.env.stop()
	})
	return nil
}

// abandon ends the runtime as a kill would, for tests.
func (rt *Runtime) abandon() {
	rt.once.Do(func() {
		rt.env.left.Store(true)
		rt.env.stopHard()
		rt.cancel()
		<-rt.done
		rt.env.stop()
	})
}

// SourceLimits is what the stream of a source keeps: the definition's bounds, else the server's.
func (rt *Runtime) SourceLimits(rec *catalog.SourceRecord) streams.Limits {
	return rt.limits(rec.Replay)
}

func (rt *Runtime) limits(r *catalog.ReplayConfig) streams.Limits {
	l := rt.opt.Limits
	if r == nil {
		return l
	}
	if r.MaxBytes > 0 {
		l.MaxBytes = r.MaxBytes
	}
	if r.RetainMs > 0 {
		l.MaxAge = time.Duration(r.RetainMs) * time.Millisecond
	}
	l.Memory = l.Memory || !r.Persist
	return l
}

func (rt *Runtime) environment(name string) (*environment, error) {
	if name != "" && name != rt.env.name {
		return nil, view.Errorf(view.Missing, "environment '%s' does not exist", name)
	}
	return rt.env, nil
}

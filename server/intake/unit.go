package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/generator"
	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// unit is what runs for one source: a driver, a buffer, or (for a scenario) only a stream to write to. Its loop starts
// it again after a failure, so a fault of one source never reaches another.
type unit struct {
	in        *Intake
	at        address
	signature string
	created   int64
	def       connectors.Definition

	cancel context.CancelFunc
	done   chan struct{}
	ready  chan struct{} // closed when the unit has started and recovered

	once   sync.Once
	mu     sync.Mutex
	err    error
	src    *streams.Stream
	driver *connectors.Driver
	buffer *buffer
	runner *generator.Runner
}

// newUnit makes the unit of a source; nil when the source has nothing to run.
func (in *Intake) newUnit(a address, r *catalog.SourceRecord) (*unit, error) {
	def, err := r.Definition()
	if err != nil {
		return nil, err
	}
	if !runs(r) {
		return nil, nil
	}
	u := &unit{
		in: in, at: a, signature: signature(r), created: r.CreatedAtMs, def: def,
		done: make(chan struct{}), ready: make(chan struct{}),
	}
	if isScenario(r) {
		spec := connectors.ScenarioSpec{Paths: 1, Days: 1, MaxBatchRows: 100_000, Distribution: connectors.Distribution{Kind: "normal", Df: 5}}
		if def.Scenario != nil {
			spec = *def.Scenario
		}
		u.runner = generator.NewRunner(spec, in.o.Clock)
	}
	return u, nil
}

func isScenario(r *catalog.SourceRecord) bool {
	return r.Kind == catalog.KindGenerator && r.GeneratorProfile == generator.Scenario
}

// runs reports whether a source has a unit: a disabled one has none, except that a buffer is drained whatever the
// definition says.
func runs(r *catalog.SourceRecord) bool {
	if r.Kind == catalog.KindIngest {
		return true
	}
	_, err := connectors.Lookup(r.Kind)
	return r.Enabled && err == nil
}

// signature changes with everything that a running unit cannot follow. A buffer reads its settings at every push.
func signature(r *catalog.SourceRecord) string {
	type driven struct {
		Kind, Profile string
		Rate          float64
		Fields        []catalog.Field
		Connector     *catalog.Connector
		Scenario      *catalog.ScenarioSpec
	}
	d := driven{Kind: r.Kind}
	if r.Kind != catalog.KindIngest {
		d = driven{r.Kind, r.GeneratorProfile, r.EventsPerSecond, r.Fields, r.Connector, r.Scenario}
	}
	b, err := json.Marshal(d)
	if err != nil {
		panic("BUG: intake: signature of a source: " + err.Error())
	}
	return fmt.Sprintf("%d %s", r.CreatedAtMs, b)
}

// is reports whether the unit runs what the definition says.
func (u *unit) is(r *catalog.SourceRecord) bool { return runs(r) && u.signature == signature(r) }

func (u *unit) stop() {
	u.cancel()
	<-u.done
}

func (u *unit) lastError() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

func (u *unit) started() { u.once.Do(func() { close(u.ready) }) }

// restart bounds the pause between two starts of a unit that fails.
var restart = connectors.Backoff{First: 100 * time.Millisecond, Cap: 30 * time.Second}

func (u *unit) loop(ctx context.Context, log *slog.Logger) {
	defer close(u.done)
	for k := 1; ; k++ {
		err := u.run(ctx, log)
		if ctx.Err() != nil {
			return
		}
		u.mu.Lock()
		u.err = err
		u.mu.Unlock()
		pause := restart.After(k)
		log.Warn("the source has stopped; it is started again", "error", err, "pause", pause)
		if u.in.o.Clock.Wait(ctx, u.in.o.Clock.Now().Add(pause)) != nil {
			return
		}
	}
}

func (u *unit) run(ctx context.Context, log *slog.Logger) error {
	src, err := u.stream(ctx)
	if errors.Is(err, view.ErrUnknown) {
		<-ctx.Done() // Deleted: Run will stop this unit.
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	switch {
	case u.runner != nil:
		u.started()
		<-ctx.Done()
		return ctx.Err()
	case u.def.Kind == catalog.KindIngest:
		return u.runBuffer(ctx, src, log)
	default:
		return u.runDriver(ctx, src, log)
	}
}

func (u *unit) runDriver(ctx context.Context, src *streams.Stream, log *slog.Logger) error {
	kind, err := connectors.Lookup(u.def.Kind)
	if err != nil {
		return err
	}
	cursors, err := u.in.bucket(ctx, u.at.env, "cursor")
	if err != nil {
		return err
	}
	o := connectors.DriverOptions{
		Log: &sourceLog{u, src}, Cursors: &cursorStore{cursors, streams.Key(u.at.source), u.created},
		Env: connectors.Env{
			Clock: u.in.o.Clock, Rand: u.in.o.Rand(), Logger: log, MaxMessageBytes: u.in.o.Streams.MaxPayload() - headerRoom,
		},
	}
	if c := u.def.Connector; c != nil && c.Schedule != nil && c.Schedule.IntervalMs != nil {
		o.Ticker = connectors.Every(time.Duration(*c.Schedule.IntervalMs) * time.Millisecond)
	}
	d, err := connectors.NewDriver(kind, u.def, o)
	if err != nil {
		return err
	}
	u.mu.Lock()
	u.driver, u.err = d, nil
	u.mu.Unlock()
	u.started()
	return d.Run(ctx)
}

func (u *unit) runBuffer(ctx context.Context, src *streams.Stream, log *slog.Logger) error {
	b, err := u.in.openBuffer(ctx, u.at, u.created, src, log)
	if err != nil {
		return err
	}
	u.mu.Lock()
	u.buffer, u.err = b, nil
	u.mu.Unlock()
	u.started()
	return b.run(ctx)
}

// parts returns what a request may use of a ready unit.
func (u *unit) parts() (*streams.Stream, *buffer, *connectors.Driver) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.src, u.buffer, u.driver
}

// sourceLog appends the messages of a driver to the stream of its source.
type sourceLog struct {
	u  *unit
	st *streams.Stream
}

var _ connectors.Log = (*sourceLog)(nil)

// Append stores the messages. Every message has an id, so that an append whose answer was lost is not repeated. A
// stream that has gone while its source is still defined (a source of the same name was deleted a moment ago) is made
// again.
func (l *sourceLog) Append(ctx context.Context, ms []connectors.Message) (uint64, error) {
	out := make([]outgoing, len(ms))
	for i, m := range ms {
		out[i] = outgoing{data: m.Data, id: m.ID, contentType: m.ContentType}
	}
	seq, err := publishAll(ctx, l.st, out)
	if !errors.Is(err, streams.ErrNotFound) {
		return seq, err
	}
	st, again := l.u.stream(ctx)
	if again != nil {
		return 0, err
	}
	l.st = st
	return publishAll(ctx, st, out)
}

// stream makes the stream of the unit's source, as long as the catalog has that source.
func (u *unit) stream(ctx context.Context) (*streams.Stream, error) {
	_, r, err := u.in.source(u.at.env, u.at.source)
	if err != nil {
		return nil, err
	}
	if r.CreatedAtMs != u.created {
		return nil, view.ErrUnknown
	}
	st, err := u.in.o.Streams.EnsureSource(ctx, u.at.env, u.at.source, u.in.o.SourceLimits(r))
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	u.src = st
	u.mu.Unlock()
	return st, nil
}

// cursorStore keeps the state of a driver in the bucket of cursors.
type cursorStore struct {
	b       *kv.Bucket[[]byte]
	key     string
	created int64 // tells a source from an earlier one of its name
}

var _ connectors.Cursors = (*cursorStore)(nil)

type storedCursor struct {
	CreatedAtMs int64 `json:"createdAtMs"`
	connectors.Saved
}

// Load returns the zero state for a source that has none yet.
func (c *cursorStore) Load(ctx context.Context) (connectors.Saved, error) {
	e, err := c.b.Get(ctx, c.key)
	if errors.Is(err, kv.ErrNotFound) {
		return connectors.Saved{}, nil
	}
	if err != nil {
		return connectors.Saved{}, err
	}
	var s storedCursor
	if err := json.Unmarshal(e.Value, &s); err != nil {
		return connectors.Saved{}, fmt.Errorf("cursor of source %q: %w", c.key, err)
	}
	if s.CreatedAtMs != c.created {
		return connectors.Saved{}, nil
	}
	return s.Saved, nil
}

// Save overwrites the state.
func (c *cursorStore) Save(ctx context.Context, s connectors.Saved) error {
	v, err := json.Marshal(storedCursor{c.created, s})
	if err != nil {
		return err
	}
	_, err = c.b.Put(ctx, c.key, v)
	return err
}

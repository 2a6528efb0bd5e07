package intake

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// Catalog is what the intake needs of the definitions. *catalog.Store implements it.
type Catalog interface {
	Environments() []view.Environment
	Snapshot(env string) (*catalog.Snapshot, error)
	Changes() (<-chan struct{}, func())
	CompileTable(sn *catalog.Snapshot, r *catalog.TableRecord) (*engine.Program, error)
}

var _ Catalog = (*catalog.Store)(nil)

// DefaultDrain is the default of Ingest:DrainMs.
const DefaultDrain = 100 * time.Millisecond

// Options configure an Intake. Streams and Catalog are needed.
type Options struct {
	Streams *streams.Server
	Catalog Catalog
	// SourceLimits are the bounds of a source's stream; nil means none.
	SourceLimits func(*catalog.SourceRecord) streams.Limits
	// QuarantineLimits are the bounds of a source's quarantine (Quarantine:RetainMs, Quarantine:MaxBytes).
	QuarantineLimits streams.Limits
	// Decoded returns what reading a source's stream has counted so far: fields set to NULL and quarantined rows.
	Decoded func(env, source string) (coerced, quarantined int64)
	// Drain is the period of retries and of bookkeeping (Ingest:DrainMs); 0 means DefaultDrain. A push wakes the drain
	// at once whatever it is.
	Drain time.Duration
	// InstanceID names this process in counters.
	InstanceID string
	Clock      connectors.Clock
	// Rand makes the random source of a generator; nil means a new secure seed each time.
	Rand   func() rand.Source
	Logger *slog.Logger

	// maxBytes bounds the bytes that wait in one buffer, maxHeld those of them that are kept in memory; the defaults are
	// maxBufferBytes and maxHeldBytes.
	maxBytes, maxHeld int
	// fault is asked at named points between two steps that a crash may separate; its error is what the step ends with.
	// Only tests of this package set these.
	fault func(point string) error
}

// Intake runs the producing side of every source. Make it with New, start it with Run.
type Intake struct {
	o   Options
	log *slog.Logger

	mu      sync.Mutex
	units   map[address]*unit
	changed chan struct{} // closed and replaced when units come or go
	stopped bool
	nudge   chan struct{} // asks Run to look at the catalog again
	buckets map[string]*kv.Bucket[[]byte]
	replays map[address]*sync.Mutex
}

// address is a source in an environment.
type address struct{ env, source string }

// New returns an Intake that does nothing yet.
func New(o Options) *Intake {
	if o.Drain <= 0 {
		o.Drain = DefaultDrain
	}
	if o.Clock == nil {
		o.Clock = connectors.SystemClock{}
	}
	if o.Rand == nil {
		o.Rand = seeded
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SourceLimits == nil {
		o.SourceLimits = func(*catalog.SourceRecord) streams.Limits { return streams.Limits{} }
	}
	if o.Decoded == nil {
		o.Decoded = func(string, string) (int64, int64) { return 0, 0 }
	}
	if o.maxBytes == 0 {
		o.maxBytes, o.maxHeld = maxBufferBytes, maxHeldBytes
	}
	if o.InstanceID == "" {
		o.InstanceID = "local"
	}
	return &Intake{
		o: o, log: o.Logger, units: map[address]*unit{}, changed: make(chan struct{}), nudge: make(chan struct{}, 1),
		buckets: map[string]*kv.Bucket[[]byte]{}, replays: map[address]*sync.Mutex{},
	}
}

func seeded() rand.Source {
	var b [16]byte
	_, _ = crand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return rand.NewPCG(binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:]))
}

// at reports the fault that a test has planted at a point.
func (in *Intake) at(point string) error {
	if in.o.fault == nil {
		return nil
	}
	return in.o.fault(point)
}

// Ingest answers pushes.
func (in *Intake) Ingest() *Ingest { return &Ingest{in} }

// Scenarios answers scenario runs.
func (in *Intake) Scenarios() *Scenarios { return &Scenarios{in} }

// Quarantine lists and replays what could not be read.
func (in *Intake) Quarantine() *Quarantine { return &Quarantine{in} }

// Connectors answers for driven sources.
func (in *Intake) Connectors() *Connectors { return &Connectors{in} }

// environment names an environment as subjects and buckets do.
func environment(env string) string {
	if env == "" {
		return catalog.DefaultEnvironment
	}
	return env
}

// bucket opens a bucket of an environment once.
func (in *Intake) bucket(ctx context.Context, env, what string) (*kv.Bucket[[]byte], error) {
	name := streams.EnvBucket(env, what)
	in.mu.Lock()
	b := in.buckets[name]
	in.mu.Unlock()
	if b != nil {
		return b, nil
	}
	b, err := kv.Open[[]byte](ctx, in.o.Streams.JetStream(), name, kv.Options{Memory: in.o.Streams.Storage() == streams.StorageMemory})
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if old := in.buckets[name]; old != nil {
		return old, nil
	}
	in.buckets[name] = b
	return b, nil
}

// Run keeps one unit a source, as the catalog has it, until ctx ends; then it stops them all and returns ctx.Err().
func (in *Intake) Run(ctx context.Context) error {
	changes, end := in.o.Catalog.Changes()
	defer end()
	defer in.stopAll()
	b := books{swept: map[string]bool{}, known: map[address]int64{}}
	for {
		again := in.reconcile(ctx, b)
		var retry <-chan time.Time
		if again {
			retry = time.After(time.Second)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changes:
		case <-in.nudge:
		case <-retry:
		}
	}
}

// books is what Run remembers from one look at the catalog to the next.
type books struct {
	swept map[string]bool   // environments whose leftovers were removed
	known map[address]int64 // every source, with or without a unit, and when it was created
}

// reconcile starts and stops units until they are what the catalog says. It reports whether something is left to do
// that no change will announce.
func (in *Intake) reconcile(ctx context.Context, b books) (again bool) {
	want := map[address]*catalog.SourceRecord{}
	for _, e := range in.o.Catalog.Environments() {
		sn, err := in.o.Catalog.Snapshot(e.Name)
		if err != nil {
			continue // It has gone since it was listed.
		}
		env := environment(e.Name)
		for _, r := range sn.Sources() {
			want[address{env, r.Name}] = r
		}
		if !b.swept[env] {
			if err := in.sweep(ctx, env, sn); err != nil {
				in.log.Warn("leftovers of deleted sources were not removed; it is tried again", "env", env, "error", err)
				again = true
			} else {
				b.swept[env] = true
			}
		}
	}
	for a, u := range in.present() {
		if r, ok := want[a]; !ok || !u.is(r) {
			in.remove(a, u)
		}
	}
	for a, created := range b.known {
		if r, ok := want[a]; ok && r.CreatedAtMs == created {
			continue
		}
		if err := in.forget(ctx, a); err != nil {
			in.log.Warn("the remains of a deleted source were not removed; it is tried again", "env", a.env, "entity", a.source, "error", err)
			again = true
			delete(want, a) // A source of the same name does not start over them.
			continue
		}
		delete(b.known, a)
	}
	for a, r := range want {
		b.known[a] = r.CreatedAtMs
		if err := in.start(ctx, a, r); err != nil {
			in.log.Error("the source cannot start", "env", a.env, "entity", a.source, "error", err)
		}
	}
	return again
}

func (in *Intake) present() map[address]*unit {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := make(map[address]*unit, len(in.units))
	for a, u := range in.units {
		out[a] = u
	}
	return out
}

// start starts the unit of a source unless it runs.
func (in *Intake) start(ctx context.Context, a address, r *catalog.SourceRecord) error {
	in.mu.Lock()
	_, ok := in.units[a]
	in.mu.Unlock()
	if ok {
		return nil
	}
	u, err := in.newUnit(a, r)
	if u == nil || err != nil {
		return err
	}
	in.mu.Lock()
	in.units[a] = u
	close(in.changed)
	in.changed = make(chan struct{})
	in.mu.Unlock()
	run, cancel := context.WithCancel(ctx)
	u.cancel = cancel
	go u.loop(run, in.log.With("env", a.env, "entity", a.source, "kind", r.Kind))
	return nil
}

func (in *Intake) remove(a address, u *unit) {
	in.mu.Lock()
	delete(in.units, a)
	close(in.changed)
	in.changed = make(chan struct{})
	in.mu.Unlock()
	u.stop()
}

func (in *Intake) stopAll() {
	in.mu.Lock()
	in.stopped = true
	units := in.units
	in.units = map[address]*unit{}
	close(in.changed)
	in.changed = make(chan struct{})
	in.mu.Unlock()
	for _, u := range units {
		u.cancel()
	}
	for _, u := range units {
		u.stop()
	}
}

// attachTimeout bounds how long a request waits for the unit of a source that was only just created.
const attachTimeout = 10 * time.Second

var errNotRunning = view.Errorf(view.Unavailable, "the intake is not running: the server is starting or stopping")

// unit returns the running unit of a source, started and recovered. A source that was created a moment ago is waited
// for.
func (in *Intake) unit(ctx context.Context, a address, r *catalog.SourceRecord) (*unit, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	for {
		in.mu.Lock()
		u, changed, stopped := in.units[a], in.changed, in.stopped
		in.mu.Unlock()
		if stopped {
			return nil, errNotRunning
		}
		if u != nil && u.is(r) {
			select {
			case <-u.ready:
				return u, nil
			case <-changed: // It was replaced meanwhile.
				continue
			case <-ctx.Done():
				return nil, in.notReady(ctx, u)
			}
		}
		select {
		case in.nudge <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, in.notReady(ctx, u)
		}
	}
}

func (in *Intake) notReady(ctx context.Context, u *unit) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	if u != nil {
		if err := u.lastError(); err != nil {
			return &view.Error{Code: view.Unavailable, Text: "the source has not started: " + err.Error(), Err: err}
		}
	}
	return errNotRunning
}

// source finds the definition of a source.
func (in *Intake) source(env, name string) (address, *catalog.SourceRecord, error) {
	sn, err := in.o.Catalog.Snapshot(env)
	if err != nil {
		return address{}, nil, err
	}
	r, ok := sn.Source(name)
	if !ok {
		return address{}, nil, view.ErrUnknown
	}
	return address{environment(env), name}, r, nil
}

// forget removes what the intake keeps of a source that is no more.
func (in *Intake) forget(ctx context.Context, a address) error {
	errs := []error{in.o.Streams.DeleteStream(ctx, streams.IngestStream(a.env, a.source))}
	for what, patterns := range map[string][]string{
		"cursor": {streams.Key(a.source)},
		"dedup":  {streams.Key(a.source) + ".>"},
		"ingest": {"idem." + streams.Key(a.source) + ".>", "stats." + streams.Key(a.source) + ".>", "inline." + streams.Key(a.source), "replay." + streams.Key(a.source)},
	} {
		b, err := in.bucket(ctx, a.env, what)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, p := range patterns {
			keys, err := b.Keys(ctx, p)
			errs = append(errs, err)
			for _, k := range keys {
				errs = append(errs, b.Purge(ctx, k))
			}
		}
	}
	return errors.Join(errs...)
}

// sweep removes the write-ahead streams of sources that were deleted while the server was down.
func (in *Intake) sweep(ctx context.Context, env string, sn *catalog.Snapshot) error {
	names, err := in.o.Streams.StreamNames(ctx, env)
	if err != nil {
		return err
	}
	prefix := streams.IngestStream(env, "")
	for _, n := range names {
		token, ok := strings.CutPrefix(n, prefix)
		if !ok {
			continue
		}
		name, err := streams.Decode(token)
		if err != nil {
			continue // Not a name of ours.
		}
		if _, ok := sn.Source(name); !ok {
			if err := in.forget(ctx, address{env, name}); err != nil {
				return err
			}
		}
	}
	return nil
}

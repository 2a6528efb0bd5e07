package connectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// Log is where a Driver puts rows: the source's stream.
type Log interface {
	// Append stores the messages in order and returns the sequence of the last one when all of them are durable.
	// After an error some of them may be stored.
	Append(ctx context.Context, ms []Message) (seq uint64, err error)
}

// Saved is what a Driver keeps across restarts, written once a cycle.
type Saved struct {
	Cursor               string `json:"cursor"`
	EventsEmittedTotal   int64  `json:"eventsEmittedTotal"`
	EnvelopeSkippedTotal int64  `json:"envelopeSkippedTotal"`
	LastRunMs            int64  `json:"lastRunMs"`
}

// Cursors keeps the Saved state of one source.
type Cursors interface {
	Load(ctx context.Context) (Saved, error)
	Save(ctx context.Context, s Saved) error
}

// DriverOptions is what a Driver needs. The zero Ticker is DefaultInterval, the zero Backoff DefaultBackoff.
type DriverOptions struct {
	Log     Log
	Cursors Cursors
	Env     Env
	Ticker  Ticker
	Backoff Backoff
}

// Status is the state of a driven source.
type Status struct {
	LastStatus           string // never, connecting, ok or error
	LastError            string
	NextRunMs            int64 // 0: none is planned
	LastRunMs            int64
	ConsecutiveFailures  int
	EventsEmittedTotal   int64
	LastBatchCount       int
	EnvelopeSkippedTotal int64
	Cursor               string
}

// Driver runs one source for as long as it is enabled: it opens, reads, appends, confirms and waits, and it alone
// decides what happens after a failure. A failure of the source, a panic included, stays inside the source.
type Driver struct {
	def Definition
	src Source
	o   DriverOptions
	sub bool

	mu     sync.Mutex
	status Status

	saved Saved // owned by Run
	dirty bool
}

// NewDriver makes a driver for a valid definition.
func NewDriver(k Kind, def Definition, o DriverOptions) (*Driver, error) {
	if k.New == nil {
		return nil, fmt.Errorf("kind %s is not driven: its rows arrive by request", k.Name)
	}
	if o.Env.Clock == nil {
		o.Env.Clock = SystemClock{}
	}
	if o.Env.Logger == nil {
		o.Env.Logger = slog.New(slog.DiscardHandler)
	}
	o.Env.Logger = o.Env.Logger.With("env", def.Environment, "entity", def.Name, "kind", def.Kind)
	if o.Ticker == nil {
		o.Ticker = Every(DefaultInterval)
	}
	if o.Backoff == (Backoff{}) {
		o.Backoff = DefaultBackoff
	}
	src, err := k.New(def, o.Env)
	if err != nil {
		return nil, err
	}
	_, sub := src.(Subscriber)
	return &Driver{def: def, src: src, o: o, sub: sub, status: Status{LastStatus: "never"}}, nil
}

// Source returns the driven source, for optional abilities that are safe beside the driver.
func (d *Driver) Source() Source { return d.src }

// Status returns the present state. It may be called from any goroutine.
func (d *Driver) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.status
}

// Run drives the source until ctx ends and returns ctx.Err(). It returns another error only when the saved state
// cannot be read: without its cursor a source must not start, or it would begin again from nothing.
func (d *Driver) Run(ctx context.Context) error {
	saved, err := d.o.Cursors.Load(ctx)
	if err != nil {
		return fmt.Errorf("read the cursor of source %q: %w", d.def.Name, err)
	}
	d.saved = saved
	d.set(func(s *Status) {
		s.Cursor, s.LastRunMs = saved.Cursor, saved.LastRunMs
		s.EventsEmittedTotal, s.EnvelopeSkippedTotal = saved.EventsEmittedTotal, saved.EnvelopeSkippedTotal
	})
	for failures := 0; ctx.Err() == nil; {
		err := d.session(ctx, func() { failures = 0 })
		d.closeSource(ctx)
		if ctx.Err() != nil {
			break
		}
		failures++
		now := d.o.Env.Clock.Now()
		next := d.o.Ticker.Retry(now.Add(d.o.Backoff.After(failures)))
		d.fail(err, failures, now, next)
		if d.o.Env.Clock.Wait(ctx, next) != nil {
			break
		}
	}
	d.saveAtEnd(ctx)
	return ctx.Err()
}

// session opens the source and runs cycles until one fails. It never returns nil.
func (d *Driver) session(ctx context.Context, succeeded func()) error {
	d.set(func(s *Status) {
		if d.sub {
			s.LastStatus = "connecting"
		}
		s.NextRunMs = 0
	})
	if err := guard(func() error { return d.src.Open(ctx, d.saved.Cursor) }); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	for {
		if err := d.cycle(ctx, succeeded); err != nil {
			return err
		}
		next := d.o.Ticker.Next(d.o.Env.Clock.Now())
		d.set(func(s *Status) { s.NextRunMs = next.UnixMilli() })
		if err := d.o.Env.Clock.Wait(ctx, next); err != nil {
			return err
		}
	}
}

// cycle reads until the end of input. The cursor moves only when the whole cycle has succeeded; a subscription has
// no cycles, so there each read counts as one.
func (d *Driver) cycle(ctx context.Context, succeeded func()) error {
	cursor, rows, skipped := d.saved.Cursor, 0, 0
	for {
		var r Read
		err := guard(func() (err error) { r, err = d.src.Read(ctx); return err })
		if errors.Is(err, ErrEndOfInput) {
			return d.commit(ctx, cursor, rows, skipped, succeeded)
		}
		if err != nil {
			return err
		}
		if err := d.take(ctx, r); err != nil {
			return err
		}
		for _, m := range r.Messages {
			rows += m.Rows
		}
		skipped += r.Skipped
		if r.Cursor != "" {
			cursor = r.Cursor
		}
		if d.sub {
			if err := d.commit(ctx, cursor, rows, skipped, succeeded); err != nil {
				return err
			}
			rows, skipped = 0, 0
		}
	}
}

// take makes one read durable and then confirms it upstream.
func (d *Driver) take(ctx context.Context, r Read) error {
	if len(r.Messages) > 0 {
		if _, err := d.o.Log.Append(ctx, r.Messages); err != nil {
			return fmt.Errorf("append to the source's stream: %w", err)
		}
	}
	if r.Ack == nil {
		return nil
	}
	// Invariant 1: the outside is told only after the rows are in the log.
	if err := guard(func() error { return r.Ack(ctx) }); err != nil {
		return fmt.Errorf("confirm upstream: %w", err)
	}
	return nil
}

func (d *Driver) commit(ctx context.Context, cursor string, rows, skipped int, succeeded func()) error {
	now := d.o.Env.Clock.Now().UnixMilli()
	moved := cursor != d.saved.Cursor
	next := d.saved
	next.Cursor, next.LastRunMs = cursor, now
	next.EventsEmittedTotal += int64(rows)
	next.EnvelopeSkippedTotal += int64(skipped)
	if moved || !d.sub {
		if err := d.o.Cursors.Save(ctx, next); err != nil {
			return fmt.Errorf("save the cursor: %w", err)
		}
	}
	d.saved, d.dirty = next, !moved && d.sub
	succeeded()
	d.set(func(s *Status) {
		s.LastStatus, s.LastError, s.ConsecutiveFailures = "ok", "", 0
		s.LastRunMs, s.LastBatchCount, s.Cursor = now, rows, cursor
		s.EventsEmittedTotal, s.EnvelopeSkippedTotal = next.EventsEmittedTotal, next.EnvelopeSkippedTotal
	})
	return nil
}

func (d *Driver) fail(err error, failures int, now, next time.Time) {
	d.o.Env.Logger.Warn("source failed; it is retried", "error", err, "failures", failures, "nextRun", next)
	d.set(func(s *Status) {
		s.LastStatus, s.LastError, s.ConsecutiveFailures = "error", err.Error(), failures
		s.LastRunMs, s.NextRunMs = now.UnixMilli(), next.UnixMilli()
	})
}

// stopTimeout bounds what the driver still does after it has been told to stop.
const stopTimeout = 5 * time.Second

func (d *Driver) closeSource(ctx context.Context) {
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := guard(func() error { return d.src.Close(stop) }); err != nil {
		d.o.Env.Logger.Warn("source did not close cleanly", "error", err)
	}
}

// saveAtEnd keeps the counters of a subscription, which are not saved with every read.
func (d *Driver) saveAtEnd(ctx context.Context) {
	if !d.dirty {
		return
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := d.o.Cursors.Save(stop, d.saved); err != nil {
		d.o.Env.Logger.Warn("counters of the source were not saved", "error", err)
	}
}

func (d *Driver) set(f func(*Status)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.status)
}

// PanicError is a panic of a kind, caught at its border.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("the source kind panicked: %v", e.Value) }

func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

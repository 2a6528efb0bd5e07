package clock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Bounds of one epoch and of the pace at which epochs are written.
const (
	EpochRows   = 8192
	EpochBytes  = 4 << 20
	MinInterval = time.Millisecond
	MaxInterval = 100 * time.Millisecond
	Heartbeat   = 500 * time.Millisecond
)

// Source is where the sequencer takes the rows of one source from: a reader with what it has decoded.
type Source interface {
	Track() *Track
	// Cut takes whole messages, in order, up to the bounds; a single message above them is taken when first is set.
	// ok is false when nothing fits or nothing is there. more tells that messages are left.
	Cut(rows, bytes int, first bool) (cut Cut, ok, more bool)
	// Ready reports whether Cut has something, and whether that is a full epoch already.
	Ready() (some, full bool)
}

// Change is one entity that leaves or joins the clock.
type Change struct {
	Node *Node
	Kind string // "table" or "pipeline"
	Key  string // its id
	// Epoch is, for one that leaves, the last epoch that its output counts for.
	Epoch uint64
	// Held is, for one that joins in place of an older version, the node of that version.
	Held *Node
}

// Layout says from which position on a version of a source's layout counts.
type Layout struct {
	Source  string
	Version int64
	From    uint64
}

// Entry is what the sequencer asks the log to append.
type Entry struct {
	Tick
	Cuts    []Cut // the changed positions
	Left    []Change
	Joined  []Change
	Layouts []Layout
}

// Log is the epoch log. Append returns when the record is acknowledged; an error that wraps ErrFenced is final.
type Log interface {
	Append(ctx context.Context, e Entry) error
}

// ErrFenced says that another sequencer has taken over the environment.
var ErrFenced = errors.New("another sequencer writes the clock of this environment")

// SequencerOptions configure a Sequencer.
type SequencerOptions struct {
	Clock  *Clock
	Log    Log
	Now    func() time.Time
	Logger *slog.Logger
}

// Sequencer writes the epochs of one environment: as soon as a source has new rows and at once when it was idle, at
// most one a millisecond under load and less often when a worker needs longer, a heartbeat while a flow waits for
// time. It is the only one that publishes to its Clock.
type Sequencer struct {
	o    SequencerOptions
	wake chan struct{}

	mu       sync.Mutex
	sources  []Source
	requests []request
	turn     int // where the next cut begins, so that a busy source does not starve the others
	closed   error

	lastAt   time.Time
	started  bool
	interval time.Duration
	epochs   uint64
}

type request struct {
	left, joined []Change
	layouts      []Layout
	done         chan<- answer
}

type answer struct {
	epoch uint64
	err   error
}

// NewSequencer makes a sequencer that continues after its clock's head.
func NewSequencer(o SequencerOptions) *Sequencer {
	return &Sequencer{o: o, wake: make(chan struct{}, 1)}
}

// Notify tells that a source has new rows.
func (s *Sequencer) Notify() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// AddSource lets a source take part from the next epoch on.
func (s *Sequencer) AddSource(src Source) {
	s.mu.Lock()
	s.sources = append(s.sources, src)
	s.mu.Unlock()
	s.Notify()
}

// RemoveSource ends a source's part. What it has not handed over stays in its stream.
func (s *Sequencer) RemoveSource(src Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range s.sources {
		if x == src {
			s.sources = append(s.sources[:i:i], s.sources[i+1:]...)
			return
		}
	}
}

// Leave records that entities no longer take part; the epoch of the record is returned once it is published.
func (s *Sequencer) Leave(ctx context.Context, changes ...Change) (uint64, error) {
	return s.ask(ctx, request{left: changes})
}

// Join records that entities take part from the returned epoch on: each must step exactly to it.
func (s *Sequencer) Join(ctx context.Context, changes ...Change) (uint64, error) {
	return s.ask(ctx, request{joined: changes})
}

// Record puts layout changes into the log.
func (s *Sequencer) Record(ctx context.Context, l ...Layout) (uint64, error) {
	return s.ask(ctx, request{layouts: l})
}

func (s *Sequencer) ask(ctx context.Context, r request) (uint64, error) {
	done := make(chan answer, 1)
	r.done = done
	s.mu.Lock()
	if s.closed != nil {
		s.mu.Unlock()
		return 0, s.closed
	}
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	s.Notify()
	select {
	case a := <-done:
		return a.epoch, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Epochs is the number of records that this sequencer has written.
func (s *Sequencer) Epochs() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epochs
}

// Interval is the shortest time between two records at the moment.
func (s *Sequencer) Interval() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interval
}

// Run writes epochs until the context ends or the log refuses.
func (s *Sequencer) Run(ctx context.Context) (err error) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = fmt.Errorf("the clock has stopped: %w", err)
		for _, r := range s.requests {
			r.done <- answer{err: s.closed}
		}
		s.requests = nil
	}()
	timer := time.NewTimer(Heartbeat)
	defer timer.Stop()
	for {
		wait, write := s.due(s.o.Now())
		if write {
			if err := s.step(ctx); err != nil {
				return err
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-s.wake:
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// due decides whether to write now, else how long to wait without news.
func (s *Sequencer) due(now time.Time) (wait time.Duration, write bool) {
	s.mu.Lock()
	sources, asked := s.sources, len(s.requests) > 0
	s.mu.Unlock()
	if !s.started || asked {
		return 0, true
	}
	some, full := false, false
	for _, src := range sources {
		a, b := src.Ready()
		some, full = some || a, full || b
	}
	since := now.Sub(s.lastAt)
	if some {
		least := MinInterval
		if !full {
			_, cost := s.o.Clock.Behind()
			least = min(max(cost, MinInterval), MaxInterval)
		}
		s.mu.Lock()
		s.interval = least
		s.mu.Unlock()
		if since >= least || since < 0 {
			return 0, true
		}
		return least - since, false
	}
	if s.o.Clock.Waiting() && since >= Heartbeat {
		return 0, true
	}
	return max(Heartbeat-since, MinInterval), false
}

// step writes one record and publishes its epoch.
func (s *Sequencer) step(ctx context.Context) error {
	s.mu.Lock()
	sources, turn := s.sources, s.turn
	asked := s.requests
	s.requests = nil
	s.turn++
	s.mu.Unlock()

	head := s.o.Clock.Head()
	now := s.o.Now()
	e := Entry{Tick: Tick{Epoch: head.Epoch + 1, TimeMs: max(head.TimeMs, now.UnixMilli())}}
	rows, bytes := EpochRows, EpochBytes
	more := false
	for i := range sources {
		src := sources[(turn+i)%len(sources)]
		cut, ok, left := src.Cut(rows, bytes, len(e.Cuts) == 0)
		more = more || left
		if ok {
			r, b := cut.size()
			rows, bytes = max(rows-r, 0), max(bytes-b, 0)
			e.Cuts = append(e.Cuts, cut)
		}
	}
	for _, r := range asked {
		e.Left = append(e.Left, r.left...)
		e.Joined = append(e.Joined, r.joined...)
		e.Layouts = append(e.Layouts, r.layouts...)
	}
	err := s.append(ctx, e)
	for _, r := range asked {
		a := answer{epoch: e.Epoch}
		if err != nil {
			a = answer{err: err}
		}
		defer func() { r.done <- a }()
	}
	if err != nil {
		return err
	}
	s.started = true
	s.lastAt = now
	s.mu.Lock()
	s.epochs++
	s.mu.Unlock()
	rec := Record{Tick: e.Tick, Cuts: e.Cuts}
	for _, c := range e.Left {
		if c.Node != nil {
			rec.Left = append(rec.Left, c.Node)
		}
	}
	for _, c := range e.Joined {
		if c.Node != nil {
			rec.Joined = append(rec.Joined, c.Node)
		}
		if c.Held != nil {
			rec.Held = append(rec.Held, c.Held)
		}
	}
	s.o.Clock.Publish(rec) // Invariant 9: only after the record is acknowledged.
	if more {
		s.Notify()
	}
	return nil
}

// append repeats a record until the log has it: the rows are cut, and nobody may see them before.
func (s *Sequencer) append(ctx context.Context, e Entry) error {
	for pause := 10 * time.Millisecond; ; pause = min(pause*2, 2*time.Second) {
		err := s.o.Log.Append(ctx, e)
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrFenced) || ctx.Err() != nil {
			return err
		}
		s.o.Logger.Warn("an epoch record could not be written; trying again", "epoch", e.Epoch, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

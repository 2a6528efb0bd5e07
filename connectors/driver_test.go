package connectors_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/connectorstest"
)

// scripted is a polled source that plays a list of reads; what follows the list waits for the context.
type scripted struct {
	mu     sync.Mutex
	script []func() (connectors.Read, error)
	opened []string // the cursors it was opened with
	closed int
	acked  []string
}

func (s *scripted) Open(_ context.Context, cursor string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, cursor)
	return nil
}

func (s *scripted) Read(ctx context.Context) (connectors.Read, error) {
	s.mu.Lock()
	if len(s.script) == 0 {
		s.mu.Unlock()
		<-ctx.Done()
		return connectors.Read{}, ctx.Err()
	}
	next := s.script[0]
	s.script = s.script[1:]
	s.mu.Unlock()
	return next()
}

func (s *scripted) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

// rows is a read of one message of n rows that moves the cursor and notes its acknowledgement.
func (s *scripted) rows(n int, cursor string) func() (connectors.Read, error) {
	return func() (connectors.Read, error) {
		return connectors.Read{
			Messages: []connectors.Message{{Data: []byte(cursor), Rows: n}}, Cursor: cursor,
			Ack: func(context.Context) error {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.acked = append(s.acked, cursor)
				return nil
			},
		}, nil
	}
}

func end() (connectors.Read, error)  { return connectors.Read{}, connectors.ErrEndOfInput }
func lost() (connectors.Read, error) { return connectors.Read{}, connectors.ErrNotConnected }

type rig struct {
	*connectors.Driver
	src     *scripted
	clock   *connectorstest.Clock
	log     *connectorstest.Log
	cursors *connectorstest.Cursors
	stop    func() error
}

// start drives a script until the test or stop ends it.
func start(t *testing.T, build func(*scripted)) *rig {
	t.Helper()
	r := &rig{src: &scripted{}, clock: connectorstest.NewClock(), log: &connectorstest.Log{}, cursors: &connectorstest.Cursors{}}
	build(r.src)
	kind := connectors.Kind{Name: "scripted", New: func(connectors.Definition, connectors.Env) (connectors.Source, error) { return r.src, nil }}
	d, err := connectors.NewDriver(kind, connectors.Definition{Name: "s"}, connectors.DriverOptions{
		Log: r.log, Cursors: r.cursors, Env: connectors.Env{Clock: r.clock}, Ticker: connectors.Every(time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Driver = d
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	var once sync.Once
	var result error
	r.stop = func() error {
		once.Do(func() { cancel(); result = <-done })
		return result
	}
	t.Cleanup(func() { _ = r.stop() })
	return r
}

// next waits until the driver sleeps and moves the clock to its next run.
func (r *rig) next(t *testing.T) time.Duration {
	t.Helper()
	until, err := r.clock.AwaitWaiter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := until.Sub(r.clock.Now())
	r.clock.Advance(d)
	return d
}

func TestDriverSavesTheCursorOncePerCycle(t *testing.T) {
	r := start(t, func(s *scripted) {
		s.script = []func() (connectors.Read, error){s.rows(2, "a"), s.rows(3, "b"), end, s.rows(1, "c"), end}
	})
	if d := r.next(t); d != time.Second {
		t.Errorf("waits %v, want the interval", d)
	}
	if d := r.next(t); d != time.Second {
		t.Errorf("waits %v after the second cycle", d)
	}
	if err := r.stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	saved, writes := r.cursors.Saved()
	if saved.Cursor != "c" || writes != 2 || saved.EventsEmittedTotal != 6 {
		t.Errorf("saved %+v in %d writes, want cursor c, 6 events, one write a cycle", saved, writes)
	}
	if s := r.Status(); s.LastStatus != "ok" || s.LastBatchCount != 1 || s.EventsEmittedTotal != 6 || s.Cursor != "c" {
		t.Errorf("status %+v", s)
	}
	if r.log.Rows() != 6 || len(r.src.acked) != 3 || r.src.closed == 0 {
		t.Errorf("%d rows, acked %v, closed %d", r.log.Rows(), r.src.acked, r.src.closed)
	}
}

func TestFailedCycleKeepsTheCursorAndBacksOff(t *testing.T) {
	r := start(t, func(s *scripted) {
		s.script = []func() (connectors.Read, error){s.rows(1, "a"), end, s.rows(1, "b"), lost, lost, s.rows(1, "b"), end}
	})
	r.next(t) // the interval after the first cycle
	if d := r.next(t); d != 30*time.Second {
		t.Errorf("first back-off %v", d)
	}
	if d := r.next(t); d != time.Minute {
		t.Errorf("second back-off %v", d)
	}
	if d := r.next(t); d != time.Second {
		t.Errorf("after success it waits %v", d)
	}
	if s := r.Status(); s.ConsecutiveFailures != 0 || s.LastError != "" || s.Cursor != "b" {
		t.Errorf("status after success: %+v", s)
	}
	_ = r.stop()
	if got := r.src.opened; len(got) != 3 || got[1] != "a" || got[2] != "a" {
		t.Errorf("opened with %q, want the cursor of the last completed cycle", got)
	}
}

func TestRowsAreConfirmedUpstreamOnlyAfterTheLogHasThem(t *testing.T) {
	r := start(t, func(s *scripted) {
		s.script = []func() (connectors.Read, error){s.rows(1, "a"), end}
	})
	if _, err := r.clock.AwaitWaiter(t.Context()); err != nil { // asleep after the first cycle
		t.Fatal(err)
	}
	r.log.Fail(errors.New("the disk is full"))
	r.src.mu.Lock()
	r.src.script = append(r.src.script, r.src.rows(1, "b"))
	r.src.mu.Unlock()
	r.next(t)
	if d := r.next(t); d != 30*time.Second {
		t.Fatalf("waits %v, want the back-off", d)
	}
	if s := r.Status(); s.LastStatus != "error" && s.ConsecutiveFailures == 0 {
		t.Errorf("status %+v", s)
	}
	_ = r.stop()
	if len(r.src.acked) != 1 || r.src.acked[0] != "a" {
		t.Errorf("acked %q: rows that are not in the log were confirmed", r.src.acked)
	}
	if s, _ := r.cursors.Saved(); s.Cursor != "a" {
		t.Errorf("cursor %q", s.Cursor)
	}
}

func TestPanicOfAKindStaysInside(t *testing.T) {
	r := start(t, func(s *scripted) {
		s.script = []func() (connectors.Read, error){func() (connectors.Read, error) { panic("index out of range") }, s.rows(1, "a"), end}
	})
	if d := r.next(t); d != 30*time.Second {
		t.Errorf("waits %v", d)
	}
	if d := r.next(t); d != time.Second {
		t.Errorf("waits %v", d)
	}
	if r.log.Rows() != 1 {
		t.Errorf("%d rows after the panic", r.log.Rows())
	}
}

func TestNoCursorNoStart(t *testing.T) {
	cursors := &connectorstest.Cursors{}
	cursors.Fail(errors.New("bucket is gone"))
	src := &scripted{}
	d, err := connectors.NewDriver(
		connectors.Kind{Name: "scripted", New: func(connectors.Definition, connectors.Env) (connectors.Source, error) { return src, nil }},
		connectors.Definition{Name: "s"}, connectors.DriverOptions{Log: &connectorstest.Log{}, Cursors: cursors})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); err == nil || len(src.opened) > 0 {
		t.Errorf("Run = %v, opened %d times", err, len(src.opened))
	}
	if _, err := connectors.NewDriver(connectors.Kind{Name: "ingest"}, connectors.Definition{}, connectors.DriverOptions{}); err == nil {
		t.Error("a kind without New was driven")
	}
}

// ticker is a subscription: its reads never end.
type ticker struct {
	scripted
	n int
}

func (s *ticker) Connected() bool { return true }
func (s *ticker) Read(ctx context.Context) (connectors.Read, error) {
	if s.n == 3 {
		<-ctx.Done()
		return connectors.Read{}, ctx.Err()
	}
	s.n++
	return connectors.Read{Messages: []connectors.Message{{Data: []byte(strconv.Itoa(s.n)), Rows: 1}}, Skipped: 1}, nil
}

func TestSubscriptionKeepsItsCountersAtTheEnd(t *testing.T) {
	cursors, log := &connectorstest.Cursors{}, &connectorstest.Log{}
	src := &ticker{}
	d, err := connectors.NewDriver(
		connectors.Kind{Name: "ticker", New: func(connectors.Definition, connectors.Env) (connectors.Source, error) { return src, nil }},
		connectors.Definition{Name: "s"}, connectors.DriverOptions{Log: log, Cursors: cursors})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	for d.Status().EventsEmittedTotal < 3 {
		select {
		case err := <-done:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	if _, writes := cursors.Saved(); writes != 0 {
		t.Errorf("%d writes while the cursor did not move", writes)
	}
	cancel()
	<-done
	if s, writes := cursors.Saved(); writes != 1 || s.EventsEmittedTotal != 3 || s.EnvelopeSkippedTotal != 3 {
		t.Errorf("saved %+v in %d writes", s, writes)
	}
}

package connectorstest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/streamsforge/streamsforge/connectors"
)

// Start is where fake clocks begin.
var Start = time.UnixMilli(1_700_000_000_000).UTC()

// Clock is a hand-driven clock. With Auto it jumps to whatever is waited for, so that a paced component runs as fast
// as it can while its time passes.
type Clock struct {
	Auto bool

	mu      sync.Mutex
	now     time.Time
	waiting []waiter
	arrived chan struct{} // closed and replaced when somebody starts to wait
}

type waiter struct {
	until time.Time
	ready chan struct{}
}

var _ connectors.Clock = (*Clock)(nil)

// NewClock returns a clock that stands at Start.
func NewClock() *Clock { return &Clock{now: Start, arrived: make(chan struct{})} }

// Now returns the time the clock stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Wait returns when the clock has been moved to the given time.
func (c *Clock) Wait(ctx context.Context, until time.Time) error {
	c.mu.Lock()
	if c.Auto && ctx.Err() == nil && until.After(c.now) {
		c.now = until
	}
	if !until.After(c.now) {
		c.mu.Unlock()
		return ctx.Err()
	}
	w := waiter{until, make(chan struct{})}
	c.waiting = append(c.waiting, w)
	close(c.arrived)
	c.arrived = make(chan struct{})
	c.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		c.waiting = slices.DeleteFunc(c.waiting, func(x waiter) bool { return x.ready == w.ready })
		c.mu.Unlock()
		return ctx.Err()
	}
}

// Advance moves the clock and wakes whoever waits for a time up to then.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.waiting = slices.DeleteFunc(c.waiting, func(w waiter) bool {
		if w.until.After(c.now) {
			return false
		}
		close(w.ready)
		return true
	})
}

// AwaitWaiter blocks until somebody waits and returns the earliest time waited for.
func (c *Clock) AwaitWaiter(ctx context.Context) (time.Time, error) {
	for {
		c.mu.Lock()
		if len(c.waiting) > 0 {
			first := slices.MinFunc(c.waiting, func(a, b waiter) int { return a.until.Compare(b.until) })
			c.mu.Unlock()
			return first.until, nil
		}
		arrived := c.arrived
		c.mu.Unlock()
		select {
		case <-arrived:
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

package connectors

import (
	"context"
	"time"
)

// Clock is the time a component lives by. Tests give it a hand-driven one.
type Clock interface {
	Now() time.Time
	// Wait returns nil at the given time, or ctx.Err() when it is told to stop before.
	Wait(ctx context.Context, until time.Time) error
}

// SystemClock is the machine's clock.
type SystemClock struct{}

var _ Clock = SystemClock{}

// Now returns the present time with its monotonic reading.
func (SystemClock) Now() time.Time { return time.Now() }

// Wait sleeps until the given time or until ctx ends.
func (SystemClock) Wait(ctx context.Context, until time.Time) error {
	d := time.Until(until)
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

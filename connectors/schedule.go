package connectors

import (
	"fmt"
	"time"
)

// DefaultInterval is the schedule of a polled source that states none, MinIntervalMs the shortest that is accepted.
const (
	DefaultInterval = 30 * time.Second
	MinIntervalMs   = 1000
)

// Ticker says when a polled source runs next.
type Ticker interface {
	// Next returns the first run after a cycle that ended at the given time.
	Next(after time.Time) time.Time
	// Retry returns the first run at or after the end of a back-off. A calendar schedule does not run between its
	// occurrences, so it skips to the next one.
	Retry(backoffEnd time.Time) time.Time
}

// Every is a fixed interval, counted from the end of the last cycle.
type Every time.Duration

// Next adds the interval.
func (e Every) Next(after time.Time) time.Time { return after.Add(time.Duration(e)) }

// Retry is the end of the back-off itself.
func (e Every) Retry(backoffEnd time.Time) time.Time { return backoffEnd }

// Problems returns what is wrong with a schedule. No schedule at all is right and means DefaultInterval.
func (s *Schedule) Problems() []string {
	switch {
	case s == nil:
		return nil
	case s.Cron != nil && s.IntervalMs != nil:
		return []string{"connector.schedule: set either cron or intervalMs, not both"}
	case s.Cron == nil && s.IntervalMs == nil:
		return []string{"connector.schedule: set cron or intervalMs, or leave schedule out for every 30 s"}
	case s.IntervalMs != nil && *s.IntervalMs < MinIntervalMs:
		return []string{fmt.Sprintf("connector.schedule.intervalMs is %d: it must be at least %d", *s.IntervalMs, MinIntervalMs)}
	}
	return nil
}

// Backoff is the wait after the k-th failure in a row: first, doubled each time, capped.
type Backoff struct{ First, Cap time.Duration }

// DefaultBackoff is 30 s, 60 s, 120 s and so on up to 15 minutes.
var DefaultBackoff = Backoff{First: 30 * time.Second, Cap: 15 * time.Minute}

// After returns the wait after the k-th failure in a row, counted from 1.
func (b Backoff) After(k int) time.Duration {
	d := b.First
	for ; k > 1 && d < b.Cap; k-- {
		d *= 2
	}
	return min(d, b.Cap)
}

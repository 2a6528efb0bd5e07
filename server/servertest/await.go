package servertest

import (
	"testing"
	"time"
)

// Await polls a condition until it holds and fails the test after the limit. The condition returns "" when it
// holds, else what it sees.
func Await(t testing.TB, limit time.Duration, what string, cond func() string) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		if last = cond(); last == "" {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%s: not within %s: %s", what, limit, last)
		case <-tick.C:
		}
	}
}

package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits on failed logins. Only failures count: a client that knows its password is never slowed down. The name is
// limited together with the address, so that nobody can lock someone else out from afar.
const (
	failuresPerLogin   = 10 // at once, for one name from one address
	failuresPerAddress = 50 // at once, for one address
	failureInterval    = 3 * time.Second
	maxThrottled       = 20_000
)

type throttle struct {
	mu    sync.Mutex
	seen  map[string]*rate.Limiter
	limit rate.Limit
}

func newThrottle() *throttle {
	return &throttle{seen: map[string]*rate.Limiter{}, limit: rate.Every(failureInterval)}
}

func keys(username, address string) [2]string {
	return [2]string{"a" + address, "u" + address + "\x00" + username}
}

// wait is how long a login must wait, 0 when it may be tried.
func (t *throttle) wait(username, address string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var longest time.Duration
	for _, k := range keys(username, address) {
		if l, ok := t.seen[k]; ok {
			if missing := 1 - l.TokensAt(now); missing > 0 {
				longest = max(longest, time.Duration(missing*float64(failureInterval)))
			}
		}
	}
	return longest
}

// failed notes a failure.
func (t *throttle) failed(username, address string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seen) >= maxThrottled {
		t.forget(now)
	}
	for i, k := range keys(username, address) {
		l, ok := t.seen[k]
		if !ok {
			burst := failuresPerAddress
			if i == 1 {
				burst = failuresPerLogin
			}
			l = rate.NewLimiter(t.limit, burst)
			t.seen[k] = l
		}
		l.AllowN(now, 1)
	}
}

// forget drops everyone who has waited long enough; when that is nobody, everyone: memory stays bounded and an
// attack from that many addresses is not stopped by counting.
func (t *throttle) forget(now time.Time) {
	for k, l := range t.seen {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(t.seen, k)
		}
	}
	if len(t.seen) >= maxThrottled {
		clear(t.seen)
	}
}

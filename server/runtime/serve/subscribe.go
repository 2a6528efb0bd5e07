package serve

import (
	"context"
	"sync"
)

// queued is how many deltas a subscriber may be behind. It is a second of a loaded clock; a full queue ends the
// subscription, because dropping single deltas would make its rows wrong.
const queued = 1024

// Subscription is a reader that follows a table without a gap.
type Subscription struct {
	// View is the rows from which the deltas go on.
	View *View

	s     *Store
	ch    chan Change
	once  sync.Once
	ended chan struct{}
	err   error
}

// Subscribe takes the present rows and every delta after them. The caller closes it.
func (s *Store) Subscribe() *Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := &Subscription{View: s.view(), s: s, ch: make(chan Change, queued), ended: make(chan struct{})}
	s.subs[sub] = struct{}{}
	return sub
}

func (s *Store) offer(sub *Subscription, c Change) {
	select {
	case sub.ch <- c:
	default:
		s.dropped++
		delete(s.subs, sub)
		sub.end(ErrSlow)
	}
}

func (sub *Subscription) end(err error) {
	sub.once.Do(func() {
		sub.err = err
		close(sub.ended)
	})
}

// Next returns the next delta. ErrSlow and ErrReplaced mean: subscribe again; deltas that were queued before the end
// are still returned first.
func (sub *Subscription) Next(ctx context.Context) (Change, error) {
	select {
	case c := <-sub.ch:
		return c, nil
	default:
	}
	select {
	case c := <-sub.ch:
		return c, nil
	case <-sub.ended:
		return Change{}, sub.err
	case <-ctx.Done():
		return Change{}, ctx.Err()
	}
}

// Close ends the subscription.
func (sub *Subscription) Close() {
	sub.s.mu.Lock()
	delete(sub.s.subs, sub)
	sub.s.mu.Unlock()
	sub.end(ErrEnded)
}

// End closes every subscription with a reason: the table is gone, or another store has taken its place.
func (s *Store) End(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.subs {
		sub.end(reason)
		delete(s.subs, sub)
	}
}

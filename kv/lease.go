package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// MinLease is the shortest time to live that the server can keep.
const MinLease = time.Second

// Leases give one owner at a time the right to something, for instance to be the worker of a table. A lease ends when
// it is not renewed for its time to live, so a process that died or is cut off loses it.
//
// A lease is a hint, not a proof: a process that was asleep may believe in one that has ended. Its token settles it: a
// number that is greater for every later owner, and that the owner writes into everything that it appends.
type Leases struct {
	bucket string
	js     jetstream.JetStream
	kv     jetstream.KeyValue
	ttl    time.Duration
}

// holder is the stored value.
type holder struct {
	Owner string `json:"owner"`
	Token uint64 `json:"token,omitempty"` // 0 in the first revision, whose number is the token
}

// OpenLeases opens a bucket of leases with a time to live of at least a second. A lease bucket holds nothing else.
func OpenLeases(ctx context.Context, js jetstream.JetStream, bucket string, ttl time.Duration, o Options) (*Leases, error) {
	if ttl < MinLease {
		return nil, fmt.Errorf("open leases %s: a time to live of %v is below %v", bucket, ttl, MinLease)
	}
	kv, err := open(ctx, js, jetstream.KeyValueConfig{Bucket: bucket, History: 1, LimitMarkerTTL: MinLease, Replicas: o.Replicas, Storage: storage(o.Memory)})
	if err != nil {
		return nil, err
	}
	return &Leases{bucket: bucket, js: js, kv: kv, ttl: ttl}, nil
}

// Lease is the right of one owner, until it is lost or released. It is safe for use by several goroutines.
type Lease struct {
	ls    *Leases
	Key   string
	Owner string
	// Token is the fencing number: greater than that of every earlier owner of the key.
	Token uint64

	mu       sync.Mutex
	revision uint64
	lost     bool
}

// Acquire takes a lease that nobody holds. A [*HeldError] says who does.
func (ls *Leases) Acquire(ctx context.Context, key, owner string) (*Lease, error) {
	for {
		rev, err := ls.kv.Create(ctx, key, encodeHolder(holder{Owner: owner}), jetstream.KeyTTL(ls.ttl))
		if err == nil {
			return &Lease{ls: ls, Key: key, Owner: owner, Token: rev, revision: rev}, nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return nil, fmt.Errorf("acquire lease %q: %w", key, err)
		}
		h, rev, err := ls.get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			continue // It ended in between.
		}
		if err != nil {
			return nil, err
		}
		return nil, &HeldError{Key: key, Owner: h.Owner, Token: tokenOf(h, rev)}
	}
}

// Seize takes a lease whoever holds it: for a process that knows in another way that it is alone, as the one that holds
// the lock on the data directory. The old owner finds out at its next renewal.
func (ls *Leases) Seize(ctx context.Context, key, owner string) (*Lease, error) {
	for {
		l, err := ls.Acquire(ctx, key, owner)
		var held *HeldError
		if !errors.As(err, &held) {
			return l, err
		}
		_, rev, err := ls.get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		next, err := ls.write(ctx, key, holder{Owner: owner}, rev)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("seize lease %q: %w", key, err)
		}
		return &Lease{ls: ls, Key: key, Owner: owner, Token: next, revision: next}, nil
	}
}

// Holder says who holds a lease. ErrNotFound says that nobody does.
func (ls *Leases) Holder(ctx context.Context, key string) (owner string, token uint64, err error) {
	h, rev, err := ls.get(ctx, key)
	if err != nil {
		return "", 0, err
	}
	return h.Owner, tokenOf(h, rev), nil
}

// Renew makes the lease last for its time to live from now on. ErrLost says that it has ended or belongs to somebody
// else; any other error leaves it open.
func (l *Lease) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return l.lostError()
	}
	rev, err := l.ls.write(ctx, l.Key, holder{Owner: l.Owner, Token: l.Token}, l.revision)
	if errors.Is(err, ErrConflict) {
		// The renewal before may have been stored although its acknowledgement was lost.
		h, now, gerr := l.ls.get(ctx, l.Key)
		if gerr == nil && tokenOf(h, now) == l.Token {
			l.revision = now
			return nil
		}
		if gerr != nil && !errors.Is(gerr, ErrNotFound) {
			return gerr
		}
		l.lost = true
		return l.lostError()
	}
	if err != nil {
		return fmt.Errorf("renew lease %q: %w", l.Key, err)
	}
	l.revision = rev
	return nil
}

func (l *Lease) lostError() error {
	return fmt.Errorf("lease %q of %q (token %d): %w", l.Key, l.Owner, l.Token, ErrLost)
}

// Keep renews the lease three times in its time to live, until ctx ends (whose error it returns) or the lease is lost:
// ErrLost is also the answer when no renewal succeeded for as long as the lease lasts.
func (l *Lease) Keep(ctx context.Context) error {
	t := time.NewTicker(l.ls.ttl / 3)
	defer t.Stop()
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
		began := time.Now()
		rctx, cancel := context.WithDeadline(ctx, renewed.Add(l.ls.ttl))
		err := l.Renew(rctx)
		cancel()
		switch {
		case err == nil:
			renewed = began
		case errors.Is(err, ErrLost):
			return err
		case time.Since(renewed) >= l.ls.ttl:
			return fmt.Errorf("%w: no renewal for %v: %w", l.lostError(), l.ls.ttl, err)
		}
	}
}

// Release gives the lease back, so that the next owner need not wait. A lease that is lost already is no error.
func (l *Lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return nil
	}
	err := l.ls.kv.Delete(ctx, l.Key, jetstream.LastRevision(l.revision))
	var api *jetstream.APIError
	if err != nil && (!errors.As(err, &api) || !isWrongRevision(api)) {
		return fmt.Errorf("release lease %q: %w", l.Key, err)
	}
	l.lost = true
	return nil
}

// write is a put with a fresh time to live, which the client library offers only for the first value.
func (ls *Leases) write(ctx context.Context, key string, h holder, revision uint64) (uint64, error) {
	ack, err := ls.js.Publish(ctx, "$KV."+ls.bucket+"."+key, encodeHolder(h), jetstream.WithMsgTTL(ls.ttl), jetstream.WithExpectLastSequencePerSubject(revision))
	var api *jetstream.APIError
	if errors.As(err, &api) && isWrongRevision(api) {
		return 0, ErrConflict
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

func (ls *Leases) get(ctx context.Context, key string) (holder, uint64, error) {
	e, err := ls.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted) {
		return holder{}, 0, fmt.Errorf("lease %q: %w", key, ErrNotFound)
	}
	if err != nil {
		return holder{}, 0, fmt.Errorf("lease %q: %w", key, err)
	}
	var h holder
	if err := json.Unmarshal(e.Value(), &h); err != nil {
		return holder{}, 0, fmt.Errorf("lease %q: %w", key, err)
	}
	return h, e.Revision(), nil
}

func tokenOf(h holder, revision uint64) uint64 {
	if h.Token == 0 {
		return revision
	}
	return h.Token
}

func encodeHolder(h holder) []byte {
	b, err := json.Marshal(h)
	if err != nil {
		panic("BUG: a lease holder is always JSON: " + err.Error())
	}
	return b
}

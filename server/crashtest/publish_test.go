package crashtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/server/servertest"
)

// load publishes transfers from several connections until the server goes away, and remembers every
// acknowledgement: sequence and the id of the message's first row.
type load struct {
	nextID *atomic.Int64
	clock  *atomic.Int64 // event time: one millisecond a row, so that windows close as rows go on
	mu     sync.Mutex
	acked  map[uint64]int64
	wg     sync.WaitGroup
	stop   chan struct{}
	errs   []error
}

func newLoad(nextID, clock *atomic.Int64) *load {
	return &load{nextID: nextID, clock: clock, acked: map[uint64]int64{}, stop: make(chan struct{})}
}

// connect opens a NATS connection as an external client.
func connect(p *servertest.Process, user, password string) (*nats.Conn, error) {
	return nats.Connect(p.NATS, nats.UserInfo(user, password), nats.CustomInboxPrefix("_INBOX_"+user), nats.NoReconnect(), nats.Timeout(10*time.Second))
}

func (l *load) start(t *testing.T, p *servertest.Process, publishers int, seed uint64) {
	t.Helper()
	for n := range publishers {
		nc, err := connect(p, "admin", "admin123!")
		if err != nil {
			t.Fatalf("connect publisher %d: %v", n, err)
		}
		l.wg.Go(func() {
			defer nc.Close()
			if err := l.publish(nc, int64(n), rand.New(rand.NewPCG(seed, uint64(n)))); err != nil {
				l.mu.Lock()
				l.errs = append(l.errs, fmt.Errorf("publisher %d: %w", n, err))
				l.mu.Unlock()
			}
		})
	}
}

func (l *load) publish(nc *nats.Conn, p int64, rnd *rand.Rand) error {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(256))
	if err != nil {
		return err
	}
	var pending []pendingAck
	defer func() { l.collect(pending) }()
	for {
		select {
		case <-l.stop:
			return nil
		default:
		}
		body, first := l.message(p, rnd)
		f, err := js.PublishAsync("sf.default.source."+sourceName, body, jetstream.WithStallWait(time.Second))
		switch {
		case errors.Is(err, nats.ErrConnectionClosed) || nc.IsClosed() || errors.Is(err, jetstream.ErrTooManyStalledMsgs):
			return nil // the server was killed
		case err != nil:
			return err
		}
		pending = append(pending, pendingAck{f, first})
		if len(pending) > 512 {
			pending = l.collect(pending)
		}
	}
}

type pendingAck struct {
	f  jetstream.PubAckFuture
	id int64
}

// collect takes the acknowledgements that have arrived and returns the rest.
func (l *load) collect(pending []pendingAck) []pendingAck {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := pending[:0]
	for _, a := range pending {
		select {
		case ack := <-a.f.Ok():
			l.acked[ack.Sequence] = a.id
		case <-a.f.Err():
		default:
			rest = append(rest, a)
		}
	}
	return rest
}

// message makes one to five transfers.
func (l *load) message(p int64, rnd *rand.Rand) ([]byte, int64) {
	var b bytes.Buffer
	n := 1 + rnd.IntN(5)
	first := int64(0)
	for i := range n {
		id := l.nextID.Add(1)
		if i == 0 {
			first = id
		}
		from := rnd.IntN(accounts)
		row, err := json.Marshal(transfer{
			ID: id, Src: account(from), Dst: account(from + 1 + rnd.IntN(accounts-1)),
			Amount: 1 + rnd.Int64N(1000), P: p, I: id, Ts: l.clock.Add(1),
		})
		if err != nil {
			panic(err)
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.Write(row)
	}
	return b.Bytes(), first
}

// wait ends the publishers (gracefully when the server still runs) and reports unexpected errors.
func (l *load) wait(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.wg.Wait()
	for _, err := range l.errs {
		t.Error(err)
	}
}

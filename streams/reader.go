package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// ReadOptions of a [Reader].
type ReadOptions struct {
	// MaxMessages and MaxBytes bound what is under way to this reader; 0 means 2,048 messages and 16 MiB. A single
	// larger message is still delivered.
	MaxMessages int
	MaxBytes    int
	// Bulk is for readers that are far behind: they share connections of their own, so that a backfill does not delay
	// the readers at the head.
	Bulk bool
	// Until ends the reader: Next returns io.EOF when everything up to this sequence was read. 0 means never.
	Until uint64
	// Gaps makes missing messages nothing special, for streams from which single messages are deleted.
	Gaps bool
}

const (
	defaultReadMessages = 2048
	defaultReadBytes    = 16 << 20
	pullExpiry          = 30 * time.Second
	pullHeartbeat       = 2 * time.Second
	// lostAfter is the silence after which the consumer counts as gone: the server promises a heartbeat in between.
	lostAfter = 5 * time.Second
	// consumerIdle is how long the server keeps a consumer nobody asks; a slow reader's is made again on demand.
	consumerIdle = 2 * time.Minute
	// statusRoom is for the few messages without a row.
	statusRoom = 64
)

// Reader reads a stream from a position on. Its consumer on the server holds no state that matters: the position is
// here, and a lost consumer is replaced by another from the same position. A Reader is used by one goroutine, except
// for Stop.
type Reader struct {
	st   *Stream
	opts ReadOptions
	next uint64 // the sequence that comes next; 0 until the first retained one is known

	held    *Msg  // a message behind a gap, which is passed after the gap was reported
	pending error // what the next call reports, after the batch before it was passed

	in       chan *nats.Msg // nil without a consumer
	conn     *nats.Conn
	inbox    string
	consumer string
	expect   uint64 // consumer sequence of the next message
	under    int    // messages that were asked for and have not come
	asked    uint64 // number of requests
	timer    *time.Timer

	stop    chan struct{}
	stopped sync.Once
	mu      sync.Mutex
	release func() // frees the consumer; guarded by mu, as Stop may come from elsewhere
}

// Read starts reading at the sequence from; 0 means the first retained message, whichever that is. Nothing is asked
// of the server before the first Next.
func (st *Stream) Read(from uint64, o ReadOptions) *Reader {
	o.MaxMessages = or(o.MaxMessages, defaultReadMessages)
	o.MaxBytes = or(o.MaxBytes, defaultReadBytes)
	return &Reader{st: st, opts: o, next: from, stop: make(chan struct{})}
}

// Position is the sequence that the next message will have at least.
func (r *Reader) Position() uint64 { return r.next }

// Next returns the messages that have arrived, at least one, and waits when there is none. The slice and the messages
// belong to the caller. Errors a caller may act on: a [*GapError] says what is missing, and the following call goes
// on behind it; an [*AheadError] says that the position was never written; io.EOF says that Until was reached;
// ErrNotFound says that the stream was deleted (or deleted and made again); ErrClosed says that Stop was called or
// the server closed.
func (r *Reader) Next(ctx context.Context) ([]Msg, error) {
	if err := r.pending; err != nil {
		r.pending = nil
		return nil, err
	}
	if r.held != nil {
		m := *r.held
		r.held, r.next = nil, m.Seq+1
		return []Msg{m}, nil
	}
	for !r.done() {
		if err := r.open(ctx); err != nil {
			return nil, err
		}
		if err := r.ask(); err != nil {
			return nil, err
		}
		m, err := r.receive(ctx)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue // The consumer was lost; open makes another.
		}
		batch, err := r.take(m)
		if len(batch) == 0 && err == nil {
			continue
		}
		if len(batch) > 0 {
			r.pending = err
			return batch, r.ask()
		}
		return nil, err
	}
	r.Stop()
	return nil, io.EOF
}

func (r *Reader) done() bool { return r.opts.Until > 0 && r.next > r.opts.Until }

// receive waits for one message of the server. Nil says that the consumer is gone.
func (r *Reader) receive(ctx context.Context) (*nats.Msg, error) {
	select {
	case m := <-r.in:
		return m, nil
	default:
	}
	if r.timer == nil {
		r.timer = time.NewTimer(lostAfter)
	} else {
		r.timer.Reset(lostAfter)
	}
	defer r.timer.Stop()
	select {
	case m := <-r.in:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.stop:
		return nil, ErrClosed
	case <-r.st.s.quit:
		return nil, ErrClosed
	case <-r.timer.C:
		r.drop()
		return nil, nil
	}
}

// take turns what has arrived into a batch. It ends before a gap, which it returns as the error.
func (r *Reader) take(m *nats.Msg) ([]Msg, error) {
	batch := make([]Msg, 0, len(r.in)+1)
	for {
		if isStatus(m) {
			if r.status(m) {
				r.drop()
				return batch, nil
			}
		} else {
			seq, cseq, stored, err := parseAck(m.Reply)
			if err != nil {
				return batch, fmt.Errorf("read stream %s: %w", r.st.name, err)
			}
			if cseq != r.expect {
				r.drop() // The connection lost messages; the new consumer starts at next.
				return batch, nil
			}
			r.expect++
			r.under--
			msg := Msg{Seq: seq, TimeMs: stored / int64(time.Millisecond), Subject: m.Subject, Header: m.Header, Data: m.Data}
			if r.next != 0 && seq > r.next && !r.opts.Gaps {
				gap := &GapError{Stream: r.st.name, From: r.next, First: seq}
				r.held, r.next = &msg, seq
				if r.done() {
					r.held = nil
				}
				return batch, gap
			}
			r.next = seq + 1
			if r.opts.Until > 0 && seq > r.opts.Until {
				return batch, nil
			}
			batch = append(batch, msg)
			if r.done() {
				return batch, nil
			}
		}
		select {
		case m = <-r.in:
		default:
			return batch, nil
		}
	}
}

// open makes the consumer, unless there is one. It finds out what is missing at the start of the stream, so that a
// reader of an empty or trimmed stream does not wait for the next append to learn it.
func (r *Reader) open(ctx context.Context) error {
	if r.in != nil {
		return nil
	}
	select {
	case <-r.stop:
		return ErrClosed
	default:
	}
	in, err := r.st.s.streamInfo(ctx, r.st.name, "")
	if err != nil {
		return err
	}
	if got := in.Config.Metadata[metaIncarnation]; got != r.st.incarnation {
		return fmt.Errorf("read stream %s: incarnation %s was replaced by %s: %w", r.st.name, r.st.incarnation, got, ErrNotFound)
	}
	s := stateOf(in)
	switch {
	case r.next == 0:
		r.next = s.First
	case r.next > s.Last+1:
		return &AheadError{Stream: r.st.name, From: r.next, Last: s.Last}
	case r.next < s.First && r.opts.Gaps:
		r.next = s.First
	case r.next < s.First:
		gap := &GapError{Stream: r.st.name, From: r.next, First: s.First}
		r.next = s.First
		return gap
	}
	return r.subscribe(ctx)
}

func (r *Reader) subscribe(ctx context.Context) error {
	r.consumer, r.inbox = "r-"+nuid.Next(), nats.NewInbox()
	var resp struct {
		Error *jetstream.APIError `json:"error"`
	}
	req, err := json.Marshal(map[string]any{
		"stream_name": r.st.name,
		"action":      "create",
		"config": jetstream.ConsumerConfig{
			Name: r.consumer, AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next,
			InactiveThreshold: consumerIdle, MemoryStorage: true, Replicas: 1,
		},
	})
	if err != nil {
		return fmt.Errorf("read stream %s: %w", r.st.name, err)
	}
	if err := r.st.s.request(ctx, "CONSUMER.CREATE."+r.st.name+"."+r.consumer, string(req), &resp); err != nil {
		return fmt.Errorf("read stream %s: create a consumer: %w", r.st.name, err)
	}
	if resp.Error != nil {
		return fmt.Errorf("read stream %s: create a consumer: %w", r.st.name, apiError(resp.Error))
	}
	in := make(chan *nats.Msg, 2*r.opts.MaxMessages+statusRoom)
	shared := r.st.s.readers.take(r.opts.Bulk)
	sub, err := shared.conn.ChanSubscribe(r.inbox+".*", in)
	if err != nil {
		r.st.s.readers.give(shared)
		return r.closedOr(err)
	}
	remove := "$JS.API.CONSUMER.DELETE." + r.st.name + "." + r.consumer
	release := func() {
		_ = sub.Unsubscribe()
		_ = shared.conn.Publish(remove, nil) // Without it the server forgets the consumer by itself, later.
		r.st.s.readers.give(shared)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.stop:
		release()
		return ErrClosed
	default:
	}
	r.release = release
	r.in, r.conn, r.expect, r.under = in, shared.conn, 1, 0
	return nil
}

// ask keeps requests under way as long as the caller takes what arrives, so that the server never waits for one. Two
// halves of the window make that seamless. The server serves requests in turn, so only their sum is known.
func (r *Reader) ask() error {
	n := max(r.opts.MaxMessages/2, 1)
	for r.in != nil && !r.done() && len(r.in)+r.under+n <= max(r.opts.MaxMessages, n) {
		r.asked++
		// A request that comes out even at its byte limit ends without a word about the messages it has left; with
		// limits that differ, messages of one size do not run into that again and again.
		bytes := max(r.opts.MaxBytes/2, r.st.s.opts.MaxPayload+2*headerRoom) + int(r.asked%4093)
		req := fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"expires":%d,"idle_heartbeat":%d}`, n, bytes, pullExpiry, pullHeartbeat)
		err := r.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+r.st.name+"."+r.consumer, r.inbox+"."+strconv.FormatUint(r.asked, 10), req)
		if err != nil {
			return r.closedOr(err)
		}
		r.under += n
	}
	return nil
}

// status reads a message without a row: a heartbeat, or the end of a request. It says whether the consumer is lost.
func (r *Reader) status(m *nats.Msg) (lost bool) {
	switch code := m.Header.Get("Status"); code {
	case "100":
		return false
	case "408", "409":
		// The request ended early: at its time, at its byte limit, or because the consumer or the server goes away.
		left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
		r.under = max(r.under-left, 0)
		return err != nil || code == "409" && !strings.Contains(m.Header.Get("Description"), "MaxBytes")
	default: // 503: nobody answers for this consumer.
		return true
	}
}

// drop forgets the consumer. What it had under way is discarded; the next one begins at the same position.
func (r *Reader) drop() {
	r.in = nil
	r.free()
}

// Stop ends the reader and frees its consumer. It may be called from another goroutine and more than once; a waiting
// Next returns ErrClosed. Whoever made a reader stops it.
func (r *Reader) Stop() {
	r.stopped.Do(func() { close(r.stop) })
	r.free()
}

func (r *Reader) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

func (r *Reader) closedOr(err error) error {
	if r.st.s.isClosed() {
		return ErrClosed
	}
	return fmt.Errorf("read stream %s: %w", r.st.name, err)
}

func isStatus(m *nats.Msg) bool {
	return len(m.Data) == 0 && m.Header != nil && !strings.HasPrefix(m.Reply, "$JS.ACK.")
}

// parseAck reads the reply subject of a delivered message:
// $JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<stored, ns>.<pending>[.<random>].
func parseAck(reply string) (seq, cseq uint64, stored int64, err error) {
	const v1, v2 = 9, 11
	var tokens [v2 + 2]string
	n := 0
	for rest := reply; n < len(tokens); n++ {
		head, tail, more := strings.Cut(rest, ".")
		if tokens[n] = head; !more {
			n++
			break
		}
		rest = tail
	}
	at := 5 // of the stream sequence
	switch {
	case n < v1 || n == v1+1 || tokens[0] != "$JS" || tokens[1] != "ACK":
		return 0, 0, 0, fmt.Errorf("%q is not the reply subject of a delivered message", reply)
	case n >= v2:
		at = 7
	}
	var errs [3]error
	seq, errs[0] = strconv.ParseUint(tokens[at], 10, 64)
	cseq, errs[1] = strconv.ParseUint(tokens[at+1], 10, 64)
	stored, errs[2] = strconv.ParseInt(tokens[at+2], 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return 0, 0, 0, fmt.Errorf("reply subject %q: %w", reply, err)
	}
	return seq, cseq, stored, nil
}

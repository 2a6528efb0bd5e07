package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// Commit is an append that may still be under way.
type Commit struct {
	j           *Journal
	kind        EntryKind
	entry       part // of the last message
	first, last uint64
	messages    []*nats.Msg

	future jetstream.PubAckFuture // of a single message; replaced when it is sent again, under the journal's lock
	done   chan struct{}
	err    error // valid when done is closed
}

// Done is closed when it is known whether the entry is stored.
func (c *Commit) Done() <-chan struct{} { return c.done }

// Seq is the sequence of the entry's last message, once it is stored.
func (c *Commit) Seq() uint64 { return c.last }

// Wait returns the sequence of the entry's last message as soon as it is stored. ErrFenced says that it never will
// be. When ctx ends first, the outcome is still open.
func (c *Commit) Wait(ctx context.Context) (seq uint64, err error) {
	select {
	case <-c.done:
		return c.last, c.err
	default:
	}
	timeout := time.NewTimer(c.j.st.s.opts.AckTimeout)
	defer timeout.Stop()
	ok, failed := c.signals()
	select {
	case <-c.done:
	case <-ok:
		c.j.mu.Lock()
		c.j.acked(c)
		c.j.mu.Unlock()
	case err := <-failed:
		return c.resolve(ctx, err)
	case <-timeout.C:
		return c.resolve(ctx, nats.ErrTimeout)
	case <-c.j.st.s.quit:
		return 0, ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return c.last, c.err
}

func (c *Commit) signals() (<-chan *jetstream.PubAck, <-chan error) {
	c.j.mu.Lock()
	defer c.j.mu.Unlock()
	if c.future == nil {
		return nil, nil
	}
	return c.future.Ok(), c.future.Err()
}

func (c *Commit) resolve(ctx context.Context, cause error) (uint64, error) {
	c.j.mu.Lock()
	defer c.j.mu.Unlock()
	if err := c.j.resolve(ctx, c, cause); err != nil {
		return 0, err
	}
	return c.last, c.err
}

func (c *Commit) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *Commit) size() (n int) {
	for _, m := range c.messages {
		n += len(m.Data)
	}
	return n
}

// enqueue sends a commit behind everything that is under way. An entry of several messages is stored when it returns.
func (j *Journal) enqueue(ctx context.Context, c *Commit) error {
	expect := j.last
	j.pending = append(j.pending, c)
	j.last = c.last
	if err := j.transmit(ctx, c, expect); err != nil {
		return j.resolve(ctx, c, err)
	}
	return nil
}

// transmit sends the messages of a commit, which expects the stream to end at a sequence.
func (j *Journal) transmit(ctx context.Context, c *Commit, expect uint64) (err error) {
	if len(c.messages) > 1 {
		c.future = nil
		if _, err := j.send.batch(ctx, c.messages, expect); err != nil {
			return err
		}
		j.acked(c)
		return nil
	}
	m := *c.messages[0] // A message that was sent has a reply subject and cannot be sent again.
	m.Header = fenced(m.Header, expect)
	c.future, err = j.send.publish(&m)
	return err
}

func fenced(h nats.Header, expect uint64) nats.Header {
	f := make(nats.Header, len(h)+1)
	for k, v := range h {
		f[k] = v
	}
	f[jetstream.ExpectedLastSeqHeader] = []string{strconv.FormatUint(expect, 10)}
	return f
}

// acked books a commit as stored, and with it everything before: each one expected its predecessor.
func (j *Journal) acked(c *Commit) {
	for len(j.pending) > 0 && j.pending[0].last <= c.last {
		p := j.pending[0]
		j.pending = j.pending[1:]
		j.stored = p.last
		if p.kind != Base {
			// The server's time of the entry is not in the acknowledgement; the tail of an open journal has none.
			j.tail = stored(p.entry, Msg{Seq: p.last})
			j.tail.BaseSeq = j.baseSeq
		}
		p.messages = nil
		close(p.done)
	}
}

// fail ends the journal: nothing under way will be stored by it, and nothing more is accepted.
func (j *Journal) fail(err error) error {
	j.failed = fmt.Errorf("append to journal %s: %w", j.st.name, err)
	for _, c := range j.pending {
		c.err = j.failed
		c.messages = nil
		close(c.done)
	}
	j.pending = nil
	return j.failed
}

// Pauses between two looks at the tail.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// resolve finds out what became of the commits under way, when c was not acknowledged: by the tail, read through the
// leader. It returns nil when c is done. The lock is held throughout: nobody may append meanwhile.
func (j *Journal) resolve(ctx context.Context, c *Commit, cause error) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		switch {
		case c.isDone():
			return nil
		case j.failed != nil:
			return j.failed
		case !unknown(cause):
			return j.fail(cause)
		}
		if err := j.readTail(ctx); err != nil {
			if fatal(err) {
				return j.fail(err)
			}
			cause = err
		} else if c.isDone() {
			return nil
		} else if cause = j.resend(ctx, c); cause == nil {
			return nil
		}
		if err := j.st.s.pause(ctx, pause); err != nil {
			return err
		}
	}
}

// readTail books the commits that the stream's tail proves to be stored.
func (j *Journal) readTail(ctx context.Context) error {
	s, err := j.st.State(ctx)
	switch {
	case err != nil:
		return err
	case s.Last < j.stored:
		return fmt.Errorf("%w: the stream was deleted or made again (it ends at %d, %d was stored)", ErrFenced, s.Last, j.stored)
	case s.Last == j.stored:
		return nil
	}
	m, err := j.st.Get(ctx, s.Last)
	if err != nil {
		return err
	}
	p, err := parsePart(m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	if p.writer != j.writer {
		return fmt.Errorf("%w: message %d is of term %d and epoch %d; this writer has term %d", ErrFenced, m.Seq, p.Term, p.Epoch, j.term)
	}
	var newest *Commit
	for _, c := range j.pending {
		if c.last <= s.Last {
			newest = c
		}
	}
	if newest != nil {
		j.acked(newest)
	}
	return nil
}

// resend sends everything that is not stored once more, in order, and waits for c. A copy that is still on its way
// does no harm: whichever comes second finds the wrong last sequence.
func (j *Journal) resend(ctx context.Context, c *Commit) error {
	expect := j.stored
	for _, p := range append([]*Commit(nil), j.pending...) {
		if err := j.transmit(ctx, p, expect); err != nil {
			return err
		}
		expect = p.last
	}
	if c.isDone() {
		return nil
	}
	timeout := time.NewTimer(j.st.s.opts.AckTimeout)
	defer timeout.Stop()
	select {
	case <-c.future.Ok():
		j.acked(c)
		return nil
	case err := <-c.future.Err():
		return err
	case <-timeout.C:
		return nats.ErrTimeout
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits between two attempts.
func (s *Server) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unknown says whether an append with this outcome may or may not be stored, so that the tail decides. Every other
// answer of the server is a refusal.
func unknown(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return slices.Contains(openErrors, api.ErrorCode)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	return !fatal(err) && !errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, nats.ErrMaxPayload)
}

// openErrors are the answers that do not say whether the message is stored, or that pass by themselves.
var openErrors = []jetstream.ErrorCode{
	jetstream.JSErrCodeStreamWrongLastSequence,
	jetstream.JSErrCodeStreamWrongLastSequenceConstant, // The same, found against a write in flight.
	errTooManyRequests,
	jetstreamext.JSErrCodeBatchPublishIncomplete,
	jetstreamext.JSErrCodeAtomicPublishTooManyInflight,
}

// fatal says whether a failed look at the tail ends the journal.
func fatal(err error) bool {
	return errors.Is(err, ErrFenced) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrClosed)
}

// jsSender sends over the commit connection.
type jsSender struct{ s *Server }

func (t jsSender) publish(m *nats.Msg) (jetstream.PubAckFuture, error) {
	return t.s.commitJS.PublishMsgAsync(m, jetstream.WithStallWait(t.s.opts.AckTimeout))
}

// batchAckBytes is how much of an atomic batch is sent between two answers: the ingest queue of a stream drops what
// is above 128 MiB.
const batchAckBytes = 16 << 20

func (t jsSender) batch(ctx context.Context, msgs []*nats.Msg, expect uint64) (uint64, error) {
	every := max(1, batchAckBytes/max(1, len(msgs[0].Data)))
	b, err := jetstreamext.NewBatchPublisher(t.s.commitJS, jetstreamext.BatchFlowControl{AckFirst: true, AckEvery: every, AckTimeout: t.s.opts.AckTimeout})
	if err != nil {
		return 0, err
	}
	for i, m := range msgs {
		out := &nats.Msg{Subject: m.Subject, Data: m.Data, Header: make(nats.Header, len(m.Header)+3)}
		for k, v := range m.Header {
			out.Header[k] = v
		}
		var opts []jetstreamext.BatchMsgOpt
		if i == 0 {
			opts = append(opts, jetstreamext.WithBatchExpectLastSequence(expect))
		}
		if i < len(msgs)-1 {
			if err := b.AddMsg(out, opts...); err != nil {
				return 0, err
			}
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, t.s.opts.AckTimeout)
		defer cancel()
		ack, err := b.CommitMsg(ctx, out, opts...)
		if err != nil {
			return 0, err
		}
		return ack.Sequence, nil
	}
	return 0, jetstreamext.ErrEmptyBatch
}

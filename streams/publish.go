package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Publish appends a message and waits until it is stored. It is for streams with many writers (sources, lifecycle);
// a stream with one writer is appended to through its [Journal].
func (st *Stream) Publish(ctx context.Context, data []byte, h nats.Header) (seq uint64, err error) {
	a, err := st.PublishAsync(ctx, data, h)
	if err != nil {
		return 0, err
	}
	return a.Wait(ctx)
}

// PublishTo is Publish on another subject of the stream, for streams that hold several.
func (st *Stream) PublishTo(ctx context.Context, subject string, data []byte, h nats.Header) (seq uint64, err error) {
	a, err := st.publish(ctx, subject, data, h)
	if err != nil {
		return 0, err
	}
	return a.Wait(ctx)
}

// PublishAsync sends a message and returns before it is stored. Messages of one goroutine are stored in the order of
// the calls. At most about a thousand are under way on a server; further calls wait. The data belongs to the stream
// until [Ack.Wait] returns.
func (st *Stream) PublishAsync(ctx context.Context, data []byte, h nats.Header) (*Ack, error) {
	return st.publish(ctx, st.subject, data, h)
}

func (st *Stream) publish(ctx context.Context, subject string, data []byte, h nats.Header) (*Ack, error) {
	if len(data) > st.s.opts.MaxPayload {
		return nil, fmt.Errorf("publish %d bytes to %s: %w", len(data), subject, ErrTooLarge)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := st.s.ingestJS.PublishMsgAsync(&nats.Msg{Subject: subject, Data: data, Header: h}, jetstream.WithStallWait(st.s.opts.AckTimeout))
	if err != nil {
		return nil, st.publishError(err)
	}
	return &Ack{st: st, future: f}, nil
}

// Ack is the pending acknowledgement of one message.
type Ack struct {
	st     *Stream
	future jetstream.PubAckFuture
}

// Wait returns the sequence of the stored message. For a repeated Nats-Msg-Id it is the sequence of the first one.
// When ctx ends first, it is unknown whether the message will be stored.
func (a *Ack) Wait(ctx context.Context) (seq uint64, err error) {
	select {
	case ok := <-a.future.Ok():
		return ok.Sequence, nil
	case err := <-a.future.Err():
		return 0, a.st.publishError(err)
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-a.st.s.quit:
		return 0, ErrClosed
	}
}

// ErrBusy says that the server has taken in more than it could store and refused the message; the caller slows down
// and tries again.
var ErrBusy = errors.New("the stream takes in more than it can store")

func (st *Stream) publishError(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && api.ErrorCode == errTooManyRequests, errors.Is(err, jetstream.ErrTooManyStalledMsgs):
		err = fmt.Errorf("%w (%w)", ErrBusy, err)
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		err = fmt.Errorf("%w (%w)", ErrNotFound, err)
	case st.s.isClosed():
		err = ErrClosed
	}
	return fmt.Errorf("publish to stream %s: %w", st.name, err)
}

package intake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/streamsforge/streamsforge/streams"
)

// Headers of the messages that the intake writes. Those of a source message tell a recovery what is published.
const (
	headerMsgID       = "Nats-Msg-Id"
	headerContentType = "Content-Type"
	// HeaderEntry is the state beside the rows of a write-ahead message.
	HeaderEntry = "Sf-Entry"
	// HeaderIngest names the write-ahead message that a source message was made of: <incarnation>:<sequence>.
	HeaderIngest = "Sf-Ingest"
	// HeaderPush names an inline push and the part of it: <push>:<part>/<parts>.
	HeaderPush = "Sf-Push"
	// HeaderTotals are the counters of the source after this part of an inline push.
	HeaderTotals = "Sf-Totals"
	// HeaderReplay names the quarantine entry that a source message was made of: <incarnation>:<sequence>.
	HeaderReplay = "Sf-Replay"
)

// headerRoom is kept free in every message for its headers.
const headerRoom = 4 << 10

// attempt bounds one try to append; the next one has the same id.
const attempt = 5 * time.Second

// outgoing is one message to append.
type outgoing struct {
	data        []byte
	id          string // "" gets one
	contentType string
	header      nats.Header // further headers; nil for none
}

func (o *outgoing) headers() nats.Header {
	h := o.header
	if h == nil {
		h = nats.Header{}
	}
	if o.id == "" {
		o.id = nuid.Next()
	}
	h.Set(headerMsgID, o.id)
	if o.contentType != "" {
		h.Set(headerContentType, o.contentType)
	}
	return h
}

// publish appends one message and waits for it. While the outcome is unknown or the log is busy it tries again with
// the same id, which the log stores once; it gives up when ctx ends or when trying again cannot help.
func publish(ctx context.Context, st *streams.Stream, o outgoing) (seq uint64, err error) {
	h := o.headers()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		try, cancel := context.WithTimeout(ctx, attempt)
		seq, err = st.Publish(try, o.data, h)
		cancel()
		if err == nil {
			return seq, nil
		}
		if ctx.Err() != nil || final(err) {
			return 0, fmt.Errorf("append to stream %s: %w", st.Name(), err)
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return 0, fmt.Errorf("append to stream %s: %w", st.Name(), err)
		}
	}
}

// final reports whether trying again cannot help.
func final(err error) bool {
	return errors.Is(err, streams.ErrNotFound) || errors.Is(err, streams.ErrTooLarge) || errors.Is(err, streams.ErrClosed)
}

// publishAll appends messages in order, several under way at once, and returns the sequence of the last one. When one
// fails, it and those behind it are appended again one by one; the ids keep what was stored from being stored twice.
func publishAll(ctx context.Context, st *streams.Stream, ms []outgoing) (seq uint64, err error) {
	if len(ms) == 1 {
		return publish(ctx, st, ms[0])
	}
	acks := make([]*streams.Ack, 0, len(ms))
	for i := range ms {
		a, err := st.PublishAsync(ctx, ms[i].data, ms[i].headers())
		if err != nil {
			break
		}
		acks = append(acks, a)
	}
	try, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	done := 0
	for _, a := range acks {
		if seq, err = a.Wait(try); err != nil {
			break
		}
		done++
	}
	for ; done < len(ms); done++ {
		if seq, err = publish(ctx, st, ms[done]); err != nil {
			return 0, err
		}
	}
	return seq, nil
}

// scan reads the headers of a stream from a position up to its present end.
func scan(ctx context.Context, st *streams.Stream, from uint64, visit func(m streams.Msg)) error {
	s, err := st.State(ctx)
	if err != nil {
		return err
	}
	from = max(from, s.First)
	if from > s.Last {
		return nil
	}
	r := st.Read(from, streams.ReadOptions{Until: s.Last, Gaps: true, Bulk: true})
	defer r.Stop()
	for r.Position() <= s.Last {
		ms, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, m := range ms {
			visit(m)
		}
	}
	return nil
}

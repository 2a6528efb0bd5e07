package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/streams"
)

type options struct {
	url, user, password, env, source string
	rows, first, seed                int64
	perMessage, window               int
	bad, rate                        float64
	acks                             string
	timeout                          time.Duration
}

func (o options) check() error {
	switch {
	case o.rows < 0 || o.first < 0:
		return errors.New("-rows and -first must not be negative")
	case o.perMessage < 1 || o.window < 1:
		return errors.New("-per-message and -window must be at least 1")
	case !(o.bad >= 0 && o.bad <= 100):
		return errors.New("-bad is a percentage: 0..100")
	case !(o.rate >= 0):
		return errors.New("-rate must not be negative")
	}
	return nil
}

// report is what the client prints.
type report struct {
	Source     string         `json:"source"`
	Rows       int64          `json:"rows"` // in acknowledged messages, the bad ones included
	Bad        int64          `json:"bad"`  // of these, rows that cannot be decoded
	Messages   int64          `json:"messages"`
	FirstSeq   uint64         `json:"firstSeq"`
	LastSeq    uint64         `json:"lastSeq"`
	Bytes      int64          `json:"bytes"`
	Seconds    float64        `json:"seconds"`
	RowsPerSec float64        `json:"rowsPerSec"`
	Expected   map[string]sum `json:"expected"` // by symbol, what the acknowledged good rows add up to
	Error      string         `json:"error,omitempty"`
}

// sent is a message on its way.
type sent struct {
	future jetstream.PubAckFuture
	first  int64
	rows   int
	size   int
}

// run publishes and waits for every answer. It stops at the first failure; the report then covers what was
// acknowledged.
func run(ctx context.Context, o options) report {
	r := report{Source: o.source, Expected: map[string]sum{}}
	if err := publish(ctx, o, &r); err != nil {
		r.Error = err.Error()
	}
	return r
}

func publish(ctx context.Context, o options, r *report) (err error) {
	nc, err := nats.Connect(o.url, nats.Name("loadclient"), nats.UserInfo(o.user, o.password), nats.NoReconnect(), nats.Timeout(o.timeout),
		nats.CustomInboxPrefix(streams.InboxPrefix(o.user)))
	if err != nil {
		return fmt.Errorf("connect to %s as %s: %w", o.url, o.user, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(o.window))
	if err != nil {
		return err
	}
	log, err := openAcks(o.acks)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.close()) }()

	start := time.Now()
	under := make(chan sent, o.window)
	done := make(chan error, 1)
	sending, stop := context.WithCancel(ctx)
	go func() {
		defer stop() // after a failure nothing more is sent
		done <- collect(under, o, log, r)
	}()
	sendErr := send(sending, js, o, start, under)
	close(under)
	err = <-done
	if err == nil || sendErr != nil && ctx.Err() == nil && !errors.Is(sendErr, context.Canceled) {
		err = errors.Join(err, sendErr)
	}
	r.Seconds = time.Since(start).Seconds()
	if r.Seconds > 0 {
		r.RowsPerSec = float64(r.Rows) / r.Seconds
	}
	return err
}

func send(ctx context.Context, js jetstream.JetStream, o options, start time.Time, under chan<- sent) error {
	subject := streams.SourceSubject(o.env, o.source)
	for n := int64(0); n < o.rows; {
		count := int(min(int64(o.perMessage), o.rows-n))
		m := message(o, o.first+n, count)
		m.Subject = subject
		if err := pace(ctx, o, start, n); err != nil {
			return err
		}
		f, err := js.PublishMsgAsync(m, jetstream.WithStallWait(o.timeout))
		if err != nil {
			return fmt.Errorf("publish rows from %d on: %w", o.first+n, err)
		}
		select {
		case under <- sent{f, o.first + n, count, len(m.Data)}:
		case <-ctx.Done():
			return ctx.Err()
		}
		n += int64(count)
	}
	return nil
}

// pace waits until row n is due.
func pace(ctx context.Context, o options, start time.Time, n int64) error {
	if o.rate == 0 {
		return ctx.Err()
	}
	wait := time.Until(start.Add(time.Duration(float64(n) / o.rate * float64(time.Second))))
	if wait <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// message holds rows as one object, or as NDJSON when there are several: a broken line breaks no other.
func message(o options, first int64, count int) *nats.Msg {
	m := &nats.Msg{Data: make([]byte, 0, count*(rowBytes+1)), Header: nats.Header{}}
	for i := range int64(count) {
		if i > 0 {
			m.Data = append(m.Data, '\n')
		}
		at := len(m.Data)
		if m.Data = appendRow(m.Data, o.seed, first+i); isBad(o.bad, first+i) {
			m.Data = m.Data[:at+badBytes]
		}
	}
	if count > 1 {
		m.Header.Set("Content-Type", "application/x-ndjson")
	} else {
		m.Header.Set("Content-Type", "application/json")
	}
	return m
}

// collect takes the answers in the order of the messages.
func collect(under <-chan sent, o options, log *acks, r *report) error {
	timer := time.NewTimer(o.timeout)
	defer timer.Stop()
	for s := range under {
		timer.Reset(o.timeout)
		select {
		case ack := <-s.future.Ok():
			if err := log.add(ack.Sequence, s.first, s.rows); err != nil {
				return err
			}
			r.count(o, ack.Sequence, s)
		case err := <-s.future.Err():
			return fmt.Errorf("rows from %d on were not acknowledged: %w", s.first, err)
		case <-timer.C:
			return fmt.Errorf("rows from %d on were not acknowledged in %v", s.first, o.timeout)
		}
	}
	return nil
}

func (r *report) count(o options, seq uint64, s sent) {
	if r.FirstSeq == 0 {
		r.FirstSeq = seq
	}
	r.LastSeq = max(r.LastSeq, seq)
	r.Messages++
	r.Rows += int64(s.rows)
	r.Bytes += int64(s.size)
	for n := s.first; n < s.first+int64(s.rows); n++ {
		if isBad(o.bad, n) {
			r.Bad++
			continue
		}
		x := rowAt(o.seed, n)
		e := r.Expected[x.symbol]
		e.Count, e.Qty, e.Cents = e.Count+1, e.Qty+x.qty, e.Cents+x.cents
		r.Expected[x.symbol] = e
	}
}

// acks is the file of acknowledged messages; nil when none is wanted.
type acks struct {
	f *os.File
	w *bufio.Writer
}

func openAcks(path string) (*acks, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &acks{f, bufio.NewWriter(f)}, nil
}

func (a *acks) add(seq uint64, first int64, rows int) error {
	if a == nil {
		return nil
	}
	_, err := fmt.Fprintf(a.w, "%d %d %d\n", seq, first, rows)
	return err
}

func (a *acks) close() error {
	if a == nil {
		return nil
	}
	return errors.Join(a.w.Flush(), a.f.Close())
}

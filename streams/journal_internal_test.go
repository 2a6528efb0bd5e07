package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// open starts a server; the package of test helpers cannot be used from inside.
func open(t *testing.T, o Options) *Server {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func journalStream(t *testing.T, s *Server) *Stream {
	t.Helper()
	st, err := s.EnsureTable(t.Context(), DefaultEnv, "t", "t", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func dropStream(t *testing.T, st *Stream) {
	t.Helper()
	if err := st.s.DeleteStream(t.Context(), st.name); err != nil {
		t.Fatal(err)
	}
}

func entriesOf(t *testing.T, st *Stream) (all []Stored) {
	t.Helper()
	s, err := st.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := st.Entries(0, ReadOptions{Until: s.Last})
	defer r.Stop()
	for s.Messages > 0 {
		e, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e...)
	}
	return all
}

// summary is what a failed test shows of entries.
func summary(all []Stored) (s []string) {
	for _, e := range all {
		s = append(s, fmt.Sprintf("%v of epoch %d at %d to %d by %s", e.Kind, e.Epoch, e.First, e.Last, e.writer))
	}
	return s
}

// fault is what happens to one send.
type fault int

const (
	fine         fault = iota
	lost               // the message never reaches the server
	ackLost            // the message is stored, and the writer does not learn it
	ackLostEarly       // the writer gives up while the message is still on its way
	busy               // the server refuses, as its queue is full
)

// faulty is a sender on a bad day.
type faulty struct {
	jsSender
	next func() fault
}

// silent is the future of an acknowledgement that does not come.
type silent struct {
	msg *nats.Msg
	err chan error
}

func failed(m *nats.Msg, err error) jetstream.PubAckFuture {
	f := silent{m, make(chan error, 1)}
	f.err <- err
	return f
}

func (silent) Ok() <-chan *jetstream.PubAck { return nil }
func (f silent) Err() <-chan error          { return f.err }
func (f silent) Msg() *nats.Msg             { return f.msg }

var errBusy = &jetstream.APIError{Code: 429, ErrorCode: errTooManyRequests, Description: "too many requests"}

func (f faulty) publish(m *nats.Msg) (jetstream.PubAckFuture, error) {
	switch f.next() {
	case lost:
		return failed(m, nats.ErrTimeout), nil
	case busy:
		return failed(m, errBusy), nil
	case ackLostEarly:
		if _, err := f.jsSender.publish(m); err != nil {
			return nil, err
		}
		return failed(m, nats.ErrTimeout), nil
	case ackLost:
		sent, err := f.jsSender.publish(m)
		if err != nil {
			return nil, err
		}
		select {
		case <-sent.Ok():
		case <-sent.Err():
		}
		return failed(m, nats.ErrTimeout), nil
	default:
		return f.jsSender.publish(m)
	}
}

func (f faulty) batch(ctx context.Context, msgs []*nats.Msg, expect uint64) (uint64, error) {
	switch f.next() {
	case lost:
		return 0, nats.ErrTimeout
	case busy:
		return 0, errBusy
	case ackLost, ackLostEarly:
		if _, err := f.jsSender.batch(ctx, msgs, expect); err != nil {
			return 0, err
		}
		return 0, nats.ErrTimeout
	default:
		return f.jsSender.batch(ctx, msgs, expect)
	}
}

func TestEachFaultStoresTheEntryOnce(t *testing.T) {
	s := open(t, Options{MaxPayload: 64 << 10})
	for name, faults := range map[string][]fault{
		"fine":                        {fine},
		"message lost":                {lost},
		"message lost twice":          {lost, lost},
		"acknowledgement lost":        {ackLost},
		"acknowledgement late":        {ackLostEarly},
		"busy":                        {busy, busy, busy},
		"lost, then its answer":       {lost, ackLost},
		"late, then sent again, late": {ackLostEarly, ackLostEarly, ackLostEarly},
	} {
		for _, size := range []int{10, 200 << 10} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				st := journalStream(t, s)
				defer dropStream(t, st)
				j, err := OpenJournal(t.Context(), st, 1)
				if err != nil {
					t.Fatal(err)
				}
				i := -1
				j.send = faulty{jsSender{s}, func() fault {
					if i++; i < len(faults) {
						return faults[i]
					}
					return fine
				}}
				data := bytes.Repeat([]byte("x"), size)
				for e := range uint64(3) {
					seq, err := j.Append(t.Context(), Entry{Epoch: e + 1, Data: data})
					if err != nil {
						t.Fatal(err)
					}
					if last, ok := j.Last(); !ok || last.Last != seq || last.Epoch != e+1 {
						t.Fatalf("after epoch %d at %d the tail is %+v", e+1, seq, last)
					}
				}
				all := entriesOf(t, st)
				if len(all) != 3 {
					t.Fatalf("%d entries, want 3: %+v", len(all), summary(all))
				}
				for i, e := range all {
					if e.Epoch != uint64(i+1) || !bytes.Equal(e.Data, data) {
						t.Fatalf("entry %d is of epoch %d with %d bytes", i, e.Epoch, len(e.Data))
					}
				}
			})
		}
	}
}

// Pipelined appends under random faults: every entry is stored once, in order, and every commit tells its position.
func TestPipelinedAppendsUnderFaults(t *testing.T) {
	s := open(t, Options{MaxPayload: 64 << 10})
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			st := journalStream(t, s)
			defer dropStream(t, st)
			j, err := OpenJournal(t.Context(), st, 1)
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(seed, 1))
			j.send = faulty{jsSender{s}, func() fault {
				if rnd.IntN(4) > 0 {
					return fine
				}
				return fault(rnd.IntN(5))
			}}
			const n = 80
			var commits []*Commit
			for e := range uint64(n) {
				size := rnd.IntN(1000)
				if rnd.IntN(20) == 0 {
					size = 100 << 10
				}
				c, err := j.AppendAsync(t.Context(), Entry{Epoch: e + 1, Data: make([]byte, size)})
				if err != nil {
					t.Fatal(err)
				}
				if commits = append(commits, c); rnd.IntN(10) == 0 {
					if _, err := commits[rnd.IntN(len(commits))].Wait(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := j.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			all := entriesOf(t, st)
			if len(all) != n {
				t.Fatalf("%d entries, want %d", len(all), n)
			}
			for i, e := range all {
				if seq, err := commits[i].Wait(t.Context()); err != nil || seq != e.Last || e.Epoch != uint64(i+1) {
					t.Fatalf("entry %d of epoch %d is at %d; its commit says %d, %v", i, e.Epoch, e.Last, seq, err)
				}
			}
		})
	}
}

// A zombie that does not hear its acknowledgement must not take the other writer's entry for its own, nor its own
// lost one for stored.
func TestALostAcknowledgementBeforeAnotherWriter(t *testing.T) {
	for _, f := range []fault{lost, ackLost} {
		s := open(t, Options{})
		st := journalStream(t, s)
		old, err := OpenJournal(t.Context(), st, 1)
		if err != nil {
			t.Fatal(err)
		}
		var other error
		old.send = faulty{jsSender{s}, func() fault {
			return f
		}}
		c, err := old.AppendAsync(t.Context(), Entry{Epoch: 1, Data: []byte("old")})
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := OpenJournal(t.Context(), st, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, other = fresh.Append(t.Context(), Entry{Epoch: 2, Data: []byte("new")}); other != nil {
			t.Fatal(other)
		}
		if _, err := c.Wait(t.Context()); !errors.Is(err, ErrFenced) {
			t.Fatalf("the old writer gets %v, want ErrFenced", err)
		}
		if _, err := old.AppendAsync(t.Context(), Entry{Epoch: 3}); !errors.Is(err, ErrFenced) {
			t.Fatalf("a failed journal accepts an entry: %v", err)
		}
		all := entriesOf(t, st)
		if all[len(all)-1].Epoch != 2 {
			t.Fatalf("the last entry is of epoch %d", all[len(all)-1].Epoch)
		}
	}
}

// The outcome is open when the caller goes away; the next call finds it out.
func TestACancelledAppendIsResolvedByTheNext(t *testing.T) {
	s := open(t, Options{})
	st := journalStream(t, s)
	j, err := OpenJournal(t.Context(), st, 1)
	if err != nil {
		t.Fatal(err)
	}
	faults := []fault{lost, ackLost}
	j.send = faulty{jsSender{s}, func() fault {
		if len(faults) == 0 {
			return fine
		}
		f := faults[0]
		faults = faults[1:]
		return f
	}}
	cancelled, cancel := context.WithCancel(t.Context())
	c1, err := j.AppendAsync(t.Context(), Entry{Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := c1.resolve(cancelled, nats.ErrTimeout); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled wait: %v", err)
	}
	if seq, err := j.Append(t.Context(), Entry{Epoch: 2}); err != nil || seq != 2 {
		t.Fatalf("the next append: %d, %v", seq, err)
	}
	if seq, err := c1.Wait(t.Context()); err != nil || seq != 1 {
		t.Fatalf("the cancelled append: %d, %v", seq, err)
	}
}

// A writer that dies inside of an atomic batch leaves nothing that a reader sees or a new writer stumbles over.
func TestAWriterDiesInMidBatch(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{DataDir: dir})
	st := journalStream(t, s)
	j, err := OpenJournal(t.Context(), st, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), Entry{Epoch: 1, Data: []byte("before")}); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 3; i++ {
		m := &nats.Msg{Subject: st.subject, Data: []byte("part"), Header: nats.Header{"Nats-Batch-Id": {"dead"}, "Nats-Batch-Sequence": {fmt.Sprint(i)}}}
		if i == 1 {
			m.Header[jetstream.ExpectedLastSeqHeader] = []string{"1"}
		}
		if err := s.commits.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.commits.Flush(); err != nil {
		t.Fatal(err)
	}
	check := func(st *Stream, want ...uint64) {
		t.Helper()
		var got []uint64
		for _, e := range entriesOf(t, st) {
			got = append(got, e.Epoch)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("epochs %v, want %v", got, want)
		}
	}
	check(st, 1)
	fresh, err := OpenJournal(t.Context(), st, 2)
	if err != nil {
		t.Fatal(err)
	}
	if seq, err := fresh.Append(t.Context(), Entry{Epoch: 2}); err != nil || seq != 2 {
		t.Fatalf("the new writer: %d, %v", seq, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{DataDir: dir})
	check(journalStream(t, s), 1, 2)
}

func TestAnUnfinishedBaseIsIgnored(t *testing.T) {
	s := open(t, Options{})
	st := journalStream(t, s)
	ctx := t.Context()
	append1 := func(j *Journal, epoch uint64) {
		t.Helper()
		if _, err := j.Append(ctx, Entry{Epoch: epoch, Data: []byte("d")}); err != nil {
			t.Fatal(err)
		}
	}
	write := func(j *Journal, epoch uint64, commit bool, chunks ...string) *BaseWriter {
		t.Helper()
		b := j.BeginBase(Entry{Epoch: epoch})
		for _, c := range chunks {
			if err := b.Write(ctx, []byte(c)); err != nil {
				t.Fatal(err)
			}
		}
		if !commit {
			if err := j.Settle(ctx); err != nil {
				t.Fatal(err)
			}
		} else {
			if _, _, err := b.Commit(ctx); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	reopen := func(wantEpoch, wantBase uint64) *Journal {
		t.Helper()
		j, err := OpenJournal(ctx, st, 0)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := j.Last()
		if !ok && wantEpoch > 0 || e.Epoch != wantEpoch || j.baseSeq != wantBase {
			t.Fatalf("the tail is of epoch %d with the base at %d, want %d and %d", e.Epoch, j.baseSeq, wantEpoch, wantBase)
		}
		return j
	}
	j := reopen(0, 0)
	write(j, 1, false, "lost", "held") // 1: a first base that is never finished
	j = reopen(0, 0)
	append1(j, 1)                    // 2
	write(j, 1, true, "a", "b", "c") // 3 to 5
	j = reopen(1, 3)
	if first, err := j.Trim(ctx, 5); err != nil || first != 3 {
		t.Fatalf("trim: %d, %v", first, err)
	}
	write(j, 1, false, "lost", "held") // 6
	j = reopen(1, 3)
	append1(j, 2)                             // 7
	b := write(j, 2, false, "x", "y", "held") // 8, 9
	append1(j, 3)                             // 10
	append1(j, 4)                             // 11
	if err := b.Write(ctx, nil); err != nil { // 12
		t.Fatal(err)
	}
	j2 := reopen(4, 3)
	if _, _, err := b.Commit(ctx); err != nil { // 13
		t.Fatal(err)
	}
	_ = j2
	j = reopen(4, 8)
	b = write(j, 4, false, "given", "up", "held") // 14, 15
	b.Abort()
	if first, err := j.Trim(ctx, 100); err != nil || first != 8 {
		t.Fatalf("trim: %d, %v", first, err)
	}
	var got []string
	for _, e := range entriesOf(t, st) {
		got = append(got, fmt.Sprintf("%v%d", e.Kind, e.Epoch))
	}
	if want := "[delta3 delta4 base2]"; fmt.Sprint(got) != want {
		t.Fatalf("a reader from the base sees %v, want %s", got, want)
	}
	// An empty base is a base too: the table has no rows.
	b = j.BeginBase(Entry{Epoch: 5})
	first, last, err := b.Commit(ctx)
	if err != nil || first != last {
		t.Fatalf("an empty base is at %d to %d, %v", first, last, err)
	}
	reopen(5, first)
}

func TestTrimOlderKeepsTheNewestEntry(t *testing.T) {
	s := open(t, Options{})
	st := journalStream(t, s)
	j, err := OpenJournal(t.Context(), st, 1)
	if err != nil {
		t.Fatal(err)
	}
	for e := range uint64(5) {
		if _, err := j.Append(t.Context(), Entry{Epoch: e + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if first, err := j.TrimOlder(t.Context(), time.Now().Add(time.Hour)); err != nil || first != 5 {
		t.Fatalf("trim: %d, %v", first, err)
	}
	if first, err := j.TrimOlder(t.Context(), time.Unix(0, 0)); err != nil || first != 5 {
		t.Fatalf("trim nothing: %d, %v", first, err)
	}
}

func TestADeletedJournalFences(t *testing.T) {
	s := open(t, Options{})
	st := journalStream(t, s)
	j, err := OpenJournal(t.Context(), st, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), Entry{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteStream(t.Context(), st.name); err != nil {
		t.Fatal(err)
	}
	journalStream(t, s)
	if _, err := j.Append(t.Context(), Entry{Epoch: 2}); !errors.Is(err, ErrFenced) {
		t.Fatalf("an append to the new stream: %v, want ErrFenced", err)
	}
}

func TestAForeignMessageIsNamed(t *testing.T) {
	s := open(t, Options{})
	st := journalStream(t, s)
	if _, err := st.Publish(t.Context(), []byte("hello"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(t.Context(), st, 1); !errors.Is(err, ErrForeign) {
		t.Fatalf("open: %v, want ErrForeign", err)
	}
	if _, err := st.Entries(1, ReadOptions{}).Next(t.Context()); !errors.Is(err, ErrForeign) {
		t.Fatalf("read: %v, want ErrForeign", err)
	}
}

func TestAnEntryThatNothingCanHold(t *testing.T) {
	s := open(t, Options{MaxPayload: 64 << 10})
	st := journalStream(t, s)
	j, err := OpenJournal(t.Context(), st, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]Entry{
		"data":   {Epoch: 1, Data: make([]byte, 64<<10*maxParts+1)},
		"inputs": {Epoch: 1, Inputs: make([]Position, 30_000)},
	} {
		if _, err := j.Append(t.Context(), e); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
	if _, err := j.Append(t.Context(), Entry{Epoch: 1, Plan: "a\r\nb"}); err == nil {
		t.Error("a plan with a line break was stored")
	}
	// The largest that fits goes in one commit of a thousand messages.
	if seq, err := j.Append(t.Context(), Entry{Epoch: 1, Data: make([]byte, 64<<10*maxParts)}); err != nil || seq != maxParts {
		t.Fatalf("the largest entry: %d, %v", seq, err)
	}
}

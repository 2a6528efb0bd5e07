package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Journal is the one writer of a stream. Every append carries the sequence that the stream must end at, so an append
// happens at most once and only while nobody else has written (decisions 1 and 10):
//
//   - an acknowledgement says that the entry is stored;
//   - a wrong last sequence, or silence, says nothing, because an acknowledgement can be lost and the server checks
//     the sequence before it looks for duplicates. The journal then reads the tail through the leader: its own entry
//     there means stored, an unchanged tail means send again, and another writer's entry means [ErrFenced].
//
// A journal that has failed stays failed; its owner opens another one and starts from the tail. All methods may be
// called from several goroutines; appends are stored in the order of the calls.
type Journal struct {
	st     *Stream
	term   uint64
	writer string // names this writer in its messages; a repeated term cannot be mistaken for it
	send   sender

	mu      sync.Mutex
	last    uint64    // the sequence the stream ends at when everything under way is stored
	stored  uint64    // the sequence it is known to end at
	pending []*Commit // under way, in order
	tail    Stored    // the newest stored entry that is not a base; Last 0 when there is none
	baseSeq uint64    // first message of the newest complete base
	writing uint64    // first message of the base that is being written
	failed  error
}

// sender is how messages reach the server; tests put a faulty one in its place.
type sender interface {
	publish(m *nats.Msg) (jetstream.PubAckFuture, error)
	batch(ctx context.Context, msgs []*nats.Msg, expect uint64) (last uint64, err error)
}

// OpenJournal reads the tail of a stream and becomes its writer under a term; 0 means the term after the last one. A
// tail of a later term is ErrFenced: the caller is not the owner any more. The first append fences every older writer.
func OpenJournal(ctx context.Context, st *Stream, term uint64) (*Journal, error) {
	j := &Journal{st: st, term: term, writer: nuid.Next(), send: jsSender{st.s}}
	if err := j.load(ctx); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", st.name, err)
	}
	if term == 0 {
		j.term = j.tail.Term + 1
	} else if j.tail.Term > term {
		return nil, fmt.Errorf("open journal %s under term %d: its tail is of term %d: %w", st.name, term, j.tail.Term, ErrFenced)
	}
	return j, nil
}

// load reads where the stream ends and what its newest entry says.
func (j *Journal) load(ctx context.Context) error {
	for {
		s, err := j.st.State(ctx)
		if err != nil {
			return err
		}
		j.last, j.stored, j.tail, j.baseSeq = s.Last, s.Last, Stored{}, 0
		if s.Messages == 0 {
			return nil
		}
		m, err := j.st.Get(ctx, s.Last)
		if errors.Is(err, ErrNotFound) {
			if again, err := j.st.State(ctx); err != nil || again == s {
				return err // The last message is gone for good: positions are known, the entry is not.
			}
			continue // It was trimmed or followed by another in between.
		}
		if err != nil {
			return err
		}
		return j.setTail(ctx, m)
	}
}

// setTail takes the newest message as the tail. The messages of a base stand between the entries; behind one, the
// newest entry is the one that the base names.
func (j *Journal) setTail(ctx context.Context, m Msg) error {
	p, err := parsePart(m)
	if err != nil {
		return err
	}
	finished := p.Kind == Base && p.of > 0
	if finished {
		j.baseSeq = p.base
	}
	if p.Kind == Base && (!finished || p.commit > p.base) {
		if p.commit == 0 {
			return nil // A first base that was never finished: there is no entry yet.
		}
		if m, err = j.st.Get(ctx, p.commit); err != nil {
			return fmt.Errorf("the entry before the base at %d: %w", p.base, err)
		}
		if p, err = parsePart(m); err != nil {
			return err
		}
	}
	j.baseSeq = max(j.baseSeq, p.base)
	j.tail = stored(p, m)
	return nil
}

// stored describes an entry by its last message.
func stored(p part, m Msg) Stored {
	e := Stored{Entry: p.Entry, First: m.Seq, Last: m.Seq, TimeMs: m.TimeMs, BaseSeq: p.base, writer: p.writer}
	if p.Kind == Base {
		e.First = p.base
	} else {
		e.First -= uint64(p.n - 1)
	}
	e.Data = nil
	return e
}

// Last is the newest stored entry without its data: what the journal reflects. ok is false for an empty journal.
func (j *Journal) Last() (e Stored, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.tail, j.tail.Last > 0
}

// End is the sequence of the newest stored message.
func (j *Journal) End() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stored
}

// Term is the term under which the journal writes.
func (j *Journal) Term() uint64 { return j.term }

// Stream is the stream of the journal.
func (j *Journal) Stream() *Stream { return j.st }

// Append stores one entry and returns the sequence of its last message. It sets the term.
func (j *Journal) Append(ctx context.Context, e Entry) (seq uint64, err error) {
	c, err := j.AppendAsync(ctx, e)
	if err != nil {
		return 0, err
	}
	return c.Wait(ctx)
}

// AppendAsync sends one entry and returns before it is stored, so that the next epoch can be computed meanwhile. The
// data belongs to the journal until the commit is done. It waits when too much is under way, and, for an entry that
// is split, until everything is stored.
func (j *Journal) AppendAsync(ctx context.Context, e Entry) (*Commit, error) {
	e.Term = j.term
	if e.Kind == Base {
		return nil, fmt.Errorf("append to journal %s: a base is written by BeginBase", j.st.name)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.room(ctx, len(e.Data)); err != nil {
		return nil, err
	}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("append to journal %s: %w", j.st.name, err)
	}
	datas, err := split(e.Data, j.st.s.opts.MaxPayload)
	if err != nil {
		return nil, fmt.Errorf("append %d bytes to journal %s: %w", len(e.Data), j.st.name, err)
	}
	if len(datas) > 1 {
		// The parts become visible together, by an atomic batch. Nothing else is under way then, so that a failure
		// has one cause.
		if err := j.settle(ctx); err != nil {
			return nil, err
		}
	}
	c := &Commit{j: j, kind: e.Kind, first: j.last + 1, last: j.last + uint64(len(datas)), done: make(chan struct{})}
	for i, d := range datas {
		p := part{Entry: e, n: i + 1, of: len(datas), base: j.baseSeq, writer: j.writer}
		p.Data = d
		c.messages = append(c.messages, j.message(&p))
		c.entry = p
	}
	return c, j.enqueue(ctx, c)
}

// message is one message of an entry, ready to be sent.
func (j *Journal) message(p *part) *nats.Msg {
	return &nats.Msg{Subject: j.st.subject, Header: p.header(), Data: p.Data}
}

// Limits of what may be under way in one journal. A deeper pipeline gains nothing: the acknowledgement takes some
// 20 microseconds.
const (
	maxPending      = 64
	maxPendingBytes = 32 << 20
)

// room waits until another entry may be sent.
func (j *Journal) room(ctx context.Context, size int) error {
	for {
		if j.failed != nil {
			return j.failed
		}
		bytes := size
		for _, c := range j.pending {
			bytes += c.size()
		}
		if len(j.pending) == 0 || len(j.pending) < maxPending && bytes <= maxPendingBytes {
			return nil
		}
		if err := j.await(ctx, j.pending[0]); err != nil {
			return err
		}
	}
}

// settle waits until nothing is under way.
func (j *Journal) settle(ctx context.Context) error {
	for len(j.pending) > 0 {
		if err := j.await(ctx, j.pending[len(j.pending)-1]); err != nil {
			return err
		}
	}
	return j.failed
}

// Settle waits until everything that was appended is stored.
func (j *Journal) Settle(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.settle(ctx)
}

// await waits for one commit without the lock.
func (j *Journal) await(ctx context.Context, c *Commit) error {
	j.mu.Unlock()
	defer j.mu.Lock()
	_, err := c.Wait(ctx)
	return err
}

// Trim removes everything before a sequence, but never the newest entry, nor anything of the newest base, nor a part
// of an entry. It returns the first sequence that is kept. What dependents still need is the caller's knowledge.
func (j *Journal) Trim(ctx context.Context, before uint64) (first uint64, err error) {
	j.mu.Lock()
	keep := []uint64{j.tail.First, j.baseSeq, j.writing}
	end := j.stored
	j.mu.Unlock()
	before = min(before, end)
	for _, seq := range keep {
		if seq > 0 {
			before = min(before, seq)
		}
	}
	s, err := j.st.State(ctx)
	if err != nil {
		return 0, err
	}
	if before <= s.First {
		return s.First, nil
	}
	m, err := j.st.Get(ctx, before)
	if err != nil {
		return 0, err
	}
	p, err := parsePart(m)
	if err != nil {
		return 0, fmt.Errorf("trim journal %s: %w", j.st.name, err)
	}
	if p.Kind == Base {
		before = max(p.base, s.First)
	} else {
		before -= uint64(p.n - 1)
	}
	return max(before, s.First), j.st.Purge(ctx, before)
}

// TrimOlder is Trim for everything that was stored before a time.
func (j *Journal) TrimOlder(ctx context.Context, t time.Time) (first uint64, err error) {
	seq, err := j.st.SeqAtTime(ctx, t)
	if err != nil {
		return 0, err
	}
	return j.Trim(ctx, seq)
}

package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// QuarantineEntry is a row (or a whole message) of a source that could not be read.
type QuarantineEntry struct {
	SourceSeq   uint64 // position of the message in the source stream
	Index       int    // of the row in the message
	Stage       string // decode or coerce
	Reason      string
	ContentType string
	Payload     []byte // the original bytes

	Seq    uint64 // position in the quarantine; set when the entry is read
	TimeMs int64  // when it came there; set when the entry is read
}

// Headers of a quarantine message.
const (
	HeaderID          = "Sf-Id"          // q:<sequence>:<index>
	HeaderReason      = "Sf-Reason"      // one line
	HeaderStage       = "Sf-Stage"       // decode or coerce
	HeaderSourceSeq   = "Sf-Source-Seq"  // position of the message in the source
	HeaderIndex       = "Sf-Index"       // of the row in the message
	HeaderIncarnation = "Sf-Incarnation" // of the source
	HeaderOriginal    = "Sf-Content-Type"
)

// Subjects below the quarantine subject: the further parts of an entry that exceeds the payload limit, and the
// position that stays when the newest entry was deleted.
const (
	partSuffix = ".part"
	markSuffix = ".mark"
)

// maxReason keeps reasons, which quote the row, out of the way of the payload.
const maxReason = 1 << 10

// expireEvery is how often the age limit is applied.
const expireEvery = time.Minute

// QuarantineOptions of [OpenQuarantine].
type QuarantineOptions struct {
	// Incarnation is that of the source's stream: positions of another one do not count.
	Incarnation string
	// Retain is how long entries stay; 0 means for ever. The newest one stays longer, as it holds the position.
	Retain time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Quarantine holds the unreadable rows of one source, in the order of the source. Writing is idempotent: an entry is
// stored once, however often the source is read again, because the newest stored entry says up to where that was done.
// Two writers do no harm: each append is fenced, and both write the same. All methods may be called from several
// goroutines.
type Quarantine struct {
	st *Stream
	o  QuarantineOptions

	mu      sync.Mutex
	loaded  bool
	last    uint64 // where the stream ends
	at      rowAt  // the newest entry ever stored
	mark    uint64 // the position mark at the end of the stream; 0 when there is none
	expired time.Time
}

// rowAt is the address of a row in a source.
type rowAt struct {
	seq   uint64
	index int
}

func (a rowAt) compare(b rowAt) int {
	return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.index, b.index))
}

// OpenQuarantine works on the stream of [Server.EnsureQuarantine]. Nothing is read before it is needed.
func OpenQuarantine(st *Stream, o QuarantineOptions) *Quarantine {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Quarantine{st: st, o: o}
}

// Last is the address of the newest entry that was ever stored for this incarnation of the source. ok is false when
// there was none.
func (q *Quarantine) Last(ctx context.Context) (sourceSeq uint64, index int, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.loaded = false // Somebody else may have written.
	if err := q.load(ctx); err != nil {
		return 0, 0, false, err
	}
	return q.at.seq, q.at.index, q.at.seq > 0, nil
}

// Put stores the entries that are not stored yet, in the order of the source, and returns how many those were. It
// returns after all of them are acknowledged. The entries must be sorted by (SourceSeq, Index), and a caller must not
// leave one out that comes before another.
func (q *Quarantine) Put(ctx context.Context, entries []QuarantineEntry) (added int, err error) {
	for i := 1; i < len(entries); i++ {
		if at(&entries[i-1]).compare(at(&entries[i])) >= 0 {
			return 0, fmt.Errorf("quarantine %s: entry %d:%d comes after %d:%d", q.st.name,
				entries[i].SourceSeq, entries[i].Index, entries[i-1].SourceSeq, entries[i-1].Index)
		}
	}
	if len(entries) == 0 {
		return 0, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	first := true
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := q.load(ctx); err != nil {
			return 0, err
		}
		for len(entries) > 0 && at(&entries[0]).compare(q.at) <= 0 {
			entries = entries[1:] // Stored before, or by the attempt whose acknowledgement was lost.
		}
		if first {
			first, added = false, len(entries)
		}
		if len(entries) == 0 {
			return added, q.tidy(ctx)
		}
		err := q.append(ctx, entries)
		if err == nil {
			continue
		}
		q.loaded = false // The tail says what was stored.
		if !unknown(err) {
			return 0, fmt.Errorf("quarantine %s: %w", q.st.name, err)
		}
		if err := q.st.s.pause(ctx, pause); err != nil {
			return 0, err
		}
	}
}

func at(e *QuarantineEntry) rowAt { return rowAt{e.SourceSeq, e.Index} }

// load reads the tail, unless it is known.
func (q *Quarantine) load(ctx context.Context) error {
	if q.loaded {
		return nil
	}
	m, err := q.st.GetLast(ctx)
	if errors.Is(err, ErrNotFound) {
		s, err := q.st.State(ctx)
		if err != nil {
			return err
		}
		q.last, q.at, q.mark, q.loaded = s.Last, rowAt{}, 0, true
		return nil
	}
	if err != nil {
		return err
	}
	q.last, q.at, q.mark = m.Seq, rowAt{}, 0
	if m.Header.Get(HeaderIncarnation) == Encode(q.o.Incarnation) {
		if q.at, err = headerAt(m.Header); err != nil {
			return fmt.Errorf("quarantine %s: message %d: %w", q.st.name, m.Seq, err)
		}
	}
	if strings.HasSuffix(m.Subject, markSuffix) {
		q.mark = m.Seq
	}
	q.loaded = true
	return nil
}

func headerAt(h nats.Header) (a rowAt, err error) {
	if a.seq, err = strconv.ParseUint(h.Get(HeaderSourceSeq), 10, 64); err != nil {
		return rowAt{}, fmt.Errorf("%s: %w", HeaderSourceSeq, err)
	}
	if a.index, err = strconv.Atoi(h.Get(HeaderIndex)); err != nil {
		return rowAt{}, fmt.Errorf("%s: %w", HeaderIndex, err)
	}
	return a, nil
}

// quarantineWindow bounds what is under way: a source of nothing but bad rows comes here.
const quarantineWindow = 256

// append sends the entries, each expecting the one before, and waits for all.
func (q *Quarantine) append(ctx context.Context, entries []QuarantineEntry) error {
	send := jsSender{q.st.s}
	type sent struct {
		future jetstream.PubAckFuture
		at     rowAt
	}
	var under []sent
	last, bytes := q.last, 0
	wait := func() error {
		for _, u := range under {
			if err := await(ctx, q.st.s, u.future); err != nil {
				return err
			}
			q.last++
			q.at = u.at
		}
		under, bytes = under[:0], 0
		return nil
	}
	for i := range entries {
		e := &entries[i]
		msgs := q.messages(e)
		if len(msgs) > 1 {
			if err := wait(); err != nil {
				return err
			}
			if _, err := send.batch(ctx, msgs, last); err != nil {
				return err
			}
			last += uint64(len(msgs))
			q.last, q.at = last, at(e)
			continue
		}
		msgs[0].Header = fenced(msgs[0].Header, last)
		f, err := send.publish(msgs[0])
		if err != nil {
			return err
		}
		last++
		under = append(under, sent{f, at(e)})
		if bytes += len(e.Payload); len(under) >= quarantineWindow || bytes > maxPendingBytes {
			if err := wait(); err != nil {
				return err
			}
		}
	}
	return wait()
}

func await(ctx context.Context, s *Server, f jetstream.PubAckFuture) error {
	select {
	case <-f.Ok():
		return nil
	case err := <-f.Err():
		return err
	case <-s.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// messages are the messages of one entry: one, or several when the payload and its headers exceed the limit.
func (q *Quarantine) messages(e *QuarantineEntry) []*nats.Msg {
	h := q.header(at(e))
	h.Set(HeaderID, fmt.Sprintf("q:%d:%d", e.SourceSeq, e.Index))
	h.Set(HeaderStage, line(e.Stage))
	h.Set(HeaderReason, line(e.Reason))
	if e.ContentType != "" {
		h.Set(HeaderOriginal, line(e.ContentType))
	}
	limit := q.st.s.opts.MaxPayload
	if len(e.Payload) <= limit {
		return []*nats.Msg{{Subject: q.st.subject, Header: h, Data: e.Payload}}
	}
	// A message that arrived at the limit of the server has at most headerRoom more than that, so two parts do.
	n := (len(e.Payload) + limit - 1) / limit
	var msgs []*nats.Msg
	for i, rest := 1, e.Payload; len(rest) > 0; i++ {
		part := rest[:min(limit, len(rest))]
		rest = rest[len(part):]
		subject, ph := q.st.subject, h
		if i > 1 {
			subject, ph = subject+partSuffix, q.header(at(e))
		}
		ph.Set(HeaderPart, fmt.Sprintf("%d/%d", i, n))
		msgs = append(msgs, &nats.Msg{Subject: subject, Header: ph, Data: part})
	}
	return msgs
}

// header is what every message of the stream has: the position that it stands for.
func (q *Quarantine) header(a rowAt) nats.Header {
	h := make(nats.Header, 8)
	h.Set(HeaderSourceSeq, strconv.FormatUint(a.seq, 10))
	h.Set(HeaderIndex, strconv.Itoa(a.index))
	h.Set(HeaderIncarnation, Encode(q.o.Incarnation))
	return h
}

// line makes text fit for a header: one line of bounded length.
func line(text string) string {
	if len(text) > maxReason {
		cut := maxReason
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text))
}

// tidy removes the mark that an entry has replaced, and what is too old.
func (q *Quarantine) tidy(ctx context.Context) error {
	if q.mark > 0 && q.mark < q.last {
		if _, err := q.st.deleteMessage(ctx, q.mark); err != nil {
			return err
		}
		q.mark = 0
	}
	return q.expire(ctx)
}

// expire removes what is older than the retention, except the newest message.
func (q *Quarantine) expire(ctx context.Context) error {
	now := q.o.Now()
	if q.o.Retain <= 0 || now.Sub(q.expired) < expireEvery {
		return nil
	}
	seq, err := q.st.SeqAtTime(ctx, now.Add(-q.o.Retain))
	if err != nil {
		return err
	}
	s, err := q.st.State(ctx)
	if err != nil {
		return err
	}
	for keep := min(seq, s.Last); keep > s.First; keep-- {
		m, err := q.st.Get(ctx, keep)
		if err == nil && strings.HasSuffix(m.Subject, partSuffix) {
			continue // Not between the parts of an entry.
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err := q.st.Purge(ctx, keep); err != nil {
			return err
		}
		break
	}
	q.expired = now
	return nil
}

package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// QuarantinePage chooses entries for [Quarantine.List].
type QuarantinePage struct {
	// After lists entries with a greater Seq, the oldest first.
	After uint64
	// Newest lists the newest entries first, those with a Seq below Before (0: from the end).
	Newest bool
	Before uint64
	// Limit is how many at most; 0 means 100.
	Limit int
}

const defaultPage = 100

// List returns a page of entries, and how many there are in all.
func (q *Quarantine) List(ctx context.Context, p QuarantinePage) (entries []QuarantineEntry, total int, err error) {
	p.Limit = or(p.Limit, defaultPage)
	q.mu.Lock()
	err = q.expire(ctx)
	q.mu.Unlock()
	if err != nil {
		return nil, 0, err
	}
	if total, err = q.Count(ctx); err != nil || total == 0 {
		return nil, total, err
	}
	s, err := q.st.State(ctx)
	if err != nil {
		return nil, 0, err
	}
	if p.Newest {
		entries, err = q.newest(ctx, s, p)
	} else {
		err = q.scan(ctx, max(p.After+1, s.First), s.Last, func(e QuarantineEntry) bool {
			entries = append(entries, e)
			return len(entries) < p.Limit
		})
	}
	return entries, total, err
}

// newest reads windows from the end backwards, as the server reads only forwards.
func (q *Quarantine) newest(ctx context.Context, s State, p QuarantinePage) (entries []QuarantineEntry, err error) {
	to := s.Last
	if p.Before > 0 {
		to = min(to, p.Before-1)
	}
	for width := uint64(p.Limit); to >= s.First && to > 0 && len(entries) < p.Limit; width *= 4 {
		from := s.First
		if to > width {
			from = max(from, to-width+1)
		}
		var window []QuarantineEntry
		if err := q.scan(ctx, from, to, func(e QuarantineEntry) bool {
			window = append(window, e)
			return true
		}); err != nil {
			return nil, err
		}
		slices.Reverse(window)
		entries = append(entries, window...)
		to = from - 1
	}
	return entries[:min(len(entries), p.Limit)], nil
}

// scan calls yield for the entries in [from, to] until it returns false.
func (q *Quarantine) scan(ctx context.Context, from, to uint64, yield func(QuarantineEntry) bool) error {
	const batch, maxBytes = 256, 16 << 20
	for from <= to {
		next := from
		msgs, err := jetstreamext.GetBatch(ctx, q.st.s.js, q.st.name, batch, jetstreamext.GetBatchSeq(from),
			jetstreamext.GetBatchSubject(q.st.subject), jetstreamext.GetBatchMaxBytes(maxBytes))
		if err != nil {
			return fmt.Errorf("quarantine %s: list from %d: %w", q.st.name, from, err)
		}
		for m, err := range msgs {
			if errors.Is(err, jetstreamext.ErrNoMessages) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("quarantine %s: list from %d: %w", q.st.name, from, err)
			}
			if m.Sequence > to {
				return nil
			}
			next = m.Sequence + 1
			e, err := q.entry(ctx, Msg{Seq: m.Sequence, TimeMs: m.Time.UnixMilli(), Subject: m.Subject, Header: m.Header, Data: m.Data})
			if err != nil {
				return err
			}
			if !yield(e) {
				return nil
			}
		}
		if next == from {
			return nil
		}
		from = next
	}
	return nil
}

// Count is the number of entries.
func (q *Quarantine) Count(ctx context.Context) (int, error) {
	in, err := q.st.s.streamInfo(ctx, q.st.name, q.st.subject)
	if err != nil {
		return 0, err
	}
	return int(in.State.Subjects[q.st.subject]), nil
}

// Get reads one entry. ErrNotFound says that there is none at the position (any more).
func (q *Quarantine) Get(ctx context.Context, seq uint64) (QuarantineEntry, error) {
	m, err := q.st.Get(ctx, seq)
	if err != nil {
		return QuarantineEntry{}, err
	}
	if m.Subject != q.st.subject {
		return QuarantineEntry{}, fmt.Errorf("quarantine %s: no entry begins at %d: %w", q.st.name, seq, ErrNotFound)
	}
	return q.entry(ctx, m)
}

// entry reads the headers of a message and fetches its other parts.
func (q *Quarantine) entry(ctx context.Context, m Msg) (QuarantineEntry, error) {
	a, err := headerAt(m.Header)
	if err != nil {
		return QuarantineEntry{}, fmt.Errorf("quarantine %s: message %d: %w", q.st.name, m.Seq, err)
	}
	e := QuarantineEntry{
		SourceSeq: a.seq, Index: a.index, Seq: m.Seq, TimeMs: m.TimeMs, Payload: m.Data,
		Stage: m.Header.Get(HeaderStage), Reason: m.Header.Get(HeaderReason), ContentType: m.Header.Get(HeaderOriginal),
	}
	for i := 2; i <= parts(m.Header); i++ {
		p, err := q.st.Get(ctx, m.Seq+uint64(i-1))
		if err != nil {
			return QuarantineEntry{}, fmt.Errorf("quarantine %s: part %d of entry %d: %w", q.st.name, i, m.Seq, err)
		}
		e.Payload = append(e.Payload[:len(e.Payload):len(e.Payload)], p.Data...)
	}
	return e, nil
}

// parts is how many messages an entry has.
func parts(h nats.Header) int {
	_, of, ok := strings.Cut(h.Get(HeaderPart), "/")
	if n, err := strconv.Atoi(of); ok && err == nil {
		return n
	}
	return 1
}

// Delete removes an entry, for instance after it was replayed. It says whether there was one.
func (q *Quarantine) Delete(ctx context.Context, seq uint64) (deleted bool, err error) {
	m, err := q.st.Get(ctx, seq)
	if errors.Is(err, ErrNotFound) || err == nil && m.Subject != q.st.subject {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n := uint64(parts(m.Header))
	if err := q.keepPosition(ctx, seq+n-1); err != nil {
		return false, err
	}
	for i := n; i > 0; i-- { // The first part goes last: as long as it is there, the entry is listed.
		if deleted, err = q.st.deleteMessage(ctx, seq+i-1); err != nil {
			return false, err
		}
	}
	return deleted, nil
}

// keepPosition appends the position of the newest message when that is about to go. The append is fenced; when it
// fails, there is a newer message, and nothing to keep.
func (q *Quarantine) keepPosition(ctx context.Context, newest uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		q.loaded = false
		if err := q.load(ctx); err != nil {
			return err
		}
		if q.last != newest {
			return nil
		}
		m, err := q.st.Get(ctx, newest)
		if err != nil {
			return err
		}
		h := nats.Header{}
		for _, k := range []string{HeaderSourceSeq, HeaderIndex, HeaderIncarnation} {
			h.Set(k, m.Header.Get(k))
		}
		f, err := jsSender{q.st.s}.publish(&nats.Msg{Subject: q.st.subject + markSuffix, Header: fenced(h, newest)})
		if err != nil {
			return err
		}
		if err := await(ctx, q.st.s, f); err != nil && !unknown(err) {
			return fmt.Errorf("quarantine %s: keep the position of %d: %w", q.st.name, newest, err)
		}
	}
}

// deleteMessage removes one message. It says whether there was one.
func (st *Stream) deleteMessage(ctx context.Context, seq uint64) (bool, error) {
	var resp struct {
		Error *jetstream.APIError `json:"error"`
	}
	req, err := json.Marshal(map[string]any{"seq": seq, "no_erase": true})
	if err != nil {
		return false, err
	}
	if err := st.s.request(ctx, "STREAM.MSG.DELETE."+st.name, string(req), &resp); err != nil {
		return false, fmt.Errorf("stream %s: delete %d: %w", st.name, seq, err)
	}
	if resp.Error == nil {
		return true, nil
	}
	// The server answers a missing message with a general failure, so the message itself is the better witness.
	if _, err := st.Get(ctx, seq); errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return false, fmt.Errorf("stream %s: delete %d: %w", st.name, seq, resp.Error)
}

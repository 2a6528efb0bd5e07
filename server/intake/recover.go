package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/streams"
)

// recover makes the state in memory of what the log and the buckets hold. It runs at the start and whenever an append
// ended without an answer. Pushes that wait for rows of theirs keep waiting: their entries are found again.
func (b *buffer) recover(ctx context.Context) error {
	r, err := b.read(ctx)
	if err != nil {
		return fmt.Errorf("recover the buffer of source %q: %w", b.at.source, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	q, evicted := ingest.NewQueue(0), []ingest.Range(nil)
	if len(r.entries) > 0 {
		q = ingest.NewQueue(r.entries[0].header.Rows.From)
	}
	old := b.entries
	b.entries, b.finished = map[uint64]*entry{}, nil
	for i, e := range r.entries {
		if known := old[e.seq]; known != nil {
			known.header, known.payload, known.size = e.header, e.payload, e.size
			e = known
			r.entries[i] = known
		}
		b.entries[e.seq] = e
		evicted = append(evicted, e.header.Evict...)
		position, published := r.published[e.seq]
		if !published {
			q.Append(ingest.Entry{Seq: e.seq, Rows: e.header.Rows, Size: e.size})
			continue
		}
		if q.Empty() {
			q = ingest.NewQueue(e.header.Rows.To)
		}
		e.payload = nil
		e.leave(position)
		b.finished = append(b.finished, e)
	}
	q.Restored(evicted)
	b.restoreAnswers(r.entries)
	for seq, e := range old {
		if b.entries[seq] == nil {
			e.leave(0) // It was let go before; nobody may wait for it for ever.
		}
	}
	b.q, b.dedup, b.after, b.saved = q, r.dedup, r.after, r.stats
	b.totals = r.totals.Max(b.totals)
	// Whatever was admitted and is neither evicted nor waiting has been published.
	b.totals.Published = b.totals.Accepted - b.totals.Evicted - int64(q.Depth())
	b.broken, b.noted = nil, false
	b.left()
	return nil
}

// leave lets those go on who wait for the rows of an entry.
func (e *entry) leave(position uint64) {
	select {
	case <-e.done:
	default:
		e.position = position
		close(e.done)
	}
}

// recovered is what the log and the buckets say about a buffer.
type recovered struct {
	entries   []*entry          // of the write-ahead stream, in order
	published map[uint64]uint64 // the positions of those that are in the source's stream already
	stats     ingest.Totals     // as stored
	totals    ingest.Totals     // with what the entries add
	after     uint64
	dedup     dedup
}

func (b *buffer) read(ctx context.Context) (*recovered, error) {
	r := &recovered{}
	stats, err := b.loadStats(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.loadAnswers(ctx); err != nil {
		return nil, err
	}
	src, err := b.src.State(ctx)
	if err != nil {
		return nil, err
	}
	r.stats, r.totals, r.after = stats.Totals, stats.Totals, src.Last
	if err := b.countInline(ctx, stats, r); err != nil {
		return nil, err
	}
	_, rec, err := b.in.source(b.at.env, b.at.source)
	if err != nil {
		return nil, err
	}
	rules, err := b.rules(rec)
	if err != nil {
		return nil, err
	}
	defer rules.release()
	field, size := dedupSettings(rules.IngestConfig)
	if r.dedup, err = loadDedup(ctx, b.dkv, b.at.source, field, size); err != nil {
		return nil, err
	}
	held := 0
	r.entries, err = b.readEntries(ctx, func(e *entry) error {
		if err := r.dedup.addPayload(rules.Checker, e.payload, b.in.o.Clock.Now().UnixMilli()); err != nil {
			return fmt.Errorf("write-ahead message %d: %w", e.seq, err)
		}
		if held += e.size; held > b.in.o.maxHeld {
			e.payload = nil
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	from := src.Last + 1
	for _, e := range r.entries {
		from = min(from, e.header.After+1)
		r.totals = r.totals.Max(e.header.Totals)
	}
	r.published = map[uint64]uint64{}
	if len(r.entries) > 0 {
		if r.published, err = b.published(ctx, from); err != nil {
			return nil, err
		}
	}
	return r, b.recoverInline(ctx, r, rules.Checker)
}

// loadStats reads the stored counters. Those of an earlier source of the same name do not count, and what that one
// has left is removed.
func (b *buffer) loadStats(ctx context.Context) (storedStats, error) {
	e, err := b.kv.Get(ctx, b.statsKey())
	if errors.Is(err, kv.ErrNotFound) {
		return storedStats{CreatedAtMs: b.created}, b.saveStats(ctx, storedStats{CreatedAtMs: b.created})
	}
	if err != nil {
		return storedStats{}, err
	}
	var s storedStats
	if err := json.Unmarshal(e.Value, &s); err != nil {
		return storedStats{}, fmt.Errorf("stored counters of source %q: %w", b.at.source, err)
	}
	if s.CreatedAtMs == b.created {
		return s, nil
	}
	if err := b.in.forget(ctx, b.at); err != nil {
		return storedStats{}, err
	}
	if b.wal, err = b.in.o.Streams.EnsureIngest(ctx, b.at.env, b.at.source); err != nil {
		return storedStats{}, err
	}
	return storedStats{CreatedAtMs: b.created}, b.saveStats(ctx, storedStats{CreatedAtMs: b.created})
}

// readEntries reads the write-ahead stream and visits every message of an admitted push. The messages of a push
// without its last one are removed: the push was never admitted.
func (b *buffer) readEntries(ctx context.Context, visit func(*entry) error) ([]*entry, error) {
	s, err := b.wal.State(ctx)
	if err != nil {
		return nil, err
	}
	var out, group []*entry
	for seq := s.First; seq <= s.Last; seq++ {
		m, err := b.wal.Get(ctx, seq)
		if errors.Is(err, streams.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		h, err := ingest.ParseHeader(m.Header.Get(HeaderEntry))
		if err != nil {
			return nil, fmt.Errorf("message %d of stream %s: %w", seq, b.wal.Name(), err)
		}
		if len(group) > 0 && group[len(group)-1].header.Rows.To != h.Rows.From {
			if err := b.discard(ctx, group); err != nil {
				return nil, err
			}
			group = nil
		}
		group = append(group, &entry{seq: seq, header: h, payload: m.Data, size: len(m.Data), done: make(chan struct{})})
		if h.More {
			continue
		}
		for _, e := range group {
			if err := visit(e); err != nil {
				return nil, err
			}
		}
		out, group = append(out, group...), nil
	}
	return out, b.discard(ctx, group)
}

func (b *buffer) discard(ctx context.Context, group []*entry) error {
	if len(group) == 0 {
		return nil
	}
	st, err := b.in.o.Streams.JetStream().Stream(ctx, b.wal.Name())
	if err != nil {
		return err
	}
	for i := len(group) - 1; i >= 0; i-- {
		if err := st.DeleteMsg(ctx, group[i].seq); err != nil {
			return err
		}
	}
	return nil
}

// published finds the write-ahead messages that are in the source's stream from a position on.
func (b *buffer) published(ctx context.Context, from uint64) (map[uint64]uint64, error) {
	found := map[uint64]uint64{}
	prefix := b.wal.Incarnation() + ":"
	err := scan(ctx, b.src, from, func(m streams.Msg) {
		if rest, ok := strings.CutPrefix(m.Header.Get(HeaderIngest), prefix); ok {
			if seq, err := strconv.ParseUint(rest, 10, 64); err == nil {
				found[seq] = m.Seq
			}
		}
	})
	return found, err
}

// restoreAnswers keeps the answers that only the write-ahead messages have.
func (b *buffer) restoreAnswers(entries []*entry) {
	var group []*entry
	for _, e := range entries {
		group = append(group, e)
		if e.header.More {
			continue
		}
		if key := e.header.Idempotency; key != "" && e.header.Answer != nil && !b.answers.has(key) {
			b.answers.keep(key, *e.header.Answer, place{entries: group}, b.in.o.Clock.Now())
		}
		group = nil
	}
}

// addPayload remembers the dedup keys of rows that the log holds.
func (d *dedup) addPayload(c *ingest.Checker, payload []byte, nowMs int64) error {
	if d.window == nil {
		return nil
	}
	rows, err := ingest.SplitRows(payload)
	if err != nil {
		return err
	}
	d.add(c.Check(rows, nowMs, true, func() string { return "" }).Rows)
	return nil
}

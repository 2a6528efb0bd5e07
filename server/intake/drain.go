package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/streams"
)

// finishTimeout bounds what the drain still does after it has been told to stop.
const finishTimeout = 5 * time.Second

// moving is an entry that the drain has taken.
type moving struct {
	*entry
	live  ingest.Range
	tries int
	seq   uint64 // position of the rows in the source's stream, 0 while they are not there
}

// run moves rows until ctx ends. It wakes at once on a push; a tick of Ingest:DrainMs retries what failed and does the
// bookkeeping. When the state in memory is given up, it is read from the log again.
func (b *buffer) run(ctx context.Context) error {
	var m *moving
	var tick <-chan time.Time
	var unfinished error // of the last bookkeeping
	due := false
	for {
		var err error
		if b.isBroken() {
			m = nil
			err = b.recover(ctx)
		}
		if err == nil {
			m, err = b.drain(ctx, m)
		}
		if err == nil && due {
			unfinished = b.finish(ctx)
		}
		due = false
		if errors.Is(err, streams.ErrNotFound) {
			// One of the streams has gone; the unit makes it again and reads the log anew.
			b.giveUp(err)
			return err
		}
		b.note(errors.Join(err, unfinished))
		if tick == nil && (err != nil || b.hasBookkeeping()) {
			tick = time.After(b.in.o.Drain)
		}
		select {
		case <-ctx.Done():
			return b.close(ctx, m)
		case <-b.wake:
		case <-tick:
			tick, due = nil, true
		}
	}
}

// close moves what is left, as far as that is quickly done; the rest is found in the log at the next start.
func (b *buffer) close(ctx context.Context, m *moving) error {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if !b.isBroken() {
		if _, err := b.drain(end, m); err == nil {
			if err := b.finish(end); err != nil {
				b.log.Warn("the last bookkeeping of the buffer failed; the next start repeats it", "error", err)
			}
		}
	}
	b.giveUp(errors.New("the source is being stopped"))
	return ctx.Err()
}

// giveUp ends the buffer: it admits nothing any more.
func (b *buffer) giveUp(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = err
	b.left()
}

func (b *buffer) isBroken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken != nil
}

// note keeps why the drain does not get on, and logs it once.
func (b *buffer) note(err error) {
	b.mu.Lock()
	before := b.stuck
	b.stuck = err
	b.mu.Unlock()
	switch {
	case err != nil && before == nil && !errors.Is(err, context.Canceled):
		b.log.Warn("rows of the buffer cannot be moved to the source's stream; it is tried again", "error", err)
	case err == nil && before != nil:
		b.log.Info("rows of the buffer move again")
	}
}

func (b *buffer) hasBookkeeping() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.finished) > 0 || b.totals != b.saved
}

// drain moves every waiting entry to the source's stream, oldest first. It returns the entry that it could not move.
func (b *buffer) drain(ctx context.Context, m *moving) (*moving, error) {
	start, rows := b.in.o.Clock.Now(), 0
	defer func() {
		if d := b.in.o.Clock.Now().Sub(start).Seconds(); rows > 0 && d > 0 {
			b.mu.Lock()
			b.rate = float64(rows) / d
			b.mu.Unlock()
		}
	}()
	for {
		if m == nil {
			if m = b.take(); m == nil {
				return nil, nil
			}
		}
		if m.live.Len() > 0 {
			if err := b.move(ctx, m); err != nil {
				return m, err
			}
		}
		rows += m.live.Len()
		if b.moved(m) >= maxUnfinished {
			if err := b.finish(ctx); err != nil {
				return nil, err
			}
		}
		m = nil
	}
}

func (b *buffer) take() *moving {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return nil
	}
	e, live, ok := b.q.Take()
	if !ok {
		return nil
	}
	return &moving{entry: b.entries[e.Seq], live: live}
}

// move publishes the rows of an entry that were not evicted. From the second try on it first looks whether an earlier
// one, whose answer was lost, has stored them: the id protects for two minutes only.
func (b *buffer) move(ctx context.Context, m *moving) error {
	m.tries++
	if m.tries > 1 {
		found, err := b.published(ctx, m.header.After+1)
		if err != nil {
			return err
		}
		if at, ok := found[m.entry.seq]; ok {
			m.seq = at
			return nil
		}
	}
	payload, err := b.payload(ctx, m)
	if err == nil {
		err = b.in.at("move")
	}
	if err != nil {
		return err
	}
	id := b.mark(m.entry.seq)
	m.seq, err = publish(ctx, b.src, outgoing{
		data: payload, id: id, contentType: connectors.ContentJSON, header: nats.Header{HeaderIngest: {id}},
	})
	if err == nil {
		err = b.in.at("moved")
	}
	return err
}

// mark names a write-ahead message in the source's stream.
func (b *buffer) mark(seq uint64) string { return fmt.Sprintf("%s:%d", b.wal.Incarnation(), seq) }

func (b *buffer) payload(ctx context.Context, m *moving) ([]byte, error) {
	p := m.payload
	if p == nil {
		msg, err := b.wal.Get(ctx, m.entry.seq)
		if err != nil {
			return nil, err
		}
		p = msg.Data
	}
	if skip := m.live.From - m.header.Rows.From; skip > 0 {
		rows, err := ingest.SplitRows(p)
		if err != nil || int64(len(rows)) != m.header.Rows.To-m.header.Rows.From {
			return nil, fmt.Errorf("write-ahead message %d holds %d rows, its header says %d (%w)", m.entry.seq, len(rows), m.header.Rows.Len(), err)
		}
		p = ingest.Join(rows[skip:])
	}
	return p, nil
}

// moved takes an entry out of the buffer and returns how many wait for the bookkeeping.
func (b *buffer) moved(m *moving) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.q.Done(m.live)
	b.totals.Published += int64(m.live.Len())
	b.after = max(b.after, m.seq)
	m.payload = nil
	b.finished = append(b.finished, m.entry)
	m.leave(m.seq)
	b.left()
	return len(b.finished)
}

// storedStats are the counters of a source in the bucket.
type storedStats struct {
	CreatedAtMs int64         `json:"createdAtMs"`
	Totals      ingest.Totals `json:"totals"`
	// Inline says that inline pushes may have been counted since: their messages, which carry the counters, are above
	// After in the source's stream.
	Inline bool   `json:"inline,omitempty"`
	After  uint64 `json:"after,omitempty"`
}

func (b *buffer) statsKey() string {
	return "stats." + streams.Key(b.at.source) + "." + streams.Key(b.in.o.InstanceID)
}

// finish stores what the write-ahead messages carry beside their rows, and then lets the published ones go. The order
// is what makes a crash at any point harmless.
func (b *buffer) finish(ctx context.Context) error {
	b.mu.Lock()
	finished := b.finished
	chunks, upTo := b.dedup.unsaved(b.at.source)
	b.mu.Unlock()
	if err := b.in.at("chunks"); err != nil {
		return err
	}
	for _, c := range chunks {
		if _, err := b.dkv.Put(ctx, c.key, c.value); err != nil {
			return err
		}
	}
	if err := b.in.at("answers"); err != nil {
		return err
	}
	var keys []string
	for _, e := range finished {
		if e.header.Idempotency != "" {
			keys = append(keys, e.header.Idempotency)
		}
	}
	if err := b.saveAnswers(ctx, keys); err != nil {
		return err
	}
	if err := b.in.at("stats"); err != nil {
		return err
	}
	if err := b.settleStats(ctx); err != nil {
		return err
	}
	if err := b.in.at("purge"); err != nil {
		return err
	}
	if n := len(finished); n > 0 {
		if err := b.wal.Purge(ctx, finished[n-1].seq+1); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range finished {
		delete(b.entries, e.seq)
	}
	b.finished = append([]*entry(nil), b.finished[len(finished):]...)
	b.dedup.saved = max(b.dedup.saved, upTo)
	return nil
}

// settleStats stores the counters. The mutex is held meanwhile, so that they are not older than what an inline push
// notes beside them.
func (b *buffer) settleStats(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.saveStats(ctx, storedStats{CreatedAtMs: b.created, Totals: b.totals}); err != nil {
		return err
	}
	b.saved, b.noted = b.totals, false
	return nil
}

func (b *buffer) saveStats(ctx context.Context, s storedStats) error {
	v, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = b.kv.Put(ctx, b.statsKey(), v)
	return err
}

package runtime

import (
	"context"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// books are the counters of a source: a fold over its stream up to Seq. They are stored together with the position,
// so that after a kill they go on from there and balance: rows offered = rows + quarantined (Invariant 10).
type books struct {
	Incarnation string `json:"incarnation"`
	Seq         uint64 `json:"seq"`
	Messages    int64  `json:"messages"`
	Bytes       int64  `json:"bytes"`
	Rows        int64  `json:"rows"`
	Coerced     int64  `json:"coerced"`     // fields that became NULL
	Quarantined int64  `json:"quarantined"` // entries: rows or whole messages
	Dropped     int64  `json:"dropped"`     // of those, the ones that a coercion policy left out
	Lost        int64  `json:"lost"`        // messages that were trimmed before they were read
	LastMs      int64  `json:"lastMs"`      // when the newest message was stored
}

func (b *books) add(m *streams.Msg, rows, coerced int) {
	b.Messages++
	b.Bytes += int64(len(m.Data))
	b.Rows += int64(rows)
	b.Coerced += int64(coerced)
}

func (b *books) fail(f decode.Failure) {
	b.Quarantined++
	if f.Stage == decode.StageCoerce {
		b.Dropped++
	}
}

// merge adds what messages up to last brought.
func (b *books) merge(o books, last *streams.Msg) {
	b.Messages += o.Messages
	b.Bytes += o.Bytes
	b.Rows += o.Rows
	b.Coerced += o.Coerced
	b.Quarantined += o.Quarantined
	b.Dropped += o.Dropped
	if last.Seq > b.Seq {
		b.Seq, b.LastMs = last.Seq, last.TimeMs
	}
}

// loadBooks reads the stored books of a source; those of another incarnation count for nothing.
func (env *environment) loadBooks(ctx context.Context, name, incarnation string) (books, error) {
	b, err := env.state.loadBooks(ctx, name)
	if err != nil {
		return books{}, fmt.Errorf("source %q: read the stored counters: %w", name, err)
	}
	if b.Incarnation != incarnation {
		b = books{Incarnation: incarnation}
	}
	return b, nil
}

// saveBooks stores the books when they have changed.
func (s *source) saveBooks(ctx context.Context) error {
	s.mu.Lock()
	b := s.books
	same := b == s.stored
	s.mu.Unlock()
	if same {
		return nil
	}
	if err := s.env.state.saveBooks(ctx, s.name, b); err != nil {
		return fmt.Errorf("source %q: store the counters: %w", s.name, err)
	}
	s.mu.Lock()
	s.stored = b
	s.mu.Unlock()
	return nil
}

// Metrics of the source as the contract has them.
func (s *source) metrics(rate float64) view.SourceMetrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := view.SourceMetrics{
		SourceName: s.name, RowsTotal: s.books.Rows, RowsPerSec: rate, BytesTotal: s.books.Bytes, CoercedTotal: s.books.Coerced,
		QuarantinedTotal: s.books.Quarantined, DroppedTotal: s.books.Dropped, LastSeq: int64(s.books.Seq),
	}
	if n := len(s.recent); n > 0 {
		m.LastEventTsMs = s.recent[n-1].NewestMs
	}
	return m
}

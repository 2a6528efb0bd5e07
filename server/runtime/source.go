package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/streams"
)

const (
	// readAhead is how many rows a reader decodes before the clock has taken the ones before: enough for the next
	// epochs, not a copy of the stream.
	readAhead = 4 * clock.EpochRows
	// recentRows is how many of the newest rows of a source stay in memory for people who look at it.
	recentRows = 1000
)

// source is the one reader of a source on this process: it takes the stream from its stored position on, decodes
// every message once into segments that all workers share, writes what cannot be read to the quarantine, and keeps
// the books. The sequencer cuts its segments at the borders of epochs.
type source struct {
	env    *environment
	name   string
	log    *slog.Logger
	stream *streams.Stream
	track  *clock.Track
	quar   *streams.Quarantine

	limits streams.Limits

	cancel context.CancelFunc
	done   chan struct{}
	space  chan struct{} // signalled when the clock has taken rows

	mu      sync.Mutex
	layouts []catalog.Layout // those whose begin is known, oldest first
	reader  *layoutReader    // of the open segment
	open    segment
	closed  []*clock.Segment
	waiting int // rows in closed
	recent  []*clock.Segment
	books   books
	stored  books // as they were persisted last
	fault   string
	rate    rate
}

// segment is what has been decoded since the last cut.
type segment struct {
	from, to uint64
	marks    []clock.Mark
}

// layoutReader decodes messages of one layout.
type layoutReader struct {
	layout catalog.Layout
	dec    *decode.Decoder
}

func newLayoutReader(l catalog.Layout) *layoutReader {
	o := decode.Options{RejectUnknownFields: l.RejectUnknownFields, TimestampField: l.TimestampField, Keyed: l.Keyed, Block: decodeBlock}
	switch l.OnCoercionFailure {
	case catalog.CoerceDrop:
		o.OnCoercion = decode.DropRow
	case catalog.CoerceReject:
		o.OnCoercion = decode.RejectBatch
	}
	return &layoutReader{layout: l, dec: decode.New(catalog.Schema(l.Fields), o)}
}

// layoutAt is the layout of a position: the newest that begins at or before it.
func layoutAt(layouts []catalog.Layout, seq uint64) catalog.Layout {
	best := layouts[0]
	for _, l := range layouts[1:] {
		if l.FromSeq != 0 && l.FromSeq <= seq {
			best = l
		}
	}
	return best
}

// openSource gets ready to read a source from where the books and the clock stand. at is where the newest epoch record
// puts it.
func (env *environment) openSource(ctx context.Context, rec *catalog.SourceRecord, st *streams.Stream, at clock.Position) (*source, error) {
	var err error
	s := &source{
		env: env, name: rec.Name, stream: st, log: env.log.With("entity", rec.Name, "kind", "source"),
		space: make(chan struct{}, 1), done: make(chan struct{}), limits: env.rt.SourceLimits(rec),
	}
	s.open = segment{from: at.Seq, to: at.Seq}
	if s.books, err = env.loadBooks(ctx, s.name, st.Incarnation()); err != nil {
		return nil, err
	}
	s.stored = s.books
	if err := s.follow(ctx, rec.Layouts); err != nil {
		return nil, err
	}
	if s.quar, err = env.openQuarantine(ctx, s.name, st.Incarnation()); err != nil {
		return nil, err
	}
	if s.books.Seq == 0 {
		s.books.Incarnation = st.Incarnation()
	}
	s.track = env.clk.Track(rec.Name, at)
	return s, nil
}

// follow takes over the layouts of a definition. Where the begin of one is open, it is the next message that has not
// been read; that is stored before the first message is read with it, so that a replay reads every row as the first
// run did.
func (s *source) follow(ctx context.Context, layouts []catalog.Layout) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make([]catalog.Layout, 0, len(layouts))
	for i, l := range layouts {
		if l.FromSeq == 0 && i == 0 {
			l.FromSeq = 1
		}
		if l.FromSeq == 0 {
			if known := s.known(l.Version); known > 0 {
				l.FromSeq = known
			} else {
				l.FromSeq = max(s.open.to, s.books.Seq) + 1
				if err := s.env.rt.opt.Catalog.SetLayoutStart(ctx, s.env.name, s.name, l.Version, l.FromSeq); err != nil {
					return fmt.Errorf("source %q: store where layout %d begins: %w", s.name, l.Version, err)
				}
				s.env.noteLayout(clock.Layout{Source: s.name, Version: l.Version, From: l.FromSeq})
			}
		}
		next = append(next, l)
	}
	s.layouts = next
	return nil
}

func (s *source) known(version int64) uint64 {
	for _, l := range s.layouts {
		if l.Version == version {
			return l.FromSeq
		}
	}
	return 0
}

// Layouts are the layouts whose begin is known.
func (s *source) Layouts() []catalog.Layout {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.layouts
}

func (s *source) start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	go func() {
		defer close(s.done)
		s.run(ctx)
	}()
}

func (s *source) stop() {
	if s.cancel != nil {
		s.cancel()
		<-s.done
	}
}

// run reads until the context ends, whatever happens to the stream or the quarantine meanwhile.
func (s *source) run(ctx context.Context) {
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		began := s.env.rt.now()
		err := s.read(ctx)
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		s.fault = err.Error()
		s.mu.Unlock()
		s.log.Warn("reading a source stopped; trying again", "error", err, "position", s.position())
		if s.env.rt.now().Sub(began) > 10*time.Second {
			pause = 50 * time.Millisecond
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func (s *source) position() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.open.to, s.books.Seq)
}

func (s *source) read(ctx context.Context) error {
	r := s.stream.Read(s.position()+1, streams.ReadOptions{})
	defer r.Stop()
	for {
		msgs, err := r.Next(ctx)
		if gap := (*streams.GapError)(nil); errors.As(err, &gap) {
			s.skip(gap)
			continue
		}
		if err != nil {
			return err
		}
		if err := s.take(ctx, msgs); err != nil {
			return err
		}
	}
}

// skip notes messages that were gone before they were read. The next segment does not begin where the one before
// ended, which is how workers learn of the hole.
func (s *source) skip(gap *streams.GapError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Warn("rows of a source were trimmed before they were read", "from", gap.From, "to", gap.First-1)
	if gap.First-1 > s.open.to {
		s.close()
		s.open.from, s.open.to = gap.First-1, gap.First-1
	}
	if gap.First-1 > s.books.Seq {
		s.books.Lost += int64(gap.First - max(gap.From, s.books.Seq+1))
		s.books.Seq = gap.First - 1
	}
}

// take decodes messages in order. Those that the clock has given to an epoch already are read for the books alone,
// and those that the books have already are read for the clock alone.
func (s *source) take(ctx context.Context, msgs []streams.Msg) error {
	var bad []streams.QuarantineEntry
	count := books{}
	for i := range msgs {
		m := &msgs[i]
		s.mu.Lock()
		fresh, counted := m.Seq > s.open.to, m.Seq <= s.books.Seq
		res := s.decode(m, fresh)
		full := s.waiting+s.decoded() >= clock.EpochRows
		crowded := s.waiting >= readAhead
		s.mu.Unlock()
		if !counted {
			count.add(m, res.Rows, res.Coerced)
			for _, f := range res.Failures {
				bad = append(bad, quarantined(m, f))
				count.fail(f)
			}
		}
		if full {
			s.env.seq.Notify()
		}
		if crowded || len(bad) >= 256 {
			if err := s.settle(ctx, m, &count, &bad); err != nil {
				return err
			}
		}
		for crowded {
			select {
			case <-s.space:
			case <-ctx.Done():
				return ctx.Err()
			}
			s.mu.Lock()
			crowded = s.waiting >= readAhead
			s.mu.Unlock()
		}
	}
	if err := s.settle(ctx, &msgs[len(msgs)-1], &count, &bad); err != nil {
		return err
	}
	s.env.seq.Notify()
	return nil
}

// settle writes what could not be read to the quarantine, and only then lets the books pass it.
func (s *source) settle(ctx context.Context, last *streams.Msg, count *books, bad *[]streams.QuarantineEntry) error {
	if len(*bad) > 0 {
		if _, err := s.quar.Put(ctx, *bad); err != nil {
			return fmt.Errorf("write %d entries to the quarantine of source %q: %w", len(*bad), s.name, err)
		}
	}
	s.mu.Lock()
	s.books.merge(*count, last)
	s.fault = ""
	s.mu.Unlock()
	*count, *bad = books{}, (*bad)[:0]
	return nil
}

// decode reads one message into the open segment, or into nothing when the clock has it already.
func (s *source) decode(m *streams.Msg, fresh bool) decode.Result {
	if l := layoutAt(s.layouts, m.Seq); s.reader == nil || s.reader.layout.Version != l.Version {
		s.close()
		s.reader = newLayoutReader(l)
	}
	if !fresh {
		res := s.reader.decode(m)
		s.reader.dec.Take()
		return res
	}
	if n := s.decoded(); n > 0 && (n >= clock.EpochRows || s.reader.dec.Bytes()+len(m.Data) > clock.EpochBytes) {
		s.close()
	}
	before := s.decoded()
	res := s.reader.decode(m)
	if before > 0 && before+res.Rows > clock.EpochRows {
		// The message does not fit: it begins the next segment. Decoding it again costs less than cutting a batch.
		s.close()
		res = s.reader.decode(m)
	}
	s.open.to = m.Seq
	s.open.marks = append(s.open.marks, clock.Mark{Seq: m.Seq, StoredMs: m.TimeMs, End: int32(s.decoded())})
	return res
}

func (s *source) decoded() int {
	if s.reader == nil {
		return 0
	}
	return s.reader.dec.Len()
}

// close ends the open segment.
func (s *source) close() {
	if len(s.open.marks) == 0 {
		return
	}
	rows := int(s.open.marks[len(s.open.marks)-1].End)
	b := s.reader.dec.Take()
	if b.N > rows {
		b = zset.Slice(b, 0, rows) // a message that was tried and did not fit
	}
	g := &clock.Segment{
		Incarnation: s.stream.Incarnation(), From: s.open.from, To: s.open.to,
		Schema: s.reader.dec.Layout(), Batch: b, Marks: s.open.marks, NewestMs: newestTime(s.reader.dec.Layout(), b), Bytes: b.Bytes() + 24*len(s.open.marks),
	}
	s.closed = append(s.closed, g)
	s.waiting += b.N
	s.open = segment{from: s.open.to, to: s.open.to}
	s.keepRecent(g)
}

func (s *source) keepRecent(g *clock.Segment) {
	if g.Batch.N == 0 {
		return
	}
	s.recent = append(s.recent, g)
	n := 0
	for i := len(s.recent) - 1; i >= 0; i-- {
		if n >= recentRows {
			s.recent = slices.Delete(s.recent, 0, i+1)
			return
		}
		n += s.recent[i].Batch.N
	}
}

// Track implements clock.Source.
func (s *source) Track() *clock.Track { return s.track }

// Ready implements clock.Source.
func (s *source) Ready() (some, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.closed) > 0 || len(s.open.marks) > 0, s.waiting+s.decoded() >= clock.EpochRows
}

// Cut implements clock.Source: whole segments while they fit, the open one included.
func (s *source) Cut(rows, bytes int, first bool) (c clock.Cut, ok, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.closed) == 0 {
		s.close()
	}
	n := 0
	for len(s.closed) > 0 {
		g := s.closed[0]
		if (g.Batch.N > rows || g.Bytes > bytes) && (!first || n > 0) {
			break
		}
		rows -= g.Batch.N
		bytes -= g.Bytes
		s.waiting -= g.Batch.N
		s.closed[0] = nil
		s.closed = s.closed[1:]
		n++
		c.Segments = append(c.Segments, g)
		if len(s.closed) == 0 && s.decoded() <= rows {
			s.close()
		}
	}
	if n == 0 {
		return c, false, len(s.closed) > 0
	}
	c.Track = s.track
	c.Position = clock.Position{Incarnation: s.stream.Incarnation(), Seq: c.Segments[n-1].To}
	select {
	case s.space <- struct{}{}:
	default: // the reader knows already
	}
	return c, true, len(s.closed) > 0 || len(s.open.marks) > 0
}

var _ clock.Source = (*source)(nil)

// decode reads one message with the layout.
func (r *layoutReader) decode(m *streams.Msg) decode.Result {
	return r.dec.Append(decode.Message{Payload: m.Data, ContentType: m.Header.Get("Content-Type"), TimeMs: m.TimeMs})
}

// quarantined is the entry of a row or message that could not be read.
func quarantined(m *streams.Msg, f decode.Failure) streams.QuarantineEntry {
	return streams.QuarantineEntry{
		SourceSeq: m.Seq, Index: f.Index, Stage: f.Stage, Reason: f.Reason, ContentType: m.Header.Get("Content-Type"), Payload: f.Payload,
	}
}

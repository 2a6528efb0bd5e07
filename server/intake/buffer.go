package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// Bounds of a buffer beside its capacity in rows.
const (
	// maxBufferBytes bounds the bytes that wait: rows may be megabytes, and a capacity counts rows only.
	maxBufferBytes = 256 << 20
	// maxHeldBytes bounds what is kept in memory of them; the rest is read again when its turn comes.
	maxHeldBytes = 32 << 20
	// maxUnfinished is how many published messages may stay in the write-ahead stream before the drain stops for the
	// bookkeeping that lets them go.
	maxUnfinished = 256
)

// buffer is the push side of one ingest source. One mutex guards everything: admission is a sequence of short steps,
// and the write-ahead stream must have them in the order of the row numbers. What takes time (decoding, waiting for
// room, publishing to the source's stream) is done without it.
type buffer struct {
	in   *Intake
	at   address
	log  *slog.Logger
	src  *streams.Stream
	wal  *streams.Stream
	kv   *kv.Bucket[[]byte]
	dkv  *kv.Bucket[[]byte]
	wake chan struct{}

	created  int64
	checkers checkers
	answers  answers

	mu       sync.Mutex
	broken   error // why the state in memory is not that of the log; nil when it is
	q        *ingest.Queue
	totals   ingest.Totals
	saved    ingest.Totals // the totals that are stored
	noted    bool          // the stored totals say that inline pushes may follow
	dedup    dedup
	after    uint64            // a sequence that the source's stream has reached
	entries  map[uint64]*entry // of the write-ahead stream: waiting, being moved, or published and not yet let go
	finished []*entry          // published, oldest first
	space    chan struct{}     // closed and replaced when rows leave
	rate     float64           // rows a second of the last busy pass of the drain
	stuck    error             // why the drain does not get on; nil when it does
}

// entry is one write-ahead message.
type entry struct {
	seq      uint64
	header   ingest.Header
	payload  []byte // nil: read it from the stream
	size     int
	done     chan struct{} // closed when the rows have left the buffer
	position uint64        // of the rows in the source's stream, 0 when all were evicted; set before done is closed
}

// place is where the rows of a push are now.
type place struct {
	entries  []*entry
	position uint64 // known already
}

// wait returns the position of the last row, 0 when it is not known in time or when every row was evicted.
func (p place) wait(ctx context.Context, limit time.Duration) uint64 {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	position := p.position
	for _, e := range p.entries {
		select {
		case <-e.done:
			position = max(position, e.position)
		case <-ctx.Done():
			return 0
		}
	}
	return position
}

// errRecovering is what a push meets while the buffer finds out what the log holds.
var errRecovering = errors.New("the buffer is being recovered from the log")

func (in *Intake) openBuffer(ctx context.Context, at address, created int64, src *streams.Stream, log *slog.Logger) (*buffer, error) {
	b := &buffer{
		in: in, at: at, created: created, src: src, log: log, wake: make(chan struct{}, 1),
		space: make(chan struct{}), entries: map[uint64]*entry{}, broken: errRecovering,
	}
	var err error
	if b.wal, err = in.o.Streams.EnsureIngest(ctx, at.env, at.source); err != nil {
		return nil, err
	}
	if b.kv, err = in.bucket(ctx, at.env, "ingest"); err != nil {
		return nil, err
	}
	if b.dkv, err = in.bucket(ctx, at.env, "dedup"); err != nil {
		return nil, err
	}
	return b, b.recover(ctx)
}

// rejected counts a refused push.
func (b *buffer) rejected(invalid, rows int) {
	b.mu.Lock()
	b.totals.Invalid += int64(invalid)
	b.totals.Rejected += int64(rows)
	b.mu.Unlock()
	b.poke() // the counters are to be stored
}

func (b *buffer) poke() {
	select {
	case b.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// admission is a checked push on its way into the buffer.
type admission struct {
	cfg     connectors.IngestConfig
	events  int // rows of the push
	checked ingest.Checked
	key     string // hash of the idempotency key, "" for none
}

// admit applies the policy. Rows that were admitted have a place; a refusal has none.
func (b *buffer) admit(ctx context.Context, a admission) (view.IngestResult, place, error) {
	deadline := time.NewTimer(time.Duration(a.cfg.MaxWaitMs) * time.Millisecond)
	defer deadline.Stop()
	waited := false
	for {
		r, p, space, err := b.tryAdmit(ctx, a, waited)
		if space == nil {
			return r, p, err
		}
		select {
		case <-space:
		case <-deadline.C:
			waited = true
		case <-ctx.Done():
			b.rejected(0, a.events)
			return view.IngestResult{}, place{}, ctx.Err()
		}
	}
}

// tryAdmit makes one attempt. A channel says that the push may wait for it and try again.
func (b *buffer) tryAdmit(ctx context.Context, a admission, waited bool) (r view.IngestResult, p place, space <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		r := view.IngestResult{Outcome: view.IngestUnavailable, Error: "the rows cannot be stored now: " + b.broken.Error(), RetryAfterMs: 1000}
		return r, place{}, nil, nil
	}
	// The key was looked up before the rows were checked. A recovery that has ended since may have found that an earlier
	// try of this push, which ended without an answer, is in the log.
	if r, p, ok := b.answers.replay(a.key, b.in.o.Clock.Now()); ok {
		return r, p, nil, nil
	}
	if err := b.configure(ctx, a.cfg); err != nil {
		return r, place{}, nil, unavailable(err)
	}
	rows, duplicates := b.dedup.fresh(a.checked.Rows)
	base := ingest.Answer{Invalid: a.checked.Invalid, Duplicate: duplicates, Capacity: a.cfg.CapacityRows, RowErrors: a.checked.Errors}
	if a.cfg.Policy == connectors.Inline {
		r, p, err = b.inline(ctx, a, rows, base)
		return r, p, nil, err
	}
	groups, tooLarge := ingest.Cut(data(rows), b.in.o.Streams.MaxPayload()-headerRoom)
	if tooLarge >= 0 {
		panic("BUG: intake: a row that was checked is too large for a message")
	}
	size := 0
	for _, row := range rows {
		size += len(row.Data)
	}
	d := b.q.Decide(a.cfg.Policy, len(rows), a.cfg.CapacityRows)
	if !b.q.Empty() && b.q.Bytes()+size > b.in.o.maxBytes {
		d = ingest.Decision{}
	}
	switch {
	case d.OK:
		if d.Take < len(rows) {
			base.Dropped = len(rows) - d.Take
			rows = rows[:d.Take]
			groups, _ = ingest.Cut(data(rows), b.in.o.Streams.MaxPayload()-headerRoom)
		}
		r, p, err = b.append(ctx, a, rows, groups, d.Evict, base)
		return r, p, nil, err
	case a.cfg.Policy == connectors.Block && !waited:
		return r, p, b.space, nil
	default:
		b.totals.Rejected += int64(a.events)
		b.poke()
		return b.overloaded(a.cfg), place{}, nil, nil
	}
}

// configure follows a change of the dedup settings. The mutex is held.
func (b *buffer) configure(ctx context.Context, cfg connectors.IngestConfig) error {
	field, size := dedupSettings(cfg)
	if field == b.dedup.field && size == b.dedup.size {
		return nil
	}
	if err := b.saveChunks(ctx, &b.dedup); err != nil {
		return err
	}
	d, err := loadDedup(ctx, b.dkv, b.at.source, field, size)
	if err != nil {
		return err
	}
	b.dedup = d
	return nil
}

func data(rows []ingest.Row) [][]byte {
	out := make([][]byte, len(rows))
	for i := range rows {
		out[i] = rows[i].Data
	}
	return out
}

// tooLarge is the refusal of a push that no waiting makes smaller.
func (b *buffer) tooLarge(cfg connectors.IngestConfig, text string) view.IngestResult {
	return view.IngestResult{Outcome: view.IngestTooLarge, Error: text, CapacityRows: cfg.CapacityRows}
}

// overloaded is the refusal of a full buffer, with a guess at when there is room again.
func (b *buffer) overloaded(cfg connectors.IngestConfig) view.IngestResult {
	depth := b.q.Depth()
	seconds := 1
	switch {
	case b.stuck != nil:
		seconds = 5
	case b.rate > 0:
		seconds = int(float64(depth)/b.rate) + 1
	}
	text := fmt.Sprintf("the buffer is full: %d of %d rows wait", depth, cfg.CapacityRows)
	if b.q.Bytes() > b.in.o.maxBytes/2 {
		text = fmt.Sprintf("the buffer is full: %d rows of together %d MiB wait", depth, b.q.Bytes()>>20)
	}
	return view.IngestResult{
		Outcome: view.IngestOverloaded, Error: text, RetryAfterMs: min(max(seconds, 1), 30) * 1000,
		DepthRows: depth, CapacityRows: cfg.CapacityRows,
	}
}

// appendTimeout bounds an append to the write-ahead stream, which the caller's own context must not interrupt: half of
// a push would be stored.
const appendTimeout = 15 * time.Second

// append admits rows: it stores them in the write-ahead stream together with what must survive with them, and then
// changes the state in memory. When the outcome is unknown, the state in memory is given up and read from the log.
func (b *buffer) append(ctx context.Context, a admission, rows []ingest.Row, groups [][][]byte, evict []ingest.Range, base ingest.Answer) (view.IngestResult, place, error) {
	base.Accepted = len(rows)
	evicted := 0
	for _, r := range evict {
		evicted += r.Len()
	}
	totals := b.totals
	totals.Accepted += int64(len(rows))
	totals.Dropped += int64(base.Dropped)
	totals.Evicted += int64(evicted)
	totals.Invalid += int64(base.Invalid)
	totals.Duplicate += int64(base.Duplicate)
	totals.LastPushMs = b.in.o.Clock.Now().UnixMilli()
	base.Depth = b.q.Depth() - evicted + len(rows)
	if len(rows) == 0 {
		b.totals = totals
		b.poke()
		p := place{}
		return answerOf(base), p, b.remember(ctx, a.key, base, p)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendTimeout)
	defer cancel()
	var p place
	next := b.q.Next()
	for i, g := range groups {
		h := ingest.Header{Rows: ingest.Range{From: next, To: next + int64(len(g))}, After: b.after, Totals: totals}
		if i == 0 {
			h.Evict = evict
		}
		if h.More = i < len(groups)-1; !h.More && a.key != "" {
			h.Idempotency, h.Answer = a.key, &base
		}
		e := &entry{header: h, payload: ingest.Join(g), done: make(chan struct{})}
		e.size = len(e.payload)
		err := b.in.at("append")
		if err == nil {
			e.seq, err = publish(ctx, b.wal, outgoing{data: e.payload, header: nats.Header{HeaderEntry: {h.Encode()}}})
		}
		if err == nil {
			err = b.in.at("appended")
		}
		if err != nil {
			b.fail(err)
			return view.IngestResult{}, place{}, &view.Error{Code: view.Unavailable, Text: "the rows could not be stored; it is not known whether they will be found in the log", Err: err}
		}
		next = h.Rows.To
		p.entries = append(p.entries, e)
	}
	b.q.Evict(evict)
	for _, e := range p.entries {
		b.q.Append(ingest.Entry{Seq: e.seq, Rows: e.header.Rows, Size: e.size})
		b.entries[e.seq] = e
		if b.q.Bytes() > b.in.o.maxHeld {
			e.payload = nil
		}
	}
	b.dedup.add(rows)
	b.totals = totals
	if len(evict) > 0 {
		b.left()
	}
	b.poke()
	if a.key != "" {
		b.answers.keep(a.key, base, p, b.in.o.Clock.Now())
	}
	return answerOf(base), p, nil
}

// remember keeps the answer to a push that left nothing in the write-ahead stream.
func (b *buffer) remember(ctx context.Context, key string, base ingest.Answer, p place) error {
	if key == "" {
		return nil
	}
	b.answers.keep(key, base, p, b.in.o.Clock.Now())
	return b.saveAnswers(ctx, []string{key})
}

// fail gives up the state in memory; run reads it from the log again.
func (b *buffer) fail(err error) {
	b.broken = err
	b.poke()
}

// left wakes whoever waits for room. The mutex is held.
func (b *buffer) left() {
	close(b.space)
	b.space = make(chan struct{})
}

func answerOf(a ingest.Answer) view.IngestResult {
	return view.IngestResult{
		Outcome: view.Accepted, Accepted: a.Accepted, Dropped: a.Dropped, Invalid: a.Invalid, Duplicate: a.Duplicate,
		DepthRows: a.Depth, CapacityRows: a.Capacity, RowErrors: a.RowErrors, Position: int64(a.Position),
	}
}

// status reports the counters.
func (b *buffer) status(cfg connectors.IngestConfig, instance string) view.IngestStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	depth := 0
	if b.q != nil {
		depth = b.q.Depth()
	}
	t := b.totals
	return view.IngestStatus{
		Policy: string(cfg.Policy), CapacityRows: cfg.CapacityRows, DepthRows: depth, MaxBatchRows: cfg.MaxBatchRows,
		TotalAccepted: t.Accepted, TotalRejected: t.Rejected, TotalDropped: t.Dropped + t.Evicted, TotalInvalid: t.Invalid,
		TotalPublished: t.Published, TotalDuplicate: t.Duplicate, LastPushMs: t.LastPushMs, InstanceID: instance,
	}
}

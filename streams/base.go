package streams

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
)

// BaseWriter writes all rows of a table at an epoch into its journal, chunk by chunk. Deltas may be appended in
// between; readers get the base when it is complete and ignore one that never was. It is used by one goroutine.
type BaseWriter struct {
	j     *Journal
	entry Entry
	first uint64 // sequence of the first message; 0 before it is sent
	n     int    // messages sent
	chunk []byte // held back, as the last message says that it is the last
	held  bool
	last  *Commit
}

// BeginBase starts a base. The entry says which epoch, inputs and watermark the rows reflect: those of the newest
// delta, or of a later epoch without output. Writing another base before Commit gives up the unfinished one.
func (j *Journal) BeginBase(e Entry) *BaseWriter {
	e.Kind, e.Term, e.Data = Base, j.term, nil
	return &BaseWriter{j: j, entry: e}
}

// Write adds a chunk of at most Nats:MaxPayload bytes. The chunk belongs to the journal until Commit returns.
func (b *BaseWriter) Write(ctx context.Context, chunk []byte) error {
	if len(chunk) > b.j.st.s.opts.MaxPayload {
		return fmt.Errorf("base of journal %s: a chunk of %d bytes: %w", b.j.st.name, len(chunk), ErrTooLarge)
	}
	if b.held {
		if err := b.send(ctx, false); err != nil {
			return err
		}
	}
	b.chunk, b.held = chunk, true
	return nil
}

// Commit completes the base and waits until it is stored. It returns the sequences of its first and last message;
// everything before the first may be trimmed when nobody needs it ([Journal.Trim]).
func (b *BaseWriter) Commit(ctx context.Context) (first, last uint64, err error) {
	if err := b.send(ctx, true); err != nil {
		return 0, 0, err
	}
	if _, err := b.last.Wait(ctx); err != nil {
		return 0, 0, err
	}
	b.j.mu.Lock()
	defer b.j.mu.Unlock()
	b.j.baseSeq, b.j.writing = b.first, 0
	if b.j.tail.Last < b.first {
		// Nothing was appended since the base began, so the base is the newest entry.
		b.j.tail = stored(b.last.entry, Msg{Seq: b.last.last})
	}
	return b.first, b.last.last, nil
}

// Abort gives the base up. What was sent stays in the journal as an unfinished base that readers ignore.
func (b *BaseWriter) Abort() {
	b.j.mu.Lock()
	defer b.j.mu.Unlock()
	if b.j.writing == b.first {
		b.j.writing = 0
	}
}

func (b *BaseWriter) send(ctx context.Context, final bool) error {
	j := b.j
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.room(ctx, len(b.chunk)); err != nil {
		return err
	}
	if b.n == 0 {
		b.first = j.last + 1
		j.writing = b.first
	}
	b.n++
	p := part{Entry: b.entry, n: b.n, base: b.first, commit: j.newest(), writer: j.writer}
	p.Data = b.chunk
	if final {
		p.of = b.n
	}
	c := &Commit{j: j, kind: Base, entry: p, first: j.last + 1, last: j.last + 1, messages: []*nats.Msg{j.message(&p)}, done: make(chan struct{})}
	b.chunk, b.held, b.last = nil, false, c
	return j.enqueue(ctx, c)
}

// newest is the sequence of the newest entry, stored or under way. An entry under way is stored whenever a message
// behind it is.
func (j *Journal) newest() uint64 {
	for i := len(j.pending) - 1; i >= 0; i-- {
		if j.pending[i].kind != Base {
			return j.pending[i].last
		}
	}
	return j.tail.Last
}

package streams

import (
	"context"
	"fmt"
)

// maxParts is how many messages the server takes in one atomic batch.
const maxParts = 1000

// minPart keeps the parts of a split entry from being many and small.
const minPart = 1 << 20

// split cuts data that is larger than a message may be into equal parts.
func split(data []byte, maxPayload int) ([][]byte, error) {
	if len(data) <= maxPayload {
		return [][]byte{data}, nil
	}
	size := min(maxPayload, max(minPart, (len(data)+maxParts-1)/maxParts))
	if (len(data)+size-1)/size > maxParts {
		return nil, ErrTooLarge
	}
	var parts [][]byte
	for len(data) > size {
		parts = append(parts, data[:size:size])
		data = data[size:]
	}
	return append(parts, data), nil
}

// Assembler turns the messages of a journal, in their order, into entries: all parts of one, or none.
type Assembler struct {
	stream string
	parts  []part
	first  uint64
	size   int

	skipped uint64 // first message of the entry that was reported as incomplete

	baseFirst uint64
	chunks    [][]byte
}

// NewAssembler makes an assembler; the name of the stream is for its errors.
func NewAssembler(stream string) *Assembler { return &Assembler{stream: stream} }

// MidEntryError says that reading began inside an entry. Begin at First to get it.
type MidEntryError struct {
	Stream string
	Seq    uint64
	First  uint64 // the first message of the entry
}

func (e *MidEntryError) Error() string {
	return fmt.Sprintf("journal %s: position %d is inside of the entry that begins at %d", e.Stream, e.Seq, e.First)
}

// Add takes the next message. ok says that it completes an entry, whose data is then the caller's. A base that began
// before the first message that was added is left out: whoever reads from there on has no use for it.
func (a *Assembler) Add(m Msg) (e Stored, ok bool, err error) {
	p, err := parsePart(m)
	if err != nil {
		return Stored{}, false, fmt.Errorf("journal %s: %w", a.stream, err)
	}
	if p.Kind == Base {
		return a.addBase(p, m)
	}
	if p.n != len(a.parts)+1 || len(a.parts) > 0 && m.Seq != a.first+uint64(len(a.parts)) {
		a.parts = a.parts[:0]
		if first := m.Seq - uint64(p.n-1); p.n != 1 && first == a.skipped {
			return Stored{}, false, nil
		} else if p.n != 1 {
			a.skipped = first
			return Stored{}, false, &MidEntryError{Stream: a.stream, Seq: m.Seq, First: first}
		}
	}
	if p.n == 1 {
		a.first, a.size = m.Seq, 0
	}
	a.size += len(p.Data)
	if p.of > 1 {
		a.parts = append(a.parts, p)
		if p.n < p.of {
			return Stored{}, false, nil
		}
	}
	e = stored(p, m)
	e.Data = p.Data
	if p.of > 1 {
		e.Data = make([]byte, 0, a.size)
		for i := range a.parts {
			e.Data = append(e.Data, a.parts[i].Data...)
		}
		clear(a.parts)
		a.parts = a.parts[:0]
	}
	return e, true, nil
}

func (a *Assembler) addBase(p part, m Msg) (Stored, bool, error) {
	switch {
	case p.n == 1:
		a.baseFirst, a.chunks = m.Seq, nil
	case p.base != a.baseFirst || p.n != len(a.chunks)+1:
		a.baseFirst, a.chunks = 0, nil
		return Stored{}, false, nil
	}
	a.chunks = append(a.chunks, p.Data)
	if p.of == 0 {
		return Stored{}, false, nil
	}
	e := stored(p, m)
	e.Chunks = a.chunks
	a.baseFirst, a.chunks = 0, nil
	return e, true, nil
}

// EntryReader reads whole entries.
type EntryReader struct {
	r *Reader
	a *Assembler
	// pending is what the next call reports, after the entries before it were passed; rest is what comes then.
	pending error
	rest    []Msg
}

// Entries reads the entries of a journal from a position on, as [Stream.Read] reads its messages. A position inside
// of a split entry is a [*MidEntryError].
func (st *Stream) Entries(from uint64, o ReadOptions) *EntryReader {
	return &EntryReader{r: st.Read(from, o), a: NewAssembler(st.name)}
}

// Next returns the entries that have arrived, at least one, and waits when there is none. The errors are those of
// [Reader.Next]; after a message that is no entry (ErrForeign) the following call goes on behind it.
func (r *EntryReader) Next(ctx context.Context) ([]Stored, error) {
	if err := r.pending; err != nil {
		r.pending = nil
		return nil, err
	}
	for {
		msgs := r.rest
		if len(msgs) == 0 {
			var err error
			if msgs, err = r.r.Next(ctx); err != nil {
				return nil, err
			}
		}
		r.rest = nil
		entries := make([]Stored, 0, len(msgs))
		for i, m := range msgs {
			e, ok, err := r.a.Add(m)
			if err != nil {
				r.rest = msgs[i+1:]
				if len(entries) == 0 {
					return nil, err
				}
				r.pending = err
				return entries, nil
			}
			if ok {
				entries = append(entries, e)
			}
		}
		if len(entries) > 0 {
			return entries, nil
		}
	}
}

// Stop ends the reader, see [Reader.Stop].
func (r *EntryReader) Stop() { r.r.Stop() }

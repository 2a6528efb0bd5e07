package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

func decodeBlock(payload []byte, want types.Schema) (*zset.Batch, error) {
	kinds, b, err := wire.Decode(payload)
	if err != nil {
		return nil, err
	}
	if len(kinds) != len(want) {
		return nil, fmt.Errorf("the block has %d columns, the source has %d", len(kinds), len(want))
	}
	for i, k := range kinds {
		if k != want[i].Stored() {
			return nil, fmt.Errorf("column %d is a %s, %q is a %s", i, k, want[i].Name, want[i].Stored())
		}
	}
	if b.Weight != nil {
		return nil, errors.New("rows of a source have no weights")
	}
	return b, nil
}

// sourceCursor reads a source for one worker that is behind, with a decoder of its own.
type sourceCursor struct {
	name    string
	stream  *streams.Stream
	layouts []catalog.Layout
	reader  *streams.Reader
	msgs    []streams.Msg
	at      uint64 // the last message that was taken
	layout  *layoutReader
	marks   []clock.Mark
	from    uint64
}

func newSourceCursor(s *source, after uint64) *sourceCursor {
	return &sourceCursor{name: s.name, stream: s.stream, layouts: s.Layouts(), at: after, from: after}
}

func (c *sourceCursor) stop() {
	if c.reader != nil {
		c.reader.Stop()
	}
}

// peek is the next message, which the caller knows to exist: positions up to it were recorded.
func (c *sourceCursor) peek(ctx context.Context) (*streams.Msg, error) {
	for len(c.msgs) == 0 {
		if c.reader == nil {
			c.reader = c.stream.Read(c.at+1, streams.ReadOptions{Bulk: true})
		}
		msgs, err := c.reader.Next(ctx)
		var gap *streams.GapError
		var ahead *streams.AheadError
		switch {
		case errors.As(err, &gap):
			return nil, &missingError{input: c.name, from: gap.From, to: gap.First - 1, why: "they are no longer retained"}
		case errors.As(err, &ahead):
			return nil, &missingError{input: c.name, from: ahead.Last + 1, to: ahead.From - 1, why: "the source ends before them, its tail was lost"}
		case errors.Is(err, streams.ErrNotFound):
			return nil, &missingError{input: c.name, from: c.at + 1, to: c.at + 1, why: "the source was deleted"}
		case err != nil:
			return nil, fmt.Errorf("read source %q: %w", c.name, err)
		}
		c.msgs = msgs
	}
	return &c.msgs[0], nil
}

// takeOne decodes the message that peek returned into the open segment; a finished one is returned when the layout
// changes before it.
func (c *sourceCursor) takeOne() (done *clock.Segment, rows int) {
	m := &c.msgs[0]
	c.msgs = c.msgs[1:]
	if l := layoutAt(c.layouts, m.Seq); c.layout == nil || c.layout.layout.Version != l.Version {
		done = c.cut()
		c.layout = newLayoutReader(l)
	}
	res := c.layout.decode(m)
	c.at = m.Seq
	c.marks = append(c.marks, clock.Mark{Seq: m.Seq, StoredMs: m.TimeMs, End: int32(c.layout.dec.Len())})
	return done, res.Rows
}

// cut closes the open segment; nil when it holds no message.
func (c *sourceCursor) cut() *clock.Segment {
	if len(c.marks) == 0 {
		return nil
	}
	b := c.layout.dec.Take()
	g := &clock.Segment{
		Incarnation: c.stream.Incarnation(), From: c.from, To: c.at, Schema: c.layout.dec.Layout(), Batch: b, Marks: c.marks,
		NewestMs: newestTime(c.layout.dec.Layout(), b), Bytes: b.Bytes(),
	}
	c.from, c.marks = c.at, nil
	return g
}

// upTo returns the segments of the messages up to a recorded position.
func (c *sourceCursor) upTo(ctx context.Context, seq uint64) ([]*clock.Segment, error) {
	var out []*clock.Segment
	for c.at < seq {
		m, err := c.peek(ctx)
		if err != nil {
			return nil, err
		}
		if m.Seq > seq {
			// A message was deleted from the stream by hand: everything up to the position has been read.
			break
		}
		if g, _ := c.takeOne(); g != nil {
			out = append(out, g)
		}
	}
	if g := c.cut(); g != nil {
		out = append(out, g)
	}
	return out, nil
}

// journalCursor reads the deltas of a table or pipeline for one worker that is behind.
type journalCursor struct {
	name    string
	e       *entity
	stream  *streams.Stream
	at      uint64 // position of the last entry that was passed
	gen     uint64 // of the entity now, whose shape it is
	seen    uint64 // the version that the worker has seen, 0 when none
	shape   shape
	last    uint64 // position of the newest stored entry when it was looked up
	until   uint64 // where entries ends
	entries *streams.EntryReader
	queue   []streams.Stored
}

// errRegenerated says that an input was replaced by a new version, so that its deltas do not go on from what the worker
// has seen.
var errRegenerated = errors.New("an input was replaced by a new version")

func (c *journalCursor) stop() {
	if c.entries != nil {
		c.entries.Stop()
		c.entries = nil
	}
}

// refresh learns how far the journal goes. Everything up to an epoch that its entity has reached is there then.
func (c *journalCursor) refresh(ctx context.Context) error {
	s, err := c.stream.State(ctx)
	if err != nil {
		return fmt.Errorf("journal of %q: %w", c.name, err)
	}
	c.last = s.Last
	return nil
}

// peek is the next delta that is stored, not decoded; nil when there is none.
func (c *journalCursor) peek(ctx context.Context) (*streams.Stored, error) {
	for {
		if len(c.queue) == 0 {
			if c.at >= c.last {
				return nil, nil
			}
			if c.entries == nil {
				c.until = c.last
				c.entries = c.stream.Entries(c.at+1, streams.ReadOptions{Bulk: true, Until: c.until})
			}
			got, err := c.entries.Next(ctx)
			var gap *streams.GapError
			switch {
			case errors.Is(err, io.EOF):
				c.stop()
				c.at = c.until
				continue
			case errors.As(err, &gap):
				return nil, fmt.Errorf("input %q: its journal holds a base behind position %d: %w", c.name, gap.From, errRegenerated)
			case err != nil:
				return nil, fmt.Errorf("journal of %q: %w", c.name, err)
			}
			c.queue = got
		}
		s := &c.queue[0]
		switch s.Kind {
		case streams.Delta:
			if c.seen == 0 {
				c.seen = s.Generation
			}
			if s.Generation == c.seen && s.Generation == c.gen {
				return s, nil
			}
			return nil, fmt.Errorf("input %q at epoch %d: %w", c.name, s.Epoch, errRegenerated)
		case streams.Marker:
			// A swap: the rows of the new version are in the base before it, and what came to dependents then was the
			// difference to the old one, which the journal does not hold.
			if s.Generation != c.seen {
				return nil, fmt.Errorf("input %q at epoch %d: %w", c.name, s.Epoch, errRegenerated)
			}
		case streams.Base: // the same rows once more; or those of a version whose marker follows
		}
		c.pop(*s)
	}
}

// next returns the next delta up to an epoch; nil when there is none.
func (c *journalCursor) next(ctx context.Context, epoch uint64) (*clock.Delta, error) {
	s, err := c.peek(ctx)
	if err != nil || s == nil || s.Epoch > epoch {
		return nil, err
	}
	d, err := deltaOf(*s, c.shape.schema())
	if err != nil {
		return nil, fmt.Errorf("journal of %q: %w", c.name, err)
	}
	d.Incarnation = c.stream.Incarnation()
	c.pop(*s)
	return d, nil
}

func (c *journalCursor) pop(s streams.Stored) {
	c.queue = c.queue[1:]
	c.at = s.Last
	if len(c.queue) == 0 && c.at >= c.until {
		c.stop()
	}
}

// deltaOf decodes a journal entry.
func deltaOf(s streams.Stored, schema types.Schema) (*clock.Delta, error) {
	kinds, b, err := wire.Decode(s.Data)
	if err != nil {
		return nil, fmt.Errorf("entry at %d: %w", s.Last, err)
	}
	if len(kinds) != len(schema) {
		return nil, fmt.Errorf("entry at %d has %d columns, its definition has %d", s.Last, len(kinds), len(schema))
	}
	return &clock.Delta{Prev: prevOf(s.Entry), Epoch: s.Epoch, Seq: s.Last, Generation: s.Generation, Schema: schema, Batch: b, Bytes: b.Bytes()}, nil
}

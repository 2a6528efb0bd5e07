package clock

import (
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Mark ends the rows of one message inside a segment.
type Mark struct {
	Seq      uint64 // the message's position
	StoredMs int64  // when it was stored
	End      int32  // rows before End belong to this message or an earlier one
}

// Segment is the rows of the messages after From up to To of one source, decoded with one layout. It is immutable
// and shared by every worker that reads the source.
type Segment struct {
	Incarnation string
	From, To    uint64
	Schema      types.Schema // the columns of Batch
	Batch       *zset.Batch
	Marks       []Mark
	NewestMs    int64 // the largest event time, 0 without one
	Bytes       int   // memory that the segment keeps alive, roughly
}

// Rows is the number of rows.
func (s *Segment) Rows() int { return s.Batch.N }

// Delta is what one step of a node changed: the net change of the epochs after Prev up to Epoch. Up to Prev the
// node's output was the same as at its border before.
type Delta struct {
	Prev, Epoch uint64
	// Seq is the position of the delta in the node's stream.
	Seq uint64
	// Incarnation is that of the stream.
	Incarnation string
	// Generation is the version of the node's query.
	Generation uint64
	Schema     types.Schema // the columns of Batch, the hidden event time included
	Batch      *zset.Batch
	StoredMs   int64 // when the newest row was stored that led to the delta, 0 when it is not known
	Bytes      int
}

// Position is how far a source has been taken.
type Position struct {
	Incarnation string
	Seq         uint64
}

// Cut is what one epoch takes of one source: the segments up to a position.
type Cut struct {
	Track    *Track
	Position Position
	Segments []*Segment
}

func (c Cut) size() (rows, bytes int) {
	for _, s := range c.Segments {
		rows += s.Batch.N
		bytes += s.Bytes
	}
	return rows, bytes
}

package connectors

import (
	"context"
	"log/slog"
	"math/rand/v2"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Source is an opened or openable source of one kind. The Driver owns it and calls it from one goroutine.
//
// A polled source reads until it returns ErrEndOfInput, which ends the cycle; the Driver then stores the cursor and
// waits for the schedule. A subscription never returns ErrEndOfInput; its Read waits for the outside.
type Source interface {
	// Open connects. cursor is what the Driver stored after the last completed read, "" at first. It is called
	// again after Close when the Driver reconnects.
	Open(ctx context.Context, cursor string) error
	// Read returns the next rows, or waits for them. It returns ErrEndOfInput when a polled cycle is complete,
	// ErrNotConnected when the connection is gone; any other error fails the cycle. The returned memory belongs to
	// the Driver until the next call of Read.
	Read(ctx context.Context) (Read, error)
	// Close releases everything Open took. It is idempotent and waits for what the source has started.
	Close(ctx context.Context) error
}

// Read is what one call of Source.Read brought.
type Read struct {
	// Messages are appended to the source's stream in this order.
	Messages []Message
	// Cursor is the position upstream after these rows; "" leaves the stored cursor as it is.
	Cursor string
	// Ack confirms the rows upstream. The Driver calls it after the log has confirmed every message, never before;
	// nil means that there is nothing to confirm.
	Ack func(ctx context.Context) error
	// Skipped counts payloads that the kind left out by its documented rules (an envelope without an image).
	Skipped int
}

// Message is one message of a source's stream: a payload of rows.
type Message struct {
	Data        []byte
	ContentType string
	// ID is the producer's deduplication id, "" for none: a message whose id is in the log already is not stored again.
	ID   string
	Rows int
}

// Content types of a source message.
const (
	ContentJSON   = "application/json"
	ContentNDJSON = "application/x-ndjson"
)

// Env is what a kind may use of its surroundings. A kind takes time and randomness from here and nowhere else.
type Env struct {
	Clock  Clock
	Rand   rand.Source
	Logger *slog.Logger
	// MaxMessageBytes bounds one message of the log.
	MaxMessageBytes int
}

// Prober is a kind that can look at the outside and propose fields.
type Prober interface {
	Probe(ctx context.Context) (fields types.Schema, diagnostics []string, err error)
}

// SchemaFinder is a kind that knows its columns without connecting.
type SchemaFinder interface {
	FindSchema() types.Schema
}

// Replayer is a kind that can assert its whole present state again.
type Replayer interface {
	Replay(ctx context.Context) (Read, error)
}

// Subscriber marks a kind that waits for the outside instead of being polled; its schedule is ignored.
type Subscriber interface {
	// Connected reports whether the outside is reached at this moment.
	Connected() bool
}

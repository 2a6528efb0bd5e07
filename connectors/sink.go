package connectors

import (
	"context"
	"encoding/json"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Delta is one journal entry as a sink reads it: the consolidated changes of an epoch at a position.
type Delta struct {
	Position uint64
	Epoch    uint64
	Schema   types.Schema
	Batch    *zset.Batch
}

// Sink writes deltas to the outside. Its runner owns it and calls it from one goroutine; position, retries and status
// belong to the runner.
type Sink interface {
	// Open connects. It returns the position that the target itself holds, 0 when the target holds none; the runner
	// goes on after the larger of it and its own.
	Open(ctx context.Context) (position uint64, err error)
	// Write delivers one entry whole or not at all. ErrNotConnected asks the runner to reconnect; a RejectError says
	// that this entry will never be taken.
	Write(ctx context.Context, d Delta) error
	// Close releases everything Open took. It is idempotent.
	Close(ctx context.Context) error
}

// RejectError is a refusal that a retry cannot change; the runner moves the entry aside and goes on.
type RejectError struct {
	Reason string
	Err    error
}

func (e *RejectError) Error() string { return e.Reason }

// Unwrap returns the cause.
func (e *RejectError) Unwrap() error { return e.Err }

// SinkDefinition is a sink as its kind sees it.
type SinkDefinition struct {
	Environment string
	EntityKind  string // pipeline or table
	EntityName  string
	Key         string
	Kind        string
	Section     json.RawMessage
	// Append reports that the entity only ever adds rows; KeyFields identify a row of an updating one.
	Append    bool
	KeyFields []string
}

// SinkKind is one sink kind, the counterpart of Kind.
type SinkKind struct {
	Name       string
	Descriptor Descriptor
	Validate   func(d SinkDefinition) []string
	New        func(d SinkDefinition, e Env) (Sink, error)
}

package catalog

import (
	"encoding/json"

	"github.com/streamsforge/streamsforge/server/view"
)

// Desired is what a pipeline or table should be doing.
type Desired string

// The desired states.
const (
	DesiredStopped Desired = "Stopped"
	DesiredRunning Desired = "Running"
)

// Run is the desired state of a pipeline or table.
type Run struct {
	Desired Desired `json:"desired"`
	// Revision grows with every start and stop and with every edit that a running worker must follow by a restart.
	// A worker that runs with another revision is not the one that should run.
	Revision int64 `json:"revision"`
	// Refused is why the last start was refused; the entity then reads as Failed with this text while Desired stays
	// Stopped. The next start, stop or edit of the query clears it.
	Refused string `json:"refused,omitempty"`
}

// Input is one relation that a query reads.
type Input struct {
	Name string    `json:"name"`
	Kind InputKind `json:"kind"`
	// Key is the key of a source that a table reads, as it was when the query was compiled.
	Key []string `json:"key,omitempty"`
}

// InputKind is the kind of a relation.
type InputKind string

// The kinds of relations.
const (
	InputSource   InputKind = "source"
	InputTable    InputKind = "table"
	InputPipeline InputKind = "pipeline"
)

// Facts are what compiling a query found. They are recomputed when the query or a schema upstream changes, and when
// the catalog is opened.
type Facts struct {
	Compiled    bool                 `json:"compiled"`
	Diagnostics []view.SqlDiagnostic `json:"diagnostics"`
	Summary     string               `json:"summary"`
	Inputs      []Input              `json:"inputs"`
	Output      []Field              `json:"output"`
	EventTime   bool                 `json:"eventTime"`  // rows carry a hidden _ts
	AppendOnly  bool                 `json:"appendOnly"` // no row is ever taken back
	LatestBy    bool                 `json:"latestBy"`   // the newest row of each key is kept; _retract rows remove a key
	// Mode is how the result changes: Append, Upsert by ModeKey, or Retract.
	Mode    string   `json:"mode"`
	ModeKey []string `json:"modeKey"`
	// Key are the columns by which rows supersede each other; with WholeRow there are none.
	Key      []string `json:"key"`
	WholeRow bool     `json:"wholeRow"`
	// RowKey are the columns that identify a row at any moment: null when there are none.
	RowKey []string `json:"rowKey"`
}

// EntityPin records a dependency on a shape.
type EntityPin struct {
	Kind           string `json:"kind"` // source or table
	Name           string `json:"name"`
	SchemaRevision int64  `json:"schemaRevision"` // 0 or less: an edge without a claim
}

// ReplayFrom is where an input is read from at a start: Seq wins; with both absent, everything that is retained.
type ReplayFrom struct {
	Seq         *int64 `json:"seq"`
	TimestampMs *int64 `json:"timestampMs"`
}

// SinkSpec is one sink of a pipeline or table. The section of its kind belongs to the kind.
type SinkSpec struct {
	Kind        string            `json:"kind"`
	Enabled     bool              `json:"enabled"`
	Name        string            `json:"name"`
	Settings    map[string]string `json:"settings" openapi:"nullable"`
	Nats        json.RawMessage   `json:"nats"`
	File        json.RawMessage   `json:"file"`
	DB          json.RawMessage   `json:"db"`
	HTTP        json.RawMessage   `json:"http"`
	Loopback    json.RawMessage   `json:"loopback"`
	Duplex      json.RawMessage   `json:"duplex"`
	Delivery    string            `json:"delivery"`
	MaxAttempts int               `json:"maxAttempts"`
}

// UnmarshalJSON applies the defaults of absent members.
func (s *SinkSpec) UnmarshalJSON(b []byte) error {
	type plain SinkSpec
	p := plain{Kind: "nats", Enabled: true, Delivery: "fireAndForget", MaxAttempts: 10}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*s = SinkSpec(p)
	return nil
}

// Pipeline is the definition of a pipeline as REST carries it.
type Pipeline struct {
	Name              string                `json:"name"`
	Description       string                `json:"description"`
	SQL               string                `json:"sql"`
	Tags              []string              `json:"tags"`
	Metadata          map[string]string     `json:"metadata"`
	Sinks             []SinkSpec            `json:"sinks"`
	DependsOn         []EntityPin           `json:"dependsOn"`
	ReplayFrom        map[string]ReplayFrom `json:"replayFrom"`
	Replay            *ReplayConfig         `json:"replay"`
	AllowedLatenessMs int64                 `json:"allowedLatenessMs"`

	// Server-owned.
	ID           string         `json:"id"`
	Status       view.Status    `json:"status"`
	Error        *string        `json:"error"`
	CreatedBy    string         `json:"createdBy"`
	CreatedAtMs  int64          `json:"createdAtMs"`
	UpdatedAtMs  int64          `json:"updatedAtMs"`
	UpdatedBy    string         `json:"updatedBy"`
	SourceNames  []string       `json:"sourceNames"`
	TableInputs  []string       `json:"tableInputs"` // the tables that rows are looked up in
	OutputFields []Field        `json:"outputFields"`
	Revision     int64          `json:"revision"`
	StaleReason  *string        `json:"staleReason"`
	Environment  string         `json:"environment"`
	Degraded     *view.Degraded `json:"degraded"`
	StaleInputs  []string       `json:"staleInputs"`
}

// NewPipeline returns a pipeline with the documented defaults, ready to be decoded into. Members that an update may
// leave unchanged are null.
func NewPipeline() Pipeline { return Pipeline{} }

// PipelineRecord is a pipeline as the catalog keeps it. Read-only once it is in a Snapshot. Status, Error, Degraded,
// StaleInputs and StaleReason are not kept: they are filled in when it is served.
type PipelineRecord struct {
	Pipeline
	Run    Run
	Facts  Facts
	Stored uint64
}

// Table is the definition of a table as REST carries it.
type Table struct {
	Name              string                `json:"name"`
	Description       string                `json:"description"`
	SQL               string                `json:"sql"`
	SearchEnabled     bool                  `json:"searchEnabled"`
	SearchMode        string                `json:"searchMode"`
	HistoryEnabled    bool                  `json:"historyEnabled"`
	HistoryMode       string                `json:"historyMode"`
	HistoryLimit      int                   `json:"historyLimit"`
	HistoryByField    *string               `json:"historyByField"`
	HistoryWindowMs   int64                 `json:"historyWindowMs"`
	Tags              []string              `json:"tags"`
	Metadata          map[string]string     `json:"metadata"`
	Parallelism       int                   `json:"parallelism"`
	Persistence       string                `json:"persistence"`
	FlushMs           int                   `json:"flushMs"`           // 0: 2000
	JournalMaxEntries int                   `json:"journalMaxEntries"` // 0: 200
	RetentionMaxRows  int                   `json:"retentionMaxRows"`
	RetentionTtlMs    int64                 `json:"retentionTtlMs"`
	ShardBy           []string              `json:"shardBy"`
	Sinks             []SinkSpec            `json:"sinks"`
	DependsOn         []EntityPin           `json:"dependsOn"`
	ReplayFrom        map[string]ReplayFrom `json:"replayFrom"`
	Replay            *ReplayConfig         `json:"replay"`

	// Server-owned.
	ID             string         `json:"id"`
	Status         view.Status    `json:"status"`
	Error          *string        `json:"error"`
	CreatedBy      string         `json:"createdBy"`
	CreatedAtMs    int64          `json:"createdAtMs"`
	UpdatedAtMs    int64          `json:"updatedAtMs"`
	UpdatedBy      string         `json:"updatedBy"`
	OutputFields   []Field        `json:"outputFields"`
	StreamInputs   []string       `json:"streamInputs"`
	TableInputs    []string       `json:"tableInputs"`
	PipelineInputs []string       `json:"pipelineInputs"`
	KeyFields      []string       `json:"keyFields" openapi:"nullable"` // list: key columns; []: one global row; null: the whole row
	Revision       int64          `json:"revision"`
	SchemaRevision int64          `json:"schemaRevision"`
	StaleReason    *string        `json:"staleReason"`
	Environment    string         `json:"environment"`
	Degraded       *view.Degraded `json:"degraded"`
	StaleInputs    []string       `json:"staleInputs"`
}

// Persistence modes of a table.
const (
	Batched       = "Batched"
	FireAndForget = "FireAndForget"
	MemoryOnly    = "MemoryOnly"
	Journaled     = "Journaled"
)

// NewTable returns a table with the documented defaults, ready to be decoded into. Members that an update may leave
// unchanged are null.
func NewTable() Table {
	return Table{SearchMode: "Exact", HistoryMode: "All", HistoryLimit: 10, Parallelism: 1, Persistence: Batched}
}

// TableRecord is a table as the catalog keeps it. Read-only once it is in a Snapshot; see PipelineRecord.
type TableRecord struct {
	Table
	Run    Run
	Facts  Facts
	Stored uint64
}

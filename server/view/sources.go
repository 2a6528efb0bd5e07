package view

import "encoding/json"

// ConnectorStatus is the state of a source's connector.
type ConnectorStatus struct {
	SourceName            string  `json:"sourceName"`
	NextRunMs             *int64  `json:"nextRunMs"`
	LastRunMs             *int64  `json:"lastRunMs"`
	LastStatus            string  `json:"lastStatus"` // never, ok, error or connecting
	LastError             *string `json:"lastError"`
	ConsecutiveFailures   int     `json:"consecutiveFailures"`
	EventsEmittedTotal    int64   `json:"eventsEmittedTotal"`
	LastBatchCount        int     `json:"lastBatchCount"`
	CoercionFailuresTotal int64   `json:"coercionFailuresTotal"`
	Cursor                *string `json:"cursor"`
	EnvelopeSkippedTotal  int64   `json:"envelopeSkippedTotal"`
	DuplexReady           *bool   `json:"duplexReady"` // null: not a duplex kind
	DuplexSentTotal       int64   `json:"duplexSentTotal"`
	DuplexFailedTotal     int64   `json:"duplexFailedTotal"`
	LastDuplexFailure     *string `json:"lastDuplexFailure"`
	QuarantinedTotal      int64   `json:"quarantinedTotal"`
}

// SourceMetrics counts what was read of a source's stream, for every kind.
type SourceMetrics struct {
	SourceName       string  `json:"sourceName"`
	RowsTotal        int64   `json:"rowsTotal"`
	RowsPerSec       float64 `json:"rowsPerSec"`
	BytesTotal       int64   `json:"bytesTotal"`
	CoercedTotal     int64   `json:"coercedTotal"`     // fields set to NULL by policy Null
	QuarantinedTotal int64   `json:"quarantinedTotal"` // rows and payloads that could not be read
	DroppedTotal     int64   `json:"droppedTotal"`     // of the quarantined ones, those left out by policy DropRow or RejectBatch
	LastSeq          int64   `json:"lastSeq"`          // newest position read
	LastEventTsMs    int64   `json:"lastEventTsMs"`
}

// IngestRequest is one push of rows.
type IngestRequest struct {
	Events         []json.RawMessage
	Partial        bool
	IdempotencyKey string
}

// Outcome is how a push ended.
type Outcome string

// The outcomes of a push.
const (
	Accepted          Outcome = "Accepted"
	IngestInvalid     Outcome = "Invalid"
	IngestNotFound    Outcome = "NotFound"
	IngestWrongKind   Outcome = "WrongKind"
	IngestTooLarge    Outcome = "TooLarge"
	IngestOverloaded  Outcome = "Overloaded"
	IngestUnavailable Outcome = "Unavailable" // the log did not confirm the append; nothing is known to be stored
)

// IngestResult is the answer to a push. Duplicate (dedup), Dropped (capacity) and Invalid (coercion) are three
// counts that are never merged.
type IngestResult struct {
	Outcome      Outcome  `json:"outcome"`
	Accepted     int      `json:"accepted"`
	Dropped      int      `json:"dropped"`
	Invalid      int      `json:"invalid"`
	DepthRows    int      `json:"depthRows"`
	CapacityRows int      `json:"capacityRows"`
	RetryAfterMs int      `json:"retryAfterMs"`
	Error        string   `json:"error"`
	RowErrors    []string `json:"rowErrors"` // "row <i>: ..."
	Duplicate    int      `json:"duplicate"`
	Replayed     bool     `json:"replayed"`
	// Position is the stream position of the last row that was appended, 0 when none is known yet (buffered policies).
	Position int64 `json:"position"`
}

// IngestStatus is the state of an ingest source's buffer.
type IngestStatus struct {
	Policy            string `json:"policy"`
	CapacityRows      int    `json:"capacityRows"`
	DepthRows         int    `json:"depthRows"`
	MaxBatchRows      int    `json:"maxBatchRows"`
	TotalAccepted     int64  `json:"totalAccepted"`
	TotalRejected     int64  `json:"totalRejected"`
	TotalDropped      int64  `json:"totalDropped"`
	TotalInvalid      int64  `json:"totalInvalid"`
	TotalPublished    int64  `json:"totalPublished"`
	DownstreamDropped int64  `json:"downstreamDropped"`
	LastPushMs        int64  `json:"lastPushMs"`
	TotalDuplicate    int64  `json:"totalDuplicate"`
	InstanceID        string `json:"instanceId"`
	Aggregated        bool   `json:"aggregated"`
}

// SourceEvents are the newest rows of a source, newest first.
type SourceEvents struct {
	Events []Row `json:"events"`
}

// QuarantineEntry is one payload or row that could not be read, with its original bytes.
type QuarantineEntry struct {
	Seq           int64  `json:"seq"`
	Reason        string `json:"reason"`
	Stage         string `json:"stage"` // decode or coerce
	SourceSeq     int64  `json:"sourceSeq"`
	Index         int    `json:"index"`
	ContentType   string `json:"contentType"`
	PayloadBase64 []byte `json:"payloadBase64"`
}

// Quarantine is a page of a source's quarantine.
type Quarantine struct {
	Entries []QuarantineEntry `json:"entries"`
	Total   int64             `json:"total"`
}

// QuarantineReplay is the answer to a replay of quarantined entries.
type QuarantineReplay struct {
	Replayed  int `json:"replayed"`
	Remaining int `json:"remaining"`
}

// ScenarioRequest asks a scenario source for a run.
type ScenarioRequest struct {
	RunID     string             `json:"run_id"`
	Seed      *int64             `json:"seed"`
	Overrides *ScenarioOverrides `json:"overrides"`
	Step      bool               `json:"step"`
}

// ScenarioOverrides replaces parts of the stored scenario for one run.
type ScenarioOverrides struct {
	Paths        *int                  `json:"paths"`
	Days         *int                  `json:"days"`
	Rho          *float64              `json:"rho"`
	Distribution *ScenarioDistribution `json:"distribution"`
}

// ScenarioDistribution is the noise of a scenario.
type ScenarioDistribution struct {
	Kind string   `json:"kind"`
	Df   *float64 `json:"df"`
}

// ScenarioRow is one row of a run.
type ScenarioRow struct {
	RunID        string  `json:"run_id"`
	PathID       int64   `json:"path_id"`
	InstrumentID string  `json:"instrument_id"`
	Day          int64   `json:"day"`
	Factor       float64 `json:"factor"`
	Shock        float64 `json:"shock"`
	Value        float64 `json:"value"`
	Ts           int64   `json:"_ts"`
}

// ScenarioRun is the answer to a run.
type ScenarioRun struct {
	Accepted int           `json:"accepted"`
	Rows     []ScenarioRow `json:"rows"`
}

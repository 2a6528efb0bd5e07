package view

import "encoding/json"

// Row is one row as a compact JSON object, its members in column order.
type Row = json.RawMessage

// TableRow is a served row and how often it is there.
type TableRow struct {
	Row    Row   `json:"row"`
	Weight int64 `json:"weight"`
}

// TableDelta is one change of a table.
type TableDelta struct {
	Row     Row   `json:"row"`
	Weight  int64 `json:"weight"`
	Evicted bool  `json:"evicted"`
	Epoch   int64 `json:"epoch"` // -1: unknown
}

// TableRows is a page of a table at one epoch.
type TableRows struct {
	Rows          []TableRow `json:"rows"`
	TotalRows     int        `json:"totalRows"`
	Seq           int64      `json:"seq"` // delta batches so far
	FrontierEpoch *int64     `json:"frontierEpoch"`
	Shards        *ShardNote `json:"shards"`
	Position      int64      `json:"position"` // stream position the rows reflect
	HistoryKeys   []string   `json:"historyKeys" openapi:"nullable"`
}

// ShardNote says how the rows of a sharded table were read.
type ShardNote struct {
	ShardBy         []string `json:"shardBy"`
	ShardsConsulted bool     `json:"shardsConsulted"`
	Note            string   `json:"note"`
}

// RowsQuery asks for a page of a table.
type RowsQuery struct {
	Limit, Offset int
	// MinPositions lists, by input name, a stream position the rows must reflect; the read waits for the epoch that
	// contains it.
	MinPositions map[string]uint64
}

// RowsAtEpoch is the answer of a read of several tables at one epoch.
type RowsAtEpoch struct {
	Epoch    int64                 `json:"epoch"`
	Tables   map[string][]TableRow `json:"tables"`
	Excluded []Excluded            `json:"excluded"`
}

// Excluded names a table that a read at one epoch left out, and why.
type Excluded struct {
	Table  string `json:"table"`
	Reason string `json:"reason"`
}

// ResultEnvelope is one result row of a pipeline.
type ResultEnvelope struct {
	PipelineID  string `json:"pipelineId"`
	Seq         int64  `json:"seq"` // from 1 per start
	TimestampMs int64  `json:"timestampMs"`
	Row         Row    `json:"row"`
	// Weight is there when it is not 1: a pipeline with an allowance for late rows takes a result back with -1 before
	// it gives the amended one.
	Weight *int64 `json:"weight,omitempty"`
}

// ReplayInfo says what a stream retains.
type ReplayInfo struct {
	FirstSeq      int64 `json:"firstSeq"` // lastSeq + 1 when the log is empty
	LastSeq       int64 `json:"lastSeq"`
	RetainedBytes int64 `json:"retainedBytes"`
	Persisted     bool  `json:"persisted"`
}

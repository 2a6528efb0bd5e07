package view

// PipelineMetrics counts what a pipeline has done.
type PipelineMetrics struct {
	PipelineID      string       `json:"pipelineId"`
	Status          Status       `json:"status"`
	EventsInPerSec  float64      `json:"eventsInPerSec"`
	RowsOutPerSec   float64      `json:"rowsOutPerSec"`
	TotalEventsIn   int64        `json:"totalEventsIn"`
	TotalRowsOut    int64        `json:"totalRowsOut"`
	WindowsClosed   int64        `json:"windowsClosed"`
	LastEventTsMs   int64        `json:"lastEventTsMs"`
	LateEvents      int64        `json:"lateEvents"`
	Sinks           []SinkStatus `json:"sinks" openapi:"nullable"`
	Build           *Build       `json:"build"`
	Degraded        *Degraded    `json:"degraded"`
	Epoch           int64        `json:"epoch"`           // the epoch reached, -1 before the first
	OverflowResults int64        `json:"overflowResults"` // sums outside int64, shown as NULL
}

// TableMetrics counts what a table has done.
type TableMetrics struct {
	TableID               string             `json:"tableId"`
	Status                Status             `json:"status"`
	RowCount              int64              `json:"rowCount"`
	DeltasIn              int64              `json:"deltasIn"`
	DeltasOut             int64              `json:"deltasOut"`
	LastUpdateMs          int64              `json:"lastUpdateMs"`
	Rebuilding            bool               `json:"rebuilding"`
	Partitions            []PartitionMetrics `json:"partitions" openapi:"nullable"`
	ArrangedInputs        []string           `json:"arrangedInputs" openapi:"nullable"`
	SnapshotFrontierEpoch *int64             `json:"snapshotFrontierEpoch"`
	RowIdentityWarning    *string            `json:"rowIdentityWarning"`
	DeclaredKeyColumns    []string           `json:"declaredKeyColumns"`
	Sinks                 []SinkStatus       `json:"sinks" openapi:"nullable"`
	Build                 *Build             `json:"build"`
	Degraded              *Degraded          `json:"degraded"`
	Epoch                 int64              `json:"epoch"`           // the epoch reached, -1 before the first
	StateBytes            int64              `json:"stateBytes"`      // operator state and served rows in memory
	OverflowResults       int64              `json:"overflowResults"` // sums outside int64, shown as NULL
	EvictedRows           int64              `json:"evictedRows"`     // rows that retention let go
	UpsertedRows          int64              `json:"upsertedRows"`    // rows of keyed sources that became the row of their key
	DeletedRows           int64              `json:"deletedRows"`     // rows of keyed sources that deleted their key
	UnknownDeletes        int64              `json:"unknownDeletes"`  // rows of keyed sources that delete a key without a row
}

// Build is the progress of a table or pipeline that reads its retained input.
type Build struct {
	Phase      string `json:"phase"`
	RowsDone   int64  `json:"rowsDone"`
	RowsTotal  int64  `json:"rowsTotal"`
	RowsPerSec int64  `json:"rowsPerSec"`
	EtaMs      *int64 `json:"etaMs"`
}

// PartitionMetrics counts one partition of one stage.
type PartitionMetrics struct {
	StageID       int    `json:"stageId"`
	Partition     int    `json:"partition"`
	DeltasIn      int64  `json:"deltasIn"`
	DeltasOut     int64  `json:"deltasOut"`
	FrontierEpoch int64  `json:"frontierEpoch"` // -1: none
	LastUpdateMs  int64  `json:"lastUpdateMs"`
	Kind          string `json:"kind"`
}

// SinkStatus is the state of one sink.
type SinkStatus struct {
	Key           string  `json:"key"`
	Name          *string `json:"name"`
	Kind          string  `json:"kind"`
	State         string  `json:"state"` // ok, retrying, failed, disabled or unresolved
	Delivered     int64   `json:"delivered"`
	Failed        int64   `json:"failed"`
	Dropped       int64   `json:"dropped"`
	Queued        int64   `json:"queued"`
	DeadLettered  int64   `json:"deadLettered"`
	LastError     *string `json:"lastError"`
	LastErrorMs   *int64  `json:"lastErrorMs"`
	LastSuccessMs *int64  `json:"lastSuccessMs"`
	Position      *int64  `json:"position"`
}

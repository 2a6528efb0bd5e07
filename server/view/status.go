package view

// Status is the state of a pipeline or table as served.
type Status string

// The statuses of the contract. There is no other: a degraded entity keeps its status and carries Degraded.
const (
	Stopped Status = "Stopped"
	Running Status = "Running"
	Failed  Status = "Failed"
)

// EntityStatus is what the runtime observes of one pipeline or table.
type EntityStatus struct {
	Status Status
	Error  string // set when Failed
	// Applied is the run revision (catalog.Run.Revision) that this status reflects: the runtime has seen it and has
	// started, restarted, stopped or failed accordingly.
	Applied  int64
	Degraded *Degraded
	// StaleInputs names inputs that have stopped, failed or left; the entity goes on with their last state.
	StaleInputs []string
}

// Degraded says which retained input an entity needs and cannot have.
type Degraded struct {
	Reason  string         `json:"reason"`
	Missing []MissingInput `json:"missing"`
}

// MissingInput is a lost range of one input, both ends included.
type MissingInput struct {
	Input string `json:"input"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
}

// LifecycleEvent is one message of the lifecycle subject.
type LifecycleEvent struct {
	PipelineID  string `json:"pipelineId"` // pipeline id, table name or source name, by the prefix of Kind
	Kind        string `json:"kind"`
	Status      string `json:"status"`
	TimestampMs int64  `json:"timestampMs"`
}

package view

import "github.com/streamsforge/streamsforge/engine/types"

// SqlDiagnostic is one finding about a query; positions count from 1.
type SqlDiagnostic struct {
	Message  string  `json:"message"`
	Line     int     `json:"line"`
	Column   int     `json:"column"`
	Severity string  `json:"severity"` // Error or Warning
	Code     string  `json:"code"`     // stable, kebab-case
	Hint     string  `json:"hint"`     // "" when there is none
	Length   int     `json:"length"`   // in code points, like the column
	Fix      *SqlFix `json:"fix"`      // null where no change is certain
}

// SqlFix is a change of the query's text that makes a finding go away.
type SqlFix struct {
	Title string    `json:"title"`
	Edits []SqlEdit `json:"edits"`
}

// SqlEdit replaces a stretch of the query's text; length 0 inserts.
type SqlEdit struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Length int    `json:"length"` // in code points
	Text   string `json:"text"`
}

// OutputColumn is one column of a query's result.
type OutputColumn struct {
	Name string     `json:"name"`
	Kind types.Kind `json:"kind"`
}

// ChangelogMode is how a query's result changes: Append, Upsert by Key, or Retract.
type ChangelogMode struct {
	Mode string   `json:"mode"`
	Key  []string `json:"key" openapi:"nullable"`
}

// PipelineValidation is the answer to a validated pipeline query.
type PipelineValidation struct {
	OK            bool            `json:"ok"`
	Diagnostics   []SqlDiagnostic `json:"diagnostics"`
	PlanSummary   *string         `json:"planSummary"`
	SourceNames   []string        `json:"sourceNames"`
	TableInputs   []string        `json:"tableInputs"`
	OutputSchema  []OutputColumn  `json:"outputSchema"`
	ChangelogMode *ChangelogMode  `json:"changelogMode"`
}

// TableValidation is the answer to a validated table query.
type TableValidation struct {
	OK             bool            `json:"ok"`
	Diagnostics    []SqlDiagnostic `json:"diagnostics"`
	PlanSummary    *string         `json:"planSummary"`
	StreamInputs   []string        `json:"streamInputs"`
	TableInputs    []string        `json:"tableInputs"`
	OutputSchema   []OutputColumn  `json:"outputSchema"`
	PipelineInputs []string        `json:"pipelineInputs"`
	KeyFields      []string        `json:"keyFields" openapi:"nullable"`
	ChangelogMode  *ChangelogMode  `json:"changelogMode"`
}

// ExecutionPlan is the plan of a pipeline or table.
type ExecutionPlan struct {
	PlanSummary       *string     `json:"planSummary"`
	Inputs            []string    `json:"inputs"`
	Stages            []PlanStage `json:"stages"`
	Edges             []PlanEdge  `json:"edges"`
	Parallelism       int         `json:"parallelism"`
	Physical          bool        `json:"physical"`
	UnavailableReason *string     `json:"unavailableReason"`
	Explain           *string     `json:"explain"` // the operators as stable text
}

// PlanStage is one stage of a parallel plan.
type PlanStage struct {
	StageID int           `json:"stageId"`
	Kind    string        `json:"kind"`
	Alias   string        `json:"alias"`
	InEdges []PlanEdgeRef `json:"inEdges"`
}

// PlanEdgeRef names an edge that enters a stage.
type PlanEdgeRef struct {
	EdgeID int    `json:"edgeId"`
	Role   string `json:"role"`
}

// PlanEdge is one exchange between stages.
type PlanEdge struct {
	EdgeID             int      `json:"edgeId"`
	FromStageID        int      `json:"fromStageId"`
	ToStageID          int      `json:"toStageId"`
	Role               string   `json:"role"`
	Mode               string   `json:"mode"` // Local, HashPartition, Broadcast or Gather
	ExternalInputNames []string `json:"externalInputNames"`
	ArrangeKeyFields   []string `json:"arrangeKeyFields" openapi:"nullable"`
}

// FunctionCatalog lists what SQL can call.
type FunctionCatalog struct {
	Scalars              []string `json:"scalars"`
	Aggregates           []string `json:"aggregates"`
	RegisteredScalars    []string `json:"registeredScalars"`
	RegisteredAggregates []string `json:"registeredAggregates"`
}

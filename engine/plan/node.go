package plan

import (
	"github.com/streamsforge/streamsforge/engine/types"
)

// Node is one step of a plan. Schemas of nodes hold stored kinds: an array column is Json.
type Node interface {
	// Schema is the output's columns, in order. The caller must not change it.
	Schema() types.Schema
	// Children are the inputs, left to right. The caller must not change the list.
	Children() []Node
	// Changelog is the derived changelog mode of the output.
	Changelog() Changelog
	// AppendOnly proves that the output never contains a negative weight.
	AppendOnly() bool
	// Key is the positions of columns that identify a row of the output at any moment: nil when none are known,
	// empty when there is at most one row.
	Key() []int
	// Name is the operator's name in Explain text and metrics: "Scan", "Reduce".
	Name() string
	// Detail is the rest of the node's line in Explain text.
	Detail() string

	withChildren(c []Node) Node
}

// InputKind is the kind of entity an input is.
type InputKind uint8

// The kinds of inputs.
const (
	Source InputKind = iota
	Table
	Pipeline
)

var inputKindNames = [...]string{"source", "table", "pipeline"}

func (k InputKind) String() string { return inputKindNames[k] }

// Input is one relation that a query reads. A relation that a query names several times is one input.
type Input struct {
	Name string
	Kind InputKind
	// Columns is what the flow wants of each row, by name and kind, in this order. The hidden event time is the
	// column "_ts", the retraction mark of a source is "_retract".
	Columns types.Schema
	// Ts is the position of the event time among Columns, -1 when it is not read. In a pipeline it is always read
	// when rows have one: the watermark follows it.
	Ts int
}

// Query is a whole plan with what a flow needs beside the tree.
type Query struct {
	Inputs []Input
	Root   Node
	// EventTime says that the root's last column is the hidden "_ts", which is part of a row's identity inside the
	// engine and is not part of Output.
	EventTime bool
	// Pipeline says that the output is a stream of results in emission order, not a maintained relation.
	Pipeline bool
	// Output is the visible columns as they are declared to others: array columns keep their declared shape.
	Output types.Schema
	// Time is the rules of event time for windows.
	Time Time
}

// Time is the settings of event time of a query, in milliseconds.
type Time struct {
	// WatermarkLag is how far the watermark trails the newest row.
	WatermarkLag int64
	// Idle is how long an input may be silent before it no longer holds the watermark back.
	Idle int64
	// AllowedLateness is how far behind the watermark a row may be and still count.
	AllowedLateness int64
}

package analyze

import (
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Relation is what a statement can read, as the catalog knows it.
type Relation struct {
	Name string
	Kind plan.InputKind
	// Schema is the visible columns.
	Schema types.Schema
	// EventTime says that rows of a table or pipeline carry the hidden column "_ts". Sources always do.
	EventTime bool
	// AppendOnly says that no row is ever taken back. Pipelines never do, and sources without a key.
	AppendOnly bool
	// Key names the columns that identify a row at any moment: nil when there are none, empty for a single row. A
	// source with a key is a changelog: a table reads the newest row of each key, without those that were deleted
	// (Retract mark), a pipeline reads the changes themselves.
	Key []string
}

// Catalog finds relations by name.
type Catalog interface {
	// Relations returns what has the name: none when it is unknown, several when it is ambiguous.
	Relations(name string) []Relation
	// Names lists every name, for suggestions.
	Names() []string
}

// Mode is what a statement defines.
type Mode uint8

// The modes.
const (
	// Table: a maintained relation.
	Table Mode = iota
	// Pipeline: a stream of results in event time.
	Pipeline
)

func (m Mode) String() string {
	if m == Pipeline {
		return "pipeline"
	}
	return "table"
}

// Options are the settings of a statement beside its text. The zero value takes the defaults.
type Options struct {
	// IdleMs is how long an input may be silent before it no longer holds the watermark back; 0 means 5000.
	IdleMs int64
	// LatenessMs is how far the watermark trails the newest row; 0 means 1000.
	LatenessMs int64
	// AllowedLatenessMs is how far behind the watermark a row may be and still count; 0 is none.
	AllowedLatenessMs int64
	// StrictNotIn makes IN and NOT IN over a subquery three-valued as in the SQL standard: NULLs of the subquery count,
	// and a NULL on the left side is FALSE over no rows.
	StrictNotIn bool
	// StateWarnings adds warnings about operators whose state only grows.
	StateWarnings bool
	// Retention bounds the rows of a table. It needs a query over one plain input, with or without LATEST BY.
	Retention plan.Retention
}

// Defaults of Options.
const (
	DefaultIdleMs     = 5000
	DefaultLatenessMs = 1000
)

func (o Options) time() plan.Time {
	if o.IdleMs == 0 {
		o.IdleMs = DefaultIdleMs
	}
	if o.LatenessMs == 0 {
		o.LatenessMs = DefaultLatenessMs
	}
	return plan.Time{WatermarkLag: o.LatenessMs, Idle: o.IdleMs, AllowedLateness: o.AllowedLatenessMs}
}

// Result is an analyzed statement.
type Result struct {
	// Query is nil when a diagnostic is an error.
	Query *plan.Query
	// KeyFields are the output columns that supersede each other: the GROUP BY or LATEST BY keys in clause order,
	// empty for one global row. WholeRow says that there are none.
	KeyFields []string
	WholeRow  bool
	// Summary is one line for people.
	Summary string
}

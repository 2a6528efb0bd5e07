package simulate

import (
	"github.com/streamsforge/streamsforge/engine/changelog"
	"github.com/streamsforge/streamsforge/engine/project"
)

// Fixture is input for the sources of a project and what its models are expected to emit.
type Fixture struct {
	Name  string
	At    project.Place
	Steps []Step
	// Expect is about the whole fixture: all records from the first step to the last.
	Expect []Expect
}

// Step is a part of a fixture. Its rows come first, then the clock moves, then everything restarts, then what is
// expected is compared.
type Step struct {
	At   project.Place
	Rows []Row
	// Together makes one epoch of the rows; otherwise every row is one.
	Together  bool
	AdvanceMs int64
	Restart   bool
	// Refused is how many of the rows the sources are expected to refuse.
	Refused int
	// Expect is about this step: the records that it adds. Counters and rows are those at its end.
	Expect []Expect
}

// Row is one row for a source: a JSON object.
type Row struct {
	Source string
	Object
}

// Object is a row as it is written in a fixture.
type Object struct {
	At   project.Place
	JSON []byte
	// Names are the members of the object in their order.
	Names []string
}

// Expect is what is expected of one model. What is nil is not looked at.
type Expect struct {
	Model string
	At    project.Place
	// Records are all records, in order.
	Records *[]Want
	// Rows are the rows that the model holds, in any order.
	Rows *[]Want
	// Late is the number of rows that have been too late for the model's windows, from the first step on.
	Late *int64
	// LateRows are those rows in order, as the window reads them: of the step, or of the whole fixture. Only the columns
	// that a row names are compared.
	LateRows *[]Want
	// Watermark is the event time up to which the model is complete.
	Watermark *int64
}

// Want is an expected record, or an expected row.
type Want struct {
	Op changelog.Op
	Object
	// Count is how many equal rows are meant; 0 is one.
	Count int64
}

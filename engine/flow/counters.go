package flow

// Counters are the books of a flow. They count rows, not weights.
type Counters struct {
	// RowsIn is the number of rows pushed, one entry per input.
	RowsIn []int64
	// Paths says what became of the rows, one entry per place where the query reads an input (a self join reads one
	// twice). For every path Rows = Filtered + Late + Ignored + Passed.
	Paths []Path
	// Filtered, Late and Ignored are totals, including rows dropped after a join or a grouping.
	Filtered int64
	// Late rows came after their window had closed.
	Late int64
	// Ignored rows were older than the row that LATEST BY retains, or took back a row that it does not retain.
	Ignored int64
	// WindowsClosed is the number of windows that have been given out.
	WindowsClosed int64
	// RowsOut is the number of rows given out.
	RowsOut int64
	// Overflows is the number of times that a SUM of Longs was read that does not fit 64 bits.
	Overflows int64
}

// Path is the way of an input's rows through filters and projections to the first operator that keeps state.
type Path struct {
	Input                                 int
	Rows, Filtered, Late, Ignored, Passed int64
}

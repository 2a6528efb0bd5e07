package plan

import (
	"errors"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/expr"
)

// MaxPartitions is the largest number of partitions of a table.
const MaxPartitions = 16

// Errors of Cut.
var (
	// ErrNotParallel says that a query runs in one partition only; the message says why.
	ErrNotParallel = errors.New("the query cannot run in parallel")
	// ErrPartitions is a number of partitions out of range.
	ErrPartitions = errors.New("parallelism must be between 2 and 16")
)

// EdgeMode is how rows go from the partitions of one stage to those of the next.
type EdgeMode uint8

// The modes.
const (
	// Local rows stay in their partition. Rows from outside are dealt out as they come.
	Local EdgeMode = iota
	// HashPartition rows go where the hash of their keys says.
	HashPartition
	// Broadcast rows go to every partition.
	Broadcast
	// Gather rows go to the only partition of the next stage.
	Gather
)

var edgeModeNames = [...]string{"Local", "HashPartition", "Broadcast", "Gather"}

func (m EdgeMode) String() string { return edgeModeNames[m] }

// Edge is a way of rows into a stage.
type Edge struct {
	ID int
	// From is the stage that the rows come from, nil when they come from outside.
	From *Stage
	// Input is the position in Query.Inputs of rows from outside.
	Input int
	Mode  EdgeMode
	// Role is "left" or "right" at a join and a set operation, else "input".
	Role string
	// Keys are what HashPartition hashes, over the columns of From.
	Keys []expr.Expr
}

// Stage is a part of a plan that needs no rows of another partition: each of its partitions is a flow of its own.
type Stage struct {
	ID   int
	Kind string
	// Level is one more than the largest level of the stages it reads. Stages of a level do not wait for each other.
	Level int
	// Root is the part; its scans read In, by position.
	Root Node
	In   []*Edge
	// Inputs are the columns of In.
	Inputs []Input
	// Out is the edge that takes the rows on, nil for the last stage.
	Out        *Edge
	Partitions int
	// Arrival says that the rows from outside are taken in order of arrival, over all inputs.
	Arrival bool
}

// Physical is a plan that is cut into stages.
type Physical struct {
	Query      *Query
	Partitions int
	// Stages are in order of their IDs, every stage behind those that it reads; the last one gives the result.
	Stages []*Stage
	Edges  []*Edge
	// Epochs says that an operator takes the end of every epoch into account, not of every commit only.
	Epochs bool
}

// Cut cuts the plan of a table into stages for a number of partitions, where rows have to meet that are not together:
//
//   - Rows go by the hash of their keys to a join on equality, a grouping, DISTINCT, LATEST BY, a source's key, a set
//     operation, and window functions or a top-N with a partition. No exchange is made where they are together already.
//   - What has no key and stands on one side of a join (a scalar, IN and EXISTS, CROSS JOIN) goes to every partition.
//   - One group over everything, a top-N without partition and recursion have one partition.
//   - LATEST BY and a source's key follow the order of arrival. It is known for rows of one input that were only
//     filtered and computed; above anything else they have one partition with everything below.
func Cut(q *Query, partitions int) (*Physical, error) {
	switch {
	case partitions < 2 || partitions > MaxPartitions:
		return nil, fmt.Errorf("%w: it is %d", ErrPartitions, partitions)
	case q.Pipeline:
		return nil, fmt.Errorf("%w: a pipeline gives its results in order and runs in one partition", ErrNotParallel)
	}
	if why := unpartitionable(q.Root); why != "" {
		return nil, fmt.Errorf("%w: %s", ErrNotParallel, why)
	}
	c := &cutter{out: &Physical{Query: q, Partitions: partitions, Epochs: heedsEpochs(q.Root)}}
	c.stage(c.part(q.Root))
	return c.out, nil
}

// unpartitionable says why a plan has to run in one partition, empty when it does not.
func unpartitionable(n Node) string {
	switch n := n.(type) {
	case *Retain:
		return "retention counts the rows of the whole table; set parallelism to 1 or remove the retention"
	case *LatestBy:
		if n.Bounds() {
			return "retention counts the rows of the whole table; set parallelism to 1 or remove the retention"
		}
	case *Window, *IntervalJoin, *Rolling:
		return n.Name() + " follows the order of arrival over all rows"
	}
	for _, c := range n.Children() {
		if why := unpartitionable(c); why != "" {
			return why
		}
	}
	return ""
}

// heedsEpochs reports whether a LATEST BY takes the retractions of an epoch before its assertions.
func heedsEpochs(n Node) bool {
	if l, ok := n.(*LatestBy); ok && !l.In.AppendOnly() {
		return true
	}
	for _, c := range n.Children() {
		if heedsEpochs(c) {
			return true
		}
	}
	return false
}

package plan

import (
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Retention bounds the rows of a table. The zero value bounds nothing.
type Retention struct {
	// MaxRows is how many rows are kept at most, the newest by event time; 0 is any number.
	MaxRows int64
	// TTLMs is how far the event time of a row may be behind that of the newest row; 0 is any.
	TTLMs int64
}

// Bounds reports whether there is a bound.
func (r Retention) Bounds() bool { return r.MaxRows > 0 || r.TTLMs > 0 }

// String prints "MAX ROWS 10 TTL 5000 ms".
func (r Retention) String() string {
	var parts []string
	if r.MaxRows > 0 {
		parts = append(parts, fmt.Sprintf("MAX ROWS %d", r.MaxRows))
	}
	if r.TTLMs > 0 {
		parts = append(parts, fmt.Sprintf("TTL %d ms", r.TTLMs))
	}
	return strings.Join(parts, " ")
}

// Retain evicts the oldest rows of a table.
type Retain struct {
	In Node
	// Ts is the position of the event time, -1 when rows have none.
	Ts int
	Retention
}

var _ Node = (*Retain)(nil)

// Schema is the input's.
func (n *Retain) Schema() types.Schema { return n.In.Schema() }

// Children is the input.
func (n *Retain) Children() []Node { return []Node{n.In} }

// AppendOnly is false: old rows are taken back.
func (n *Retain) AppendOnly() bool { return false }

// Key is the input's.
func (n *Retain) Key() []int { return n.In.Key() }

// Changelog of the output.
func (n *Retain) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Retain) Name() string { return "Retain" }

// Detail is the bounds.
func (n *Retain) Detail() string { return n.String() }

func (n *Retain) withChildren(c []Node) Node {
	return &Retain{In: c[0], Ts: n.Ts, Retention: n.Retention}
}

// Retained bounds the rows of a table's optimized query. LATEST BY takes the bound over where its rows are the
// table's, so that it forgets the keys that leave.
func Retained(q *Query, r Retention) *Query {
	if !r.Bounds() {
		return q
	}
	out := *q
	if root := boundLatest(q.Root, r); root != nil {
		out.Root = root
		return &out
	}
	ts := -1
	if q.EventTime {
		ts = len(q.Root.Schema()) - 1
	}
	out.Root = &Retain{In: q.Root, Ts: ts, Retention: r}
	return &out
}

func boundLatest(n Node, r Retention) Node {
	switch n := n.(type) {
	case *LatestBy:
		out := *n
		out.Retention = r
		return &out
	case *Project:
		if in := boundLatest(n.In, r); in != nil {
			return n.withChildren([]Node{in})
		}
	}
	return nil
}

// RetentionRefused says why the rows of a plan cannot be evicted by age or number, "" when they can: eviction takes
// single rows of one input back, and a row that was made of several has no such input.
func RetentionRefused(n Node) string {
	switch n := n.(type) {
	case *Scan:
		return ""
	case *Filter, *Project, *LatestBy, *Retain, *Keyed:
		return RetentionRefused(n.Children()[0])
	default:
		return "retention needs a query over one plain input: this one has a " + kindOf(n)
	}
}

// kindOf is what people call the operator.
func kindOf(n Node) string {
	switch n.(type) {
	case *Join, *AsofJoin, *IntervalJoin:
		return "join"
	case *Reduce:
		return "GROUP BY or aggregate"
	case *Unnest:
		return "UNNEST"
	case *Union, *SetOp:
		return "set operation"
	case *Window:
		return "window"
	case *Recursive:
		return "recursive query"
	case *TopN:
		return "LIMIT or DISTINCT ON"
	case *Rolling:
		return "subquery"
	case *Over:
		return "window function"
	}
	return n.Name()
}

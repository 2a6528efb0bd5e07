package over

import (
	"strconv"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Mode is the unit of a frame.
type Mode uint8

// The units: rows, values of the one ORDER BY expression, or groups of rows that are equal in the order.
const (
	Range Mode = iota
	Rows
	Groups
)

// BoundKind is the kind of a border, in the order in which they lie in a partition.
type BoundKind uint8

// The borders.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// Exclude is what a frame leaves out.
type Exclude uint8

// The exclusions: nothing, the row, the row and those equal to it in the order, those but not the row.
const (
	ExcludeNothing Exclude = iota
	ExcludeRow
	ExcludeGroup
	ExcludeTies
)

// Frame says which rows of a partition a framed function of a row reads: those from Start to End. The zero Frame is
// not valid; Default is the one that holds when none is written.
type Frame struct {
	Mode       Mode
	Start, End Bound
	Exclude    Exclude
	// implied says that no frame was written, so that none is printed.
	implied bool
}

// Bound is one border. Off is the distance of Preceding and Following: a Long, or a Double over a Double order.
type Bound struct {
	Kind BoundKind
	Off  types.Value
}

// Default is the frame up to the row and those that are equal to it in the order; without an order, which makes all
// rows equal, the whole partition.
func Default() Frame {
	return Frame{Mode: Range, Start: Bound{Kind: UnboundedPreceding}, End: Bound{Kind: CurrentRow}, implied: true}
}

func (f Frame) String() string {
	s := [...]string{"RANGE", "ROWS", "GROUPS"}[f.Mode] + " BETWEEN " + f.Start.String() + " AND " + f.End.String()
	if f.Exclude != ExcludeNothing {
		s += " EXCLUDE " + [...]string{"NO OTHERS", "CURRENT ROW", "GROUP", "TIES"}[f.Exclude]
	}
	return s
}

func (b Bound) String() string {
	word := b.Kind.String()
	if b.Kind != Preceding && b.Kind != Following {
		return word
	}
	if b.Off.Kind() == types.Double {
		return strconv.FormatFloat(b.Off.Float(), 'g', -1, 64) + " " + word
	}
	return strconv.FormatInt(b.Off.Int(), 10) + " " + word
}

// Shape says in words what is wrong with the borders of a frame, "" when nothing is: the frame has to start before it
// ends.
func (f Frame) Shape() string {
	switch {
	case f.Start.Kind == UnboundedFollowing:
		return "a frame cannot start at UNBOUNDED FOLLOWING"
	case f.End.Kind == UnboundedPreceding:
		return "a frame cannot end at UNBOUNDED PRECEDING"
	case f.Start.Kind > f.End.Kind:
		return "a frame that starts at " + f.Start.Kind.String() + " cannot end at " + f.End.Kind.String()
	}
	return ""
}

func (k BoundKind) String() string {
	return [...]string{"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"}[k]
}

// Distant reports whether the border is at a distance from the row.
func (b Bound) Distant() bool { return b.Kind == Preceding || b.Kind == Following }

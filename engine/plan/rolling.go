package plan

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// RollingKind is what a row is told of a rolling snapshot.
type RollingKind uint8

// The kinds.
const (
	// RollingIn adds whether the snapshot has the value Value in its column Col: a Bool.
	RollingIn RollingKind = iota
	// RollingExists adds whether the snapshot has a row: a Bool.
	RollingExists
	// RollingValue adds the column Col of the snapshot's row, NULL without one.
	RollingValue
	// RollingStrictIn is RollingIn with three values: NULL when the value is not there, but it or one of the snapshot is
	// NULL.
	RollingStrictIn
)

var rollingKindNames = [...]string{"IN", "EXISTS", "VALUE", "STRICT IN"}

func (k RollingKind) String() string { return rollingKindNames[k] }

// Rolling adds to each row of a stream one column read from a snapshot: the rows that the newest closed window of Sub
// gave out. The snapshot is replaced at each close; a row meets the one that is there when it arrives.
type Rolling struct {
	In, Sub Node
	Kind    RollingKind
	Value   expr.Expr // over In, of RollingIn
	Col     int       // of Sub

	schema types.Schema
}

var _ Node = (*Rolling)(nil)

// NewRolling reads the snapshots of sub for the rows of in.
func NewRolling(in, sub Node, kind RollingKind, key expr.Expr, col int) *Rolling {
	n := &Rolling{In: in, Sub: sub, Kind: kind, Value: key, Col: col}
	f := types.Field{Name: kind.String(), Kind: types.Bool}
	if kind == RollingValue {
		f = sub.Schema()[col]
	}
	n.schema = append(in.Schema().Clone(), f)
	return n
}

// Schema is the input's columns and what is read.
func (n *Rolling) Schema() types.Schema { return n.schema }

// Children are the stream and the windowed query.
func (n *Rolling) Children() []Node { return []Node{n.In, n.Sub} }

// AppendOnly when the stream is: a row is not judged again.
func (n *Rolling) AppendOnly() bool { return n.In.AppendOnly() }

// Key is the stream's.
func (n *Rolling) Key() []int { return n.In.Key() }

// Changelog of the output.
func (n *Rolling) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Rolling) Name() string { return "Rolling" }

// Detail is what is read.
func (n *Rolling) Detail() string {
	switch n.Kind {
	case RollingIn, RollingStrictIn:
		return n.Value.String() + " " + n.Kind.String() + " " + n.Sub.Schema()[n.Col].Name
	case RollingValue:
		return "VALUE " + n.Sub.Schema()[n.Col].Name
	}
	return n.Kind.String()
}

func (n *Rolling) withChildren(c []Node) Node { return NewRolling(c[0], c[1], n.Kind, n.Value, n.Col) }

// WindowBelow is the window whose closings replace the snapshots of a query: the nearest one, with nothing but
// operators between that pass rows on one by one. It is nil when there is none.
func WindowBelow(n Node) *Window {
	switch n := n.(type) {
	case *Window:
		return n
	case *Filter:
		return WindowBelow(n.In)
	case *Project:
		return WindowBelow(n.In)
	case *Unnest:
		return WindowBelow(n.In)
	case *Rolling:
		return WindowBelow(n.In)
	}
	return nil
}

// rolling keeps what is read above and the column of the snapshot.
func (p *pruner) rolling(n *Rolling, need map[int]bool) (Node, []int) {
	width := len(n.In.Schema())
	above := map[int]bool{}
	for c := range need {
		if c < width {
			above[c] = true
		}
	}
	if n.Value != nil {
		collect(n.Value, above)
	}
	in, to := p.node(n.In, above)
	sub, toSub := p.node(n.Sub, map[int]bool{n.Col: true})
	key := n.Value
	if key != nil {
		key = remap(key, to)
	}
	out := append(append([]int(nil), to...), len(in.Schema()))
	return NewRolling(in, sub, n.Kind, key, toSub[n.Col]), out
}

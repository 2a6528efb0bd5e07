package plan

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// SetOp is INTERSECT or EXCEPT of two relations of the same columns. Rows are equal when they are identical, NULL and
// NULL included. Without All the result has each row once; with All a row is there as often as both sides have it, or as
// often as the left side has it more often than the right one.
type SetOp struct {
	Left, Right Node
	Except      bool // else INTERSECT
	All         bool
}

var _ Node = (*SetOp)(nil)

// Schema is the left side's.
func (n *SetOp) Schema() types.Schema { return n.Left.Schema() }

// Children are the two sides.
func (n *SetOp) Children() []Node { return []Node{n.Left, n.Right} }

// AppendOnly when both sides of an intersection are: it only grows with them.
func (n *SetOp) AppendOnly() bool {
	return !n.Except && n.Left.AppendOnly() && n.Right.AppendOnly()
}

// Key is that of the left side, of which the result is a part, else all columns when each row is there once.
func (n *SetOp) Key() []int {
	if k := n.Left.Key(); k != nil || n.All {
		return k
	}
	return firstN(len(n.Schema()))
}

// Changelog of the output.
func (n *SetOp) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *SetOp) Name() string {
	if n.Except {
		return "Except"
	}
	return "Intersect"
}

// Detail says whether rows are counted.
func (n *SetOp) Detail() string {
	if n.All {
		return "ALL"
	}
	return "DISTINCT"
}

func (n *SetOp) withChildren(c []Node) Node {
	return &SetOp{Left: c[0], Right: c[1], Except: n.Except, All: n.All}
}

// setOp keeps every column: all of them say which rows are equal.
func (p *pruner) setOp(n *SetOp) (Node, []int) {
	side := func(in Node) Node {
		node, to := p.node(in, all(in))
		exprs := make([]expr.Expr, len(to))
		names := make([]string, len(to))
		for i, c := range to {
			f := node.Schema()[c]
			exprs[i] = &expr.Column{Index: c, Name: f.Name, K: f.Kind}
			names[i] = n.Schema()[i].Name
		}
		return NewProject(node, exprs, names)
	}
	return &SetOp{Left: side(n.Left), Right: side(n.Right), Except: n.Except, All: n.All}, firstN(len(n.Schema()))
}

// pushFilterThroughSetOp filters both sides: equal rows pass together.
func pushFilterThroughSetOp(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	s, ok := f.In.(*SetOp)
	if !ok {
		return nil
	}
	return s.withChildren([]Node{&Filter{In: s.Left, Pred: f.Pred}, &Filter{In: s.Right, Pred: f.Pred}})
}

package plan

import (
	"strconv"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// DefaultMaxRecursion bounds the rounds of a recursion that names no bound.
const DefaultMaxRecursion = 100

// Recursive is WITH RECURSIVE: the rows of Base, and what Step makes of them, of that again, and so on for at most Max
// rounds. Step is a plan of its own: its input 0 is the recursive relation, the others are Others in order. It never
// takes a row back when it gets more rows. Without All each row is there once.
type Recursive struct {
	Relation string
	Base     Node
	Others   []Node
	Step     Node
	Inputs   []Input // of Step
	All      bool
	Max      int
}

var _ Node = (*Recursive)(nil)

// Self is the leaf by which the step of a recursion reads the recursive relation until NewRecursive takes it apart.
func Self(id int, name, alias string, columns types.Schema) *Scan {
	return NewScan(-1-id, name, alias, columns, firstN(len(columns)), true, nil)
}

// NewRecursive makes a recursion of a base and a step that reads it as Self(id). It returns the name of an operator in the
// way of a fixpoint, which has to be monotone, or with all even linear, in the recursive relation; empty when there is none.
func NewRecursive(id int, name string, base, step Node, all bool, max int) (*Recursive, string) {
	step = Simplify(step)
	if bad := nonMonotone(step, id, all); bad != "" {
		return nil, bad
	}
	n := &Recursive{Relation: name, Base: base, All: all, Max: max}
	n.Inputs = []Input{{Name: name, Kind: Table, Columns: base.Schema(), Ts: -1}}
	n.Step = n.split(step, id)
	return n, ""
}

// split replaces the parts of a step that do not read the recursive relation by scans of inputs.
func (n *Recursive) split(step Node, id int) Node {
	if s, ok := step.(*Scan); ok && s.Input == -1-id {
		return NewScan(0, s.Relation, s.Alias, n.Base.Schema(), s.Cols, true, nil)
	}
	if readsSelf(step, id) == 0 {
		at := len(n.Inputs)
		name := "input " + strconv.Itoa(at)
		n.Others = append(n.Others, step)
		n.Inputs = append(n.Inputs, Input{Name: name, Kind: Table, Columns: step.Schema(), Ts: -1})
		return NewScan(at, name, name, step.Schema(), firstN(len(step.Schema())), true, step.Key())
	}
	children := make([]Node, len(step.Children()))
	for i, c := range step.Children() {
		children[i] = n.split(c, id)
	}
	return step.withChildren(children)
}

// readsSelf counts the leaves that are the recursive relation.
func readsSelf(n Node, id int) int {
	if s, ok := n.(*Scan); ok && s.Input == -1-id {
		return 1
	}
	count := 0
	for _, c := range n.Children() {
		count += readsSelf(c, id)
	}
	return count
}

// nonMonotone finds an operator above the recursive relation that can take rows back when it gets more of it, or, with
// linear, that does more than add up.
//
// What reads the relation through a domain, the values for which a correlated subquery is computed, does not count: a new
// value has rows of its own and changes none of another.
func nonMonotone(n Node, id int, linear bool) string {
	if mixesSelf(n, id) == 0 {
		return ""
	}
	if linear && mixesSelf(n, id) > 1 {
		return "a second reading of the relation under UNION ALL"
	}
	switch n := n.(type) {
	case *Scan, *Filter, *Project, *Unnest, *Union:
	case *Join:
		left, right := mixesSelf(n.Left, id) > 0, mixesSelf(n.Right, id) > 0
		ok := n.Kind == Inner || n.Kind == Semi && (!linear || !right) || n.Kind == Left && !right || n.Kind == Right && !left ||
			(n.Kind == Anti || n.Kind == Mark) && !right
		if !ok {
			return n.Kind.String() + " join"
		}
	case *AsofJoin:
		if mixesSelf(n.Right, id) > 0 {
			return "ASOF JOIN"
		}
	case *Reduce:
		if len(n.Aggs) > 0 || len(n.Keys) == 0 {
			return "an aggregate"
		}
		if linear {
			return "DISTINCT or GROUP BY"
		}
	case *SetOp:
		if linear || n.All || n.Except && mixesSelf(n.Right, id) > 0 {
			return n.Name()
		}
	default:
		return n.Name()
	}
	for _, c := range n.Children() {
		if bad := nonMonotone(c, id, linear); bad != "" {
			return bad
		}
	}
	return ""
}

// mixesSelf counts the leaves that are the recursive relation and not below a domain.
func mixesSelf(n Node, id int) int {
	if r, ok := n.(*Reduce); ok && r.Values {
		return 0
	}
	if s, ok := n.(*Scan); ok && s.Input == -1-id {
		return 1
	}
	count := 0
	for _, c := range n.Children() {
		count += mixesSelf(c, id)
	}
	return count
}

// Schema is the base's.
func (n *Recursive) Schema() types.Schema { return n.Base.Schema() }

// Children are the base and the other relations that the step reads.
func (n *Recursive) Children() []Node { return append([]Node{n.Base}, n.Others...) }

// AppendOnly when everything that it reads is: more rows only ever make more rows.
func (n *Recursive) AppendOnly() bool {
	for _, c := range n.Children() {
		if !c.AppendOnly() {
			return false
		}
	}
	return true
}

// Key is all columns when each row is there once.
func (n *Recursive) Key() []int {
	if n.All {
		return nil
	}
	return firstN(len(n.Schema()))
}

// Changelog of the output.
func (n *Recursive) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Recursive) Name() string { return "Recursive" }

// Detail is the relation's name and the bound.
func (n *Recursive) Detail() string {
	s := n.Relation + " UNION"
	if n.All {
		s += " ALL"
	}
	return s + " max=" + strconv.Itoa(n.Max)
}

func (n *Recursive) withChildren(c []Node) Node {
	out := *n
	out.Base, out.Others = c[0], c[1:]
	return &out
}

// recursive keeps every column: all of them go into the next round.
func (p *pruner) recursive(n *Recursive) (Node, []int) {
	children := n.Children()
	out := make([]Node, len(children))
	for k, in := range children {
		node, to := p.node(in, all(in))
		exprs := make([]expr.Expr, len(to))
		for i, c := range to {
			f := node.Schema()[c]
			exprs[i] = &expr.Column{Index: c, Name: f.Name, K: f.Kind}
		}
		out[k] = NewProject(node, exprs, in.Schema().Names())
	}
	return n.withChildren(out), firstN(len(n.Schema()))
}

package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Keyed turns the messages of a source with a key into the relation that they describe: in order of arrival a row
// takes the place of the row that its key had, and a row whose column Retract is TRUE removes the key.
type Keyed struct {
	In   Node
	Keys []int
	// Retract is the position of the mark, -1 when there is none.
	Retract int
}

var _ Node = (*Keyed)(nil)

// Schema is the input's.
func (n *Keyed) Schema() types.Schema { return n.In.Schema() }

// Children is the input.
func (n *Keyed) Children() []Node { return []Node{n.In} }

// AppendOnly is false: a row is replaced.
func (n *Keyed) AppendOnly() bool { return false }

// Key is the source's key.
func (n *Keyed) Key() []int { return n.Keys }

// Changelog is Upsert by the key.
func (n *Keyed) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Keyed) Name() string { return "Keyed" }

// Detail lists the key columns.
func (n *Keyed) Detail() string {
	s := n.In.Schema()
	names := make([]string, len(n.Keys))
	for i, k := range n.Keys {
		names[i] = s[k].Name
	}
	return "key=[" + strings.Join(names, ", ") + "]"
}

func (n *Keyed) withChildren(c []Node) Node {
	return &Keyed{In: c[0], Keys: n.Keys, Retract: n.Retract}
}

// keyed keeps the key and the mark. Rows that differ only in columns that nothing reads are the same row.
func (p *pruner) keyed(n *Keyed, need map[int]bool) (Node, []int) {
	for _, k := range n.Keys {
		need[k] = true
	}
	if n.Retract >= 0 {
		need[n.Retract] = true
	}
	in, to := p.node(n.In, need)
	out := &Keyed{In: in, Retract: -1}
	for _, k := range n.Keys {
		out.Keys = append(out.Keys, to[k])
	}
	if n.Retract >= 0 {
		out.Retract = to[n.Retract]
	}
	return out, to
}

// pushFilterThroughKeyed moves what reads the key only below: it drops all rows of a key, and its removals.
func pushFilterThroughKeyed(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	u, ok := f.In.(*Keyed)
	if !ok {
		return nil
	}
	key := map[int]bool{}
	for _, k := range u.Keys {
		key[k] = true
	}
	var below, above expr.Expr
	for _, c := range Conjuncts(f.Pred) {
		if reads(c, func(i int) bool { return key[i] }) {
			below = And(below, c)
		} else {
			above = And(above, c)
		}
	}
	if below == nil {
		return nil
	}
	return filtered(&Keyed{In: &Filter{In: u.In, Pred: below}, Keys: u.Keys, Retract: u.Retract}, above)
}

package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Over adds one column for each window function to the rows of its input. The functions have one window: the rows of
// each value of Partition in the order of Order. Rows that the order does not tell apart follow by the whole row, so
// that the result depends on the rows alone.
type Over struct {
	In        Node
	Partition []expr.Expr
	Order     []agg.OrderKey
	Calls     []over.Call
	Names     []string

	schema types.Schema
}

var _ Node = (*Over)(nil)

// NewOver makes the node; names are those of the columns that are added.
func NewOver(in Node, partition []expr.Expr, order []agg.OrderKey, calls []over.Call, names []string) *Over {
	n := &Over{In: in, Partition: partition, Order: order, Calls: calls, Names: names, schema: in.Schema().Clone()}
	for i, c := range calls {
		n.schema = append(n.schema, types.Field{Name: names[i], Kind: c.K})
	}
	return n
}

// Schema is the input's columns and one for each function.
func (n *Over) Schema() types.Schema { return n.schema }

// Children is the input.
func (n *Over) Children() []Node { return []Node{n.In} }

// AppendOnly is false: a row changes the values of others.
func (n *Over) AppendOnly() bool { return false }

// Key is the input's, else the partition with ROW_NUMBER.
func (n *Over) Key() []int {
	if key := n.In.Key(); key != nil {
		return key
	}
	key := make([]int, 0, len(n.Partition)+1)
	for _, e := range n.Partition {
		switch e := e.(type) {
		case *expr.Literal:
		case *expr.Column:
			key = append(key, e.Index)
		default:
			return nil
		}
	}
	for i, c := range n.Calls {
		if c.What == over.RowNumber {
			return append(key, len(n.In.Schema())+i)
		}
	}
	return nil
}

// Changelog of the output.
func (n *Over) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Over) Name() string { return "Over" }

// Detail is the functions and their window.
func (n *Over) Detail() string {
	calls := make([]string, len(n.Calls))
	for i, c := range n.Calls {
		calls[i] = c.String()
	}
	return strings.Join(append([]string{strings.Join(calls, ", ")}, windowDetail(n.Partition, n.Order)...), " ")
}

// windowDetail is PARTITION BY and ORDER BY, as far as there are any.
func windowDetail(partition []expr.Expr, order []agg.OrderKey) []string {
	var parts []string
	if len(partition) > 0 {
		keys := make([]string, len(partition))
		for i, e := range partition {
			keys[i] = e.String()
		}
		parts = append(parts, "PARTITION BY "+strings.Join(keys, ", "))
	}
	if len(order) > 0 {
		keys := make([]string, len(order))
		for i, o := range order {
			keys[i] = o.String()
		}
		parts = append(parts, "ORDER BY "+strings.Join(keys, ", "))
	}
	return parts
}

func (n *Over) withChildren(c []Node) Node {
	return NewOver(c[0], n.Partition, n.Order, n.Calls, n.Names)
}

// over keeps every column below, because rows that the order does not tell apart are told apart by them. Functions that
// nothing reads go, and with the last one the node.
func (p *pruner) over(n *Over, need map[int]bool) (Node, []int) {
	width := len(n.In.Schema())
	any := false
	for i := range n.Calls {
		any = any || need[width+i]
	}
	if !any {
		below := map[int]bool{}
		for c := range need {
			below[c] = true
		}
		in, to := p.node(n.In, below)
		return in, append(to, absent(len(n.Calls))...)
	}
	in, to := p.node(n.In, all(n.In))
	to = to[:len(to):len(to)]
	order := make([]agg.OrderKey, len(n.Order))
	for i, o := range n.Order {
		order[i] = agg.OrderKey{X: remap(o.X, to), Desc: o.Desc, NullsFirst: o.NullsFirst}
	}
	var calls []over.Call
	var names []string
	out := to
	for i, c := range n.Calls {
		if !need[width+i] {
			out = append(out, -1)
			continue
		}
		out = append(out, len(in.Schema())+len(calls))
		calls = append(calls, c.Map(func(e expr.Expr) expr.Expr { return remap(e, to) }))
		names = append(names, n.Names[i])
	}
	return NewOver(in, remapAll(n.Partition, to), order, calls, names), out
}

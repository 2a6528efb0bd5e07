package plan

import (
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// TopN keeps, of the rows of each value of Partition, those from Offset on up to Limit, by Order and then by the whole
// row. Without a partition it is ORDER BY with LIMIT; with one and a limit of 1 it is DISTINCT ON.
type TopN struct {
	In        Node
	Partition []expr.Expr
	Order     []agg.OrderKey
	Offset    int64
	// Limit is negative when there is none.
	Limit int64
}

var _ Node = (*TopN)(nil)

// Schema is the input's.
func (n *TopN) Schema() types.Schema { return n.In.Schema() }

// Children is the input.
func (n *TopN) Children() []Node { return []Node{n.In} }

// AppendOnly is false: a row moves out when a better one comes.
func (n *TopN) AppendOnly() bool { return false }

// Key is the partition's columns when each shows one row, else the input's key.
func (n *TopN) Key() []int {
	if n.Limit != 1 || n.In.Key() != nil {
		return n.In.Key()
	}
	key := make([]int, 0, len(n.Partition))
	for _, e := range n.Partition {
		c, ok := e.(*expr.Column)
		if !ok {
			return nil
		}
		key = append(key, c.Index)
	}
	return key
}

// Changelog of the output.
func (n *TopN) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *TopN) Name() string { return "TopN" }

// Detail is the partition, the order and the bounds.
func (n *TopN) Detail() string {
	parts := windowDetail(n.Partition, n.Order)
	if n.Limit >= 0 {
		parts = append(parts, "LIMIT "+strconv.FormatInt(n.Limit, 10))
	}
	if n.Offset > 0 {
		parts = append(parts, "OFFSET "+strconv.FormatInt(n.Offset, 10))
	}
	return strings.Join(parts, " ")
}

func (n *TopN) withChildren(c []Node) Node {
	out := *n
	out.In = c[0]
	return &out
}

// topN keeps every column below, because rows that the order does not tell apart are told apart by them.
func (p *pruner) topN(n *TopN) (Node, []int) {
	in, to := p.node(n.In, all(n.In))
	out := &TopN{In: in, Partition: remapAll(n.Partition, to), Offset: n.Offset, Limit: n.Limit}
	for _, o := range n.Order {
		out.Order = append(out.Order, agg.OrderKey{X: remap(o.X, to), Desc: o.Desc, NullsFirst: o.NullsFirst})
	}
	return out, to
}

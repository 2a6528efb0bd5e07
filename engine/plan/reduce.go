package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Reduce groups rows by Keys and folds each group into one row: the keys, then the aggregates. A group exists while
// at least one of its rows is counted; NULL keys are one group. Without keys there is at most one row.
type Reduce struct {
	In   Node
	Keys []expr.Expr
	Aggs []agg.Call
	// Domain marks the distinct values for which a correlated subquery is computed.
	Domain bool
	// Values marks a domain to which filters may have been pushed down: no longer all values, but distinct ones still.
	Values bool

	schema types.Schema
}

var _ Node = (*Reduce)(nil)

// NewDomain keeps each row of in once, for a correlated subquery that is computed for every one of them.
func NewDomain(in Node) *Reduce {
	s := in.Schema()
	keys := make([]expr.Expr, len(s))
	for i, f := range s {
		keys[i] = &expr.Column{Index: i, Name: f.Name, K: f.Stored()}
	}
	n := NewReduce(in, keys, nil)
	n.Domain, n.Values = true, true
	return n
}

// NewReduce groups in by keys.
func NewReduce(in Node, keys []expr.Expr, aggs []agg.Call) *Reduce {
	return &Reduce{In: in, Keys: keys, Aggs: aggs, schema: groupSchema(keys, aggs)}
}

// groupSchema names the columns of a grouped row by the text of what they compute.
func groupSchema(keys []expr.Expr, aggs []agg.Call) types.Schema {
	s := make(types.Schema, 0, len(keys)+len(aggs)+3)
	for _, k := range keys {
		s = append(s, types.Field{Name: k.String(), Kind: storedKind(k.Kind())})
	}
	for _, a := range aggs {
		s = append(s, types.Field{Name: a.String(), Kind: storedKind(a.K)})
	}
	return s
}

// Schema is the keys, then the aggregates.
func (n *Reduce) Schema() types.Schema { return n.schema }

// Children is the input.
func (n *Reduce) Children() []Node { return []Node{n.In} }

// AppendOnly is false: a group's row changes as rows arrive.
func (n *Reduce) AppendOnly() bool { return false }

// Key is the grouping columns.
func (n *Reduce) Key() []int { return firstN(len(n.Keys)) }

// Changelog is Upsert by the grouping columns.
func (n *Reduce) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Reduce) Name() string { return "Reduce" }

// Detail lists keys and aggregates.
func (n *Reduce) Detail() string { return groupDetail(n.Keys, n.Aggs) }

func (n *Reduce) withChildren(c []Node) Node {
	out := NewReduce(c[0], n.Keys, n.Aggs)
	out.Domain, out.Values = n.Domain, n.Values
	return out
}

// LatestBy keeps, for each value of the columns Keys, the newest whole row by column Ts: an equal time replaces, an
// older one is ignored. A retraction removes the key only when its row equals the retained one, and nothing older
// comes back. A row whose column Retract is TRUE removes the key and is not kept.
type LatestBy struct {
	In   Node
	Keys []int
	Ts   int
	// Retract is the position of the retraction mark, -1 when there is none.
	Retract int
	// Retention bounds the keys.
	Retention
}

var _ Node = (*LatestBy)(nil)

// Schema is the input's.
func (n *LatestBy) Schema() types.Schema { return n.In.Schema() }

// Children is the input.
func (n *LatestBy) Children() []Node { return []Node{n.In} }

// AppendOnly is false: a newer row supersedes.
func (n *LatestBy) AppendOnly() bool { return false }

// Key is the named columns.
func (n *LatestBy) Key() []int { return n.Keys }

// Changelog is Upsert by the key.
func (n *LatestBy) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *LatestBy) Name() string { return "LatestBy" }

// Detail lists the key columns, and the bounds.
func (n *LatestBy) Detail() string {
	s := n.In.Schema()
	names := make([]string, len(n.Keys))
	for i, k := range n.Keys {
		names[i] = s[k].Name
	}
	detail := "key=[" + strings.Join(names, ", ") + "]"
	if n.Bounds() {
		detail += " " + n.Retention.String()
	}
	return detail
}

func (n *LatestBy) withChildren(c []Node) Node {
	out := *n
	out.In = c[0]
	return &out
}

func firstN(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func groupDetail(keys []expr.Expr, aggs []agg.Call) string {
	var b strings.Builder
	b.WriteString("keys=[")
	for i, k := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k.String())
	}
	b.WriteString("] aggs=[")
	for i, a := range aggs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.String())
	}
	b.WriteByte(']')
	return b.String()
}

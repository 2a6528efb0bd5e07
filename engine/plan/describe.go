package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Description is a plan as a list of its operators, the root first and every operator before its inputs. It is what
// the text and the JSON of an explanation are made of.
type Description []Operator

// Operator is one operator of a described plan.
type Operator struct {
	// ID is the position in the list.
	ID int `json:"id"`
	// Name is the kind of the operator: "Scan", "Reduce".
	Name string `json:"name"`
	// Detail says what it does: the condition, the keys, the calls.
	Detail string `json:"detail"`
	// Columns are those of its output.
	Columns []Column `json:"columns"`
	// Mode is the changelog mode of its output: Append, Upsert or Retract. Key are the columns of an Upsert.
	Mode string   `json:"mode"`
	Key  []string `json:"key"`
	// RowKey are the columns that identify a row of the output at any moment: null when none are known, empty when
	// there is at most one row.
	RowKey []string `json:"rowKey" openapi:"nullable"`
	// AppendOnly proves that the output never takes a row back.
	AppendOnly bool `json:"appendOnly"`
	// State says what the operator keeps: "none", or what it holds and by which key.
	State string `json:"state"`
	// Variant says how the operator runs, where there are several ways; "" in a logical plan.
	Variant string `json:"variant"`
	// Inputs are the ids of the operators that it reads, in order.
	Inputs []int `json:"inputs"`
	// Step says that the operator is the root of the repeated part of a recursion, the last of Inputs of its parent.
	Step bool `json:"step"`
	// Work is what it has done, on a running entity; null otherwise.
	Work *Work `json:"work"`
}

// Column is a column of an operator's output.
type Column struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Work counts what a running operator has done since its worker started.
type Work struct {
	RowsIn     int64 `json:"rowsIn"`
	RowsOut    int64 `json:"rowsOut"`
	StateBytes int64 `json:"stateBytes"`
	// TimeNs is the time spent in the operator alone, estimated from samples; 0 without a stopwatch.
	TimeNs int64 `json:"timeNs"`
}

// Describe lists the operators of a plan.
func Describe(root Node) Description {
	var d Description
	d.Add(root)
	return d
}

// Add appends a node with everything below it and returns its id.
func (d *Description) Add(n Node) int {
	id := d.Node(n)
	for _, c := range n.Children() {
		in := d.Add(c)
		(*d)[id].Inputs = append((*d)[id].Inputs, in)
	}
	d.AddStep(n, id)
	return id
}

// AddStep appends the repeated part of a recursion below its node; other nodes have none.
func (d *Description) AddStep(n Node, id int) {
	r, ok := n.(*Recursive)
	if !ok {
		return
	}
	step := d.Add(r.Step)
	(*d)[step].Step = true
	(*d)[id].Inputs = append((*d)[id].Inputs, step)
}

// Node appends a node without its inputs and returns its id.
func (d *Description) Node(n Node) int {
	o := Operator{
		ID: len(*d), Name: n.Name(), Detail: n.Detail(), Columns: []Column{}, Key: []string{}, AppendOnly: n.AppendOnly(), State: StateOf(n), Inputs: []int{},
	}
	s := n.Schema()
	for _, f := range s {
		o.Columns = append(o.Columns, Column{Name: f.Name, Kind: f.Kind.String()})
	}
	c := n.Changelog()
	o.Mode = c.Mode.String()
	o.Key = append(o.Key, c.Key...)
	if key := n.Key(); key != nil {
		o.RowKey = columnNames(s, key)
	}
	*d = append(*d, o)
	return o.ID
}

// StateOf says what an operator of a node keeps between two changes.
func StateOf(n Node) string {
	switch n := n.(type) {
	case *Reduce:
		return "group table" + by(texts(n.Keys))
	case *LatestBy:
		return "newest row" + by(columnNames(n.In.Schema(), n.Keys))
	case *Keyed:
		return "newest row" + by(columnNames(n.In.Schema(), n.Keys))
	case *Retain:
		return "multiset of rows by age"
	case *Join:
		return "arrangements: left" + by(texts(n.LeftKeys)) + ", right" + by(texts(n.RightKeys))
	case *AsofJoin:
		return "arrangements by time: left" + by(texts(n.LeftKeys)) + ", right" + by(texts(n.RightKeys))
	case *IntervalJoin:
		return "buffers of " + FormatMillis(n.WithinMs) + ": left" + by(texts(n.LeftKeys)) + ", right" + by(texts(n.RightKeys))
	case *Window:
		return "window buffer" + by(texts(n.Keys))
	case *TopN:
		return "ordered rows" + by(texts(n.Partition))
	case *Over:
		return "ordered rows" + by(texts(n.Partition))
	case *SetOp:
		return "multisets: left, right"
	case *Recursive:
		return "multisets: inputs, fixpoint"
	case *Lookup:
		return "table" + by(texts(n.RightKeys))
	case *Rolling:
		return "snapshot of the subquery"
	}
	return "none"
}

// by is the key of a state; without columns there is one entry for everything.
func by(key []string) string {
	if len(key) == 0 {
		return ""
	}
	return " by (" + strings.Join(key, ", ") + ")"
}

func texts[E expr.Expr](es []E) []string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = e.String()
	}
	return out
}

func columnNames(s types.Schema, cols []int) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = s[c].Name
	}
	return out
}

// String prints one operator a line, inputs indented below, with the changelog mode behind the arrow.
func (d Description) String() string {
	var b strings.Builder
	if len(d) > 0 {
		d.print(&b, 0, 0)
	}
	return b.String()
}

func (d Description) print(b *strings.Builder, id, depth int) {
	o := d[id]
	if o.Step {
		b.WriteString(strings.Repeat("  ", depth) + "Step\n")
		depth++
	}
	b.WriteString(strings.Repeat("  ", depth) + o.Name)
	if o.Detail != "" {
		b.WriteString(" " + o.Detail)
	}
	if o.Variant != "" {
		b.WriteString(" {" + o.Variant + "}")
	}
	b.WriteString(" -> " + o.Mode)
	if o.Mode == Upsert.String() {
		b.WriteString("(" + strings.Join(o.Key, ", ") + ")")
	}
	if o.State != "none" {
		b.WriteString(" | state: " + o.State)
	}
	if o.Work != nil {
		b.WriteString(" | " + o.Work.String())
	}
	b.WriteByte('\n')
	for _, in := range o.Inputs {
		d.print(b, in, depth+1)
	}
}

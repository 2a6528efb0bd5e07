package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Scan reads one input of the query. It is the only leaf.
type Scan struct {
	// Input is the position in Query.Inputs.
	Input int
	// Relation and Alias are the names in the statement.
	Relation, Alias string
	// Cols are the positions in the input's columns (Query.Inputs[Input].Columns) that this scan reads, in output
	// order. Two scans of one input may read different columns.
	Cols []int
	// Append says that the relation never takes a row back.
	Append bool
	// Unique are positions in the scan's output that identify a row: nil when unknown.
	Unique []int

	schema types.Schema
}

var _ Node = (*Scan)(nil)

// NewScan reads the columns cols of an input with the given columns.
func NewScan(input int, relation, alias string, columns types.Schema, cols []int, appendOnly bool, unique []int) *Scan {
	s := &Scan{Input: input, Relation: relation, Alias: alias, Cols: cols, Append: appendOnly, Unique: unique}
	s.schema = make(types.Schema, len(cols))
	for i, c := range cols {
		s.schema[i] = types.Field{Name: columns[c].Name, Kind: columns[c].Stored()}
	}
	return s
}

// Scans counts the scans below a node, up to a limit.
func Scans(n Node, limit int) int {
	if _, ok := n.(*Scan); ok {
		return 1
	}
	count := 0
	for _, c := range n.Children() {
		if count += Scans(c, limit-count); count >= limit {
			break
		}
	}
	return count
}

// Schema is the read columns.
func (n *Scan) Schema() types.Schema { return n.schema }

// Children of a leaf: none.
func (n *Scan) Children() []Node { return nil }

// AppendOnly is what the relation promises.
func (n *Scan) AppendOnly() bool { return n.Append }

// Key is the relation's key, when all of its columns are read.
func (n *Scan) Key() []int { return n.Unique }

// Changelog is the relation's mode.
func (n *Scan) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Scan) Name() string { return "Scan" }

// Detail names the relation and the columns read.
func (n *Scan) Detail() string {
	s := n.Relation
	if n.Alias != n.Relation {
		s += " AS " + n.Alias
	}
	return s + " [" + strings.Join(n.schema.Names(), ", ") + "]"
}

func (n *Scan) withChildren([]Node) Node { return n }

package plan

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Filter keeps the rows for which Pred is exactly TRUE. It is linear: it holds no state.
type Filter struct {
	In   Node
	Pred expr.Expr
}

var _ Node = (*Filter)(nil)

// Schema is the input's.
func (n *Filter) Schema() types.Schema { return n.In.Schema() }

// Children is the input.
func (n *Filter) Children() []Node { return []Node{n.In} }

// AppendOnly when the input is.
func (n *Filter) AppendOnly() bool { return n.In.AppendOnly() }

// Key is the input's: dropping rows keeps the rest unique.
func (n *Filter) Key() []int { return n.In.Key() }

// Changelog of the output.
func (n *Filter) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Filter) Name() string { return "Filter" }

// Detail is the condition.
func (n *Filter) Detail() string { return n.Pred.String() }

func (n *Filter) withChildren(c []Node) Node { return &Filter{In: c[0], Pred: n.Pred} }

// Project computes one output column per expression. It is linear: it holds no state.
type Project struct {
	In    Node
	Exprs []expr.Expr
	Names []string

	schema types.Schema
	key    []int
}

var _ Node = (*Project)(nil)

// NewProject computes exprs over in and names the results. A column of unknown kind (a bare NULL) is a String.
func NewProject(in Node, exprs []expr.Expr, names []string) *Project {
	n := &Project{In: in, Exprs: exprs, Names: names}
	n.schema = make(types.Schema, len(exprs))
	for i, e := range exprs {
		n.schema[i] = types.Field{Name: names[i], Kind: storedKind(e.Kind())}
	}
	n.key = projectKey(in.Key(), exprs)
	return n
}

// storedKind gives a bare NULL its column kind.
func storedKind(k types.Kind) types.Kind {
	if k == types.Unknown {
		return types.String
	}
	return k
}

// projectKey maps the input's key through plain column references; a key that loses a column is no key.
func projectKey(key []int, exprs []expr.Expr) []int {
	if key == nil {
		return nil
	}
	out := make([]int, 0, len(key))
	for _, k := range key {
		at := -1
		for i, e := range exprs {
			if c, ok := e.(*expr.Column); ok && c.Index == k {
				at = i
				break
			}
		}
		if at < 0 {
			return nil
		}
		out = append(out, at)
	}
	return out
}

// Schema is one column per expression.
func (n *Project) Schema() types.Schema { return n.schema }

// Children is the input.
func (n *Project) Children() []Node { return []Node{n.In} }

// AppendOnly when the input is.
func (n *Project) AppendOnly() bool { return n.In.AppendOnly() }

// Key is the input's key, when every column of it is passed on unchanged.
func (n *Project) Key() []int { return n.key }

// Changelog of the output.
func (n *Project) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Project) Name() string { return "Project" }

// Detail lists the expressions, with their names where they differ.
func (n *Project) Detail() string {
	parts := make([]string, len(n.Exprs))
	for i, e := range n.Exprs {
		s := e.String()
		parts[i] = s
		if s != n.Names[i] && !strings.HasSuffix(s, "."+n.Names[i]) {
			parts[i] = s + " AS " + n.Names[i]
		}
	}
	return strings.Join(parts, ", ")
}

func (n *Project) withChildren(c []Node) Node { return NewProject(c[0], n.Exprs, n.Names) }

// Unnest gives one row per element of a Json array: the input's columns, then the element as a Json column. A NULL,
// an empty array and a value that is no array give no row, or one with a NULL element when Outer is set. It is linear: retracting a row retracts its elements.
type Unnest struct {
	In  Node
	Arg expr.Expr
	// Alias names the element column.
	Alias string
	// Outer keeps rows without elements: LEFT JOIN UNNEST.
	Outer bool

	schema types.Schema
}

var _ Node = (*Unnest)(nil)

// NewUnnest flattens arg over the rows of in.
func NewUnnest(in Node, arg expr.Expr, alias string) *Unnest {
	s := append(in.Schema().Clone(), types.Field{Name: alias, Kind: types.Json})
	return &Unnest{In: in, Arg: arg, Alias: alias, schema: s}
}

// over is the same flattening of another input.
func (n *Unnest) over(in Node, arg expr.Expr) *Unnest {
	out := NewUnnest(in, arg, n.Alias)
	out.Outer = n.Outer
	return out
}

// Schema is the input's columns and the element.
func (n *Unnest) Schema() types.Schema { return n.schema }

// Children is the input.
func (n *Unnest) Children() []Node { return []Node{n.In} }

// AppendOnly when the input is.
func (n *Unnest) AppendOnly() bool { return n.In.AppendOnly() }

// Key is unknown: one input row can give equal elements.
func (n *Unnest) Key() []int { return nil }

// Changelog of the output.
func (n *Unnest) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Unnest) Name() string { return "Unnest" }

// Detail is the array and the element's name.
func (n *Unnest) Detail() string {
	s := n.Arg.String() + " AS " + n.Alias
	if n.Outer {
		return "LEFT " + s
	}
	return s
}

func (n *Unnest) withChildren(c []Node) Node { return n.over(c[0], n.Arg) }

// Union puts the rows of its inputs together; equal rows add up. All inputs have the kinds of the first.
type Union struct {
	Ins []Node
}

var _ Node = (*Union)(nil)

// Schema is the first input's.
func (n *Union) Schema() types.Schema { return n.Ins[0].Schema() }

// Children are the branches.
func (n *Union) Children() []Node { return n.Ins }

// AppendOnly when every branch is.
func (n *Union) AppendOnly() bool {
	for _, in := range n.Ins {
		if !in.AppendOnly() {
			return false
		}
	}
	return true
}

// Key is unknown: two branches may hold the same row.
func (n *Union) Key() []int { return nil }

// Changelog of the output.
func (n *Union) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Union) Name() string { return "Union" }

// Detail of a union: nothing beside its branches.
func (n *Union) Detail() string { return "ALL" }

func (n *Union) withChildren(c []Node) Node { return &Union{Ins: c} }

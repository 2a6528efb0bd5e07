package flow

import (
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// recursiveOf makes the operator of a recursion. Its step is a flow of its own, made anew for every fixpoint.
func recursiveOf(n *plan.Recursive) *op.Recursive {
	var inputs []types.Schema
	for _, c := range n.Children() {
		inputs = append(inputs, c.Schema())
	}
	q := &plan.Query{Inputs: n.Inputs, Root: n.Step}
	return op.NewRecursive(inputs, func() op.Step { return step{New(q)} }, n.All, n.Max)
}

// step is a flow as the step of a recursion.
type step struct{ f *Flow }

func (s step) Push(input int, b *zset.Batch) { s.f.Push(input, b) }

func (s step) Flush() *zset.Batch { return s.f.Flush().Delta }

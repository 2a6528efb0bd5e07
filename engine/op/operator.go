package op

import (
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Delta is a list of changes on its way from one operator to the next.
//
// Only the selected rows exist; columns of a computed batch are undefined elsewhere. The receiver must not change
// or keep any part of it after Apply returns, unless it is stable: the sender's buffers are used again.
type Delta struct {
	B *zset.Batch
	// Sel is an ascending list of positions; nil means every row.
	Sel []int32
	// Marks is, for each row of B, the watermark that the rows before it had reached; nil means that the rows were
	// made by an operator and are not late.
	Marks []int64
	// Stable says that B and all its memory never change: the receiver may keep them.
	Stable bool
	// Evicted says that retention takes the rows back, not a change of the input.
	Evicted bool
}

// Len returns the number of rows.
func (d Delta) Len() int {
	if d.Sel == nil {
		return d.B.N
	}
	return len(d.Sel)
}

// At returns the position of the k-th row.
func (d Delta) At(k int) int {
	if d.Sel == nil {
		return k
	}
	return int(d.Sel[k])
}

// Emit takes the changes that an operator gives out. It returns when every operator downstream has taken them.
type Emit func(Delta)

// Operator is one step of a flow. The flow calls it on its own goroutine, in an order that depends only on the
// input:
//
//   - Apply for every batch of changes, in order of arrival. Port is 0, or the position among the inputs for an
//     operator with several.
//   - Advance at the end of every epoch, upstream operators first, with the watermark of the operator's inputs. It
//     never goes back.
//   - Flush when the flow gives its output out, upstream operators first. Several epochs may lie between two calls;
//     what is given out is the net change of them all.
//
// Each of them may call emit any number of times. How the rows are cut into Apply calls changes nothing that is
// given out until Flush.
//
// AppendSnapshot is called after Flush and before the next Apply. Restore gets the same bytes, on an operator that
// was made from the same plan node and has seen nothing; then it continues as if it had never stopped.
type Operator interface {
	Apply(port int, d Delta, emit Emit)
	Advance(watermark int64, emit Emit)
	Flush(emit Emit)
	// Waits reports whether the operator holds rows back until the watermark goes on.
	Waits() bool
	AppendSnapshot(dst []byte) []byte
	Restore(b []byte) error
	// StateBytes is the memory that the state takes.
	StateBytes() int64
}

// linear is embedded by operators without state: what they do with a change depends on nothing else.
type linear struct{}

func (linear) Advance(int64, Emit)              {}
func (linear) Flush(Emit)                       {}
func (linear) Waits() bool                      { return false }
func (linear) AppendSnapshot(dst []byte) []byte { return dst }
func (linear) Restore(b []byte) error           { return wantEmpty(b) }
func (linear) StateBytes() int64                { return 0 }

// kindsOf returns the stored kinds of a schema.
func kindsOf(s types.Schema) []types.Kind {
	out := make([]types.Kind, len(s))
	for i := range s {
		out[i] = s[i].Stored()
	}
	return out
}

// grow returns a slice of n elements with unspecified content, reusing the memory.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

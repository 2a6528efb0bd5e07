package op

import "github.com/streamsforge/streamsforge/engine/types"

// NewKeyed makes the operator that turns the changes of a keyed source into a relation: a row takes the place of the
// row that its key had, and a marked row removes the key.
//
// It is LATEST BY without times: what comes later is newer. retract is the position of the mark, -1 without one.
func NewKeyed(in types.Schema, keys []int, retract int) *LatestBy {
	return NewLatestBy(in, keys, -1, retract, true)
}

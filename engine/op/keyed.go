package op

import (
	"encoding/binary"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Changes are the books of a keyed source: every row that came is one of the three.
type Changes struct {
	// Upserts are rows that became the row of their key, equal to the one before or not.
	Upserts int64
	// Deletes are marked rows that took the row of their key away.
	Deletes int64
	// Unknown are marked rows whose key had no row.
	Unknown int64
}

// Add adds the books of another operator.
func (c *Changes) Add(o Changes) {
	c.Upserts += o.Upserts
	c.Deletes += o.Deletes
	c.Unknown += o.Unknown
}

// count books a row of a key that has a row, or has none.
func (c *Changes) count(removes, have bool) {
	switch {
	case !removes:
		c.Upserts++
	case have:
		c.Deletes++
	default:
		c.Unknown++
	}
}

func (c *Changes) append(dst []byte) []byte {
	for _, n := range []int64{c.Upserts, c.Deletes, c.Unknown} {
		dst = binary.AppendVarint(dst, n)
	}
	return dst
}

// NewKeyed makes the operator that turns the changes of a keyed source into a relation: a row takes the place of the
// row that its key had, and a marked row removes the key.
//
// It is LATEST BY without times: what comes later is newer. retract is the position of the mark, -1 without one.
func NewKeyed(in types.Schema, keys []int, retract int) *LatestBy {
	l := NewLatestBy(in, keys, -1, retract, true)
	l.Changes = new(Changes)
	return l
}

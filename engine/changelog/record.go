package changelog

import (
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Op is what happens to a row.
type Op uint8

// The operations.
const (
	// Insert: a row appears.
	Insert Op = iota
	// Update: the row of a key takes new values.
	Update
	// Delete: a row leaves.
	Delete
)

var opNames = [...]string{"insert", "update", "delete"}

// Ops lists the names of the operations.
func Ops() []string { return append([]string(nil), opNames[:]...) }

func (o Op) String() string { return opNames[o] }

// MarshalText writes the operation as it appears in project files and messages.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// ParseOp finds an operation by its exact name.
func ParseOp(s string) (Op, error) {
	for i, n := range opNames {
		if n == s {
			return Op(i), nil
		}
	}
	return Insert, fmt.Errorf("unknown operation %q: expected insert, update or delete", s)
}

// Record is one change of one row.
type Record struct {
	Op Op
	// Row is the row after an insert or an update, and the last row of a delete.
	Row []types.Value
	// Before is the row that an update replaces; nil for the others.
	Before []types.Value
	// Count is how many equal rows change, 1 or more. It is 1 where a key identifies the row.
	Count int64
}

// Format prints a record as one line: the operation, then every column.
func (r Record) Format(columns []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-6s", r.Op)
	for i, v := range r.Row {
		name := "?"
		if i < len(columns) {
			name = columns[i]
		}
		b.WriteString("  " + name + "=" + v.String())
	}
	if r.Count > 1 {
		fmt.Fprintf(&b, "  (%d times)", r.Count)
	}
	return b.String()
}

// Identity says which columns make two images the same row.
type Identity struct {
	// Key is the positions of the key columns in the order of the key; empty for the one row of a global aggregate.
	Key []int
	// Whole says that a row is identified by all of its columns; Key is then nil.
	Whole bool
}

// IdentityOf is the identity that a changelog mode promises for rows with the columns of s.
func IdentityOf(c plan.Changelog, s types.Schema) Identity {
	if c.Mode != plan.Upsert {
		return Identity{Whole: true}
	}
	id, ok := ByKey(c.Key, s)
	if !ok {
		return Identity{Whole: true} // by the hidden event time: no reader sees it
	}
	return id
}

// ByKey is the identity by named columns; ok is false when one of them does not exist.
func ByKey(key []string, s types.Schema) (id Identity, ok bool) {
	id.Key = make([]int, len(key))
	for i, name := range key {
		if id.Key[i], ok = s.Find(name); !ok {
			return Identity{}, false
		}
	}
	return id, true
}

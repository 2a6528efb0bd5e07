package plan

import "strings"

// ChangelogMode says what kind of changes a relation emits.
type ChangelogMode uint8

// The modes, from the strongest promise to the weakest.
const (
	// Append: every row is a new, independent fact; nothing is ever taken back.
	Append ChangelogMode = iota
	// Upsert: rows are identified by a key; a later row for a key supersedes the earlier one.
	Upsert
	// Retract: changes are retractions followed by additions, identified by the whole row.
	Retract
)

var modeNames = [...]string{"Append", "Upsert", "Retract"}

func (m ChangelogMode) String() string { return modeNames[m] }

// MarshalText writes the mode as it appears in answers of the API.
func (m ChangelogMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Changelog is the derived changelog mode of a node. Key names the columns of an Upsert in order; it is empty for
// the one row of a global aggregate, and nil for the other modes.
type Changelog struct {
	Mode ChangelogMode
	Key  []string
}

// String prints "Append", "Upsert(symbol, side)" or "Retract".
func (c Changelog) String() string {
	if c.Mode != Upsert {
		return c.Mode.String()
	}
	return "Upsert(" + strings.Join(c.Key, ", ") + ")"
}

// changelog derives the mode that a node's two proofs allow: append-only input stays a list of facts, keyed
// output is an upsert, everything else has to be retracted row by row.
func changelog(n Node) Changelog {
	if n.AppendOnly() {
		return Changelog{Mode: Append}
	}
	key := n.Key()
	if key == nil {
		return Changelog{Mode: Retract}
	}
	s := n.Schema()
	names := make([]string, len(key))
	for i, c := range key {
		names[i] = s[c].Name
	}
	return Changelog{Mode: Upsert, Key: names}
}

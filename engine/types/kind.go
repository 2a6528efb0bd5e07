package types

import (
	"fmt"
	"strings"
)

// Kind is the declared type of a column.
type Kind uint8

// The kinds. Timestamp is milliseconds since the epoch and is stored like a Long; Json is compact JSON text and
// is stored like a String.
const (
	String Kind = iota
	Double
	Long
	Bool
	Timestamp
	Json
	// Unknown is the kind of a NULL literal before a context gives it one. No stored column has it.
	Unknown
)

var kindNames = [...]string{"String", "Double", "Long", "Bool", "Timestamp", "Json", "Unknown"}

// String returns the name of the kind as it appears in definitions.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// KindNames lists the kinds a field can be declared with.
func KindNames() []string { return append([]string(nil), kindNames[:Unknown]...) }

// ParseKind finds a kind by its exact name.
func ParseKind(s string) (Kind, error) {
	for i, n := range kindNames[:Unknown] {
		if n == s {
			return Kind(i), nil
		}
	}
	return Unknown, fmt.Errorf("unknown field type %q: expected one of %s", s, strings.Join(kindNames[:Unknown], ", "))
}

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name.
func (k *Kind) UnmarshalText(b []byte) error {
	v, err := ParseKind(string(b))
	if err != nil {
		return err
	}
	*k = v
	return nil
}

// IsText reports whether columns of the kind hold bytes (String and Json).
func (k Kind) IsText() bool { return k == String || k == Json }

// IsNumeric reports whether arithmetic takes values of the kind as numbers.
func (k Kind) IsNumeric() bool { return k == Double || k == Long || k == Timestamp }

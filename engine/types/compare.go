package types

import (
	"cmp"
	"math"
	"strings"
)

// Comparison says how SQL compares values of two kinds.
type Comparison uint8

// The comparisons. Never is for kinds that do not meet: = is false, <> true, < <= > >= are NULL. Refused is a
// diagnostic at analysis (Json must go through ->> and TO_*); an untyped NULL compares with everything, to NULL.
const (
	Numeric Comparison = iota // Long, Double and Timestamp among each other
	Textual                   // String with String, by bytes
	Boolean                   // Bool with Bool, false before true
	Never
	Refused
	AlwaysNull // one side is the NULL literal
)

// ComparisonOf returns how values of two kinds compare.
func ComparisonOf(a, b Kind) Comparison {
	switch {
	case a == Unknown || b == Unknown:
		return AlwaysNull
	case a == Json || b == Json:
		return Refused
	case a.IsNumeric() && b.IsNumeric():
		return Numeric
	case a == String && b == String:
		return Textual
	case a == Bool && b == Bool:
		return Boolean
	}
	return Never
}

// CompareDoubles orders doubles: NaN equals itself and is the largest.
func CompareDoubles(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	}
	return -1
}

// CompareLongDouble orders a Long and a Double as numbers, exactly: 2^53+1 is not 2^53.
func CompareLongDouble(i int64, f float64) int {
	switch {
	case f != f || f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Trunc(f)
	if c := cmp.Compare(i, int64(whole)); c != 0 {
		return c
	}
	return cmp.Compare(whole, f)
}

// Compare orders two values as SQL does. ok is false when the comparison is NULL: one of them is NULL or the kinds
// do not meet. Two Json values order by their text.
func Compare(a, b Value) (c int, ok bool) {
	if !a.valid || !b.valid {
		return 0, false
	}
	switch ComparisonOf(a.kind, b.kind) {
	case Numeric:
		switch {
		case a.kind == Double && b.kind == Double:
			return CompareDoubles(a.f, b.f), true
		case a.kind == Double:
			return -CompareLongDouble(b.i, a.f), true
		case b.kind == Double:
			return CompareLongDouble(a.i, b.f), true
		}
		return cmp.Compare(a.i, b.i), true
	case Textual:
		return strings.Compare(a.s, b.s), true
	case Boolean:
		return cmp.Compare(a.i, b.i), true
	case Refused:
		if a.kind == b.kind {
			return strings.Compare(a.s, b.s), true
		}
	}
	return 0, false
}

// Equal compares two values for SQL's =. ok is false when the result is NULL; values whose kinds do not meet are
// not equal.
func Equal(a, b Value) (equal, ok bool) {
	if !a.valid || !b.valid {
		return false, false
	}
	c, comparable := Compare(a, b)
	return comparable && c == 0, true
}

// Identical reports whether two values are the same cell: same kind, both NULL or the same value. Keys of tables
// compare like this (Long 1 is not Double 1.0), and so do rows.
func Identical(a, b Value) bool {
	if a.kind != b.kind || a.valid != b.valid {
		return false
	}
	return !a.valid || a.i == b.i && CompareDoubles(a.f, b.f) == 0 && a.s == b.s
}

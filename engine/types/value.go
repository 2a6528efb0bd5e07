package types

import (
	"math"
	"strconv"
)

// Value is one cell. The zero Value is NULL of kind String. Values are for the edges; operators work on columns.
type Value struct {
	kind  Kind
	valid bool
	i     int64 // Long, Timestamp, Bool (0 or 1)
	f     float64
	s     string // String, Json
}

// Null returns the NULL of a kind.
func Null(k Kind) Value { return Value{kind: k} }

// StringOf returns a String value.
func StringOf(s string) Value { return Value{kind: String, valid: true, s: s} }

// JsonOf returns a Json value from compact JSON text.
func JsonOf(text string) Value { return Value{kind: Json, valid: true, s: text} }

// LongOf returns a Long value.
func LongOf(i int64) Value { return Value{kind: Long, valid: true, i: i} }

// TimestampOf returns a Timestamp value from milliseconds since the epoch.
func TimestampOf(ms int64) Value { return Value{kind: Timestamp, valid: true, i: ms} }

// DoubleOf returns a Double value. Every NaN becomes the one canonical NaN and -0 becomes 0, so that equal
// numbers have equal bytes.
func DoubleOf(f float64) Value { return Value{kind: Double, valid: true, f: CanonicalDouble(f)} }

// BoolOf returns a Bool value.
func BoolOf(b bool) Value {
	v := Value{kind: Bool, valid: true}
	if b {
		v.i = 1
	}
	return v
}

// CanonicalDouble maps -0 to 0 and every NaN to one NaN.
func CanonicalDouble(f float64) float64 {
	if f == 0 {
		return 0
	}
	if f != f {
		return math.NaN()
	}
	return f
}

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether the value is NULL.
func (v Value) IsNull() bool { return !v.valid }

// Int returns the number of a Long or Timestamp, or 0 and 1 of a Bool.
func (v Value) Int() int64 { return v.i }

// Float returns the number of a Double.
func (v Value) Float() float64 { return v.f }

// Bool returns the truth of a Bool.
func (v Value) Bool() bool { return v.i != 0 }

// Text returns the text of a String or Json.
func (v Value) Text() string { return v.s }

// String prints the value for tests and plans: NULL, quoted text, doubles always with a point or an exponent.
func (v Value) String() string {
	if !v.valid {
		return "NULL"
	}
	switch v.kind {
	case String:
		return strconv.Quote(v.s)
	case Json:
		return v.s
	case Double:
		return FormatDouble(v.f)
	case Bool:
		return strconv.FormatBool(v.i != 0)
	default:
		return strconv.FormatInt(v.i, 10)
	}
}

// FormatDouble prints a double so that it cannot be read as a Long: 15.0, 0.1, 1e+300.
func FormatDouble(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '.', 'e', 'n', 'N', 'I':
			return s
		}
	}
	return s + ".0"
}

package expr

import "fmt"

// Codes of binding errors. They are the codes of the diagnostics that the analyzer makes of them.
const (
	CodeArgumentCount = "argument-count"
	CodeTypeMismatch  = "type-mismatch"
	CodeJSONBare      = "json-bare"
)

// BindError says why a function does not take its arguments. The analyzer turns it into a diagnostic at the
// argument's place.
type BindError struct {
	// Arg is the position of the argument at fault, or -1 when the call as a whole is.
	Arg     int
	Code    string
	Message string
	// Hint says what would be accepted; it may be empty.
	Hint string
}

func (e *BindError) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

func bindErrorf(arg int, code, hint, format string, args ...any) *BindError {
	return &BindError{Arg: arg, Code: code, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

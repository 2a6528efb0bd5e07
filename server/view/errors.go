package view

import (
	"errors"
	"fmt"
)

// Code says what kind of refusal an Error is. Each surface maps codes to its own status in one table.
type Code uint8

// The codes. Internal is the zero value, so that an error nobody classified is never shown as the caller's fault.
const (
	Internal    Code = iota
	Invalid          // the request cannot be understood or breaks a rule of its own: 400
	Unknown          // no such entity; reported without a body: 404
	Missing          // no such thing, with a text that names it (environment, position): 404
	Conflict         // the request is well formed but the catalog or the state refuses it: 409
	Denied           // the caller may not: 403
	TooLarge         // above a stated bound: 413
	Overloaded       // try again later: 429
	NotBuilt         // documented, but not part of this build: 501
	Unavailable      // starting, draining or not configured: 503
	Timeout          // a bounded wait ran out: 504
)

// Error is a refusal with a text for people. It names the thing, the place and, where there is one, the remedy.
type Error struct {
	Code Code
	Text string
	// Err is the cause, for the log; it is never shown to a caller.
	Err error
}

// Errorf makes a refusal.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// ErrUnknown is the refusal for an entity that does not exist.
var ErrUnknown = &Error{Code: Unknown, Text: "not found"}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Text + ": " + e.Err.Error()
	}
	return e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes every Unknown error equal to ErrUnknown for errors.Is.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t == ErrUnknown && e.Code == Unknown
}

// CodeOf classifies any error; one that carries no *Error is Internal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

package connectors

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrEndOfInput ends a polled cycle: everything that is there now has been read. The Driver stores the cursor
	// and waits for the schedule.
	ErrEndOfInput = errors.New("end of input")
	// ErrNotConnected asks the Driver to close, wait for the back-off and open again.
	ErrNotConnected = errors.New("not connected")
)

// InvalidError lists every problem of a definition or request.
type InvalidError struct{ list []string }

// Invalid returns an error that lists problems, nil when there are none.
func Invalid(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return &InvalidError{list: problems}
}

func (e *InvalidError) Error() string { return strings.Join(e.list, "; ") }

// Problems lists the problems; the caller does not change the list.
func (e *InvalidError) Problems() []string { return e.list }

// UnknownKindError is the refusal of a kind that no build documents.
type UnknownKindError struct{ Kind string }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("unknown source kind %q: expected one of %s", e.Kind, strings.Join(KnownNames(), ", "))
}

// NotBuiltError is the refusal of a documented kind that this build does not hold.
type NotBuiltError struct{ Kind string }

func (e *NotBuiltError) Error() string {
	return fmt.Sprintf("source kind %q is not part of this build: expected one of %s", e.Kind, strings.Join(Names(), ", "))
}

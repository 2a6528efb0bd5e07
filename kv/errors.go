package kv

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound says that the key has no value. Creating it is possible.
	ErrNotFound = errors.New("no such key")

	// ErrExists says that the key has a value already. It is an ErrConflict too.
	ErrExists = fmt.Errorf("the key exists: %w", ErrConflict)

	// ErrConflict says that the value has another revision than the one the change is based on: read again, and decide
	// again.
	ErrConflict = errors.New("the value was changed by somebody else")

	// ErrClosed says that a watcher was stopped or the connection closed.
	ErrClosed = errors.New("closed")

	// ErrLost says that a lease is not held any more. Its owner stops at once; its writes are fenced anyway.
	ErrLost = errors.New("the lease is lost")
)

// HeldError says that another owner holds a lease.
type HeldError struct {
	Key   string
	Owner string
	Token uint64
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lease %q is held by %q (token %d)", e.Key, e.Owner, e.Token)
}

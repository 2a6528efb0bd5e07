package streams

import (
	"errors"
	"fmt"
)

var (
	// ErrFenced says that another writer has appended: what this writer holds in memory is ahead of the log. The
	// caller discards it, opens the journal again and reads the tail; it never retries from memory.
	ErrFenced = errors.New("another writer is ahead of this one")

	// ErrNotFound says that the stream, the message or the record does not exist (any more).
	ErrNotFound = errors.New("not found")

	// ErrTooLarge says that an entry cannot be stored even in parts. Raising Nats:MaxPayload helps.
	ErrTooLarge = errors.New("larger than the log can hold in one commit; raise Nats:MaxPayload")

	// ErrClosed says that the server, the reader or the journal was closed by its owner.
	ErrClosed = errors.New("closed")

	// ErrRefused is returned by an [Authenticator] for unknown or disabled users and wrong passwords.
	ErrRefused = errors.New("refused")

	// ErrForeign says that a message in a journal was not written by this product: it has no entry header, or its
	// checksum does not fit. Position and stream are in the text.
	ErrForeign = errors.New("not an entry of this product")
)

// SettingError is a start-up failure that a setting can remedy. Its text names the key, the value, and what to do.
type SettingError struct {
	Key   string // the configuration key, for instance Nats:Listen
	Value string
	Err   error
	Hint  string // what a person can do
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("%s=%s: %v; %s", e.Key, e.Value, e.Err, e.Hint)
}

func (e *SettingError) Unwrap() error { return e.Err }

// GapError says that messages a reader asked for are no longer in the stream. The reader goes on at First when it is
// asked again, so a caller decides whether the loss matters.
type GapError struct {
	Stream string
	From   uint64 // the first position that was asked for and is gone
	First  uint64 // the first position that is still there, or will be written next
}

func (e *GapError) Error() string {
	return fmt.Sprintf("stream %s: positions %d to %d are no longer retained", e.Stream, e.From, e.First-1)
}

// AheadError says that a position is beyond the end of the stream: it was written once, and a power failure (or a
// restored disk) took it away again. Going on would read other rows under the same positions.
type AheadError struct {
	Stream string
	From   uint64 // the position that was asked for
	Last   uint64 // the last position of the stream
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("stream %s: position %d was asked for, but the stream ends at %d", e.Stream, e.From, e.Last)
}

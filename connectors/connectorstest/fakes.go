package connectorstest

import (
	"bytes"
	"context"
	"sync"

	"github.com/streamsforge/streamsforge/connectors"
)

// Log is a source's stream in memory. It stores a message id once.
type Log struct {
	mu   sync.Mutex
	msgs []connectors.Message
	ids  map[string]uint64
	fail error
}

var _ connectors.Log = (*Log)(nil)

// Append stores copies of the messages.
func (l *Log) Append(ctx context.Context, ms []connectors.Message) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if l.fail != nil {
		return 0, l.fail
	}
	for _, m := range ms {
		if seq := l.ids[m.ID]; m.ID != "" && seq > 0 {
			continue
		}
		m.Data = bytes.Clone(m.Data)
		l.msgs = append(l.msgs, m)
		if m.ID != "" {
			if l.ids == nil {
				l.ids = map[string]uint64{}
			}
			l.ids[m.ID] = uint64(len(l.msgs))
		}
	}
	return uint64(len(l.msgs)), nil
}

// Fail makes every further Append fail; nil ends it.
func (l *Log) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = err
}

// Messages returns what is stored.
func (l *Log) Messages() []connectors.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]connectors.Message(nil), l.msgs...)
}

// Rows is the sum of the row counts of the stored messages.
func (l *Log) Rows() int {
	n := 0
	for _, m := range l.Messages() {
		n += m.Rows
	}
	return n
}

// Cursors keeps the saved state of a source in memory and counts the writes.
type Cursors struct {
	mu     sync.Mutex
	saved  connectors.Saved
	writes int
	fail   error
}

var _ connectors.Cursors = (*Cursors)(nil)

// Load returns the saved state.
func (c *Cursors) Load(context.Context) (connectors.Saved, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved, c.fail
}

// Save keeps the state.
func (c *Cursors) Save(_ context.Context, s connectors.Saved) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.saved = s
	c.writes++
	return nil
}

// Fail makes every further call fail; nil ends it.
func (c *Cursors) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

// Saved returns the saved state and how often it was written.
func (c *Cursors) Saved() (s connectors.Saved, writes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved, c.writes
}

package intake

import (
	"context"

	"github.com/streamsforge/streamsforge/server/view"
)

// Connectors answers for the sources that a driver runs.
type Connectors struct{ in *Intake }

// Status returns the state of a source's connector. A source that is not running has never run here.
func (c *Connectors) Status(_ context.Context, env, source string) (view.ConnectorStatus, error) {
	at, _, err := c.in.source(env, source)
	if err != nil {
		return view.ConnectorStatus{}, err
	}
	out := view.ConnectorStatus{SourceName: source, LastStatus: "never"}
	out.CoercionFailuresTotal, out.QuarantinedTotal = c.in.o.Decoded(at.env, source)
	c.in.mu.Lock()
	u := c.in.units[at]
	c.in.mu.Unlock()
	if u == nil {
		return out, nil
	}
	_, _, d := u.parts()
	if d == nil {
		if err := u.lastError(); err != nil {
			out.LastStatus, out.LastError = "error", optional(err.Error())
		}
		return out, nil
	}
	s := d.Status()
	out.LastStatus, out.LastError, out.Cursor = s.LastStatus, optional(s.LastError), optional(s.Cursor)
	out.NextRunMs, out.LastRunMs = optional(s.NextRunMs), optional(s.LastRunMs)
	out.ConsecutiveFailures, out.LastBatchCount = s.ConsecutiveFailures, s.LastBatchCount
	out.EventsEmittedTotal, out.EnvelopeSkippedTotal = s.EventsEmittedTotal, s.EnvelopeSkippedTotal
	return out, nil
}

// optional is nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

package runtime

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// awaitPosition waits until the entity reflects a position of an input, which it may read through others.
func (e *entity) awaitPosition(ctx context.Context, input string, seq uint64) error {
	env := e.env
	var epoch uint64
	switch kind, id := e.reach(input); {
	case kind == "source":
		t, ok := env.clk.Find(input)
		if !ok {
			return view.Errorf(view.Missing, "source '%s' does not exist", input)
		}
		p := clock.Position{Seq: seq}
		if src := env.source(input); src != nil {
			p.Incarnation = src.stream.Incarnation()
		}
		at, err := env.clk.AwaitPosition(ctx, t, p)
		if err != nil {
			return waitError(err, input, seq)
		}
		epoch = at
	case kind != "":
		in := env.entity(kind, id)
		at, err := in.epochOf(ctx, seq)
		if err != nil {
			return waitError(err, input, seq)
		}
		epoch = at
	default:
		return view.Errorf(view.Invalid, "'%s' is no input of this table, not through others either", input)
	}
	if _, err := e.awaitEpoch(ctx, input, epoch); err != nil {
		return waitError(err, input, seq)
	}
	return nil
}

// awaitEpoch waits until the entity, and every entity between it and an input, reflects an epoch. One that has left
// holds the wait until it is back, because its last state lacks the row; what it had missed comes with the epoch at
// which it joins, so that is what those who read it have to reach.
func (e *entity) awaitEpoch(ctx context.Context, input string, epoch uint64) (uint64, error) {
	if w := e.worker(); w != nil {
		for i := range w.inputs {
			in := &w.inputs[i]
			if in.ent == nil || in.name == input {
				continue
			}
			if kind, _ := in.ent.reach(input); kind == "" {
				continue
			}
			at, err := in.ent.awaitEpoch(ctx, input, epoch)
			if err != nil {
				return 0, err
			}
			epoch = max(epoch, at)
		}
	}
	if err := e.env.clk.AwaitEpoch(ctx, e.node, epoch); err != nil {
		return 0, err
	}
	return max(epoch, e.env.clk.Since(e.node)), nil
}

func waitError(err error, input string, seq uint64) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &view.Error{Code: view.Timeout, Text: fmt.Sprintf("position %d of '%s' was not reflected in time", seq, input), Err: err}
	}
	return err
}

// reach finds what an input name means for an entity: one of its inputs, or an input of those.
func (e *entity) reach(input string) (kind, id string) {
	w := e.worker()
	if w == nil {
		return "", ""
	}
	for i := range w.inputs {
		in := &w.inputs[i]
		switch {
		case in.name == input && in.ent == nil:
			return "source", input
		case in.name == input:
			return in.ent.kind, in.ent.id
		}
	}
	for i := range w.inputs {
		if in := w.inputs[i].ent; in != nil {
			if kind, id := in.reach(input); kind != "" {
				return kind, id
			}
		}
	}
	return "", ""
}

// epochOf waits for a position of an entity's stream and returns its epoch.
func (e *entity) epochOf(ctx context.Context, seq uint64) (uint64, error) {
	e.mu.Lock()
	st := e.stream
	e.mu.Unlock()
	if st == nil {
		return 0, view.Errorf(view.Missing, "%s '%s' has no position %d", e.kind, e.name, seq)
	}
	m, err := st.Get(ctx, seq)
	if errors.Is(err, streams.ErrNotFound) {
		s, serr := st.State(ctx)
		if serr != nil {
			return 0, serr
		}
		if seq < s.First {
			return 0, nil // it is older than everything retained, so it is reflected
		}
		return 0, view.Errorf(view.Missing, "%s '%s' has no position %d yet", e.kind, e.name, seq)
	}
	if err != nil {
		return 0, err
	}
	epoch, err := strconv.ParseUint(m.Header.Get(streams.HeaderEpoch), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s '%s': position %d is no entry: %w", e.kind, e.label(), seq, err)
	}
	return epoch, nil
}

package runtime

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
)

// take lets the flow take epochs in order, each with its rows and its end. Nothing is committed here: a step of many
// epochs gives the flow exactly what many steps of one would (Invariant 6).
func (w *worker) take(epochs []clock.Epoch) error {
	w.stored = 0
	for i := range epochs {
		e := &epochs[i]
		if len(e.Parts) == 0 && !w.tickDue(e.TimeMs) {
			continue
		}
		if err := w.push(e); err != nil {
			return err
		}
		w.flow.Advance(e.TimeMs)
		w.lastTick = e.TimeMs
	}
	return nil
}

// tickDue says whether an epoch without rows for this worker concerns it: only a flow that waits for time takes one,
// and not more often than every TickMs of epoch time. The rule depends on the log and the flow alone, so a replay
// takes the same epochs.
func (w *worker) tickDue(ms int64) bool {
	return w.timed && ms-w.lastTick >= w.env.clk.TickMs() && w.flow.WaitsForTime()
}

// push hands the rows of one epoch to the flow: deltas of tables and pipelines first, then the rows of sources, each
// in the declared order of the inputs; where the order of rows across sources matters, by the time they were stored.
func (w *worker) push(e *clock.Epoch) error {
	merge := false
	sources := 0
	for _, p := range e.Parts {
		in := &w.inputs[p.Input]
		if p.Delta != nil {
			if p.Delta.Batch.N > 0 {
				w.flow.Push(p.Input, in.project(p.Delta.Schema, p.Delta.Batch))
				w.rowsIn += int64(p.Delta.Batch.N)
			}
			w.stored = max(w.stored, p.Delta.StoredMs)
			w.renewed = w.renewed || in.gen != 0 && in.gen != p.Delta.Generation
			in.at, in.gen = clock.Position{Incarnation: p.Delta.Incarnation, Seq: p.Delta.Seq}, p.Delta.Generation
			continue
		}
		if sources++; sources > 1 {
			merge = w.ordered
		}
		for _, g := range p.Segments {
			if err := w.follow(in, g); err != nil {
				return err
			}
		}
	}
	if merge {
		w.interleave(e.Parts)
		return nil
	}
	for _, p := range e.Parts {
		for _, g := range p.Segments {
			if g.Batch.N > 0 {
				w.flow.Push(p.Input, w.inputs[p.Input].project(g.Schema, g.Batch))
			}
		}
	}
	return nil
}

// follow checks that a segment continues where the worker stands, and moves on.
func (w *worker) follow(in *input, g *clock.Segment) error {
	switch {
	case g.Incarnation != in.at.Incarnation:
		// The source was deleted and made again: its positions begin anew.
		in.at = clock.Position{Incarnation: g.Incarnation}
		if g.From > 0 {
			return &missingError{input: in.name, from: 1, to: g.From}
		}
	case g.From > in.at.Seq:
		return &missingError{input: in.name, from: in.at.Seq + 1, to: g.From}
	case g.From < in.at.Seq:
		return fmt.Errorf("BUG: rows of %q after position %d were given again: the worker stands at %d", in.name, g.From, in.at.Seq)
	}
	in.at.Seq = g.To
	w.rowsIn += int64(g.Batch.N)
	w.newest = max(w.newest, g.NewestMs)
	if n := len(g.Marks); n > 0 {
		w.stored = max(w.stored, g.Marks[n-1].StoredMs)
	}
	return nil
}

// interleave pushes the rows of several sources in the order in which their messages were stored; at one time the
// declared order of the inputs decides, then the position.
func (w *worker) interleave(parts []clock.Part) {
	type cursor struct {
		part *clock.Part
		seg  int
		mark int
		row  int32
	}
	var cs []cursor
	for i := range parts {
		if parts[i].Delta == nil && len(parts[i].Segments) > 0 {
			cs = append(cs, cursor{part: &parts[i]})
		}
	}
	stored := func(c *cursor) int64 { return c.part.Segments[c.seg].Marks[c.mark].StoredMs }
	for len(cs) > 0 {
		best := 0
		for i := 1; i < len(cs); i++ {
			if stored(&cs[i]) < stored(&cs[best]) {
				best = i
			}
		}
		c := &cs[best]
		// The run goes on while no other source has an earlier message, or one of the same time and an earlier place.
		g := c.part.Segments[c.seg]
		from := c.row
		for c.mark < len(g.Marks) {
			first := true
			for i := range cs {
				if i != best && (stored(&cs[i]) < g.Marks[c.mark].StoredMs || stored(&cs[i]) == g.Marks[c.mark].StoredMs && i < best) {
					first = false
				}
			}
			if !first {
				break
			}
			c.row = g.Marks[c.mark].End
			c.mark++
		}
		if c.row > from {
			in := &w.inputs[c.part.Input]
			w.flow.Push(c.part.Input, in.project(g.Schema, zset.Slice(g.Batch, int(from), int(c.row))))
		}
		if c.mark == len(g.Marks) {
			c.seg, c.mark, c.row = c.seg+1, 0, 0
			if c.seg == len(c.part.Segments) {
				cs = append(cs[:best], cs[best+1:]...)
			}
		}
	}
}

// missingError says that rows which the worker needs are gone.
type missingError struct {
	input    string
	from, to uint64
	why      string
}

func (e *missingError) Error() string {
	why := e.why
	if why == "" {
		why = "they were trimmed before they were taken"
	}
	return fmt.Sprintf("positions %d to %d of input %q are missing: %s", e.from, e.to, e.input, why)
}

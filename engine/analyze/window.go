package analyze

import (
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// maxHops bounds the windows that one row belongs to.
const maxHops = 1000

// windowRules checks the shape of a window.
func (q *selecting) windowRules() {
	w := q.s.Window
	if w.Kind == syntax.Hopping && w.Advance.Millis() > 0 && w.Size.Millis()/w.Advance.Millis() > maxHops {
		q.report(w, CodeTooLarge, "choose a longer ADVANCE BY", "a row would belong to more than %d windows", maxHops)
	}
	if w.Kind == syntax.Hopping && w.Advance.Millis() > w.Size.Millis() {
		q.warn(w.Advance, CodeWindowGaps, "choose an ADVANCE BY of at most SIZE", "windows of %s that start every %s leave gaps: rows between them count nowhere",
			plan.FormatMillis(w.Size.Millis()), plan.FormatMillis(w.Advance.Millis()))
	}
}

// window is the shape of the SELECT's window, nil without one. The outermost window of a query amends what it gave
// out for late rows within the allowance; windows that another operator of time reads wait for them instead.
func (q *selecting) window() *plan.Window {
	s := q.s
	if s.Window == nil {
		return nil
	}
	w := &plan.Window{DropLate: q.dropLate, SizeMs: max(1, s.Window.Size.Millis()), Changes: s.Emit != nil && s.Emit.Changes}
	switch s.Window.Kind {
	case syntax.Hopping:
		w.Kind, w.AdvanceMs = plan.Hopping, max(1, s.Window.Advance.Millis())
	case syntax.Session:
		w.Kind = plan.Session
	}
	if q.timed == 0 {
		w.AmendMs = q.lateness
	} else {
		w.LatenessMs = q.lateness
	}
	return w
}

// allow takes the lateness that a SELECT allows for itself and what it reads. The result undoes it.
func (a *analyzer) allow(s *syntax.Select) (undo func()) {
	was, drop := a.lateness, a.dropLate
	if s.Lateness != nil {
		a.lateness, a.dropLate = s.Lateness.For.Millis(), s.Lateness.Then == syntax.LateDropped
	}
	return func() { a.lateness, a.dropLate = was, drop }
}

// below notes that the relations of a SELECT are read by an operator that keeps time. The result undoes it.
func (a *analyzer) below(s *syntax.Select) (undo func()) {
	if a.mode != Pipeline || !keepsTime(s) && !readsSubquery(s) {
		return func() {}
	}
	a.timed++
	return func() { a.timed-- }
}

func keepsTime(s *syntax.Select) bool {
	if s.Window != nil {
		return true
	}
	for _, j := range s.Joins {
		if _, unnest := j.Item.(*syntax.Unnest); !unnest {
			return true
		}
	}
	return false
}

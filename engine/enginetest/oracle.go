package enginetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine"
)

// check compares every table and pipeline with the reference.
func (w *World) check() {
	for _, e := range w.entities {
		if e.program == nil {
			continue
		}
		want, err := Evaluate(e.program.SQL(), w, e.mode, e.options, w.history)
		if errors.Is(err, ErrNoReference) {
			continue
		}
		if err != nil {
			w.fail(fmt.Errorf("the reference of %s: %w", e.relation.Name, err))
			return
		}
		have, err := w.Rows(e.relation.Name)
		if err != nil {
			return
		}
		if diff := Difference(sortRows(mergeRows(want.Rows), nil), have); diff != "" {
			w.fail(fmt.Errorf("%s differs from the reference:\n%s", e.relation.Name, diff))
		}
		if by := e.flow.Counters().LateBy; e.mode == engine.PipelineMode && (by.Rows != want.Late || by.TotalMs != want.LateMs || by.MaxMs != want.LateMaxMs) {
			w.fail(fmt.Errorf("%s counts late rows as %+v, the reference %d, %d ms, at most %d ms", e.relation.Name, by, want.Late, want.LateMs, want.LateMaxMs))
		}
	}
}

// Difference lists the rows that only one of two sorted lists has; it is empty when they are equal.
func Difference(want, have []Row) string {
	text := func(r Row) string { return FormatRow(nil, r) }
	count := map[string]int64{}
	for _, r := range want {
		count[text(r)]++
	}
	var b strings.Builder
	for _, r := range have {
		if count[text(r)]--; count[text(r)] < 0 {
			fmt.Fprintf(&b, "  only in the engine:    %s\n", text(r))
		}
	}
	for _, r := range want {
		if count[text(r)]--; count[text(r)] >= 0 {
			fmt.Fprintf(&b, "  only in the reference: %s\n", text(r))
		}
	}
	return b.String()
}

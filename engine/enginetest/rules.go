package enginetest

import (
	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// firedRules plans an entity's statement again and counts the rewrites.
func firedRules(q *syntax.Query, w *World, e *entity) map[string]int {
	r, _ := analyze.Analyze(q, w, e.mode, e.options)
	if r.Query == nil {
		return nil
	}
	_, fired := plan.OptimizeTrace(r.Query)
	return fired
}

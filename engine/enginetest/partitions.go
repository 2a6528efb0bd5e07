package enginetest

import (
	"slices"
	"strconv"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
)

// parallelVariant is the number of partitions in the parallel variant.
const parallelVariant = 4

// partitions is what a variant runs a table with that says nothing itself.
func (w *World) partitions() int {
	if w.variant == Parallel {
		return parallelVariant
	}
	return 1
}

// start makes an empty state, in partitions when the table can run in them.
func (e *entity) start() {
	if e.mode == engine.TableMode && e.parts > 1 {
		if f, err := e.program.NewPartitioned(e.parts, backwards); err == nil {
			e.flow = f
			return
		}
	}
	e.flow = e.program.NewFlow()
}

// DefinePartitioned is Define of a table in partitions. A table that cannot run in them runs in one.
func (w *World) DefinePartitioned(name, sql string, o engine.Options, partitions int) (*engine.Program, []engine.Diagnostic) {
	return w.define(name, sql, engine.TableMode, o, partitions)
}

// backwards runs tasks in the opposite order: what comes out must not depend on it.
func backwards(_ int, tasks []func()) {
	for _, t := range slices.Backward(tasks) {
		t()
	}
}

var _ flow.Executor = backwards

// refused says why a statement cannot run in partitions; nil when it can, or is wrong anyway.
func (w *World) refused(sql string, mode engine.Mode, o engine.Options, partitions int) error {
	if partitions == 1 {
		return nil
	}
	p, _ := engine.Compile(sql, w, mode, o)
	if p == nil {
		return nil
	}
	_, err := p.Partition(partitions)
	return err
}

// runStages shows how a table is cut.
func (w *World) runStages(c Command) (string, error) {
	e, err := w.entity(c.word(0))
	if err != nil {
		return "", err
	}
	n := parallelVariant
	if v, ok := c.Options["parallel"]; ok {
		if n, err = strconv.Atoi(v); err != nil {
			return "", err
		}
	}
	cut, err := e.program.Partition(n)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // why the plan cannot be cut is what the script shows
	}
	return plan.ExplainStages(cut), nil
}

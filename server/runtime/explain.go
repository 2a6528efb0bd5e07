package runtime

import (
	"context"
	"time"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/server/catalog"
)

// explainWait bounds how long an explanation waits for the worker, which may be in the middle of a large step.
const explainWait = 5 * time.Second

// Explain asks a running table or pipeline how it runs and what its operators have done. It is false when nothing
// runs, or when the worker is too busy to answer: the stored query can be explained without it.
func (rt *Runtime) Explain(ctx context.Context, env string, kind catalog.InputKind, id string) (engine.Explanation, bool, error) {
	e, err := rt.find(env, kindOf(kind), id)
	if err != nil {
		return engine.Explanation{}, false, nil // an entity that the runtime has not met yet does not run
	}
	w := e.worker()
	if w == nil {
		return engine.Explanation{}, false, nil
	}
	busy := time.NewTimer(explainWait)
	defer busy.Stop()
	answer := make(chan engine.Explanation, 1)
	select {
	case w.probe <- func() { answer <- w.prog.Describe(w.flow.Describe()) }:
	case <-w.done:
		return engine.Explanation{}, false, nil
	case <-busy.C:
		return engine.Explanation{}, false, nil
	case <-ctx.Done():
		return engine.Explanation{}, false, ctx.Err()
	}
	select {
	case x := <-answer:
		return x, true, nil
	case <-w.done: // it ended before it answered
		return engine.Explanation{}, false, nil
	}
}

// stopwatch counts nanoseconds for a flow.
func (rt *Runtime) stopwatch() func() int64 {
	began := rt.now()
	return func() int64 { return rt.now().Sub(began).Nanoseconds() }
}

package runtime

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/server/view"
)

// partitionStats is what others read of one partition of a stage.
type partitionStats struct {
	flow.PartitionCounters
	epoch  uint64
	lastMs int64
}

// partitions is the number of partitions for the fingerprint of a plan, 0 when there is one.
func (w *worker) partitions() int {
	if w.def.parallelism > 1 {
		return w.def.parallelism
	}
	return 0
}

// partitionable refuses a table that cannot run in as many partitions as it asks for.
func (w *worker) partitionable() error {
	if w.partitions() == 0 {
		return nil
	}
	_, err := w.prog.Partition(w.def.parallelism)
	if err != nil {
		return view.Errorf(view.Conflict, "parallelism %d: %v", w.def.parallelism, err)
	}
	return nil
}

// newFlow makes the empty state of the worker.
func (w *worker) newFlow() flow.Runner {
	if w.partitions() == 0 {
		f := w.prog.NewFlow()
		f.Measure(w.env.rt.stopwatch())
		return f
	}
	f, err := w.prog.NewPartitioned(w.def.parallelism, together(w.env.rt.opt.spreadRows))
	if err != nil {
		panic(fmt.Sprintf("BUG: a table that was accepted for %d partitions: %v", w.def.parallelism, err))
	}
	f.Measure(w.env.rt.stopwatch())
	return f
}

// spreadRows is the number of rows of a step from which goroutines gain more than they cost.
const spreadRows = 256

// together runs the tasks of a step on as many goroutines as there are processors, the caller's own among them, or one
// after the other when the step has taken few rows.
func together(few int) flow.Executor {
	return func(rows int, tasks []func()) {
		if n := min(len(tasks), runtime.GOMAXPROCS(0)); rows >= few && n > 1 {
			spread(n, tasks)
			return
		}
		flow.Sequential(rows, tasks)
	}
}

// spread runs tasks on a number of goroutines and returns when all of them have ended: none outlives the call. A panic
// of a task is one of the caller, with the stack of the task.
func spread(n int, tasks []func()) {
	var (
		next   atomic.Int64
		wait   sync.WaitGroup
		failed atomic.Pointer[panicError]
	)
	work := func() {
		defer func() {
			if v := recover(); v != nil {
				failed.CompareAndSwap(nil, &panicError{value: v, stack: debug.Stack()})
			}
		}()
		for {
			i := int(next.Add(1)) - 1
			if i >= len(tasks) || failed.Load() != nil {
				return
			}
			tasks[i]()
		}
	}
	for range n - 1 {
		wait.Go(work)
	}
	work()
	wait.Wait()
	if p := failed.Load(); p != nil {
		panic(p)
	}
}

// notePartitions publishes the counters of the partitions. A partition has been updated in the newest step in which it
// took or gave a row.
func (w *worker) notePartitions() {
	f, ok := w.flow.(*flow.Partitioned)
	if !ok {
		return
	}
	var before []partitionStats
	if p := w.stats.parts.Load(); p != nil {
		before = *p
	}
	counters := f.Partitions()
	now := make([]partitionStats, len(counters))
	for i, c := range counters {
		now[i] = partitionStats{PartitionCounters: c, epoch: w.at}
		switch {
		case i < len(before) && before[i].PartitionCounters == c:
			now[i].lastMs = before[i].lastMs
		case c.In+c.Out > 0:
			now[i].lastMs = w.env.rt.now().UnixMilli()
		}
	}
	w.stats.parts.Store(&now)
}

// partitionMetrics are the partitions of a table, nil for a table that runs in one.
func (w *worker) partitionMetrics() []view.PartitionMetrics {
	p := w.stats.parts.Load()
	if p == nil {
		return nil
	}
	out := make([]view.PartitionMetrics, len(*p))
	for i, s := range *p {
		out[i] = view.PartitionMetrics{
			StageID: s.Stage, Partition: s.Partition, DeltasIn: s.In, DeltasOut: s.Out, FrontierEpoch: int64(s.epoch), LastUpdateMs: s.lastMs, Kind: s.Kind,
		}
		if s.epoch == 0 {
			out[i].FrontierEpoch = -1
		}
	}
	return out
}

// asPanic keeps the stack of a task's panic.
func asPanic(v any) *panicError {
	var p *panicError
	if err, ok := v.(error); ok && errors.As(err, &p) {
		return p
	}
	return &panicError{value: v, stack: debug.Stack()}
}

package runtime

import (
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// TableMetrics reads the counters of a table.
func (rt *Runtime) TableMetrics(env, id string) (view.TableMetrics, error) {
	e, err := rt.find(env, kindTable, id)
	if err != nil {
		return view.TableMetrics{}, err
	}
	st := e.observed()
	m := view.TableMetrics{TableID: id, Status: st.Status, Degraded: st.Degraded, Epoch: -1, DeclaredKeyColumns: []string{}}
	e.mu.Lock()
	w, side, store, sh := e.run, e.side, e.store, e.shape
	e.mu.Unlock()
	for _, k := range sh.key {
		m.DeclaredKeyColumns = append(m.DeclaredKeyColumns, sh.output[k].Name)
	}
	if store != nil {
		m.RowCount = int64(store.Len())
		m.StateBytes = store.Bytes()
	}
	if w == nil {
		return m, nil
	}
	m.DeltasIn, m.DeltasOut, m.LastUpdateMs = w.stats.rowsIn.Load(), w.stats.rowsOut.Load(), w.stats.lastMs.Load()
	m.OverflowResults, m.EvictedRows = w.stats.overflows.Load(), w.stats.evicted.Load()
	m.UpsertedRows, m.DeletedRows, m.UnknownDeletes = w.stats.upserts.Load(), w.stats.deletes.Load(), w.stats.unknown.Load()
	m.StateBytes += w.stats.stateBytes.Load()
	m.Rebuilding = !w.stats.live.Load()
	m.Partitions = w.partitionMetrics()
	m.Build = w.progress()
	if side != nil {
		m.Build = side.progress()
	}
	if f, _ := e.env.clk.Frontier(e.node); f > 0 {
		m.Epoch = int64(f)
		frontier := int64(f)
		m.SnapshotFrontierEpoch = &frontier
	}
	return m, nil
}

// PipelineMetrics reads the counters of a pipeline.
func (rt *Runtime) PipelineMetrics(env, id string) (view.PipelineMetrics, error) {
	e, err := rt.find(env, kindPipeline, id)
	if err != nil {
		return view.PipelineMetrics{}, err
	}
	st := e.observed()
	m := view.PipelineMetrics{PipelineID: id, Status: st.Status, Degraded: st.Degraded, Epoch: -1}
	w := e.worker()
	if w == nil {
		return m, nil
	}
	m.EventsInPerSec, m.RowsOutPerSec = e.lastInRate.perSecond(), e.lastOutRate.perSecond()
	m.TotalEventsIn, m.TotalRowsOut = w.stats.rowsIn.Load(), w.stats.rowsOut.Load()
	m.WindowsClosed, m.LateEvents, m.LastEventTsMs = w.stats.windows.Load(), w.stats.late.Load(), w.stats.newest.Load()
	m.OverflowResults = w.stats.overflows.Load()
	m.Build = w.progress()
	if f, _ := e.env.clk.Frontier(e.node); f > 0 {
		m.Epoch = int64(f)
	}
	return m, nil
}

// SourceMetrics counts what has been read of a source's stream.
func (rt *Runtime) SourceMetrics(env, name string) (view.SourceMetrics, error) {
	s, err := rt.findSource(env, name)
	if err != nil {
		return view.SourceMetrics{}, err
	}
	return s.metrics(s.rate.perSecond()), nil
}

// progress is the progress of a build, nil when there is none.
func (w *worker) progress() *view.Build {
	p := w.stats.build.Load()
	if p == nil {
		return nil
	}
	b := &view.Build{Phase: p.phase, RowsDone: p.rows, RowsTotal: p.rows}
	secs := w.env.rt.now().Sub(p.began).Seconds()
	if secs > 0 {
		b.RowsPerSec = int64(float64(p.rows) / secs)
	}
	if p.done > 0 && p.total > p.done {
		// What is left is known in messages; rows are estimated from the messages that were read.
		b.RowsTotal = int64(float64(p.rows) / float64(p.done) * float64(p.total))
		if b.RowsPerSec > 0 {
			eta := (b.RowsTotal - b.RowsDone) * 1000 / b.RowsPerSec
			b.EtaMs = &eta
		}
	}
	return b
}

// Stats are the counters of a running table or pipeline for the metrics endpoint. They are totals; reading them costs a
// few atomic loads.
type Stats struct {
	Commits       int64
	CommitSeconds float64
	Latency       Latency
	Checkpoints   int64
	// CheckpointSeconds is the time spent on writing checkpoints, LastCheckpointSeconds that of the newest one and
	// CheckpointBytes its size; all are 0 until this process has written one. CheckpointMs is when the newest was taken,
	// by this process or the one before (0: there is none).
	CheckpointSeconds     float64
	LastCheckpointSeconds float64
	CheckpointMs          int64
	CheckpointBytes       int64
	Steps                 int64
	Epoch                 uint64
	EpochsBehind          uint64
	RowsIn                int64
	RowsOut               int64
	Filtered              int64
	Late                  int64
	WatermarkMs           int64 // 0: none yet
	StateBytes            int64
	SlowReaders           int64 // subscribers that were dropped
}

// Stats reads the counters of one table or pipeline; false when it is not known.
func (rt *Runtime) Stats(env string, kind catalog.InputKind, id string) (Stats, bool) {
	e, err := rt.find(env, kindOf(kind), id)
	if err != nil {
		return Stats{}, false
	}
	s := Stats{Commits: e.commits.Load(), CommitSeconds: float64(e.commitNanos.Load()) / 1e9, Checkpoints: e.checkpoints.Load()}
	s.Latency = e.latency.read()
	s.CheckpointSeconds, s.CheckpointMs, s.CheckpointBytes = float64(e.saveNanos.Load())/1e9, e.savedMs.Load(), e.savedBytes.Load()
	s.LastCheckpointSeconds = float64(e.lastNanos.Load()) / 1e9
	if r := e.rows(); r != nil {
		s.SlowReaders, s.StateBytes = r.Dropped(), r.Bytes()
	}
	if w := e.worker(); w != nil {
		s.Steps, s.RowsIn, s.RowsOut = w.stats.steps.Load(), w.stats.rowsIn.Load(), w.stats.rowsOut.Load()
		s.Filtered, s.Late, s.WatermarkMs = w.stats.filtered.Load(), w.stats.late.Load(), w.stats.watermark.Load()
		s.StateBytes += w.stats.stateBytes.Load()
		f, _ := e.env.clk.Frontier(e.node)
		s.Epoch = f
		if head := e.env.clk.Head().Epoch; head > f {
			s.EpochsBehind = head - f
		}
	}
	return s, true
}

// Latency reads the histogram of all tables or all pipelines of an environment; false when it is not known.
func (rt *Runtime) Latency(env string, kind catalog.InputKind) (Latency, bool) {
	v, err := rt.environment(env)
	if err != nil {
		return Latency{}, false
	}
	return v.latencyOf(kindOf(kind)).read(), true
}

// ClockStats are the counters of an environment's clock.
type ClockStats struct {
	Epoch              uint64
	Records            uint64
	IntervalSeconds    float64
	DamagedCheckpoints int64
}

// ClockStats reads the counters of the clock.
func (rt *Runtime) ClockStats(env string) (ClockStats, bool) {
	v, err := rt.environment(env)
	if err != nil {
		return ClockStats{}, false
	}
	return ClockStats{
		Epoch: v.clk.Head().Epoch, Records: v.seq.Epochs(), IntervalSeconds: v.seq.Interval().Seconds(), DamagedCheckpoints: v.damaged.Load(),
	}, true
}

// Restored says how many of the entities that should run have caught up, for the readiness check.
func (rt *Runtime) Restored() (done, of int) {
	for _, e := range rt.env.entityList() {
		w := e.worker()
		if w == nil {
			continue
		}
		of++
		if w.stats.live.Load() {
			done++
		}
	}
	return done, of
}

// Reader is a running table that reads a source directly.
type Reader struct {
	Name     string
	LatestBy bool
}

// Readers lists the running tables that read a source directly.
func (rt *Runtime) Readers(env, source string) []Reader {
	v, err := rt.environment(env)
	if err != nil {
		return nil
	}
	var out []Reader
	for _, e := range v.entityList() {
		w := e.worker()
		if w == nil || w.def.pipeline {
			continue
		}
		for i := range w.inputs {
			if w.inputs[i].name == source && w.inputs[i].ent == nil {
				out = append(out, Reader{Name: e.label(), LatestBy: ordered(w.prog.Query().Root)})
			}
		}
	}
	return out
}

package server

import (
	"context"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/httpapi"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/config"
	"github.com/streamsforge/streamsforge/server/runtime"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// newRegistry is the registry behind /metrics. Names are streamsforge_<subsystem>_<name>_<unit>[_total].
func newRegistry(s *config.Settings) *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "streamsforge_build_info", Help: "Is 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": s.Version, "revision": Revision(), "go": goruntime.Version()},
	})
	build.Set(1)
	r.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// maxEntities bounds the series of /metrics: an environment with more entities shows the
// first ones by name and says how many it left out.
const maxEntities = 1000

// scrapeTimeout bounds what a scrape may ask of the log.
const scrapeTimeout = 2 * time.Second

// entityMetrics reads the counters of sources, tables and pipelines when it is scraped, so
// that counting costs nothing while rows move. Labels are the environment and the name.
type entityMetrics struct {
	catalog *catalog.Store
	runtime *runtime.Runtime
	ingest  httpapi.Ingest
	log     *streams.Server
	max     int // entities of an environment that are shown
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("streamsforge_"+name, help, labels, nil)
}

var (
	sourceRows        = desc("source_rows_total", "Rows read from the log of a source.", "environment", "source")
	sourceBytes       = desc("source_read_bytes_total", "Bytes read from the log of a source.", "environment", "source")
	sourceQuarantined = desc("source_quarantined_rows_total", "Rows and payloads that could not be read and are in quarantine.", "environment", "source")
	sourceCoerced     = desc("source_coerced_fields_total", "Fields set to NULL because their value did not fit.", "environment", "source")
	sourceDropped     = desc("source_dropped_rows_total", "Of the rows in quarantine, those that the policies DropRow and RejectBatch left out.", "environment", "source")
	sourcePosition    = desc("source_position", "Newest position read from the log of a source.", "environment", "source")

	ingestAccepted  = desc("ingest_accepted_rows_total", "Pushed rows that were accepted.", "environment", "source")
	ingestRejected  = desc("ingest_rejected_rows_total", "Pushed rows of refused pushes, other than the invalid ones.", "environment", "source")
	ingestDropped   = desc("ingest_dropped_rows_total", "Pushed rows that a full buffer dropped.", "environment", "source")
	ingestInvalid   = desc("ingest_invalid_rows_total", "Pushed rows that do not fit the fields.", "environment", "source")
	ingestDuplicate = desc("ingest_duplicate_rows_total", "Pushed rows whose key was seen before.", "environment", "source")
	ingestPublished = desc("ingest_published_rows_total", "Pushed rows that are in the log of the source.", "environment", "source")
	ingestDepth     = desc("ingest_depth_rows", "Pushed rows that wait in the buffer.", "environment", "source")

	tableRows      = desc("table_rows", "Rows of a table.", "environment", "table")
	tableDeltasIn  = desc("table_deltas_in_total", "Changes that came into a table.", "environment", "table")
	tableDeltasOut = desc("table_deltas_out_total", "Changes that a table published.", "environment", "table")
	tableBytes     = desc("table_state_bytes", "Memory of a table's operators and served rows.", "environment", "table")
	tableEpoch     = desc("table_epoch", "Epoch that a table has reached.", "environment", "table")
	tableEvicted   = desc("table_evicted_rows_total", "Rows that the retention of a table let go.", "environment", "table")
	tableUpserts   = desc("table_upserted_rows_total", "Rows of keyed sources that became the row of their key in a table.", "environment", "table")
	tableDeletes   = desc("table_deleted_rows_total", "Rows of keyed sources that deleted their key in a table.", "environment", "table")
	tableUnknown   = desc("table_unknown_deletes_total", "Rows of keyed sources that delete a key that a table does not have.", "environment", "table")
	tableOverflow  = desc("table_overflow_results_total", "Sums outside 64 bits, shown as NULL.", "environment", "table")

	faultsOfPlugins = desc("plugin_faults_total", "Rows for which a registered function panicked; the result is NULL.")

	pipelineIn      = desc("pipeline_rows_in_total", "Rows that came into a pipeline.", "environment", "pipeline")
	pipelineOut     = desc("pipeline_rows_out_total", "Result rows of a pipeline.", "environment", "pipeline")
	pipelineLate    = desc("pipeline_late_rows_total", "Rows that came after their window had closed.", "environment", "pipeline")
	pipelineWindows = desc("pipeline_windows_closed_total", "Windows that a pipeline has closed.", "environment", "pipeline")
	pipelineEpoch   = desc("pipeline_epoch", "Epoch that a pipeline has reached.", "environment", "pipeline")

	entityRunning  = desc("entity_running", "Is 1 while a table or pipeline runs, 0 while it is stopped or failed.", "environment", "kind", "name")
	entityDegraded = desc("entity_degraded", "Is 1 while a table or pipeline lacks retained input.", "environment", "kind", "name")
	entitiesHidden = desc("entities_hidden", "Entities that are not shown because there are too many.", "environment")

	entityCommits       = desc("entity_commits_total", "Entries that a table or pipeline appended to its journal.", "environment", "kind", "name")
	entityCommitSeconds = desc("entity_commit_seconds_total", "Time that those appends took until they were acknowledged.", "environment", "kind", "name")
	entityCheckpoints   = desc("entity_checkpoints_total", "Checkpoints that a table or pipeline wrote.", "environment", "kind", "name")
	checkpointSeconds   = desc("entity_checkpoint_seconds_total", "Time that writing those checkpoints took.", "environment", "kind", "name")
	checkpointLast      = desc("entity_checkpoint_last_seconds", "Time that writing the newest checkpoint took.", "environment", "kind", "name")
	checkpointBytes     = desc("entity_checkpoint_bytes", "Size of the newest checkpoint.", "environment", "kind", "name")
	checkpointAge       = desc("entity_checkpoint_age_seconds", "Time since the newest checkpoint was taken; it grows while nothing changes.", "environment", "kind", "name")
	entitySteps         = desc("entity_steps_total", "Steps of a table or pipeline; a step takes one epoch or more.", "environment", "kind", "name")
	entityBehind        = desc("entity_epochs_behind", "Epochs that a table or pipeline is behind the clock.", "environment", "kind", "name")
	entityFiltered      = desc("entity_filtered_rows_total", "Rows that a table or pipeline left out by its conditions.", "environment", "kind", "name")
	entitySlow          = desc("entity_slow_subscribers_total", "Subscribers that were dropped because they did not keep up.", "environment", "kind", "name")
	watermarkLag        = desc("pipeline_watermark_lag_seconds", "Server time less the watermark of a running pipeline.", "environment", "pipeline")

	entityLatency = desc("entity_latency_seconds", "From the storing of the newest input message of a step until the step was served.", "environment", "kind")

	clockEpoch    = desc("clock_epoch", "Newest epoch of an environment.", "environment")
	clockRecords  = desc("clock_epochs_total", "Epochs recorded since the start.", "environment")
	clockInterval = desc("clock_interval_seconds", "Shortest time between two epochs at the present load.", "environment")
	damaged       = desc("checkpoint_damaged_total", "Checkpoints that could not be read and were passed over.", "environment")

	natsRefused  = desc("nats_refused_operations_total", "Operations of NATS clients that were refused by permission.")
	logOverflows = desc("jetstream_overflow_reports_total", "Reports that a stream was sent more than it could store.", "stream")

	logBytes   = desc("jetstream_bytes", "Bytes that JetStream stores.", "storage")
	logStreams = desc("jetstream_streams", "Streams of JetStream.")
)

// Describe implements prometheus.Collector: which series there are depends on the catalog,
// so none is promised.
func (m *entityMetrics) Describe(chan<- *prometheus.Desc) {}

// faults counts the rows for which a registered function panicked, in this process.
var faults atomic.Int64

func init() { expr.OnPluginFault(func(string) { faults.Add(1) }) }

// Collect implements prometheus.Collector.
func (m *entityMetrics) Collect(out chan<- prometheus.Metric) {
	logs := entityLogs{}
	for _, env := range m.catalog.Environments() {
		sn, err := m.catalog.Snapshot(env.Name)
		if err != nil {
			continue // the environment went away between the two calls
		}
		m.environment(env.Name, sn, logs, out)
	}
	m.store(logs, out)
	out <- prometheus.MustNewConstMetric(faultsOfPlugins, prometheus.CounterValue, float64(faults.Load()))
}

func (m *entityMetrics) environment(env string, sn *catalog.Snapshot, logs entityLogs, out chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if c, ok := m.runtime.ClockStats(env); ok {
		gauge(clockEpoch, float64(c.Epoch), env)
		counter(clockRecords, int64(c.Records), env)
		gauge(clockInterval, c.IntervalSeconds, env)
		counter(damaged, c.DamagedCheckpoints, env)
	}
	m.latency(env, out)
	left := m.max
	for _, s := range sn.Sources() {
		if left--; left < 0 {
			break
		}
		logs.source(env, s.Name)
		if s.Kind == catalog.KindIngest {
			m.pushed(env, s.Name, out)
		}
		v, err := m.runtime.SourceMetrics(env, s.Name)
		if err != nil {
			continue // it has never been read
		}
		counter(sourceRows, v.RowsTotal, env, s.Name)
		counter(sourceBytes, v.BytesTotal, env, s.Name)
		counter(sourceQuarantined, v.QuarantinedTotal, env, s.Name)
		counter(sourceCoerced, v.CoercedTotal, env, s.Name)
		counter(sourceDropped, v.DroppedTotal, env, s.Name)
		gauge(sourcePosition, float64(v.LastSeq), env, s.Name)
	}
	for _, t := range sn.Tables() {
		if left--; left < 0 {
			break
		}
		logs.table(env, t.ID, t.Name)
		m.entity(env, catalog.InputTable, t.ID, t.Name, out)
		v, err := m.runtime.TableMetrics(env, t.ID)
		if err != nil {
			continue
		}
		gauge(tableRows, float64(v.RowCount), env, t.Name)
		counter(tableDeltasIn, v.DeltasIn, env, t.Name)
		counter(tableDeltasOut, v.DeltasOut, env, t.Name)
		gauge(tableBytes, float64(v.StateBytes), env, t.Name)
		gauge(tableEpoch, float64(v.Epoch), env, t.Name)
		counter(tableOverflow, v.OverflowResults, env, t.Name)
		counter(tableEvicted, v.EvictedRows, env, t.Name)
		counter(tableUpserts, v.UpsertedRows, env, t.Name)
		counter(tableDeletes, v.DeletedRows, env, t.Name)
		counter(tableUnknown, v.UnknownDeletes, env, t.Name)
	}
	seen := map[string]bool{} // old catalogs may hold two pipelines of one name
	for _, p := range sn.Pipelines() {
		if left--; left < 0 {
			break
		}
		if seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		logs.pipeline(env, p.ID, p.Name)
		m.entity(env, catalog.InputPipeline, p.ID, p.Name, out)
		v, err := m.runtime.PipelineMetrics(env, p.ID)
		if err != nil {
			continue
		}
		counter(pipelineIn, v.TotalEventsIn, env, p.Name)
		counter(pipelineOut, v.TotalRowsOut, env, p.Name)
		counter(pipelineLate, v.LateEvents, env, p.Name)
		counter(pipelineWindows, v.WindowsClosed, env, p.Name)
		gauge(pipelineEpoch, float64(v.Epoch), env, p.Name)
	}
	hidden := len(sn.Sources()) + len(sn.Tables()) + len(sn.Pipelines()) - m.max
	gauge(entitiesHidden, float64(max(0, hidden)), env)
}

// pushed reports what became of the rows that were pushed to an ingest source.
func (m *entityMetrics) pushed(env, name string, out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	v, err := m.ingest.Status(ctx, env, name)
	if err != nil {
		return // it went away, or its log does not answer
	}
	for _, c := range []struct {
		d *prometheus.Desc
		n int64
	}{
		{ingestAccepted, v.TotalAccepted},
		{ingestRejected, v.TotalRejected},
		{ingestDropped, v.TotalDropped},
		{ingestInvalid, v.TotalInvalid},
		{ingestDuplicate, v.TotalDuplicate},
		{ingestPublished, v.TotalPublished},
	} {
		out <- prometheus.MustNewConstMetric(c.d, prometheus.CounterValue, float64(c.n), env, name)
	}
	out <- prometheus.MustNewConstMetric(ingestDepth, prometheus.GaugeValue, float64(v.DepthRows), env, name)
}

// entity reports what tables and pipelines have in common.
func (m *entityMetrics) entity(env string, kind catalog.InputKind, id, name string, out chan<- prometheus.Metric) {
	labels := []string{env, string(kind), name}
	send := func(d *prometheus.Desc, t prometheus.ValueType, v float64) {
		out <- prometheus.MustNewConstMetric(d, t, v, labels...)
	}
	observed := m.runtime.Observed(env, kind, id)
	running := observed.Status == view.Running
	send(entityRunning, prometheus.GaugeValue, one(running))
	send(entityDegraded, prometheus.GaugeValue, one(observed.Degraded != nil))
	s, ok := m.runtime.Stats(env, kind, id)
	if !ok {
		return // it has never run
	}
	send(entityCommits, prometheus.CounterValue, float64(s.Commits))
	send(entityCommitSeconds, prometheus.CounterValue, s.CommitSeconds)
	send(entityCheckpoints, prometheus.CounterValue, float64(s.Checkpoints))
	send(checkpointSeconds, prometheus.CounterValue, s.CheckpointSeconds)
	if s.Checkpoints > 0 {
		send(checkpointLast, prometheus.GaugeValue, s.LastCheckpointSeconds)
		send(checkpointBytes, prometheus.GaugeValue, float64(s.CheckpointBytes))
	}
	if s.CheckpointMs > 0 {
		send(checkpointAge, prometheus.GaugeValue, max(0, time.Since(time.UnixMilli(s.CheckpointMs)).Seconds()))
	}
	send(entitySteps, prometheus.CounterValue, float64(s.Steps))
	send(entityBehind, prometheus.GaugeValue, float64(s.EpochsBehind))
	send(entityFiltered, prometheus.CounterValue, float64(s.Filtered))
	send(entitySlow, prometheus.CounterValue, float64(s.SlowReaders))
	if kind == catalog.InputPipeline && running && s.WatermarkMs > 0 {
		lag := time.Since(time.UnixMilli(s.WatermarkMs)).Seconds()
		out <- prometheus.MustNewConstMetric(watermarkLag, prometheus.GaugeValue, lag, env, name)
	}
}

// latency reports how old rows were when they were served, of all tables and of all pipelines.
func (m *entityMetrics) latency(env string, out chan<- prometheus.Metric) {
	for _, kind := range []catalog.InputKind{catalog.InputTable, catalog.InputPipeline} {
		l, ok := m.runtime.Latency(env, kind)
		if !ok {
			continue
		}
		buckets := make(map[float64]uint64, len(l.Buckets))
		for i, n := range l.Buckets {
			buckets[runtime.LatencyBounds[i]] = n
		}
		out <- prometheus.MustNewConstHistogram(entityLatency, l.Count, l.Seconds, buckets, env, string(kind))
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func (m *entityMetrics) store(logs entityLogs, out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	info, err := m.log.JetStream().AccountInfo(ctx)
	if err != nil {
		return // a scrape without these series says that the log did not answer
	}
	out <- prometheus.MustNewConstMetric(logBytes, prometheus.GaugeValue, float64(info.Store), "file")
	out <- prometheus.MustNewConstMetric(logBytes, prometheus.GaugeValue, float64(info.Memory), "memory")
	refused, _ := m.log.Refusals()
	out <- prometheus.MustNewConstMetric(natsRefused, prometheus.CounterValue, float64(refused))
	for stream, n := range m.log.Overflows() {
		out <- prometheus.MustNewConstMetric(logOverflows, prometheus.CounterValue, float64(n), stream)
	}
	out <- prometheus.MustNewConstMetric(logStreams, prometheus.GaugeValue, float64(info.Streams))
	sizes, err := m.log.Sizes(ctx)
	if err != nil {
		return
	}
	logs.report(sizes, out)
}

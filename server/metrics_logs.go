package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/streams"
)

var (
	entityLogMessages = desc("jetstream_stream_messages", "Messages in a stream of a source, table or pipeline.", "environment", "kind", "name", "log")
	entityLogBytes    = desc("jetstream_stream_bytes", "Bytes in a stream of a source, table or pipeline.", "environment", "kind", "name", "log")
)

// entityLog says whose a stream is and what it holds.
type entityLog struct{ env, kind, name, log string }

// entityLogs are the streams, by their names, of the entities that /metrics shows. Streams of others (clocks, events,
// key-value buckets, and whatever clients have made) have no series, so their number cannot grow from outside.
type entityLogs map[string]entityLog

func (l entityLogs) source(env, name string) {
	kind := string(catalog.InputSource)
	l[streams.SourceStream(env, name)] = entityLog{env, kind, name, "rows"}
	l[streams.QuarantineStream(env, name)] = entityLog{env, kind, name, "quarantine"}
	l[streams.IngestStream(env, name)] = entityLog{env, kind, name, "ingest"}
}

func (l entityLogs) table(env, id, name string) {
	l[streams.TableStream(env, id)] = entityLog{env, string(catalog.InputTable), name, "deltas"}
}

func (l entityLogs) pipeline(env, id, name string) {
	kind := string(catalog.InputPipeline)
	l[streams.ResultStream(env, id)] = entityLog{env, kind, name, "results"}
	l[streams.LateStream(env, id)] = entityLog{env, kind, name, "late"}
}

func (l entityLogs) report(sizes map[string]streams.Size, out chan<- prometheus.Metric) {
	for stream, e := range l {
		n, ok := sizes[stream]
		if !ok {
			continue // not every entity has every stream
		}
		labels := []string{e.env, e.kind, e.name, e.log}
		out <- prometheus.MustNewConstMetric(entityLogMessages, prometheus.GaugeValue, float64(n.Messages), labels...)
		out <- prometheus.MustNewConstMetric(entityLogBytes, prometheus.GaugeValue, float64(n.Bytes), labels...)
	}
}

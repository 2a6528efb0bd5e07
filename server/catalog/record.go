package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/server/view"
)

// formatVersion is the version of a stored record; docs/format/catalog.md has the page. A record without a number is
// version 1; a reader takes every version up to its own.
const formatVersion = 1

// stored is one value of the definitions' bucket: exactly one of the three entities.
type stored struct {
	Version  int       `json:"v"`
	Source   *Source   `json:"source,omitempty"`
	Pipeline *Pipeline `json:"pipeline,omitempty"`
	Table    *Table    `json:"table,omitempty"`
	Layouts  []Layout  `json:"layouts,omitempty"`
	Run      *Run      `json:"run,omitempty"`
	Facts    *Facts    `json:"facts,omitempty"`
}

func encode(v stored) []byte {
	v.Version = formatVersion
	out, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a definition does not encode: " + err.Error())
	}
	return out
}

func (r *SourceRecord) encode() []byte { return encode(stored{Source: &r.Source, Layouts: r.Layouts}) }

func (r *PipelineRecord) encode() []byte {
	p := r.Pipeline
	p.Status, p.Error, p.Degraded, p.StaleInputs, p.StaleReason = "", nil, nil, nil, nil
	return encode(stored{Pipeline: &p, Run: &r.Run, Facts: &r.Facts})
}

func (r *TableRecord) encode() []byte {
	t := r.Table
	t.Status, t.Error, t.Degraded, t.StaleInputs, t.StaleReason = "", nil, nil, nil, nil
	return encode(stored{Table: &t, Run: &r.Run, Facts: &r.Facts})
}

// Keys of the bucket.
const (
	sourcePrefix   = "source."
	pipelinePrefix = "pipeline."
	tablePrefix    = "table."
	counterKey     = "counter.revision"
)

// put decodes an entry into the snapshot under construction. Keys of other owners (field numbers) are left alone.
func (sn *Snapshot) put(e Entry) error {
	kind, _, _ := strings.Cut(e.Key, ".")
	switch kind + "." {
	case sourcePrefix, pipelinePrefix, tablePrefix:
	default:
		return nil
	}
	var v stored
	v.Source, v.Pipeline, v.Table = ptr(NewSource()), ptr(NewPipeline()), ptr(NewTable())
	d := json.NewDecoder(bytes.NewReader(e.Value))
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("catalog entry %s: %w", e.Key, err)
	}
	if v.Version > formatVersion {
		return fmt.Errorf("catalog entry %s has format %d and this server reads up to %d: start the version that wrote it, or a newer one", e.Key, v.Version, formatVersion)
	}
	switch kind + "." {
	case sourcePrefix:
		r := &SourceRecord{Source: *v.Source, Layouts: v.Layouts, Stored: e.Revision}
		if len(r.Layouts) == 0 {
			r.Layouts = []Layout{r.Source.layout(1, 1)}
		}
		r.normalize()
		sn.sources[r.Name] = r
	case pipelinePrefix:
		r := &PipelineRecord{Pipeline: *v.Pipeline, Run: deref(v.Run), Facts: deref(v.Facts), Stored: e.Revision}
		r.normalize()
		sn.pipelines[r.ID] = r
	case tablePrefix:
		r := &TableRecord{Table: *v.Table, Run: deref(v.Run), Facts: deref(v.Facts), Stored: e.Revision}
		r.normalize()
		sn.tables[r.ID] = r
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// layout is how messages of the source are read from a position on.
func (s *Source) layout(version int64, from uint64) Layout {
	l := Layout{
		Version: version, SchemaRevision: max(s.SchemaRevision, 1), Fields: s.Fields,
		OnCoercionFailure: s.OnCoercionFailure, Keyed: len(s.KeyFields) > 0, FromSeq: from,
	}
	if s.Ingest != nil {
		l.RejectUnknownFields = s.Ingest.RejectUnknownFields
	}
	if s.Connector != nil && s.Connector.Mapping != nil {
		l.TimestampField = text(s.Connector.Mapping.TimestampField)
	}
	return l
}

// sameReading reports whether two layouts read every message alike.
func sameReading(a, b Layout) bool {
	a.Version, a.SchemaRevision, a.FromSeq = b.Version, b.SchemaRevision, b.FromSeq
	return equalJSON(a, b)
}

// equalJSON is equality of definitions: of their canonical JSON.
func equalJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// The client-owned part of each definition: equal parts are the same definition.

func (s Source) own() Source {
	s.Revision, s.SchemaRevision, s.CreatedBy, s.CreatedAtMs, s.UpdatedBy, s.UpdatedAtMs, s.Environment = 0, 0, "", 0, "", 0, ""
	if s.Ingest != nil {
		c := *s.Ingest
		keys := make([]IngestKey, len(c.Keys))
		for i, k := range c.Keys {
			k.LastUsedMs = 0 // a use is not an edit
			keys[i] = k
		}
		c.Keys = keys
		s.Ingest = &c
	}
	return s
}

func (p Pipeline) own() Pipeline {
	return Pipeline{
		Name: p.Name, Description: p.Description, SQL: p.SQL, Tags: p.Tags, Metadata: p.Metadata, Sinks: p.Sinks,
		DependsOn: p.DependsOn, ReplayFrom: p.ReplayFrom, Replay: p.Replay, AllowedLatenessMs: p.AllowedLatenessMs,
	}
}

func (t Table) own() Table {
	t.ID, t.Status, t.Error, t.CreatedBy, t.CreatedAtMs, t.UpdatedAtMs, t.UpdatedBy = "", "", nil, "", 0, 0, ""
	t.OutputFields, t.StreamInputs, t.TableInputs, t.PipelineInputs, t.KeyFields = nil, nil, nil, nil, nil
	t.Revision, t.SchemaRevision, t.StaleReason, t.Environment, t.Degraded, t.StaleInputs = 0, 0, nil, "", nil, nil
	return t
}

// normalize makes absent lists and maps empty ones, so that they are never null on the wire.

func (s *Source) normalize() {
	fill(&s.Fields)
	fill(&s.Tags)
	if s.Metadata == nil {
		s.Metadata = map[string]string{}
	}
}

func (p *Pipeline) normalize() {
	fill(&p.Tags)
	fill(&p.Sinks)
	fill(&p.DependsOn)
	fill(&p.SourceNames)
	fill(&p.TableInputs)
	fill(&p.OutputFields)
	if p.Metadata == nil {
		p.Metadata = map[string]string{}
	}
	if p.ReplayFrom == nil {
		p.ReplayFrom = map[string]ReplayFrom{}
	}
	p.StaleInputs = []string{}
	p.Status = view.Stopped
}

func (t *Table) normalize() {
	fill(&t.Tags)
	fill(&t.Sinks)
	fill(&t.DependsOn)
	fill(&t.ShardBy)
	fill(&t.OutputFields)
	fill(&t.StreamInputs)
	fill(&t.TableInputs)
	fill(&t.PipelineInputs)
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	if t.ReplayFrom == nil {
		t.ReplayFrom = map[string]ReplayFrom{}
	}
	t.StaleInputs = []string{}
	t.Status = view.Stopped
}

func fill[T any](l *[]T) {
	if *l == nil {
		*l = []T{}
	}
}

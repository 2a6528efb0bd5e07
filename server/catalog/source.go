package catalog

import "encoding/json"

// Kinds of sources. Plugin kinds come on top.
const (
	KindGenerator = "generator"
	KindIngest    = "ingest"
)

// Policies of onCoercionFailure.
const (
	CoerceNull   = "Null"
	CoerceDrop   = "DropRow"
	CoerceReject = "RejectBatch"
)

// Source is the definition of a source as REST carries it. Members below "server-owned" are ignored from clients.
type Source struct {
	Name              string            `json:"name"`
	Description       string            `json:"description"`
	Fields            []Field           `json:"fields"`
	GeneratorProfile  string            `json:"generatorProfile"`
	EventsPerSecond   float64           `json:"eventsPerSecond"`
	Enabled           bool              `json:"enabled"`
	Tags              []string          `json:"tags"`
	Metadata          map[string]string `json:"metadata"`
	Kind              string            `json:"kind"`
	Connector         *Connector        `json:"connector"`
	Ingest            *IngestConfig     `json:"ingest"`
	OnCoercionFailure string            `json:"onCoercionFailure"`
	Scenario          *ScenarioSpec     `json:"scenario"`
	Replay            *ReplayConfig     `json:"replay"`
	KeyFields         []string          `json:"keyFields" openapi:"nullable"`

	// Server-owned.
	Revision       int64  `json:"revision"`
	SchemaRevision int64  `json:"schemaRevision"`
	CreatedBy      string `json:"createdBy"`
	CreatedAtMs    int64  `json:"createdAtMs"`
	UpdatedBy      string `json:"updatedBy"`
	UpdatedAtMs    int64  `json:"updatedAtMs"`
	Environment    string `json:"environment"` // "" is the default environment
}

// NewSource returns a source with the documented defaults, ready to be decoded into.
func NewSource() Source {
	return Source{
		Fields: []Field{}, GeneratorProfile: "generic", EventsPerSecond: 5, Enabled: true,
		Tags: []string{}, Metadata: map[string]string{}, Kind: KindGenerator, OnCoercionFailure: CoerceNull,
	}
}

// Connector configures a source that fetches or subscribes. Exactly one section is set, the one of the kind; its
// contents belong to the kind.
type Connector struct {
	Schedule json.RawMessage   `json:"schedule"`
	Mapping  *Mapping          `json:"mapping"`
	Settings map[string]string `json:"settings" openapi:"nullable"`
	URL      json.RawMessage   `json:"url"`
	File     json.RawMessage   `json:"file"`
	Folder   json.RawMessage   `json:"folder"`
	Grpc     json.RawMessage   `json:"grpc"`
	Nats     json.RawMessage   `json:"nats"`
	DB       json.RawMessage   `json:"db"`
	Fix      json.RawMessage   `json:"fix"`
	Crdt     json.RawMessage   `json:"crdt"`
}

// Mapping says how a document becomes rows.
type Mapping struct {
	ItemsPath      string         `json:"itemsPath"`
	DedupKeyField  *string        `json:"dedupKeyField"`
	TimestampField *string        `json:"timestampField"`
	Envelope       string         `json:"envelope"`
	Fields         []MappingField `json:"fields"`
}

// UnmarshalJSON applies the defaults of absent members.
func (m *Mapping) UnmarshalJSON(b []byte) error {
	type plain Mapping
	p := plain{ItemsPath: "$", Envelope: "none", Fields: []MappingField{}}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*m = Mapping(p)
	return nil
}

// MappingField takes one field from a path; without a path, from the member of the field's name.
type MappingField struct {
	SourcePath *string `json:"sourcePath"`
	Field      Field   `json:"field"`
}

// Policies of a full ingest buffer.
const (
	PolicyReject     = "Reject"
	PolicyBlock      = "Block"
	PolicyDropNewest = "DropNewest"
	PolicyDropOldest = "DropOldest"
	PolicyInline     = "Inline"
)

// IngestConfig is the buffer of a push source and the keys that may push to it.
type IngestConfig struct {
	Policy              string      `json:"policy"`
	CapacityRows        int         `json:"capacityRows"`
	MaxWaitMs           int         `json:"maxWaitMs"`
	MaxBatchRows        int         `json:"maxBatchRows"`
	RejectUnknownFields bool        `json:"rejectUnknownFields"`
	DedupKeyField       *string     `json:"dedupKeyField"`
	DedupWindow         int         `json:"dedupWindow"`
	Keys                []IngestKey `json:"keys"`
}

// UnmarshalJSON applies the defaults of absent members.
func (c *IngestConfig) UnmarshalJSON(b []byte) error {
	type plain IngestConfig
	p := plain{Policy: PolicyReject, CapacityRows: 10000, MaxWaitMs: 5000, MaxBatchRows: 1000, Keys: []IngestKey{}}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	if p.Keys == nil {
		p.Keys = []IngestKey{}
	}
	*c = IngestConfig(p)
	return nil
}

// IngestKey lets a client without a login push to one source. Hash and Salt are base64 and read as "***".
type IngestKey struct {
	ID          string `json:"id"`
	Hash        string `json:"hash"`
	Salt        string `json:"salt"`
	Label       string `json:"label"`
	CreatedAtMs int64  `json:"createdAtMs"`
	LastUsedMs  int64  `json:"lastUsedMs"`
}

// ScenarioSpec is a seed-exact simulation that a generator of profile "scenario" runs on request.
type ScenarioSpec struct {
	Paths                 int                  `json:"paths"`
	Instruments           []Instrument         `json:"instruments"`
	InstrumentsSourceName *string              `json:"instrumentsSourceName"`
	Distribution          ScenarioDistribution `json:"distribution"`
	Rho                   float64              `json:"rho"`
	Days                  int                  `json:"days"`
	Seed                  int64                `json:"seed"`
	MaxBatchRows          int                  `json:"maxBatchRows"`
}

// UnmarshalJSON applies the defaults of absent members.
func (s *ScenarioSpec) UnmarshalJSON(b []byte) error {
	type plain ScenarioSpec
	p := plain{
		Paths: 1, Instruments: []Instrument{}, Distribution: ScenarioDistribution{Kind: "normal", Df: 5},
		Days: 1, MaxBatchRows: 100000,
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	if p.Instruments == nil {
		p.Instruments = []Instrument{}
	}
	*s = ScenarioSpec(p)
	return nil
}

// Instrument is one simulated value.
type Instrument struct {
	ID    string  `json:"id"`
	Base  float64 `json:"base"`
	Vol   float64 `json:"vol"`
	Group string  `json:"group"`
}

// ScenarioDistribution is the noise of a scenario.
type ScenarioDistribution struct {
	Kind string  `json:"kind"`
	Df   float64 `json:"df"`
}

// UnmarshalJSON applies the defaults of absent members.
func (d *ScenarioDistribution) UnmarshalJSON(b []byte) error {
	type plain ScenarioDistribution
	p := plain{Kind: "normal", Df: 5}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*d = ScenarioDistribution(p)
	return nil
}

// ReplayConfig bounds what the stream of an entity keeps; 0 means the server's bound.
type ReplayConfig struct {
	Persist  bool  `json:"persist"`
	RetainMs int64 `json:"retainMs"`
	MaxBytes int64 `json:"maxBytes"`
}

// UnmarshalJSON applies the defaults of absent members: a stream is kept on disk unless the definition says no.
func (c *ReplayConfig) UnmarshalJSON(b []byte) error {
	type plain ReplayConfig
	p := plain{Persist: true}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*c = ReplayConfig(p)
	return nil
}

// Layout is one way to read the messages of a source: everything that decoding depends on, and the stream position
// from which it counts. A message is decoded with the newest layout whose FromSeq is not above its position, so a
// replay reads a row as the first run did.
type Layout struct {
	// Version counts from 1 and grows with every change of the members below. It is finer than schemaRevision,
	// which only follows the fields.
	Version             int64   `json:"version"`
	SchemaRevision      int64   `json:"schemaRevision"`
	Fields              []Field `json:"fields"`
	OnCoercionFailure   string  `json:"onCoercionFailure"`
	RejectUnknownFields bool    `json:"rejectUnknownFields"`
	TimestampField      string  `json:"timestampField"`
	// Keyed says that the source has a key: "_op" may mark a row as a delete.
	Keyed bool `json:"keyed,omitempty"`
	// FromSeq is 0 until the clock has recorded where the layout begins; the first layout of a source begins at 1.
	FromSeq uint64 `json:"fromSeq"`
}

// SourceRecord is a source as the catalog keeps it. Read-only once it is in a Snapshot.
type SourceRecord struct {
	Source
	// Layouts are oldest first and never empty.
	Layouts []Layout
	// Stored is the revision of the KV entry.
	Stored uint64
}

// Layout returns the newest layout.
func (r *SourceRecord) Layout() Layout { return r.Layouts[len(r.Layouts)-1] }

package connectors

import (
	"encoding/json"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Definition is a source as its kind sees it: a copy of the parts of the catalog's definition that say what to read.
type Definition struct {
	Environment string
	Name        string
	Kind        string
	Fields      types.Schema
	// Profile and EventsPerSecond are the settings of kind generator.
	Profile         string
	EventsPerSecond float64
	Connector       *Connector
	Ingest          *IngestConfig
	Scenario        *ScenarioSpec
}

// Connector is the connector member of a source: exactly one kind section beside the settings that all kinds share.
// A section stays JSON text here; the kind decodes its own, after its Descriptor has checked it.
type Connector struct {
	Schedule *Schedule         `json:"schedule,omitempty"`
	Mapping  *Mapping          `json:"mapping,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
	URL      json.RawMessage   `json:"url,omitempty"`
	File     json.RawMessage   `json:"file,omitempty"`
	Folder   json.RawMessage   `json:"folder,omitempty"`
	GRPC     json.RawMessage   `json:"grpc,omitempty"`
	Nats     json.RawMessage   `json:"nats,omitempty"`
	DB       json.RawMessage   `json:"db,omitempty"`
	Fix      json.RawMessage   `json:"fix,omitempty"`
	CRDT     json.RawMessage   `json:"crdt,omitempty"`
}

// Section returns the address of the section with a JSON name, nil when there is none of that name. Settings is not
// a section.
func (c *Connector) Section(name string) *json.RawMessage {
	switch name {
	case "url":
		return &c.URL
	case "file":
		return &c.File
	case "folder":
		return &c.Folder
	case "grpc":
		return &c.GRPC
	case "nats":
		return &c.Nats
	case "db":
		return &c.DB
	case "fix":
		return &c.Fix
	case "crdt":
		return &c.CRDT
	}
	return nil
}

// Sections lists the names of the sections that are set, in the order of the type.
func (c *Connector) Sections() []string {
	var out []string
	for _, n := range sectionNames {
		if s := c.Section(n); len(*s) > 0 && string(*s) != "null" {
			out = append(out, n)
		}
	}
	return out
}

var sectionNames = []string{"url", "file", "folder", "grpc", "nats", "db", "fix", "crdt"}

// Schedule says when a polled kind runs: a cron expression or an interval, never both.
type Schedule struct {
	Cron       *string `json:"cron,omitempty"`
	IntervalMs *int64  `json:"intervalMs,omitempty"`
}

// Mapping says which parts of a payload become which columns.
type Mapping struct {
	ItemsPath      string         `json:"itemsPath"`
	DedupKeyField  *string        `json:"dedupKeyField"`
	TimestampField *string        `json:"timestampField"`
	Envelope       string         `json:"envelope"`
	Fields         []MappingField `json:"fields"`
}

// MappingField maps one path to one column; an empty SourcePath is the field's own name.
type MappingField struct {
	SourcePath *string     `json:"sourcePath"`
	Field      types.Field `json:"field"`
}

// Policy is what a full ingest buffer does with the next rows.
type Policy string

// The policies of an ingest source.
const (
	Reject     Policy = "Reject"     // refuse the push: 429
	Block      Policy = "Block"      // wait up to maxWaitMs for room, then refuse
	DropNewest Policy = "DropNewest" // admit what fits, drop the rest of the push
	DropOldest Policy = "DropOldest" // admit everything, evict the oldest waiting rows
	Inline     Policy = "Inline"     // no buffer: append inside the call
)

// Policies lists the policies in their fixed order.
func Policies() []Policy { return []Policy{Reject, Block, DropNewest, DropOldest, Inline} }

// IngestConfig is what the buffer of an ingest source does.
type IngestConfig struct {
	Policy              Policy
	CapacityRows        int
	MaxWaitMs           int
	MaxBatchRows        int
	RejectUnknownFields bool
	// DedupKeyField is the field whose value tells rows apart, "" for none; DedupWindow is how many of its values are
	// remembered, 0 means DefaultDedupWindow.
	DedupKeyField string
	DedupWindow   int
}

// Bounds and defaults of an ingest source.
const (
	DefaultCapacityRows = 10_000
	DefaultMaxWaitMs    = 5_000
	MaxWaitMsCap        = 30_000
	DefaultMaxBatchRows = 1_000
	DefaultDedupWindow  = 10_000
)

// ScenarioSpec is a seed-exact simulation that a generator with profile scenario runs on request.
type ScenarioSpec struct {
	Paths       int
	Instruments []Instrument
	// InstrumentsSourceName is accepted on the wire and always refused.
	InstrumentsSourceName string
	Distribution          Distribution
	Rho                   float64
	Days                  int
	Seed                  int64
	MaxBatchRows          int
}

// Instrument is one simulated value of a scenario. Instruments of one group share a factor; a blank group is a group
// of its own.
type Instrument struct {
	ID    string
	Base  float64
	Vol   float64
	Group string
}

// Distribution is the noise of a scenario: normal, lognormal or student_t with Df degrees of freedom.
type Distribution struct {
	Kind string
	Df   float64
}

// Masked stands for a stored secret on every read path; a client sends it back to keep the secret.
const Masked = "***"

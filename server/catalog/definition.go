package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/streamsforge/streamsforge/connectors"
)

// Definition returns the source as its connector kind sees it. Validate has accepted the source.
func (s *Source) Definition() (connectors.Definition, error) {
	env := s.Environment
	if env == "" {
		env = DefaultEnvironment
	}
	d := connectors.Definition{
		Environment: env, Name: s.Name, Kind: s.Kind, Fields: Schema(s.Fields),
		Profile: s.GeneratorProfile, EventsPerSecond: s.EventsPerSecond,
	}
	if c := s.Connector; c != nil {
		d.Connector = &connectors.Connector{
			Settings: c.Settings, URL: c.URL, File: c.File, Folder: c.Folder, GRPC: c.Grpc,
			Nats: c.Nats, DB: c.DB, Fix: c.Fix, CRDT: c.Crdt,
		}
		if isSet(c.Schedule) {
			d.Connector.Schedule = &connectors.Schedule{}
			if err := json.Unmarshal(c.Schedule, d.Connector.Schedule); err != nil {
				return d, fmt.Errorf("connector.schedule: %w", err)
			}
		}
		if m := c.Mapping; m != nil {
			out := &connectors.Mapping{
				ItemsPath: m.ItemsPath, DedupKeyField: m.DedupKeyField, TimestampField: m.TimestampField, Envelope: m.Envelope,
			}
			for _, f := range m.Fields {
				out.Fields = append(out.Fields, connectors.MappingField{SourcePath: f.SourcePath, Field: Schema([]Field{f.Field})[0]})
			}
			d.Connector.Mapping = out
		}
	}
	if c := s.Ingest; c != nil {
		d.Ingest = &connectors.IngestConfig{
			Policy: connectors.Policy(c.Policy), CapacityRows: c.CapacityRows, MaxWaitMs: c.MaxWaitMs, MaxBatchRows: c.MaxBatchRows,
			RejectUnknownFields: c.RejectUnknownFields, DedupKeyField: text(c.DedupKeyField), DedupWindow: c.DedupWindow,
		}
	}
	if c := s.Scenario; c != nil {
		d.Scenario = &connectors.ScenarioSpec{
			Paths: c.Paths, Rho: c.Rho, Days: c.Days, Seed: c.Seed, MaxBatchRows: c.MaxBatchRows,
			InstrumentsSourceName: text(c.InstrumentsSourceName), Distribution: connectors.Distribution(c.Distribution),
		}
		for _, i := range c.Instruments {
			d.Scenario.Instruments = append(d.Scenario.Instruments, connectors.Instrument(i))
		}
	}
	return d, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

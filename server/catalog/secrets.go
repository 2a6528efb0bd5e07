package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/streamsforge/streamsforge/connectors"
)

// Masked returns the source as it is shown: every secret reads as "***".
func (s Source) Masked() Source {
	if s.Ingest != nil {
		c := *s.Ingest
		c.Keys = slices.Clone(c.Keys)
		for i := range c.Keys {
			c.Keys[i].Hash, c.Keys[i].Salt = connectors.Masked, connectors.Masked
		}
		s.Ingest = &c
	}
	if s.Connector != nil {
		c := *s.Connector
		kind, err := connectors.Lookup(s.Kind)
		for _, section := range c.sections() {
			if !isSet(*section) {
				continue
			}
			if err != nil {
				// Without the kind nobody knows which members are secret: all of them are.
				*section = maskAll(*section)
			} else {
				*section = kind.Descriptor.Mask(*section)
			}
		}
		if c.Settings != nil {
			c.Settings = maps.Clone(c.Settings)
			for k, v := range c.Settings {
				if v != "" && (err != nil || isSecret(kind.Descriptor, k)) {
					c.Settings[k] = connectors.Masked
				}
			}
		}
		s.Connector = &c
	}
	return s
}

func isSecret(d connectors.Descriptor, key string) bool {
	return slices.ContainsFunc(d.Fields, func(f connectors.Field) bool { return f.Key == key && f.Type == connectors.Secret })
}

func (c *Connector) sections() []*json.RawMessage {
	return []*json.RawMessage{&c.URL, &c.File, &c.Folder, &c.Grpc, &c.Nats, &c.DB, &c.Fix, &c.Crdt}
}

// maskAll masks every text of a document and keeps its shape.
func maskAll(raw json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return json.RawMessage(`"` + connectors.Masked + `"`)
	}
	out, _ := json.Marshal(maskValue(v)) // a decoded document encodes
	return out
}

func maskValue(v any) any {
	switch t := v.(type) {
	case string:
		return connectors.Masked
	case []any:
		for i := range t {
			t[i] = maskValue(t[i])
		}
	case map[string]any:
		for k := range t {
			t[k] = maskValue(t[k])
		}
	}
	return v
}

// keepSecrets puts the stored secrets where the sent definition shows "***". A mask without a stored secret is a
// problem, not an empty secret.
func (s *Source) keepSecrets(stored *Source) []string {
	var p problems
	if s.Ingest != nil {
		known := map[string]IngestKey{}
		if stored != nil && stored.Ingest != nil {
			for _, k := range stored.Ingest.Keys {
				known[k.ID] = k
			}
		}
		c := *s.Ingest
		c.Keys = slices.Clone(c.Keys)
		for i, k := range c.Keys {
			old, ok := known[k.ID]
			if !ok {
				p.addf("ingest.keys[%d]: no key '%s' is stored; make one with POST /api/sources/%s/ingest/keys", i, k.ID, s.Name)
				continue
			}
			old.Label = k.Label
			c.Keys[i] = old // hash, salt and times are the server's
		}
		s.Ingest = &c
	}
	if s.Connector == nil {
		return p
	}
	kind, err := connectors.Lookup(s.Kind)
	if err != nil {
		return p // the kind itself is refused by Problems
	}
	c := *s.Connector
	var old *Connector
	if stored != nil && stored.Kind == s.Kind {
		old = stored.Connector
	}
	for i, section := range c.sections() {
		if !isSet(*section) {
			continue
		}
		var before json.RawMessage
		if old != nil {
			before = *old.sections()[i]
		}
		*section = kind.Descriptor.Merge(before, *section)
	}
	c.Settings = maps.Clone(c.Settings)
	for k, v := range c.Settings {
		if v != connectors.Masked || !isSecret(kind.Descriptor, k) {
			continue
		}
		delete(c.Settings, k)
		if old != nil && old.Settings[k] != "" {
			c.Settings[k] = old.Settings[k]
		}
	}
	s.Connector = &c
	return p
}

// wrongKind refuses pushes and keys on other kinds.
func wrongKind(name, kind string) string {
	return fmt.Sprintf("source '%s' is of kind %s; only ingest sources take pushed rows and keys", name, kind)
}

package catalog

import (
	"context"
	"slices"
	"time"

	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/server/view"
)

// keyUsePeriod is how often the use of an ingest key is stored; in between it is kept in memory.
const keyUsePeriod = time.Minute

type keyUse struct {
	atMs    int64
	savedMs int64
}

// AddIngestKey makes a key that may push to one ingest source. The secret is in the answer and nowhere else.
func (s *Store) AddIngestKey(ctx context.Context, env, actor, source, label string) (key IngestKey, secret string, err error) {
	err = s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		r, err := ingestSource(sn, source)
		if err != nil {
			return nil, err
		}
		var salt, hash string
		secret, salt, hash = ingest.NewKey()
		key = IngestKey{ID: s.opt.NewID(), Hash: hash, Salt: salt, Label: label, CreatedAtMs: s.opt.Now().UnixMilli()}
		return s.withKeys(r, actor, append(slices.Clone(r.Ingest.Keys), key)), nil
	})
	return key, secret, err
}

// DeleteIngestKey removes a key.
func (s *Store) DeleteIngestKey(ctx context.Context, env, actor, source, id string) error {
	return s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		r, ok := sn.sources[source]
		if !ok || r.Ingest == nil {
			return nil, view.ErrUnknown
		}
		keys := slices.DeleteFunc(slices.Clone(r.Ingest.Keys), func(k IngestKey) bool { return k.ID == id })
		if len(keys) == len(r.Ingest.Keys) {
			return nil, view.ErrUnknown
		}
		return s.withKeys(r, actor, keys), nil
	})
}

// ingestSource copies an ingest source for a change of its section.
func ingestSource(sn *Snapshot, name string) (*SourceRecord, error) {
	old, ok := sn.sources[name]
	if !ok {
		return nil, view.ErrUnknown
	}
	if old.Kind != KindIngest || old.Ingest == nil {
		return nil, view.Errorf(view.Conflict, "%s", wrongKind(name, old.Kind))
	}
	return old, nil
}

func (s *Store) withKeys(old *SourceRecord, actor string, keys []IngestKey) *change {
	r := *old
	c := *old.Ingest
	c.Keys = keys
	r.Ingest = &c
	r.Revision++
	r.UpdatedBy, r.UpdatedAtMs = actor, s.opt.Now().UnixMilli()
	return &change{sources: []*SourceRecord{&r}}
}

// IngestKeys lists the keys of a source with their newest use.
func (s *Store) IngestKeys(env, source string) ([]IngestKey, error) {
	sn, err := s.Snapshot(env)
	if err != nil {
		return nil, err
	}
	r, ok := sn.Source(source)
	if !ok {
		return nil, view.ErrUnknown
	}
	if r.Ingest == nil {
		return []IngestKey{}, nil
	}
	keys := slices.Clone(r.Ingest.Keys)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range keys {
		keys[i].LastUsedMs = max(keys[i].LastUsedMs, s.touched[source+"/"+keys[i].ID].atMs)
	}
	return keys, nil
}

// MatchIngestKey reports whether a secret is a key of the source, and notes its use. It takes as long for a source
// without such a key as for one with it.
func (s *Store) MatchIngestKey(ctx context.Context, env, source, secret string) bool {
	sn, err := s.Snapshot(env)
	if err != nil {
		return false
	}
	var keys []IngestKey
	if r, ok := sn.Source(source); ok && r.Kind == KindIngest && r.Ingest != nil {
		keys = r.Ingest.Keys
	}
	found := ""
	for _, k := range keys {
		if ingest.KeyMatches(secret, k.Salt, k.Hash) {
			found = k.ID
		}
	}
	if found == "" {
		return false
	}
	s.touch(ctx, env, source, found)
	return true
}

// touch notes the use of a key. Once a minute the note is stored; it is not an edit and wakes nobody.
func (s *Store) touch(ctx context.Context, env, source, id string) {
	now := s.opt.Now().UnixMilli()
	at := source + "/" + id
	s.mu.Lock()
	u := s.touched[at]
	u.atMs = max(u.atMs, now)
	due := now-u.savedMs >= keyUsePeriod.Milliseconds()
	if due {
		u.savedMs = now
	}
	s.touched[at] = u
	s.mu.Unlock()
	if !due {
		return
	}
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, err := ingestSource(sn, source)
		if err != nil {
			return nil, nil //nolint:nilerr // deleted meanwhile: there is nothing to touch
		}
		r, c := *old, *old.Ingest
		c.Keys = slices.Clone(c.Keys)
		for i := range c.Keys {
			if c.Keys[i].ID == id {
				c.Keys[i].LastUsedMs = max(c.Keys[i].LastUsedMs, now)
			}
		}
		r.Ingest = &c
		return &change{sources: []*SourceRecord{&r}, onlyBookmarks: true}, nil
	})
	if err != nil {
		s.opt.Logger.Warn("the use of an ingest key was not stored", "entity", source, "env", env, "error", err)
	}
}

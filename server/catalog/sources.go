package catalog

import (
	"context"
	"slices"

	"github.com/streamsforge/streamsforge/server/view"
)

// CreateSource stores a new source.
func (s *Store) CreateSource(ctx context.Context, env, actor string, in Source) (*SourceRecord, error) {
	var out *SourceRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		r, err := s.newSource(sn, actor, in)
		if err != nil {
			return nil, err
		}
		out = r
		return &change{sources: []*SourceRecord{r}, reshaped: []string{r.Name}, events: []view.LifecycleEvent{enabledEvent(r)}}, nil
	})
	return out, err
}

func (s *Store) newSource(sn *Snapshot, actor string, in Source) (*SourceRecord, error) {
	in.normalize()
	problems := in.keepSecrets(nil)
	if err := invalid(append(problems, in.Problems()...)); err != nil {
		return nil, err
	}
	switch owner := sn.owner(in.Name); owner {
	case "":
	case InputSource:
		return nil, view.Errorf(view.Invalid, "source name already exists")
	default:
		return nil, sn.free(in.Name, InputSource)
	}
	now := s.opt.Now().UnixMilli()
	in.Revision, in.SchemaRevision, in.Environment = 1, 1, environment(sn.Env)
	in.CreatedBy, in.CreatedAtMs, in.UpdatedBy, in.UpdatedAtMs = actor, now, actor, now
	return &SourceRecord{Source: in, Layouts: []Layout{in.layout(1, 1)}}, nil
}

// environment is how definitions name theirs: the default one is "".
func environment(env string) string {
	if env == DefaultEnvironment {
		return ""
	}
	return env
}

func enabledEvent(r *SourceRecord) view.LifecycleEvent {
	if r.Enabled {
		return view.LifecycleEvent{PipelineID: r.Name, Kind: "source-started", Status: string(view.Running)}
	}
	return view.LifecycleEvent{PipelineID: r.Name, Kind: "source-stopped", Status: string(view.Stopped)}
}

// UpdateSource replaces the definition of a source. The name comes from the caller: a source is never renamed.
// Without allowBreaking a change that takes fields or types away is a *BreakingError.
func (s *Store) UpdateSource(ctx context.Context, env, actor, name string, in Source, allowBreaking bool) (*SourceRecord, error) {
	var out *SourceRecord
	err := s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, ok := sn.sources[name]
		if !ok {
			return nil, view.ErrUnknown
		}
		next := in
		next.Name = name
		next.normalize()
		problems := next.keepSecrets(&old.Source)
		if err := invalid(append(problems, next.Problems()...)); err != nil {
			return nil, err
		}
		if reasons := Breaking(old.Fields, next.Fields); !allowBreaking && len(reasons) > 0 {
			return nil, &BreakingError{Source: name, Reasons: reasons}
		}
		next.Revision, next.SchemaRevision, next.Environment = old.Revision, old.SchemaRevision, old.Environment
		next.CreatedBy, next.CreatedAtMs, next.UpdatedBy, next.UpdatedAtMs = old.CreatedBy, old.CreatedAtMs, old.UpdatedBy, old.UpdatedAtMs
		if equalJSON(old.own(), next.own()) {
			out = old
			return nil, nil
		}
		next.Revision++ // Rule 2
		next.UpdatedBy, next.UpdatedAtMs = actor, s.opt.Now().UnixMilli()
		r := &SourceRecord{Source: next, Layouts: old.Layouts, Stored: old.Stored}
		c := &change{sources: []*SourceRecord{r}, events: []view.LifecycleEvent{enabledEvent(r)}}
		if !sameShape(old.Fields, next.Fields) || !slices.Equal(old.KeyFields, next.KeyFields) {
			r.SchemaRevision++
			c.reshaped = []string{name}
		}
		if l := r.layout(old.Layout().Version+1, 0); !sameReading(l, old.Layout()) {
			// Rule 3: the old layouts stay for the rows they were written under. Where the new one begins is
			// for the clock to record (SetLayoutStart).
			r.Layouts = append(slices.Clone(old.Layouts), l)
		}
		out = r
		return c, nil
	})
	return out, err
}

// sameShape compares what readers see: names, types and nesting, in order.
func sameShape(a, b []Field) bool {
	return slices.EqualFunc(a, b, func(x, y Field) bool {
		return x.Name == y.Name && x.Type == y.Type && x.IsArray == y.IsArray && sameShape(x.Children, y.Children)
	})
}

// DeleteSource removes a source. Dependents keep running on their compiled plan.
func (s *Store) DeleteSource(ctx context.Context, env, name string) error {
	return s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		r, ok := sn.sources[name]
		if !ok {
			return nil, view.ErrUnknown
		}
		return &change{dropSource: r, events: []view.LifecycleEvent{
			{PipelineID: name, Kind: "source-deleted", Status: string(view.Stopped)},
		}}, nil
	})
}

// SetLayoutStart records from which stream position a layout of a source counts. The clock calls it when it has
// written that border to the epoch log; repeating it with the same position changes nothing.
func (s *Store) SetLayoutStart(ctx context.Context, env, name string, version int64, from uint64) error {
	return s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, ok := sn.sources[name]
		if !ok {
			return nil, view.ErrUnknown
		}
		i := slices.IndexFunc(old.Layouts, func(l Layout) bool { return l.Version == version })
		if i < 0 {
			return nil, view.Errorf(view.Missing, "source '%s' has no layout %d", name, version)
		}
		if old.Layouts[i].FromSeq == from {
			return nil, nil
		}
		r := *old
		r.Layouts = slices.Clone(old.Layouts)
		r.Layouts[i].FromSeq = from
		return &change{sources: []*SourceRecord{&r}}, nil
	})
}

// PruneLayouts forgets the layouts that no retained row needs: those that end before the first retained position.
// The newest layout always stays.
func (s *Store) PruneLayouts(ctx context.Context, env, name string, firstSeq uint64) error {
	return s.mutate(ctx, env, func(sn *Snapshot) (*change, error) {
		old, ok := sn.sources[name]
		if !ok {
			return nil, view.ErrUnknown
		}
		keep := 0 // a layout that never began (edited again before the clock saw it) does not hold the older ones
		for i, l := range old.Layouts {
			if l.FromSeq != 0 && l.FromSeq <= firstSeq {
				keep = i
			}
		}
		if keep == 0 {
			return nil, nil
		}
		r := *old
		r.Layouts = slices.Clone(old.Layouts[keep:])
		return &change{sources: []*SourceRecord{&r}, onlyBookmarks: true}, nil
	})
}

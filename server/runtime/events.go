package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/server/view"
)

// SourceEvents returns the newest rows of a source, newest first.
func (rt *Runtime) SourceEvents(ctx context.Context, env, name string, limit int) ([]view.Row, error) {
	s, err := rt.findSource(env, name)
	if err != nil {
		return nil, err
	}
	return s.events(ctx, min(limit, recentRows))
}

// events encodes the newest rows. After a start they are read from the stream once.
func (s *source) events(ctx context.Context, limit int) ([]view.Row, error) {
	s.mu.Lock()
	s.close() // what is decoded and waits for its epoch counts too
	segs := slices.Clone(s.recent)
	oldest := max(s.open.from, s.books.Seq)
	layouts := s.layouts
	s.mu.Unlock()
	n := 0
	for _, g := range segs {
		n += g.Batch.N
	}
	if len(segs) > 0 {
		oldest = segs[0].From
	}
	if n < limit && oldest > 0 {
		older, err := s.olderRows(ctx, oldest, limit-n, layouts)
		if err != nil {
			return nil, err
		}
		segs = append(older, segs...)
	}
	out := []view.Row{}
	for _, g := range slices.Backward(segs) {
		origin := s.originOf(g.Schema)
		cols := visibleColumns(g.Schema)
		schema := make(types.Schema, len(cols))
		b := &zset.Batch{N: g.Batch.N, Cols: make([]zset.Column, len(cols))}
		for i, c := range cols {
			schema[i], b.Cols[i] = g.Schema[c], g.Batch.Cols[c]
		}
		for i := g.Batch.N - 1; i >= 0; i-- {
			if len(out) == limit {
				return out, nil
			}
			row := zset.AppendJSON(nil, schema, b, i)
			out = append(out, append(row[:len(row)-1], origin...))
		}
	}
	return out, nil
}

// originOf is how the JSON object of a row ends: with the name of its source as `_source`, unless the source declares
// a column of that name. A row always has a member before it, its `_ts`.
func (s *source) originOf(schema types.Schema) string {
	if slices.ContainsFunc(schema, func(f types.Field) bool { return strings.EqualFold(f.Name, types.SourceColumn) }) {
		return "}"
	}
	name, err := json.Marshal(s.name)
	if err != nil {
		return "}" // no string fails to encode
	}
	return `,"` + types.SourceColumn + `":` + string(name) + "}"
}

// visibleColumns leaves out the retraction mark that nobody declared: it is the last column then.
func visibleColumns(s types.Schema) []int {
	var out []int
	for i, f := range s {
		if f.Name == types.RetractColumn && i == len(s)-1 {
			continue
		}
		out = append(out, i)
	}
	return out
}

// olderRows reads messages before a position until there are enough rows.
func (s *source) olderRows(ctx context.Context, before uint64, rows int, layouts []catalog.Layout) ([]*clock.Segment, error) {
	st, err := s.stream.State(ctx)
	if err != nil {
		return nil, err
	}
	for span := uint64(64); ; span *= 4 {
		from := st.First
		if before > span {
			from = max(from, before-span+1)
		}
		if from > before {
			return nil, nil
		}
		c := &sourceCursor{name: s.name, stream: s.stream, layouts: layouts, at: from - 1, from: from - 1}
		segs, err := c.upTo(ctx, before)
		c.stop()
		var missing *missingError
		if errors.As(err, &missing) {
			return nil, nil // trimmed meanwhile
		}
		if err != nil {
			return nil, err
		}
		n := 0
		for _, g := range segs {
			n += g.Batch.N
		}
		if n >= rows || from == st.First || span > recentRows {
			return segs, nil
		}
	}
}

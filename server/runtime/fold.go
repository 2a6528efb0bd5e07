package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/serve"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// foldJournal adds up a journal: its rows at an epoch (0: now), as batches that together are the Z-set, with the
// moment they are of.
func foldJournal(ctx context.Context, j *streams.Journal, gen uint64, schema types.Schema, upTo uint64) ([]*zset.Batch, serve.State, error) {
	last, ok := j.Last()
	if !ok {
		return nil, serve.State{}, nil
	}
	return foldStream(ctx, j.Stream(), last, gen, schema, upTo)
}

func foldStream(ctx context.Context, st *streams.Stream, last streams.Stored, gen uint64, schema types.Schema, upTo uint64) ([]*zset.Batch, serve.State, error) {
	from := max(last.BaseSeq, 1)
	out, state, based, err := foldFrom(ctx, st, from, last.Last, gen, schema, upTo)
	if err == nil && last.BaseSeq > 0 && !based {
		// The newest base is of another generation, or of a later epoch: begin with what is retained, which is enough
		// when it holds an older base or everything.
		s, serr := st.State(ctx)
		if serr != nil {
			return nil, serve.State{}, serr
		}
		if out, state, based, err = foldFrom(ctx, st, 1, last.Last, gen, schema, upTo); err == nil && !based && s.First > 1 {
			return nil, serve.State{}, errHidden
		}
	}
	return out, state, err
}

// errHidden says that the rows at an epoch cannot be read from a journal: it lies inside of a delta, or before what is
// retained.
var errHidden = errors.New("the rows of that epoch are not in the journal")

func foldFrom(ctx context.Context, st *streams.Stream, from, to, gen uint64, schema types.Schema, upTo uint64) (out []*zset.Batch, state serve.State, based bool, err error) {
	type part struct {
		epoch uint64
		b     *zset.Batch
	}
	var parts []part
	first, later := false, false
	err = readEntries(ctx, st, from, to, func(s streams.Stored) error {
		if upTo > 0 && s.Epoch > upTo && s.Kind == streams.Delta && prevOf(s.Entry) < upTo {
			return errHidden
		}
		if s.Generation != gen {
			return nil
		}
		if upTo > 0 && s.Epoch > upTo {
			later = later || s.Kind != streams.Delta
			return nil
		}
		first = true
		switch s.Kind {
		case streams.Base:
			// A base holds everything up to its epoch.
			kept := parts[:0]
			for _, p := range parts {
				if p.epoch > s.Epoch {
					kept = append(kept, p)
				}
			}
			parts = kept
			based = true
			for _, c := range s.Chunks {
				_, b, err := wire.Decode(c)
				if err != nil {
					return fmt.Errorf("base at %d: %w", s.First, err)
				}
				parts = append(parts, part{s.Epoch, b})
			}
			if s.Epoch >= state.Epoch {
				state.Epoch, state.Position = s.Epoch, s.Last
				state.Seq = max(state.Seq, int64(s.SeqNo))
			}
		case streams.Delta:
			d, err := deltaOf(s, schema)
			if err != nil {
				return err
			}
			parts = append(parts, part{s.Epoch, d.Batch})
			state = serve.State{Epoch: s.Epoch, TimeMs: s.TimeMs, Seq: int64(s.SeqNo), Position: s.Last}
		case streams.Marker:
			state = serve.State{Epoch: s.Epoch, TimeMs: s.TimeMs, Seq: int64(s.SeqNo), Position: s.Last}
		}
		return nil
	})
	if err == nil && later && !first && from == 1 {
		return nil, state, based, errHidden // the generation begins after the epoch
	}
	for _, p := range parts {
		out = append(out, p.b)
	}
	return out, state, based, err
}

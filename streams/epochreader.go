package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// EpochReader reads an environment's clock from an epoch on. It is used by one goroutine, except for Stop.
type EpochReader struct {
	st      *Stream
	from    uint64 // the epoch that comes next
	entries *EntryReader
	clock   Clock
	folded  bool // a full record was folded, so the clock is complete
	gap     bool // records that were asked for are gone
	held    []EpochRecord
}

// ReadEpochs reads the records with at least this epoch; 0 means everything that is retained. Older records are folded
// as far as needed, so that the clock is complete from the first record on. Nothing is asked of the server before Next.
func ReadEpochs(st *Stream, from uint64) *EpochReader {
	return &EpochReader{st: st, from: from, clock: newClock()}
}

// Clock is the fold of the records up to the last one that Next returned. It belongs to the reader.
func (r *EpochReader) Clock() *Clock { return &r.clock }

// Next returns the records that have arrived, at least one, and waits when there is none. Records say what changed; a
// full one says everything. A [*GapError] says that the clock was trimmed behind the epoch that was asked for: its From
// and First are epochs, and the following call begins at First.
func (r *EpochReader) Next(ctx context.Context) ([]EpochRecord, error) {
	if held := r.held; held != nil {
		r.held = nil
		return held, nil
	}
	if r.entries == nil {
		if err := r.seek(ctx); err != nil {
			return nil, fmt.Errorf("read epochs %s from %d: %w", r.st.name, r.from, err)
		}
	}
	for {
		entries, err := r.entries.Next(ctx)
		var gap *GapError
		if errors.As(err, &gap) {
			r.folded, r.gap = false, true // The bound of the stream has overtaken this reader.
			continue
		}
		if err != nil {
			return nil, err
		}
		recs := make([]EpochRecord, 0, len(entries))
		for _, e := range entries {
			rec, err := parseEpoch(e)
			if err != nil {
				return nil, fmt.Errorf("read epochs %s: %w", r.st.name, err)
			}
			if r.folded = r.folded || rec.Full; !r.folded {
				continue
			}
			r.clock.take(rec)
			if rec.Epoch >= r.from {
				recs = append(recs, rec)
			}
		}
		if len(recs) == 0 {
			continue
		}
		from := r.from
		r.from = recs[len(recs)-1].Epoch + 1
		if r.gap {
			r.gap, r.held = false, recs
			return nil, &GapError{Stream: r.st.name, From: from, First: recs[0].Epoch}
		}
		return recs, nil
	}
}

// Stop ends the reader, see [Reader.Stop].
func (r *EpochReader) Stop() {
	if r.entries != nil {
		r.entries.Stop()
	}
}

// seek finds where to begin: at the full record up to the first record that was asked for.
func (r *EpochReader) seek(ctx context.Context) error {
	s, err := r.st.State(ctx)
	if err != nil {
		return err
	}
	start := s.First
	if s.Messages > 0 && r.from > 0 {
		seq, err := findEpoch(ctx, r.st, s, r.from)
		if err != nil {
			return err
		}
		rec, err := readEpoch(ctx, r.st, min(seq, s.Last))
		if err != nil {
			return err
		}
		// When the very first retained record is not older than the epoch, older ones may have been trimmed.
		r.gap = rec.full < s.First || seq == s.First && s.First > 1 && rec.Epoch > r.from
		start = max(rec.full, s.First)
	}
	r.entries = r.st.Entries(start, ReadOptions{})
	return nil
}

// findEpoch is the position of the first retained record with at least this epoch, or the next position when all are
// older. Epochs grow with the position.
func findEpoch(ctx context.Context, st *Stream, s State, epoch uint64) (uint64, error) {
	lo, hi := s.First, s.Last+1
	for lo < hi {
		mid := lo + (hi-lo)/2
		r, err := readEpoch(ctx, st, mid)
		switch {
		case errors.Is(err, ErrNotFound): // Trimmed meanwhile: everything up to here is gone.
			lo = mid + 1
		case err != nil:
			return 0, err
		case r.Epoch >= epoch:
			hi = mid
		default:
			lo = mid + 1
		}
	}
	return lo, nil
}

func readEpoch(ctx context.Context, st *Stream, seq uint64) (EpochRecord, error) {
	m, err := st.Get(ctx, seq)
	if err != nil {
		return EpochRecord{}, err
	}
	e, ok, err := NewAssembler(st.name).Add(m)
	if err != nil {
		return EpochRecord{}, err
	}
	if !ok {
		return EpochRecord{}, fmt.Errorf("record at %d: %w: it is split", seq, ErrForeign)
	}
	return parseEpoch(e)
}

func parseEpoch(e Stored) (EpochRecord, error) {
	var r epochJSON
	if err := json.Unmarshal(e.Data, &r); err != nil {
		return EpochRecord{}, fmt.Errorf("record at %d: %w: %w", e.Last, ErrForeign, err)
	}
	if r.Epoch != e.Epoch {
		return EpochRecord{}, fmt.Errorf("record at %d: %w: it is of epoch %d, its header says %d", e.Last, ErrForeign, r.Epoch, e.Epoch)
	}
	r.Seq, r.full = e.Last, r.FullSeq
	if r.Full {
		r.full = e.Last
	}
	return r.EpochRecord, nil
}

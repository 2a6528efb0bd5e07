package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// EpochRecord is one tick of an environment's clock: at this epoch, every entity reflects the sources up to these
// positions.
type EpochRecord struct {
	Epoch  uint64 `json:"epoch"`
	TimeMs int64  `json:"timeMs"` // the time the epoch stands for; never decreases
	Term   uint64 `json:"term"`   // of the sequencer
	// Positions maps an input, written <source>#<incarnation> ([InputKey]), to the last sequence that belongs to the
	// epoch. A record holds what changed since the one before; a full record holds all.
	Positions map[string]uint64 `json:"positions,omitempty"`
	Full      bool              `json:"full,omitempty"`
	// Left and Joined say which entities stop or start to count as inputs at this epoch (decision 8).
	Left   []Change `json:"left,omitempty"`
	Joined []Change `json:"joined,omitempty"`
	// Absent lists, in a full record, everything that has left and not joined again.
	Absent []Change `json:"absent,omitempty"`
	// Layouts says from which sequence a source's rows are decoded with another version of its schema (decision 13). A
	// full record holds every version since the last Forget.
	Layouts []Layout `json:"layouts,omitempty"`

	// Seq is the position of the record in its stream; it is set when the record is read.
	Seq uint64 `json:"-"`

	full uint64 // position of the newest full record up to this one
}

// epochJSON is a record as it is stored.
type epochJSON struct {
	EpochRecord
	// FullSeq is the position of the full record before this one: where a reader begins to fold.
	FullSeq uint64 `json:"fullSeq,omitempty"`
}

// Change is an entity that leaves the clock or joins it.
type Change struct {
	Kind string `json:"kind"` // table or pipeline
	Key  string `json:"key"`  // its id
	// Epoch is the last epoch that the entity has reached, when it leaves.
	Epoch uint64 `json:"epoch,omitempty"`
}

// Layout is a version of a source's schema.
type Layout struct {
	Source  string `json:"source"` // as in Positions
	Version int64  `json:"version"`
	From    uint64 `json:"from"` // the first sequence that is decoded with it
}

// InputKey is the name of an input in epoch records.
func InputKey(input, incarnation string) string { return input + "#" + incarnation }

// A full record is written when this many records, or this much time, have gone by since the last one. It bounds
// what a reader has to fold before it knows every position.
const (
	fullEvery   = 1000
	fullEveryMs = 10_000
)

// EpochLog is the one writer of an environment's clock, fenced like a [Journal]: by the expected last sequence, and by
// the term of the lease. It is safe for use by several goroutines, though there is one sequencer.
type EpochLog struct {
	j *Journal

	mu    sync.Mutex
	clock Clock
	any   bool
	full  uint64 // position of the newest full record
	since int    // records since then
	fullT int64  // its time
}

// OpenEpochs reads the clock's tail and becomes its writer under a term; 0 means the term after the last
// one. The first append fences every older writer. ErrFenced says that a later term has written.
func OpenEpochs(ctx context.Context, st *Stream, term uint64) (*EpochLog, error) {
	j, err := OpenJournal(ctx, st, term)
	if err != nil {
		return nil, err
	}
	l := &EpochLog{j: j, clock: newClock()}
	tail, ok := j.Last()
	if !ok {
		return l, nil
	}
	last, err := readEpoch(ctx, st, tail.Last)
	if err != nil {
		return nil, fmt.Errorf("open epochs %s: %w", st.name, err)
	}
	r := st.Entries(last.full, ReadOptions{Until: tail.Last})
	defer r.Stop()
	for {
		entries, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("open epochs %s: fold from the full record at %d: %w", st.name, last.full, err)
		}
		for _, e := range entries {
			rec, err := parseEpoch(e)
			if err != nil {
				return nil, fmt.Errorf("open epochs %s: %w", st.name, err)
			}
			l.clock.take(rec)
			if rec.Full {
				l.full, l.since, l.fullT = rec.Seq, 0, rec.TimeMs
			} else {
				l.since++
			}
		}
	}
	l.any = true
	return l, nil
}

// Term is the term under which the log writes.
func (l *EpochLog) Term() uint64 { return l.j.Term() }

// Clock is a copy of what the records up to the newest one say; ok is false for a new clock.
func (l *EpochLog) Clock() (c Clock, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock.clone(), l.any
}

// Append stores one record and returns its position. The caller gives what changed; the log decides whether it writes
// a full record, and sets the term. Epoch must grow and TimeMs must not shrink. ErrFenced says that another sequencer
// has written; this log then accepts nothing more.
func (l *EpochLog) Append(ctx context.Context, r EpochRecord) (seq uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.any && (r.Epoch <= l.clock.Epoch || r.TimeMs < l.clock.TimeMs) {
		return 0, fmt.Errorf("append epoch %d at %d ms: the last one is %d at %d ms", r.Epoch, r.TimeMs, l.clock.Epoch, l.clock.TimeMs)
	}
	r.Term, r.full = l.j.Term(), l.full
	r.Full = !l.any || l.since+1 >= fullEvery || r.TimeMs-l.fullT >= fullEveryMs
	next := l.clock
	if r.Full {
		next = l.clock.clone()
		next.change(r)
		r.Positions, r.Absent, r.Layouts = next.Positions, next.Absent(), next.Layouts("")
	}
	data, err := json.Marshal(&epochJSON{EpochRecord: r, FullSeq: r.full})
	if err != nil {
		return 0, fmt.Errorf("append epoch %d: %w", r.Epoch, err)
	}
	seq, err = l.j.Append(ctx, Entry{Epoch: r.Epoch, ContentType: "application/json", Data: data})
	if err != nil {
		return 0, err
	}
	if r.Full {
		l.full, l.since, l.fullT = seq, 0, r.TimeMs
		l.clock = next
	} else {
		l.since++
		l.clock.change(r)
	}
	l.any, l.clock.Seq = true, seq
	return seq, nil
}

// Forget removes inputs (named as in Positions) from the next full record on: sources that were deleted.
func (l *EpochLog) Forget(inputs ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, in := range inputs {
		l.clock.forget(in)
	}
}

// Trim removes the records that nobody needs who asks for this epoch or a later one. It keeps the full record that tells
// all positions at the epoch, and always the newest full record.
func (l *EpochLog) Trim(ctx context.Context, epoch uint64) error {
	l.mu.Lock()
	keep := l.full
	l.mu.Unlock()
	st := l.j.st
	s, err := st.State(ctx)
	if err != nil || s.Messages == 0 {
		return err
	}
	seq, err := findEpoch(ctx, st, s, epoch)
	if err != nil {
		return err
	}
	if seq <= s.Last {
		r, err := readEpoch(ctx, st, seq)
		if err != nil {
			return err
		}
		keep = min(keep, r.full)
	}
	_, err = l.j.Trim(ctx, keep)
	return err
}

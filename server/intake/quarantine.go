package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// Quarantine lists what could not be read of a source, and hands it back to the source.
type Quarantine struct{ in *Intake }

// Page sizes of the list. An entry may be megabytes, so a page ends at a number of bytes too, and batch is how many
// entries are read from the log at once.
const (
	defaultPage  = 100
	maxPage      = 10_000
	maxPageBytes = 64 << 20
	batch        = 32
)

// List returns the newest entries first; limit 0 means 100.
func (q *Quarantine) List(ctx context.Context, env, source string, limit int) (view.Quarantine, error) {
	at, r, err := q.in.source(env, source)
	if err != nil {
		return view.Quarantine{}, err
	}
	src, st, err := q.open(ctx, at, r)
	if err != nil {
		return view.Quarantine{}, err
	}
	store := q.store(st, src.Incarnation())
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	out := view.Quarantine{Entries: []view.QuarantineEntry{}}
	size := 0
	for before := uint64(0); len(out.Entries) < limit; {
		page, total, err := store.List(ctx, streams.QuarantinePage{Newest: true, Before: before, Limit: min(limit-len(out.Entries), batch)})
		if err != nil {
			return view.Quarantine{}, err
		}
		out.Total = int64(total)
		for _, e := range page {
			if size += len(e.Payload); size > maxPageBytes && len(out.Entries) > 0 {
				return out, nil
			}
			before = e.Seq
			out.Entries = append(out.Entries, view.QuarantineEntry{
				Seq: int64(e.Seq), Reason: e.Reason, Stage: e.Stage, SourceSeq: int64(e.SourceSeq), Index: e.Index,
				ContentType: e.ContentType, PayloadBase64: e.Payload,
			})
		}
		if len(page) < batch {
			break
		}
	}
	return out, nil
}

// open returns the stream of a source and that of its quarantine.
func (q *Quarantine) open(ctx context.Context, at address, r *catalog.SourceRecord) (src, st *streams.Stream, err error) {
	src, err = q.in.o.Streams.EnsureSource(ctx, at.env, at.source, q.in.o.SourceLimits(r))
	if err != nil {
		return nil, nil, err
	}
	st, err = q.in.o.Streams.EnsureQuarantine(ctx, at.env, at.source, q.in.o.QuarantineLimits)
	return src, st, err
}

func (q *Quarantine) store(st *streams.Stream, incarnation string) *streams.Quarantine {
	return streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: incarnation, Retain: q.in.o.QuarantineLimits.MaxAge})
}

// replayIntent is stored while a replay is under way: what of it is in the source's stream is above After.
type replayIntent struct {
	After uint64 `json:"after"`
	Busy  bool   `json:"busy"`
}

// Replay appends the original bytes of entries to the source's stream and removes the entries; seqs nil means all
// that are there now. An entry goes back exactly once, also when a replay is interrupted or two are asked for at the
// same time: each append names its entry, and before a new replay begins, what an interrupted one has appended is
// found by that name. A row that still cannot be read comes back as a new entry.
func (q *Quarantine) Replay(ctx context.Context, env, source string, seqs []int64) (view.QuarantineReplay, error) {
	at, r, err := q.in.source(env, source)
	if err != nil {
		return view.QuarantineReplay{}, err
	}
	lock := q.in.replayLock(at)
	lock.Lock()
	defer lock.Unlock()
	p := replayer{at: q.in.at}
	if p.src, p.st, err = q.open(ctx, at, r); err != nil {
		return view.QuarantineReplay{}, err
	}
	p.q = q.store(p.st, p.src.Incarnation())
	if p.bucket, err = q.in.bucket(ctx, at.env, "ingest"); err != nil {
		return view.QuarantineReplay{}, err
	}
	p.key = "replay." + streams.Key(at.source)
	if err := p.begin(ctx); err != nil {
		return view.QuarantineReplay{}, err
	}
	n, err := p.run(ctx, seqs)
	if err != nil {
		return view.QuarantineReplay{}, fmt.Errorf("replay of source %q stopped after %d entries: %w", source, n, err)
	}
	if err := p.save(ctx, replayIntent{}); err != nil {
		return view.QuarantineReplay{}, err
	}
	left, err := p.q.Count(ctx)
	return view.QuarantineReplay{Replayed: n, Remaining: left}, err
}

func (in *Intake) replayLock(at address) *sync.Mutex {
	in.mu.Lock()
	defer in.mu.Unlock()
	l := in.replays[at]
	if l == nil {
		l = &sync.Mutex{}
		in.replays[at] = l
	}
	return l
}

type replayer struct {
	at     func(point string) error
	src    *streams.Stream
	st     *streams.Stream // of the quarantine
	q      *streams.Quarantine
	bucket *kv.Bucket[[]byte]
	key    string
	done   map[uint64]bool // entries that an interrupted replay has appended
}

// begin finds out what an interrupted replay has appended, and stores that a new one is under way.
func (p *replayer) begin(ctx context.Context) error {
	s, err := p.src.State(ctx)
	if err != nil {
		return err
	}
	p.done = map[uint64]bool{}
	i := replayIntent{After: s.Last, Busy: true}
	e, err := p.bucket.Get(ctx, p.key)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	var old replayIntent
	if err == nil {
		if err := json.Unmarshal(e.Value, &old); err != nil {
			return fmt.Errorf("stored intent %s: %w", p.key, err)
		}
	}
	if old.Busy {
		i.After = min(i.After, old.After)
		prefix := p.mark("")
		err := scan(ctx, p.src, old.After+1, func(m streams.Msg) {
			if rest, ok := strings.CutPrefix(m.Header.Get(HeaderReplay), prefix); ok {
				if seq, err := strconv.ParseUint(rest, 10, 64); err == nil {
					p.done[seq] = true
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return p.save(ctx, i)
}

func (p *replayer) save(ctx context.Context, i replayIntent) error {
	v, err := json.Marshal(i)
	if err != nil {
		return err
	}
	_, err = p.bucket.Put(ctx, p.key, v)
	return err
}

// mark names an entry in the source's stream.
func (p *replayer) mark(seq string) string { return p.st.Incarnation() + ":" + seq }

func (p *replayer) run(ctx context.Context, seqs []int64) (n int, err error) {
	if seqs != nil {
		list := slices.Compact(slices.Sorted(slices.Values(seqs)))
		for _, seq := range list {
			if seq <= 0 {
				continue
			}
			e, err := p.q.Get(ctx, uint64(seq))
			if errors.Is(err, streams.ErrNotFound) {
				continue // Replayed before, or expired.
			}
			if err != nil {
				return n, err
			}
			if err := p.entry(ctx, e); err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	// Rows that fail again come back behind the end that is there now.
	end, err := p.st.State(ctx)
	if err != nil {
		return 0, err
	}
	for after := uint64(0); ; {
		page, _, err := p.q.List(ctx, streams.QuarantinePage{After: after, Limit: batch})
		if err != nil {
			return n, err
		}
		for _, e := range page {
			if e.Seq > end.Last {
				return n, nil
			}
			if err := p.entry(ctx, e); err != nil {
				return n, err
			}
			n, after = n+1, e.Seq
		}
		if len(page) == 0 {
			return n, nil
		}
	}
}

// entry appends the bytes of an entry, unless that is done, and removes the entry after the log has confirmed.
func (p *replayer) entry(ctx context.Context, e streams.QuarantineEntry) error {
	id := p.mark(strconv.FormatUint(e.Seq, 10))
	if !p.done[e.Seq] {
		// Invariant 1: the entry goes only after its bytes are in the source's stream.
		o := outgoing{data: e.Payload, id: "q:" + id, contentType: e.ContentType, header: nats.Header{HeaderReplay: {id}}}
		if _, err := publish(ctx, p.src, o); err != nil {
			return err
		}
		if err := p.at("replayed"); err != nil {
			return err
		}
	}
	_, err := p.q.Delete(ctx, e.Seq)
	return err
}

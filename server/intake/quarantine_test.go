package intake

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// bad puts rows into the quarantine of a source, as its reader does, and returns their positions there.
func (r *rig) bad(name string, entries ...streams.QuarantineEntry) []int64 {
	r.t.Helper()
	ctx := r.t.Context()
	src, err := r.log.EnsureSource(ctx, "default", name, streams.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	st, err := r.log.EnsureQuarantine(ctx, "default", name, streams.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	q := streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: src.Incarnation()})
	if _, err := q.Put(ctx, entries); err != nil {
		r.t.Fatal(err)
	}
	all, _, err := q.List(ctx, streams.QuarantinePage{Limit: 100_000})
	if err != nil {
		r.t.Fatal(err)
	}
	var seqs []int64
	for _, e := range all[len(all)-len(entries):] {
		seqs = append(seqs, int64(e.Seq))
	}
	return seqs
}

func entryAt(seq uint64, index int, payload string) streams.QuarantineEntry {
	return streams.QuarantineEntry{SourceSeq: seq, Index: index, Stage: "decode", Reason: "not JSON", ContentType: "application/x-ndjson", Payload: []byte(payload)}
}

func (r *rig) quarantine(name string, limit int) view.Quarantine {
	r.t.Helper()
	q, err := r.in.Quarantine().List(r.t.Context(), "", name, limit)
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

func (r *rig) replay(name string, seqs []int64) (view.QuarantineReplay, error) {
	return r.in.Quarantine().Replay(r.t.Context(), "", name, seqs)
}

// payloads reads the raw messages of a source.
func (r *rig) payloads(name string) []string {
	r.t.Helper()
	st, err := r.log.Stream(r.t.Context(), streams.SourceStream("default", name))
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	if err := scan(r.t.Context(), st, 1, func(m streams.Msg) { out = append(out, string(m.Data)+" "+m.Header.Get("Content-Type")) }); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func TestQuarantineIsListedNewestFirst(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`)
	if q := r.quarantine("s", 0); q.Entries == nil || len(q.Entries) != 0 || q.Total != 0 {
		t.Errorf("empty: %+v", q)
	}
	var in []streams.QuarantineEntry
	for i := range 150 {
		in = append(in, entryAt(uint64(i+1), 0, fmt.Sprintf("{bad %d\xff", i)))
	}
	seqs := r.bad("s", in...)
	q := r.quarantine("s", 0)
	if len(q.Entries) != 100 || q.Total != 150 {
		t.Fatalf("%d of %d entries", len(q.Entries), q.Total)
	}
	if e := q.Entries[0]; e.Seq != seqs[149] || e.SourceSeq != 150 || string(e.PayloadBase64) != "{bad 149\xff" || e.Reason != "not JSON" || e.Stage != "decode" || e.ContentType != "application/x-ndjson" {
		t.Errorf("newest %+v", e)
	}
	if q := r.quarantine("s", 7); len(q.Entries) != 7 || q.Entries[6].SourceSeq != 144 {
		t.Errorf("seven: %d entries", len(q.Entries))
	}
	if q := r.quarantine("s", 1000); len(q.Entries) != 150 || q.Entries[149].SourceSeq != 1 {
		t.Errorf("all: %d entries", len(q.Entries))
	}
	if _, err := r.in.Quarantine().List(t.Context(), "", "nope", 1); !errors.Is(err, view.ErrUnknown) {
		t.Errorf("unknown source: %v", err)
	}
}

func TestQuarantinePagesEndAtTheirBytes(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`)
	for i := range 12 {
		r.bad("s", entryAt(uint64(i+1), 0, strings.Repeat("x", 7<<20)))
	}
	if q := r.quarantine("s", 100); len(q.Entries) != 9 || q.Total != 12 {
		t.Errorf("%d of %d entries", len(q.Entries), q.Total)
	}
}

func TestReplayPutsTheOriginalBytesBack(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`)
	seqs := r.bad("s", entryAt(1, 0, "one"), entryAt(1, 1, "two"), entryAt(2, 0, "three"))
	got, err := r.replay("s", []int64{seqs[2], seqs[0], seqs[0], 999, -1})
	if err != nil || got.Replayed != 2 || got.Remaining != 1 {
		t.Errorf("chosen: %+v, %v", got, err)
	}
	if got, err = r.replay("s", []int64{seqs[0]}); err != nil || got.Replayed != 0 || got.Remaining != 1 {
		t.Errorf("again: %+v, %v", got, err)
	}
	if got, err = r.replay("s", []int64{}); err != nil || got.Replayed != 0 {
		t.Errorf("none: %+v, %v", got, err)
	}
	if got, err = r.replay("s", nil); err != nil || got.Replayed != 1 || got.Remaining != 0 {
		t.Errorf("all: %+v, %v", got, err)
	}
	const ct = " application/x-ndjson"
	if p := strings.Join(r.payloads("s"), "|"); p != "one"+ct+"|three"+ct+"|two"+ct {
		t.Errorf("stored %q", p)
	}
	// What fails again comes back as a new entry, and can be replayed again.
	r.bad("s", entryAt(3, 0, "two"))
	if got, err = r.replay("s", nil); err != nil || got.Replayed != 1 {
		t.Errorf("failed again: %+v, %v", got, err)
	}
	if _, err := r.replay("nope", nil); !errors.Is(err, view.ErrUnknown) {
		t.Errorf("unknown source: %v", err)
	}
}

// TestInterruptedReplayDoublesNothing: the append is done, the entry is not removed.
func TestInterruptedReplayDoublesNothing(t *testing.T) {
	for _, forget := range []bool{false, true} {
		t.Run(fmt.Sprint("forget=", forget), func(t *testing.T) {
			r := newRig(t)
			r.source("s", `{}`)
			r.bad("s", entryAt(1, 0, "one"), entryAt(2, 0, "two"))
			r.plant("replayed")
			if _, err := r.replay("s", nil); !errors.Is(err, errPlanted) {
				t.Fatalf("err = %v", err)
			}
			if forget {
				r.forgetIDs("s")
			}
			r.crash()
			if got, err := r.replay("s", nil); err != nil || got.Replayed != 2 || got.Remaining != 0 {
				t.Errorf("%+v, %v", got, err)
			}
			const ct = " application/x-ndjson"
			if p := strings.Join(r.payloads("s"), "|"); p != "one"+ct+"|two"+ct {
				t.Errorf("stored %q", p)
			}
		})
	}
}

func TestReplaysAtOnce(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`)
	var in []streams.QuarantineEntry
	for i := range 60 {
		in = append(in, entryAt(uint64(i+1), 0, fmt.Sprint("row ", i)))
	}
	seqs := r.bad("s", in...)
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for i := range 8 {
		wg.Go(func() {
			var list []int64
			if i%2 == 1 {
				list = seqs[i*5:]
			}
			got, err := r.in.Quarantine().Replay(t.Context(), "", "s", list)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += got.Replayed
		})
	}
	wg.Wait()
	if n := len(r.payloads("s")); n != 60 || total != 60 {
		t.Errorf("%d messages, %d replayed", n, total)
	}
}

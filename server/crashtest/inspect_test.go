package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// inspectLog opens the data directory while no server runs and holds the log against its promises: epochs
// increase, positions are consecutive, every journal folds without a negative row, and pipeline results hold each
// closed window once. complete says that the server had taken in everything before it stopped, so that journals
// must fold to exactly what the model says.
func (c *crash) inspectLog(t *testing.T, complete bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := streams.Open(ctx, streams.Options{DataDir: c.dir})
	if err != nil {
		t.Fatalf("open the log offline: %v", err)
	}
	defer func() {
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("close the log: %v", err)
		}
	}()
	c.inspectEpochs(ctx, t, s)
	for _, d := range tables {
		c.inspectJournal(ctx, t, s, d.name, complete)
	}
	c.inspectResults(ctx, t, s, complete)
}

func (c *crash) inspectEpochs(ctx context.Context, t *testing.T, s *streams.Server) {
	t.Helper()
	st, err := s.Stream(ctx, streams.EpochsStream(streams.DefaultEnv))
	if err != nil {
		t.Fatal(err)
	}
	state, err := st.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := streams.ReadEpochs(st, 0)
	defer r.Stop()
	var last streams.EpochRecord
	positions := map[string]uint64{}
	for last.Seq < state.Last {
		records, err := r.Next(ctx)
		if err != nil {
			t.Fatalf("read the epochs: %v", err)
		}
		for _, e := range records {
			if last.Seq != 0 && (e.Epoch <= last.Epoch || e.TimeMs < last.TimeMs || e.Seq != last.Seq+1 || e.Term < last.Term) {
				t.Fatalf("epoch record %+v follows %+v", e, last)
			}
			for k, v := range e.Positions {
				if v < positions[k] {
					t.Fatalf("epoch %d moves %s back from %d to %d", e.Epoch, k, positions[k], v)
				}
				positions[k] = v
			}
			last = e
		}
	}
}

// journalFold reads a journal from its first entry and calls fn for each entry with its rows.
func (c *crash) journalFold(ctx context.Context, t *testing.T, s *streams.Server, stream string, fn func(e streams.Stored, rows []*zset.Batch)) {
	t.Helper()
	st, err := s.Stream(ctx, stream)
	if err != nil {
		t.Fatalf("%s: %v", stream, err)
	}
	state, err := st.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if state.Messages == 0 {
		return
	}
	if state.Messages != state.Last-state.First+1 {
		t.Fatalf("%s: %d messages between %d and %d", stream, state.Messages, state.First, state.Last)
	}
	r := st.Entries(0, streams.ReadOptions{Until: state.Last})
	defer r.Stop()
	for {
		entries, err := r.Next(ctx)
		var mid *streams.MidEntryError
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.As(err, &mid):
			t.Fatalf("%s begins inside an entry: %v", stream, err)
		case err != nil:
			t.Fatalf("%s: %v", stream, err)
		}
		for _, e := range entries {
			var rows []*zset.Batch
			for _, data := range append([][]byte{e.Data}, e.Chunks...) {
				if len(data) == 0 {
					continue
				}
				_, b, err := wire.Decode(data)
				if err != nil {
					t.Fatalf("%s: entry %d: %v", stream, e.Last, err)
				}
				rows = append(rows, b)
			}
			fn(e, rows)
		}
	}
}

func (c *crash) inspectJournal(ctx context.Context, t *testing.T, s *streams.Server, table string, complete bool) {
	t.Helper()
	fold := map[string]int64{}
	started := false
	var lastEpoch, lastTerm uint64
	inputs := map[string]uint64{}
	c.journalFold(ctx, t, s, streams.TableStream(streams.DefaultEnv, c.ids[table]), func(e streams.Stored, rows []*zset.Batch) {
		if e.Kind == streams.Delta {
			if e.Epoch <= lastEpoch || e.Term < lastTerm {
				t.Fatalf("%s: epoch %d of term %d follows epoch %d of term %d", table, e.Epoch, e.Term, lastEpoch, lastTerm)
			}
			lastEpoch, lastTerm = e.Epoch, e.Term
		}
		for _, p := range e.Inputs {
			k := p.Input + "#" + p.Incarnation
			if p.Seq < inputs[k] {
				t.Fatalf("%s: entry %d takes input %s back from %d to %d", table, e.Last, k, inputs[k], p.Seq)
			}
			inputs[k] = p.Seq
		}
		into := fold
		if e.Kind == streams.Base {
			into = map[string]int64{}
		}
		for _, b := range rows {
			for i := range b.N {
				var cells []string
				for col := range columns[table] {
					cells = append(cells, strings.Trim(b.Cols[col].Value(i).String(), `"`))
				}
				k := strings.Join(cells, "|")
				if into[k] += b.W(i); into[k] == 0 {
					delete(into, k)
				}
			}
		}
		if e.Kind == streams.Base {
			if started && fmt.Sprint(into) != fmt.Sprint(fold) {
				t.Fatalf("%s: the base at epoch %d is not the sum of the deltas before it", table, e.Epoch)
			}
			fold = into
		}
		started = true
		for k, w := range fold {
			if w < 0 {
				t.Fatalf("%s: at epoch %d row %s has weight %d", table, e.Epoch, k, w)
			}
		}
	})
	if !complete {
		return
	}
	var got []string
	for k, w := range fold {
		if w != 1 {
			t.Errorf("%s: row %s has weight %d", table, k, w)
		}
		got = append(got, k)
	}
	slices.Sort(got)
	if want := c.model.expect(table); !slices.Equal(got, want) {
		t.Fatalf("%s: the journal folds to\n %s\nwant\n %s", table, clip(got), clip(want))
	}
}

func (c *crash) inspectResults(ctx context.Context, t *testing.T, s *streams.Server, complete bool) {
	t.Helper()
	seen := map[winKey]bool{}
	next := uint64(1)
	c.journalFold(ctx, t, s, streams.ResultStream(streams.DefaultEnv, c.ids["amounts"]), func(e streams.Stored, rows []*zset.Batch) {
		if len(rows) == 0 {
			return
		}
		if e.SeqNo != next {
			t.Fatalf("results: entry %d begins with row %d, want %d", e.Last, e.SeqNo, next)
		}
		for _, b := range rows {
			next += uint64(b.N)
			for i := range b.N {
				k := winKey{start: b.Cols[3].I64[i], p: b.Cols[0].I64[i]}
				if seen[k] {
					t.Fatalf("results: window %+v came twice", k)
				}
				seen[k] = true
				w := c.model.windows[k]
				if complete && (w == nil || w.n != b.Cols[1].I64[i] || w.sum != b.Cols[2].I64[i]) {
					t.Fatalf("results: window %+v is %d rows, sum %d; want %+v", k, b.Cols[1].I64[i], b.Cols[2].I64[i], w)
				}
			}
		}
	})
	if !complete {
		return
	}
	for k := range c.model.windows {
		if closed := k.start+windowMs <= c.model.maxTs-latenessMs; closed != seen[k] {
			t.Errorf("results: window %+v: closed %v, in the results %v (watermark %d)", k, closed, seen[k], c.model.maxTs-latenessMs)
		}
	}
}

package streams_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

func newClock(t *testing.T) (*streams.Server, *streams.Stream) {
	s := streamstest.Open(t)
	return s, must(s.EnsureEpochs(t.Context(), "default"))(t)
}

// readEpochs reads up to an epoch.
func readEpochs(t *testing.T, st *streams.Stream, from, until uint64) (recs []streams.EpochRecord, clock streams.Clock) {
	t.Helper()
	r := streams.ReadEpochs(st, from)
	defer r.Stop()
	for len(recs) == 0 || recs[len(recs)-1].Epoch < until {
		recs = append(recs, must(r.Next(t.Context()))(t)...)
	}
	return recs, *r.Clock()
}

// A model keeps every position; the log keeps changes and a full record now and then. From wherever a reader begins,
// and whoever opens the log next, the fold says the same.
func TestTheClockFoldsToTheModel(t *testing.T) {
	_, st := newClock(t)
	l := must(streams.OpenEpochs(t.Context(), st, 0))(t)
	rnd := rand.New(rand.NewPCG(7, 7))
	model := map[string]uint64{}
	at := map[uint64]map[string]uint64{}
	epoch, ms := uint64(0), int64(0)
	inputs := []string{streams.InputKey("a", "i1"), streams.InputKey("b", "i2"), streams.InputKey("c", "i3")}
	const n = 2300
	for i := range n {
		epoch += 1 + uint64(rnd.IntN(3))
		ms += int64(rnd.IntN(5))
		if i == 1700 {
			ms += 20_000
		}
		rec := streams.EpochRecord{Epoch: epoch, TimeMs: ms, Positions: map[string]uint64{}}
		for _, in := range inputs {
			if rnd.IntN(3) == 0 {
				model[in] += uint64(rnd.IntN(100))
				rec.Positions[in] = model[in]
			}
		}
		must(l.Append(t.Context(), rec))(t)
		at[epoch] = maps.Clone(model)
		if rnd.IntN(500) == 0 {
			l = must(streams.OpenEpochs(t.Context(), st, 0))(t)
			if c, known := l.Clock(); !known || c.Epoch != epoch || c.TimeMs != ms || !maps.Equal(c.Positions, model) {
				t.Fatalf("the clock opened at epoch %d is %+v, want %v", epoch, c, model)
			}
		}
	}
	epochs := slices.Sorted(maps.Keys(at))
	for _, from := range []uint64{0, 1, epochs[1], epochs[999], epochs[1000], epochs[1500] - 1, epochs[n-1]} {
		recs, clock := readEpochs(t, st, from, epoch)
		if first := epochs[slices.IndexFunc(epochs, func(e uint64) bool { return e >= from })]; recs[0].Epoch != first {
			t.Fatalf("from %d: the first record is of epoch %d, want %d", from, recs[0].Epoch, first)
		}
		if !maps.Equal(clock.Positions, model) || clock.Epoch != epoch || clock.TimeMs != ms {
			t.Fatalf("from %d: the clock is %+v, want %v", from, clock, model)
		}
	}
	full := 0
	recs, _ := readEpochs(t, st, 0, epoch)
	fold := map[string]uint64{}
	for _, r := range recs {
		if maps.Copy(fold, r.Positions); !maps.Equal(fold, at[r.Epoch]) {
			t.Fatalf("the fold at epoch %d is %v, want %v", r.Epoch, fold, at[r.Epoch])
		}
		if r.Full {
			full++
			if !maps.Equal(r.Positions, at[r.Epoch]) {
				t.Fatalf("the full record of epoch %d has %v, want %v", r.Epoch, r.Positions, at[r.Epoch])
			}
		}
	}
	if full < 3 || full > 6 {
		t.Errorf("%d full records of %d", full, n)
	}
}

func TestTheClockKnowsWhoIsAwayAndEachLayout(t *testing.T) {
	_, st := newClock(t)
	l := must(streams.OpenEpochs(t.Context(), st, 0))(t)
	a := streams.InputKey("a", "i")
	table := streams.Change{Kind: "table", Key: "t", Epoch: 1}
	for _, r := range []streams.EpochRecord{
		{Epoch: 1, Positions: map[string]uint64{a: 1}},
		{Epoch: 2, Left: []streams.Change{table, {Kind: "pipeline", Key: "p", Epoch: 1}}, Layouts: []streams.Layout{{Source: a, Version: 2, From: 10}}},
		{Epoch: 3, Joined: []streams.Change{{Kind: "pipeline", Key: "p"}}},
		{Epoch: 4, TimeMs: 20_000, Layouts: []streams.Layout{{Source: a, Version: 3, From: 20}}}, // Full, by its time.
	} {
		must(l.Append(t.Context(), r))(t)
	}
	recs, _ := readEpochs(t, st, 4, 4)
	if r := recs[0]; !r.Full || len(r.Absent) != 1 || r.Absent[0] != table || len(r.Layouts) != 2 || r.Positions[a] != 1 {
		t.Fatalf("the full record is %+v", r)
	}
	l = must(streams.OpenEpochs(t.Context(), st, 0))(t)
	clock, _ := l.Clock()
	if e, away := clock.Away("table", "t"); !away || e != 1 {
		t.Fatalf("away %v since %d", away, e)
	}
	if _, away := clock.Away("pipeline", "p"); away {
		t.Fatal("the pipeline has joined again")
	}
	if ls := clock.Layouts(a); len(ls) != 2 || ls[0].Version != 2 || ls[1].From != 20 {
		t.Fatalf("layouts %+v", ls)
	}
	l.Forget(a)
	must(l.Append(t.Context(), streams.EpochRecord{Epoch: 5, TimeMs: 40_000}))(t)
	if recs, _ := readEpochs(t, st, 5, 5); len(recs[0].Positions) != 0 || len(recs[0].Layouts) != 0 {
		t.Fatalf("a deleted source is still in %+v", recs[0])
	}
}

func TestTheClockIsFencedAndNeverGoesBack(t *testing.T) {
	_, st := newClock(t)
	old := must(streams.OpenEpochs(t.Context(), st, 0))(t)
	must(old.Append(t.Context(), streams.EpochRecord{Epoch: 5, TimeMs: 100}))(t)
	for _, r := range []streams.EpochRecord{{Epoch: 5, TimeMs: 100}, {Epoch: 4, TimeMs: 100}, {Epoch: 6, TimeMs: 99}} {
		if _, err := old.Append(t.Context(), r); err == nil || errors.Is(err, streams.ErrFenced) {
			t.Errorf("epoch %d at %d ms after 5 at 100 ms: %v", r.Epoch, r.TimeMs, err)
		}
	}
	fresh := must(streams.OpenEpochs(t.Context(), st, 0))(t)
	if fresh.Term() != old.Term()+1 {
		t.Fatalf("term %d after %d", fresh.Term(), old.Term())
	}
	must(fresh.Append(t.Context(), streams.EpochRecord{Epoch: 6, TimeMs: 100}))(t)
	_, err := old.Append(t.Context(), streams.EpochRecord{Epoch: 6, TimeMs: 100})
	wants(t, err, streams.ErrFenced)
	_, err = streams.OpenEpochs(t.Context(), st, 1)
	wants(t, err, streams.ErrFenced)
	recs, _ := readEpochs(t, st, 0, 6)
	if len(recs) != 2 || recs[1].Term != fresh.Term() {
		t.Fatalf("records %+v", recs)
	}
}

func TestTrimKeepsAFullRecordFirst(t *testing.T) {
	_, st := newClock(t)
	l := must(streams.OpenEpochs(t.Context(), st, 0))(t)
	in := streams.InputKey("a", "i")
	ok(t, l.Trim(t.Context(), 5)) // Nothing there yet.
	const n = 100
	for e := uint64(1); e <= n; e++ { // A full record every 11th, as 10 s are over.
		must(l.Append(t.Context(), streams.EpochRecord{Epoch: e, TimeMs: int64(e) * 1000, Positions: map[string]uint64{in: e}}))(t)
	}
	all, _ := readEpochs(t, st, 0, n)
	for _, epoch := range []uint64{1, 30, 55} {
		ok(t, l.Trim(t.Context(), epoch))
		first := must(st.State(t.Context()))(t).First
		if r := all[first-1]; !r.Full || r.Epoch > epoch {
			t.Fatalf("trimmed behind %d: the first record is %+v", epoch, r)
		}
		recs, clock := readEpochs(t, st, epoch, n)
		if recs[0].Epoch != epoch || clock.Positions[in] != n {
			t.Fatalf("trimmed behind %d: reading it begins at %d", epoch, recs[0].Epoch)
		}
	}
	r := streams.ReadEpochs(st, 2)
	defer r.Stop()
	_, err := r.Next(t.Context())
	var gap *streams.GapError
	first := all[must(st.State(t.Context()))(t).First-1].Epoch
	if !errors.As(err, &gap) || gap.From != 2 || gap.First != first {
		t.Fatalf("reading a trimmed epoch: %v, want a gap from 2 to %d", err, first)
	}
	if recs := must(r.Next(t.Context()))(t); recs[0].Epoch != first || !recs[0].Full {
		t.Fatalf("behind the gap: %+v", recs[0])
	}
	ok(t, l.Trim(t.Context(), 10*n)) // Nobody needs anything: the newest full record stays.
	l = must(streams.OpenEpochs(t.Context(), st, 0))(t)
	if c, known := l.Clock(); !known || c.Epoch != n || c.Positions[in] != n {
		t.Fatalf("the clock after a trim of everything is %+v", c)
	}
}

func TestReadingTheFuture(t *testing.T) {
	_, st := newClock(t)
	l := must(streams.OpenEpochs(t.Context(), st, 0))(t)
	must(l.Append(t.Context(), streams.EpochRecord{Epoch: 1, Positions: map[string]uint64{"a#i": 1}}))(t)
	r := streams.ReadEpochs(st, 3) // A worker that has its state of epoch 2 from a checkpoint.
	defer r.Stop()
	for e := uint64(2); e <= 3; e++ {
		must(l.Append(t.Context(), streams.EpochRecord{Epoch: e}))(t)
	}
	if recs := must(r.Next(t.Context()))(t); len(recs) != 1 || recs[0].Epoch != 3 || r.Clock().Positions["a#i"] != 1 {
		t.Fatalf("got %+v", recs)
	}
}

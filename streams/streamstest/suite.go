package streamstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/streamsforge/streamsforge/streams"
)

// Run checks what every log promises, whatever it is stored on. open gives a fresh server for each test.
func Run(t *testing.T, open func(t *testing.T) *streams.Server) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *streams.Server)
	}{
		{"positions are consecutive and shared by readers", positions},
		{"a stream that is made again has another incarnation", incarnations},
		{"the last position survives a purge", purge},
		{"a reader learns what is missing", gaps},
		{"a journal has one writer", fence},
		{"a large entry is read whole", large},
		{"a base replaces what is before it", base},
		{"the clock folds to its positions", clock},
		{"a row is quarantined once", quarantine},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func source(t *testing.T, s *streams.Server, name string) *streams.Stream {
	t.Helper()
	st, err := s.EnsureSource(t.Context(), streams.DefaultEnv, name, streams.Limits{})
	check(t, err)
	return st
}

func table(t *testing.T, s *streams.Server) *streams.Stream {
	t.Helper()
	st, err := s.EnsureTable(t.Context(), streams.DefaultEnv, "t", "t", streams.Limits{})
	check(t, err)
	return st
}

// Messages reads the messages in [from, until].
func Messages(t testing.TB, st *streams.Stream, from, until uint64) []streams.Msg {
	t.Helper()
	var all []streams.Msg
	r := st.Read(from, streams.ReadOptions{Until: until})
	for {
		m, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("read %s: %v", st.Name(), err)
		}
		all = append(all, m...)
	}
}

// Entries reads the entries whose messages are in [from, until].
func Entries(t testing.TB, st *streams.Stream, from, until uint64) []streams.Stored {
	t.Helper()
	var all []streams.Stored
	r := st.Entries(from, streams.ReadOptions{Until: until})
	for {
		e, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("read entries of %s: %v", st.Name(), err)
		}
		all = append(all, e...)
	}
}

func positions(t *testing.T, s *streams.Server) {
	st := source(t, s, "a")
	const n = 500
	for i := range n {
		seq, err := st.Publish(t.Context(), fmt.Append(nil, i), nil)
		check(t, err)
		if seq != uint64(i+1) {
			t.Fatalf("message %d is at position %d", i, seq)
		}
	}
	for _, from := range []uint64{0, 1, 250, n} {
		msgs := Messages(t, st, from, n)
		if len(msgs) != int(n-max(from, 1)+1) {
			t.Fatalf("from %d: %d messages", from, len(msgs))
		}
		for i, m := range msgs {
			if want := max(from, 1) + uint64(i); m.Seq != want || string(m.Data) != fmt.Sprint(want-1) || m.TimeMs == 0 || m.Subject != st.Subject() {
				t.Fatalf("from %d: message %d is %+v", from, i, m)
			}
		}
	}
}

func incarnations(t *testing.T, s *streams.Server) {
	first := source(t, s, "a")
	_, err := first.Publish(t.Context(), []byte("x"), nil)
	check(t, err)
	if again := source(t, s, "a"); again.Incarnation() != first.Incarnation() || first.Incarnation() == "" {
		t.Fatalf("incarnation %q, then %q without a change", first.Incarnation(), again.Incarnation())
	}
	check(t, s.DeleteStream(t.Context(), first.Name()))
	check(t, s.DeleteStream(t.Context(), first.Name())) // Nothing to delete is no error.
	second := source(t, s, "a")
	if second.Incarnation() == first.Incarnation() {
		t.Fatal("the new stream has the incarnation of the old one")
	}
	state, err := second.State(t.Context())
	check(t, err)
	if state.Last != 0 || state.First != 1 {
		t.Fatalf("the new stream is %+v", state)
	}
	if _, err := first.Read(1, streams.ReadOptions{}).Next(t.Context()); !errors.Is(err, streams.ErrNotFound) {
		t.Fatalf("a reader of the old stream gets %v, want ErrNotFound", err)
	}
}

func purge(t *testing.T, s *streams.Server) {
	st := table(t, s)
	j, err := streams.OpenJournal(t.Context(), st, 1)
	check(t, err)
	for e := range uint64(10) {
		_, err := j.Append(t.Context(), streams.Entry{Epoch: e + 1, Data: []byte("x")})
		check(t, err)
	}
	check(t, st.Purge(t.Context(), 11)) // More than the journal itself would ever take away.
	state, err := st.State(t.Context())
	check(t, err)
	if state.Last != 10 || state.First != 11 || state.Messages != 0 {
		t.Fatalf("after the purge: %+v", state)
	}
	if seq, err := j.Append(t.Context(), streams.Entry{Epoch: 11, Data: []byte("x")}); err != nil || seq != 11 {
		t.Fatalf("the fence after the purge: %d, %v", seq, err)
	}
	late, err := streams.OpenJournal(t.Context(), st, 1)
	check(t, err)
	if e, ok := late.Last(); !ok || e.Epoch != 11 || late.End() != 11 {
		t.Fatalf("the tail after the purge: %+v", e)
	}
}

func gaps(t *testing.T, s *streams.Server) {
	st := source(t, s, "a")
	for range 20 {
		_, err := st.Publish(t.Context(), []byte("x"), nil)
		check(t, err)
	}
	check(t, st.Purge(t.Context(), 11))
	r := st.Read(5, streams.ReadOptions{Until: 20})
	_, err := r.Next(t.Context())
	var gap *streams.GapError
	if !errors.As(err, &gap) || gap.From != 5 || gap.First != 11 || gap.Stream != st.Name() {
		t.Fatalf("reading from 5: %v, want a gap from 5 to 11", err)
	}
	m, err := r.Next(t.Context())
	check(t, err)
	if m[0].Seq != 11 {
		t.Fatalf("after the gap: position %d", m[0].Seq)
	}
	if msgs := Messages(t, st, 0, 20); len(msgs) != 10 {
		t.Fatalf("from the first retained one: %d messages", len(msgs))
	}
	check(t, st.Purge(t.Context(), 21))
	// An empty stream does not make a reader wait for the next append to learn what it has missed.
	if _, err = st.Read(7, streams.ReadOptions{}).Next(t.Context()); !errors.As(err, &gap) || gap.From != 7 || gap.First != 21 {
		t.Fatalf("reading an empty stream from 7: %v, want a gap from 7 to 21", err)
	}
	var ahead *streams.AheadError
	if _, err = st.Read(22, streams.ReadOptions{}).Next(t.Context()); !errors.As(err, &ahead) || ahead.From != 22 || ahead.Last != 20 {
		t.Fatalf("reading from a position that never was: %v, want an AheadError", err)
	}
}

func fence(t *testing.T, s *streams.Server) {
	ctx := t.Context()
	st := table(t, s)
	old, err := streams.OpenJournal(ctx, st, 1)
	check(t, err)
	inputs := []streams.Position{{Input: "a b", Incarnation: "X1", Seq: 7}, {Input: "c#,=", Incarnation: "", Seq: 0}}
	want := streams.Entry{
		Epoch: 3, Inputs: inputs, Watermark: -5, Generation: 2, SeqNo: 9, Prev: 1, Plan: "9f3c", ContentType: "application/x-sf-batch", Data: []byte("delta"),
	}
	if seq, err := old.Append(ctx, want); err != nil || seq != 1 {
		t.Fatalf("append: %d, %v", seq, err)
	}
	fresh, err := streams.OpenJournal(ctx, st, 2)
	check(t, err)
	last, ok := fresh.Last()
	if !ok || last.Epoch != 3 || last.Term != 1 || len(last.Inputs) != 2 || last.Inputs[0] != inputs[0] || last.Inputs[1] != inputs[1] || last.Last != 1 {
		t.Fatalf("the tail is %+v", last)
	}
	if seq, err := fresh.Append(ctx, streams.Entry{Kind: streams.Marker, Epoch: 3}); err != nil || seq != 2 {
		t.Fatalf("the new owner's first append: %d, %v", seq, err)
	}
	for range 2 {
		if _, err := old.Append(ctx, streams.Entry{Epoch: 4, Data: []byte("zombie")}); !errors.Is(err, streams.ErrFenced) {
			t.Fatalf("the old owner's append: %v, want ErrFenced", err)
		}
	}
	if _, err := streams.OpenJournal(ctx, st, 1); !errors.Is(err, streams.ErrFenced) {
		t.Fatalf("opening under an old term: %v, want ErrFenced", err)
	}
	next, err := streams.OpenJournal(ctx, st, 0)
	check(t, err)
	if next.Term() != 3 {
		t.Fatalf("the term after 2 is %d", next.Term())
	}
	entries := Entries(t, st, 1, 2)
	if len(entries) != 2 || entries[1].Kind != streams.Marker {
		t.Fatalf("the journal holds %+v", entries)
	}
	got := entries[0]
	if got.Watermark != -5 || got.Generation != 2 || got.SeqNo != 9 || got.Prev != 1 || got.Plan != "9f3c" || got.ContentType != want.ContentType ||
		string(got.Data) != "delta" || got.First != 1 || got.Last != 1 || got.TimeMs == 0 {
		t.Fatalf("entry %+v, want %+v", got, want)
	}
}

func large(t *testing.T, s *streams.Server) {
	ctx := t.Context()
	st := table(t, s)
	j, err := streams.OpenJournal(ctx, st, 1)
	check(t, err)
	_, err = j.Append(ctx, streams.Entry{Epoch: 1, Data: []byte("small")})
	check(t, err)
	data := bytes.Repeat([]byte("0123456789abcdef"), (3*s.MaxPayload()+1)/16)
	seq, err := j.Append(ctx, streams.Entry{Epoch: 2, Data: data})
	check(t, err)
	_, err = j.Append(ctx, streams.Entry{Epoch: 3, Data: []byte("small")})
	check(t, err)
	entries := Entries(t, st, 1, seq+1)
	if len(entries) != 3 || entries[1].First != 2 || entries[1].Last != seq || seq < 4 || !bytes.Equal(entries[1].Data, data) || entries[1].Epoch != 2 {
		t.Fatalf("%d entries; the large one is %d to %d of %d bytes", len(entries), entries[1].First, entries[1].Last, len(entries[1].Data))
	}
	var mid *streams.MidEntryError
	if _, err := st.Entries(3, streams.ReadOptions{}).Next(ctx); !errors.As(err, &mid) || mid.First != 2 {
		t.Fatalf("reading from inside of an entry: %v, want a MidEntryError", err)
	}
	again, err := streams.OpenJournal(ctx, st, 1)
	check(t, err)
	if e, ok := again.Last(); !ok || e.Epoch != 3 {
		t.Fatalf("the tail is %+v", e)
	}
}

func base(t *testing.T, s *streams.Server) {
	ctx := t.Context()
	st := table(t, s)
	j, err := streams.OpenJournal(ctx, st, 1)
	check(t, err)
	for e := range uint64(3) {
		_, err := j.Append(ctx, streams.Entry{Epoch: e + 1, Data: []byte("delta")})
		check(t, err)
	}
	b := j.BeginBase(streams.Entry{Epoch: 3, Inputs: []streams.Position{{Input: "a", Incarnation: "i", Seq: 30}}})
	check(t, b.Write(ctx, []byte("one")))
	check(t, b.Write(ctx, []byte("two")))
	_, err = j.Append(ctx, streams.Entry{Epoch: 4, Data: []byte("between")})
	check(t, err)
	check(t, b.Write(ctx, []byte("three")))
	first, last, err := b.Commit(ctx)
	check(t, err)
	if first != 4 || last != 7 {
		t.Fatalf("the base is at %d to %d", first, last)
	}
	_, err = j.Append(ctx, streams.Entry{Epoch: 5, Data: []byte("after")})
	check(t, err)
	if kept, err := j.Trim(ctx, 8); err != nil || kept != 4 {
		t.Fatalf("trim: kept from %d, %v, want the base at 4", kept, err)
	}
	entries := Entries(t, st, 0, 8)
	if len(entries) != 3 {
		t.Fatalf("%d entries behind the base, want 3", len(entries))
	}
	if e := entries[0]; e.Epoch != 4 || e.BaseSeq != 0 {
		t.Fatalf("entry %+v, want the delta that was written meanwhile", e)
	}
	if e := entries[1]; e.Kind != streams.Base || e.Epoch != 3 || e.First != 4 || e.Last != 7 || len(e.Chunks) != 3 || string(bytes.Join(e.Chunks, []byte(" "))) != "one two three" || e.Inputs[0].Seq != 30 {
		t.Fatalf("the base is %+v", e)
	}
	if e := entries[2]; e.Epoch != 5 || e.BaseSeq != 4 {
		t.Fatalf("the delta behind the base is %+v", e)
	}
}

func clock(t *testing.T, s *streams.Server) {
	ctx := t.Context()
	st, err := s.EnsureEpochs(ctx, streams.DefaultEnv)
	check(t, err)
	l, err := streams.OpenEpochs(ctx, st, 0)
	check(t, err)
	for e := range uint64(50) {
		_, err := l.Append(ctx, streams.EpochRecord{Epoch: e + 1, TimeMs: int64(e) * 10, Positions: map[string]uint64{streams.InputKey("a", "i"): e * 2}})
		check(t, err)
	}
	r := streams.ReadEpochs(st, 20)
	defer r.Stop()
	recs, err := r.Next(ctx)
	check(t, err)
	if recs[0].Epoch != 20 {
		t.Fatalf("the first record is of epoch %d", recs[0].Epoch)
	}
	for r.Clock().Epoch < 50 {
		_, err := r.Next(ctx)
		check(t, err)
	}
	if got := r.Clock().Positions["a#i"]; got != 98 {
		t.Fatalf("the position at epoch 50 is %d", got)
	}
}

func quarantine(t *testing.T, s *streams.Server) {
	ctx := t.Context()
	st, err := s.EnsureQuarantine(ctx, streams.DefaultEnv, "a", streams.Limits{})
	check(t, err)
	q := streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: "i"})
	entries := []streams.QuarantineEntry{
		{SourceSeq: 5, Index: 0, Stage: "decode", Reason: "not JSON", Payload: []byte("{")},
		{SourceSeq: 5, Index: 3, Stage: "coerce", Reason: "x", Payload: []byte(`{"a":"b"}`)},
	}
	for i, want := range []int{2, 0, 0} {
		if n, err := q.Put(ctx, entries); err != nil || n != want {
			t.Fatalf("put %d: %d, %v, want %d", i, n, err, want)
		}
		q = streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: "i"})
	}
	list, total, err := q.List(ctx, streams.QuarantinePage{})
	check(t, err)
	if total != 2 || len(list) != 2 || list[1].Index != 3 || list[0].Reason != "not JSON" {
		t.Fatalf("%d of %d entries: %+v", len(list), total, list)
	}
}

// Publish appends messages and waits for all of them.
func Publish(ctx context.Context, t testing.TB, st *streams.Stream, n int, data func(i int) []byte) {
	t.Helper()
	acks := make([]*streams.Ack, n)
	for i := range acks {
		a, err := st.PublishAsync(ctx, data(i), nil)
		if err != nil {
			t.Fatal(err)
		}
		acks[i] = a
	}
	for _, a := range acks {
		if _, err := a.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

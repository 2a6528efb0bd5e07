package streams_test

import (
	"testing"

	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

func TestSmoke(t *testing.T) {
	s := streamstest.Open(t)
	ctx := t.Context()
	st, err := s.EnsureSource(ctx, "default", "a b", streams.Limits{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		seq, err := st.Publish(ctx, []byte("x"), nil)
		if err != nil || seq != uint64(i+1) {
			t.Fatal(seq, err)
		}
	}
	r := st.Read(1, streams.ReadOptions{Until: 3})
	n := 0
	for n < 3 {
		m, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n += len(m)
	}
	tb, err := s.EnsureTable(ctx, "default", "id", "name", streams.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := streams.OpenJournal(ctx, tb, 1)
	if err != nil {
		t.Fatal(err)
	}
	if seq, err := j.Append(ctx, streams.Entry{Epoch: 5, Inputs: []streams.Position{{"a b", st.Incarnation(), 3}}, Data: make([]byte, 20<<20)}); err != nil || seq != 20 {
		t.Fatal(seq, err)
	}
	er := tb.Entries(1, streams.ReadOptions{})
	e, err := er.Next(ctx)
	if err != nil || len(e) != 1 || len(e[0].Data) != 20<<20 {
		t.Fatal(err, len(e))
	}
}

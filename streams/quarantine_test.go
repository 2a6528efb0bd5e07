package streams_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

func newQuarantine(t *testing.T, change ...func(*streams.Options)) (*streams.Stream, *streams.Quarantine) {
	s := streamstest.Open(t, change...)
	st := must(s.EnsureQuarantine(t.Context(), "default", "a", streams.Limits{}))(t)
	return st, streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: "i"})
}

func bad(seq uint64, index int) streams.QuarantineEntry {
	return streams.QuarantineEntry{SourceSeq: seq, Index: index, Stage: "decode", Reason: "bad", Payload: fmt.Appendf(nil, "%d:%d", seq, index)}
}

func addresses(entries []streams.QuarantineEntry) string {
	var s []string
	for _, e := range entries {
		s = append(s, fmt.Sprintf("%d:%d", e.SourceSeq, e.Index))
	}
	return strings.Join(s, " ")
}

func TestAnEntryComesBackAsItWas(t *testing.T) {
	_, q := newQuarantine(t)
	want := streams.QuarantineEntry{
		SourceSeq: 7, Index: 3, Stage: "coerce", Reason: "x: \"a\r\nInjected: yes\" is no Long \x00 ü", ContentType: "application/x-ndjson", Payload: []byte{0, 255, '\r', '\n'},
	}
	must(q.Put(t.Context(), []streams.QuarantineEntry{want}))(t)
	list, _, err := q.List(t.Context(), streams.QuarantinePage{})
	ok(t, err)
	got := must(q.Get(t.Context(), list[0].Seq))(t)
	for _, e := range []streams.QuarantineEntry{got, list[0]} {
		if e.SourceSeq != 7 || e.Index != 3 || e.Stage != "coerce" || e.ContentType != want.ContentType || !bytes.Equal(e.Payload, want.Payload) || e.Seq != 1 || e.TimeMs == 0 {
			t.Fatalf("entry %+v", e)
		}
		if e.Reason != "x: \"a  Injected: yes\" is no Long   ü" {
			t.Fatalf("reason %q", e.Reason)
		}
	}
}

// The source is read again and again, from anywhere, by anybody: each row is there once.
func TestRepeatedReadsAddNothing(t *testing.T) {
	st, q := newQuarantine(t)
	var all []streams.QuarantineEntry
	for seq := uint64(1); seq <= 300; seq++ {
		for i := range int(seq % 3) {
			all = append(all, bad(seq, i))
		}
	}
	if n := must(q.Put(t.Context(), all[:100]))(t); n != 100 {
		t.Fatalf("%d added", n)
	}
	var wg sync.WaitGroup
	added := make(chan int, 4)
	for range 4 { // Four writers that do not know of each other.
		wg.Go(func() {
			q := streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: "i"})
			for from := 0; from < len(all); from += 40 {
				n, err := q.Put(t.Context(), all[from:min(from+40, len(all))])
				if err != nil {
					t.Error(err)
				}
				added <- n
			}
		})
	}
	go func() {
		for range added { // Only that nobody blocks.
		}
	}()
	wg.Wait()
	close(added)
	list, total, err := q.List(t.Context(), streams.QuarantinePage{Limit: 1000})
	ok(t, err)
	if total != len(all) || addresses(list) != addresses(all) {
		t.Fatalf("%d entries, want %d: %s", total, len(all), addresses(list))
	}
	if seq, index, known, err := q.Last(t.Context()); err != nil || !known || seq != 299 || index != 1 {
		t.Fatalf("the newest entry is %d:%d, %v, %v", seq, index, known, err)
	}
	if _, err := q.Put(t.Context(), []streams.QuarantineEntry{bad(400, 1), bad(400, 0)}); err == nil {
		t.Error("entries out of order were taken")
	}
}

func TestPagesAndDeletion(t *testing.T) {
	st, q := newQuarantine(t)
	var all []streams.QuarantineEntry
	for i := range uint64(50) {
		all = append(all, bad(i+1, 0))
	}
	must(q.Put(t.Context(), all))(t)
	page := func(p streams.QuarantinePage) string {
		t.Helper()
		list, _, err := q.List(t.Context(), p)
		ok(t, err)
		return addresses(list)
	}
	for _, c := range []struct {
		p    streams.QuarantinePage
		want string
	}{
		{streams.QuarantinePage{Limit: 3}, "1:0 2:0 3:0"},
		{streams.QuarantinePage{Limit: 2, After: 10}, "11:0 12:0"},
		{streams.QuarantinePage{After: 49}, "50:0"},
		{streams.QuarantinePage{After: 50}, ""},
		{streams.QuarantinePage{Newest: true, Limit: 2}, "50:0 49:0"},
		{streams.QuarantinePage{Newest: true, Limit: 2, Before: 10}, "9:0 8:0"},
		{streams.QuarantinePage{Newest: true, Before: 1}, ""},
	} {
		if got := page(c.p); got != c.want {
			t.Errorf("%+v: %q, want %q", c.p, got, c.want)
		}
	}
	for seq := uint64(2); seq <= 50; seq++ { // Everything but the first goes, the newest too.
		if deleted := must(q.Delete(t.Context(), seq))(t); !deleted {
			t.Fatalf("entry %d was not there", seq)
		}
	}
	if must(q.Delete(t.Context(), 30))(t) || must(q.Delete(t.Context(), 999))(t) {
		t.Error("an entry was deleted twice")
	}
	_, err := q.Get(t.Context(), 30)
	wants(t, err, streams.ErrNotFound)
	if got := page(streams.QuarantinePage{Newest: true}); got != "1:0" {
		t.Fatalf("left: %q", got)
	}
	// The position outlives its entry: nothing comes back when the source is read again.
	q = streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: "i"})
	if n := must(q.Put(t.Context(), append(all, bad(51, 0))))(t); n != 1 {
		t.Fatalf("%d added, want the new one", n)
	}
	if n := must(q.Count(t.Context()))(t); n != 2 || page(streams.QuarantinePage{}) != "1:0 51:0" {
		t.Fatalf("%d entries", n)
	}
	if state := must(st.State(t.Context()))(t); state.Messages != 2 {
		t.Fatalf("%d messages: the position mark was not removed", state.Messages)
	}
}

func TestAnotherIncarnationStartsAnew(t *testing.T) {
	st, q := newQuarantine(t)
	must(q.Put(t.Context(), []streams.QuarantineEntry{bad(100, 0)}))(t)
	q = streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: "other"})
	if n := must(q.Put(t.Context(), []streams.QuarantineEntry{bad(1, 0)}))(t); n != 1 {
		t.Fatalf("%d added", n)
	}
}

// A message that just fits into the source does not fit with the headers of the quarantine; it is stored in parts.
func TestAPayloadAtTheLimit(t *testing.T) {
	st, q := newQuarantine(t, func(o *streams.Options) { o.MaxPayload = 64 << 10 })
	big := bytes.Repeat([]byte("0123456789abcdef"), (64<<10+40<<10)/16)
	entries := []streams.QuarantineEntry{bad(1, 0), {SourceSeq: 2, Stage: "decode", Reason: "r", Payload: big}, bad(3, 0)}
	for range 2 {
		q = streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: "i"})
		must(q.Put(t.Context(), entries))(t)
	}
	list, total, err := q.List(t.Context(), streams.QuarantinePage{})
	ok(t, err)
	if total != 3 || len(list) != 3 || !bytes.Equal(list[1].Payload, big) || list[1].Reason != "r" {
		t.Fatalf("%d of %d entries", len(list), total)
	}
	if got := must(q.Get(t.Context(), list[1].Seq))(t); !bytes.Equal(got.Payload, big) {
		t.Fatal("the payload came back changed")
	}
	_, err = q.Get(t.Context(), list[1].Seq+1)
	wants(t, err, streams.ErrNotFound) // A part is no entry.
	must(q.Delete(t.Context(), list[2].Seq))(t)
	must(q.Delete(t.Context(), list[1].Seq))(t)
	if state := must(st.State(t.Context()))(t); state.Messages != 2 { // The first entry, and the position.
		t.Fatalf("%d messages are left", state.Messages)
	}
	if n := must(q.Put(t.Context(), entries))(t); n != 0 {
		t.Fatalf("%d came back", n)
	}
}

func TestOldEntriesExpireAndThePositionStays(t *testing.T) {
	st, _ := newQuarantine(t)
	now := time.Now()
	open := func() *streams.Quarantine {
		return streams.OpenQuarantine(st, streams.QuarantineOptions{Incarnation: "i", Retain: time.Hour, Now: func() time.Time { return now }})
	}
	q := open()
	all := []streams.QuarantineEntry{bad(1, 0), bad(2, 0), bad(3, 0)}
	must(q.Put(t.Context(), all))(t)
	if n := must(q.Count(t.Context()))(t); n != 3 {
		t.Fatalf("%d entries", n)
	}
	now = now.Add(2 * time.Hour)
	list, _, err := q.List(t.Context(), streams.QuarantinePage{})
	ok(t, err)
	if addresses(list) != "3:0" {
		t.Fatalf("after two hours: %s", addresses(list))
	}
	if n := must(open().Put(t.Context(), all))(t); n != 0 {
		t.Fatalf("%d expired entries came back", n)
	}
}

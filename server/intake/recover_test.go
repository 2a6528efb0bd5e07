package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

// forgetIDs makes the log forget the message ids of a source's stream, as it does after two minutes: from here on
// only the headers in the stream tell what is published.
func (r *rig) forgetIDs(name string) {
	r.t.Helper()
	ctx := r.t.Context()
	js := r.log.JetStream()
	st, err := js.Stream(ctx, streams.SourceStream("default", name))
	if err != nil {
		r.t.Fatal(err)
	}
	c := st.CachedInfo().Config
	c.Duplicates = 100 * time.Millisecond
	if _, err := js.UpdateStream(ctx, c); err != nil {
		r.t.Fatal(err)
	}
	<-time.After(250 * time.Millisecond) // nothing shows when the server has forgotten
}

// TestEveryCrashPointOfTheDrain crashes between any two steps of a push's way. Whatever was answered is stored once,
// in order, and the books balance; a push with a key that was not answered is pushed again and is stored once too.
func TestEveryCrashPointOfTheDrain(t *testing.T) {
	for _, forget := range []bool{false, true} {
		for _, point := range []string{"append", "appended", "move", "moved", "chunks", "answers", "stats", "purge"} {
			t.Run(fmt.Sprintf("%s forget=%v", point, forget), func(t *testing.T) {
				r := newRig(t)
				r.source("s", `{"maxWaitMs":20,"dedupKeyField":"id"}`)
				if got := r.push("s", body("before", "a", "b")); got.Accepted != 2 {
					t.Fatalf("%+v", got)
				}
				r.plant(point)
				got := r.push("s", body("key", "c", "d"))
				if lost := point == "append" || point == "appended"; lost != (got.Outcome == view.IngestUnavailable) {
					t.Fatalf("%+v", got)
				}
				r.awaitFault(point)
				if forget {
					r.forgetIDs("s")
				}
				r.crash()
				again := r.push("s", body("key", "c", "d"))
				if again.Outcome != view.Accepted || again.Accepted != 2 || again.Duplicate != 0 || again.Replayed == (point == "append") {
					t.Errorf("pushed again: %+v", again)
				}
				if got := r.push("s", body("before", "a", "b")); !got.Replayed || got.Accepted != 2 {
					t.Errorf("the push before: %+v", got)
				}
				if got := r.ids("s", "a", "b", "c", "d", "e"); got.Duplicate != 4 || got.Accepted != 1 {
					t.Errorf("dedup keys: %+v", got)
				}
				r.await("drained", func() bool { return r.status("s").DepthRows == 0 })
				if got := strings.Join(r.stored("s"), " "); got != "a b c d e" {
					t.Errorf("stored %q", got)
				}
				if s := r.balanced("s"); s.TotalAccepted != 5 || s.TotalPublished != 5 {
					t.Errorf("status %+v", s)
				}
				r.walEmpty("s")
			})
		}
	}
}

func TestEveryCrashPointOfAnInlinePush(t *testing.T) {
	for _, forget := range []bool{false, true} {
		for _, point := range []string{"inline", "inlined", "settle"} {
			t.Run(fmt.Sprintf("%s forget=%v", point, forget), func(t *testing.T) {
				r := newRig(t)
				r.source("s", `{"policy":"Inline","dedupKeyField":"id"}`)
				r.ids("s", "a")
				r.plant(point)
				if got := r.push("s", body("key", "b", "c")); got.Outcome != view.IngestUnavailable {
					t.Fatalf("%+v", got)
				}
				if forget {
					r.forgetIDs("s")
				}
				r.crash()
				// Others publish to the source as well.
				st, err := r.log.Stream(t.Context(), streams.SourceStream("default", "s"))
				if err != nil {
					t.Fatal(err)
				}
				if got := r.push("s", body("key", "b", "c")); got.Outcome != view.Accepted || got.Accepted != 2 || got.Replayed == (point == "inline") {
					t.Errorf("pushed again: %+v", got)
				}
				if _, err := st.Publish(t.Context(), []byte(`{"id":"x"}`), nil); err != nil {
					t.Fatal(err)
				}
				if got := r.ids("s", "a", "b", "c", "x"); got.Duplicate != 3 || got.Accepted != 1 {
					t.Errorf("dedup keys: %+v", got)
				}
				if got := strings.Join(r.stored("s"), " "); got != "a b c x x" {
					t.Errorf("stored %q", got)
				}
				if s := r.balanced("s"); s.TotalAccepted != 4 || s.TotalPublished != 4 {
					t.Errorf("status %+v", s)
				}
			})
		}
	}
}

// TestHalfAPushWasNeverAdmitted: a push of several messages is admitted with its last one.
func TestHalfAPushWasNeverAdmitted(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"maxWaitMs":20}`)
	r.ids("s", "a")
	r.walEmpty("s")
	wal, err := r.log.Stream(t.Context(), streams.IngestStream("default", "s"))
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	h := ingest.Header{Rows: ingest.Range{From: 1, To: 3}, More: true, Totals: ingest.Totals{Accepted: 1}}
	if _, err := wal.Publish(t.Context(), []byte(`[{"id":"half"},{"id":"half"}]`), nats.Header{HeaderEntry: {h.Encode()}}); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.ids("s", "b")
	if got := strings.Join(r.stored("s"), " "); got != "a b" {
		t.Errorf("stored %q", got)
	}
	r.balanced("s")
	r.walEmpty("s")
}

// TestAppendWithoutAnAnswerIsFoundInTheLog: the buffer reads the log again instead of guessing, while it runs.
func TestAppendWithoutAnAnswerIsFoundInTheLog(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`)
	r.ids("s", "a")
	r.plant("appended")
	if got := r.push("s", body("k", "b")); got.Outcome != view.IngestUnavailable {
		t.Fatalf("%+v", got)
	}
	r.heal()
	r.await("the buffer takes rows again", func() bool { return r.ids("s", "c").Outcome == view.Accepted })
	if got := r.push("s", body("k", "b")); !got.Replayed || got.Accepted != 1 {
		t.Errorf("%+v", got)
	}
	if got := strings.Join(r.stored("s"), " "); got != "a b c" {
		t.Errorf("stored %q", got)
	}
	r.balanced("s")
}

// TestWholeServerRestarts closes the log, too, with rows in the write-ahead stream.
func TestWholeServerRestarts(t *testing.T) {
	dir := t.TempDir()
	open := func() *streams.Server {
		return streamstest.Open(t, func(o *streams.Options) { o.DataDir = dir })
	}
	r := newRig(t)
	r.stop()
	r.log = open()
	r.start()
	r.source("s", `{"policy":"DropOldest","capacityRows":4,"maxWaitMs":20,"dedupKeyField":"id"}`)
	r.stall("s")
	r.ids("s", "a", "b", "c")
	r.push("s", body("k", "d", "e"))
	r.plant("*")
	r.stop()
	r.heal()
	streamstest.Close(t, r.log)
	r.log = open()
	r.start()
	if got := r.push("s", body("k", "x")); !got.Replayed || got.Accepted != 2 || got.Position == 0 {
		t.Errorf("%+v", got)
	}
	if got := r.ids("s", "a", "d", "f"); got.Duplicate != 2 {
		t.Errorf("%+v", got)
	}
	r.await("drained", func() bool { return r.status("s").DepthRows == 0 })
	if got := strings.Join(r.stored("s"), " "); got != "first c d e f" {
		t.Errorf("stored %q", got)
	}
	if s := r.balanced("s"); s.TotalAccepted != 7 || s.TotalDropped != 2 || s.TotalPublished != 5 {
		t.Errorf("status %+v", s)
	}
}

// TestSourceOfTheSameNameStartsOver: what a deleted source has left is not the new one's.
func TestSourceOfTheSameNameStartsOver(t *testing.T) {
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprint("down=", down), func(t *testing.T) {
			r := newRig(t)
			r.source("s", `{"maxWaitMs":20,"dedupKeyField":"id"}`)
			r.push("s", body("k", "a"))
			r.plant("move")
			r.ids("s", "waiting")
			if down {
				r.plant("*")
				r.stop()
				r.heal()
			}
			if err := r.store.DeleteSource(t.Context(), "", "s"); err != nil {
				t.Fatal(err)
			}
			if down {
				<-time.After(2 * time.Millisecond) // another creation time
			} else {
				r.heal()
				r.await("the unit is gone", func() bool { return len(r.in.present()) == 0 })
			}
			r.source("s", `{"dedupKeyField":"id"}`)
			if down {
				r.start()
			}
			if got := r.push("s", body("k", "a")); got.Replayed || got.Accepted != 1 || got.Duplicate != 0 {
				t.Errorf("%+v", got)
			}
			if s := r.balanced("s"); s.TotalAccepted != 1 {
				t.Errorf("status %+v", s)
			}
			r.walEmpty("s")
		})
	}
}

func TestLeftoversAreSwept(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"maxWaitMs":20}`)
	r.plant("move")
	r.ids("s", "a")
	r.plant("*")
	r.stop()
	r.heal()
	if err := r.store.DeleteSource(t.Context(), "", "s"); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.await("the write-ahead stream is gone", func() bool {
		_, err := r.log.Stream(t.Context(), streams.IngestStream("default", "s"))
		return errors.Is(err, streams.ErrNotFound)
	})
	r.await("its keys are gone", func() bool {
		b, err := r.in.bucket(t.Context(), "default", "ingest")
		if err != nil {
			t.Fatal(err)
		}
		keys, err := b.Keys(t.Context(), "")
		return err == nil && len(keys) == 0
	})
}

// TestRandomFaultsAndCrashes pushes through planted faults, crashes and restarts, each push with a key and again until
// it is answered. Then every row of an answered push is stored exactly once, pushes are stored whole and in the order
// of their answers, and the books balance.
func TestRandomFaultsAndCrashes(t *testing.T) {
	r := newRig(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		name := fmt.Sprint("s", round)
		policy := rapid.SampledFrom([]string{"Reject", "Block", "DropNewest", "DropOldest", "Inline"}).Draw(rt, "policy")
		r.source(name, fmt.Sprintf(`{"policy":%q,"capacityRows":12,"maxWaitMs":15}`, policy))
		points := []string{"append", "appended", "move", "moved", "chunks", "answers", "stats", "purge", "inline", "inlined", "settle"}
		want := map[string]bool{}
		var order []string
		for n := range rapid.IntRange(1, 12).Draw(rt, "pushes") {
			ids := many(fmt.Sprintf("%d-", n), rapid.IntRange(1, 5).Draw(rt, "rows"))
			key := fmt.Sprint("k", n)
			for try := 0; ; try++ {
				if try < 3 {
					if rapid.IntRange(0, 2).Draw(rt, "plant") == 0 {
						r.plant(rapid.SampledFrom(points).Draw(rt, "point"))
					}
					switch rapid.IntRange(0, 7).Draw(rt, "restart") {
					case 0:
						r.crash()
					case 1:
						r.restart()
					}
				} else {
					r.heal()
				}
				got := r.push(name, body(key, ids...))
				if got.Outcome == view.Accepted {
					if policy == "Reject" || policy == "Block" || policy == "Inline" {
						if got.Accepted != len(ids) {
							rt.Fatalf("accepted %d of %d", got.Accepted, len(ids))
						}
					}
					for _, id := range ids[:got.Accepted] {
						want[id] = true
						order = append(order, id)
					}
					break
				}
				if try > 500 {
					rt.Fatalf("push is refused for ever: %+v", got)
				}
				<-time.After(2 * time.Millisecond)
			}
		}
		r.heal()
		r.await("drained", func() bool {
			s, err := r.in.Ingest().Status(context.Background(), "", name)
			return err == nil && s.DepthRows == 0
		})
		s := r.balanced(name)
		stored := r.stored(name)
		if s.TotalPublished != int64(len(stored)) {
			rt.Fatalf("published %d, stored %d rows", s.TotalPublished, len(stored))
		}
		sorted := slices.Sorted(slices.Values(stored))
		if len(slices.Compact(sorted)) != len(stored) {
			rt.Fatalf("rows are doubled: %v", stored)
		}
		at := 0
		for _, id := range stored {
			if !want[id] {
				rt.Fatalf("row %s was not accepted", id)
			}
			for at < len(order) && order[at] != id {
				at++
			}
			if at == len(order) {
				rt.Fatalf("row %s is out of order: %v, answered %v", id, stored, order)
			}
		}
		if policy != "DropOldest" && len(stored) != len(want) {
			rt.Fatalf("stored %d rows, answered %d", len(stored), len(want))
		}
		if policy == "DropOldest" && int64(len(want)) != s.TotalAccepted {
			rt.Fatalf("accepted %d, answered %d", s.TotalAccepted, len(want))
		}
	})
}

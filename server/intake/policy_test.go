package intake

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/server/view"
)

// stall makes the drain of every source stand still once it has taken what was pushed first: that entry of one row is
// on its way and can no longer be evicted.
func (r *rig) stall(name string) {
	r.t.Helper()
	r.plant("move")
	r.t.Helper()
	if got := r.ids(name, "first"); got.Outcome != view.Accepted || got.Position != 0 {
		r.t.Fatalf("a push that is not moved in time: %+v", got)
	}
	r.await("the drain is stuck", func() bool {
		b := r.buffer(name)
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.stuck != nil && b.q.Empty()
	})
}

func (r *rig) drained(name string) {
	r.t.Helper()
	r.heal()
	r.await("the buffer of "+name+" is drained", func() bool { return r.status(name).DepthRows == 0 })
	r.balanced(name)
}

func many(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(prefix, i)
	}
	return out
}

func TestRejectRefusesWhatDoesNotFit(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"policy":"Reject","capacityRows":10,"maxWaitMs":20}`)
	r.stall("s")
	if got := r.ids("s", many("a", 8)...); got.Outcome != view.Accepted || got.DepthRows != 9 {
		t.Fatalf("%+v", got)
	}
	got := r.ids("s", "x", "y")
	if got.Outcome != view.IngestOverloaded || got.RetryAfterMs < 1000 || got.RetryAfterMs > 30000 || got.RetryAfterMs%1000 != 0 || got.DepthRows != 9 || !strings.Contains(got.Error, "9 of 10") {
		t.Errorf("%+v", got)
	}
	if got := r.ids("s", "z"); got.Outcome != view.Accepted {
		t.Errorf("one more fits: %+v", got)
	}
	s := r.balanced("s")
	if s.TotalRejected != 2 || s.DepthRows != 10 || s.TotalAccepted != 10 || s.TotalPublished != 0 {
		t.Errorf("status %+v", s)
	}
	r.drained("s")
	if got := strings.Join(r.stored("s"), " "); got != "first a0 a1 a2 a3 a4 a5 a6 a7 z" {
		t.Errorf("stored %q", got)
	}
}

func TestBlockWaitsForRoom(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"policy":"Block","capacityRows":3,"maxWaitMs":50}`)
	r.source("patient", `{"policy":"Block","capacityRows":3,"maxWaitMs":20000}`)
	r.stall("s")
	r.ids("s", "a", "b")
	began := time.Now()
	if got := r.ids("s", "c"); got.Outcome != view.IngestOverloaded || time.Since(began) < 50*time.Millisecond {
		t.Errorf("after %v: %+v", time.Since(began), got)
	}
	r.heal()
	r.drained("s")
	if s := r.status("s"); s.TotalRejected != 1 || s.TotalAccepted != 3 {
		t.Errorf("status %+v", s)
	}

	r.plant("move")
	done := make(chan view.IngestResult)
	// The first pushes wait for their position as long as the drain stands, so they run beside the test.
	for _, ids := range [][]string{{"a"}, {"b", "c"}} {
		go func() {
			got, err := r.in.Ingest().PushBody(context.Background(), "", "patient", []byte(body("", ids...)), "")
			if err != nil {
				t.Error(err)
			}
			done <- got
		}()
	}
	r.await("the buffer is full", func() bool { return r.status("patient").DepthRows == 3 })
	go func() {
		got, err := r.in.Ingest().PushBody(context.Background(), "", "patient", []byte(body("", "d", "e", "f")), "")
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := r.in.Ingest().PushBody(ctx, "", "patient", []byte(body("", "g")), "")
		gone <- err
	}()
	cancel()
	if err := <-gone; err == nil {
		t.Error("a client that went away was answered")
	}
	r.heal()
	for range 3 {
		if got := <-done; got.Outcome != view.Accepted || got.Position == 0 {
			t.Errorf("%+v", got)
		}
	}
	r.drained("patient")
	if s := r.status("patient"); s.TotalAccepted != 6 {
		t.Errorf("status %+v", s)
	}
}

func TestDropNewestAdmitsWhatFits(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"policy":"DropNewest","capacityRows":4,"maxWaitMs":20}`)
	r.stall("s")
	if got := r.ids("s", "a", "b", "c", "d"); got.Outcome != view.Accepted || got.Accepted != 3 || got.Dropped != 1 {
		t.Errorf("%+v", got)
	}
	if got := r.ids("s", "e", "f"); got.Outcome != view.Accepted || got.Accepted != 0 || got.Dropped != 2 {
		t.Errorf("%+v", got)
	}
	r.drained("s")
	if s := r.status("s"); s.TotalAccepted != 4 || s.TotalDropped != 3 || s.TotalPublished != 4 || s.TotalRejected != 0 {
		t.Errorf("status %+v", s)
	}
	if got := strings.Join(r.stored("s"), " "); got != "first a b c" {
		t.Errorf("stored %q", got)
	}
}

func TestDropOldestEvictsTheOldest(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"policy":"DropOldest","capacityRows":5,"maxWaitMs":20}`)
	r.stall("s") // one row is on its way
	r.ids("s", "a", "b", "c")
	r.ids("s", "d")
	if got := r.ids("s", "e", "f"); got.Outcome != view.Accepted || got.Accepted != 2 || got.Dropped != 0 {
		t.Errorf("%+v", got)
	}
	if s := r.balanced("s"); s.DepthRows != 5 || s.TotalDropped != 2 || s.TotalAccepted != 7 {
		t.Errorf("status %+v", s)
	}
	// Evicted rows stay evicted across a crash, and the one that was on its way stays.
	r.crash()
	r.await("drained", func() bool { return r.status("s").DepthRows == 0 })
	if got := strings.Join(r.stored("s"), " "); got != "first c d e f" {
		t.Errorf("stored %q", got)
	}
	if s := r.balanced("s"); s.TotalPublished != 5 || s.TotalDropped != 2 {
		t.Errorf("status %+v", s)
	}
	// Five at once push everything else out.
	r.plant("move")
	r.ids("s", "1")
	r.ids("s", "2", "3", "4")
	if got := r.ids("s", "5", "6", "7", "8", "9"); got.Accepted != 5 {
		t.Errorf("%+v", got)
	}
	r.drained("s")
	got := strings.Join(r.stored("s"), " ")
	if !strings.HasSuffix(got, "5 6 7 8 9") {
		t.Errorf("stored %q", got)
	}
}

func TestPolicyAndCapacityFollowTheDefinition(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"policy":"Reject","capacityRows":2,"maxWaitMs":20}`)
	r.stall("s")
	r.ids("s", "a")
	if got := r.ids("s", "b"); got.Outcome != view.IngestOverloaded {
		t.Fatalf("%+v", got)
	}
	sn, err := r.store.Snapshot("")
	if err != nil {
		t.Fatal(err)
	}
	rec, _ := sn.Source("s")
	def, c := rec.Source, *rec.Ingest
	c.CapacityRows = 3
	def.Ingest = &c
	if _, err := r.store.UpdateSource(t.Context(), "", "tester", "s", def, true); err != nil {
		t.Fatal(err)
	}
	if got := r.ids("s", "b"); got.Outcome != view.Accepted || got.CapacityRows != 3 {
		t.Errorf("after the edit: %+v", got)
	}
	r.drained("s")
}

func TestLargeRowsDoNotFillTheMemory(t *testing.T) {
	r := newRig(t, func(o *Options) { o.maxBytes, o.maxHeld = 16<<20, 4<<20 })
	r.source("s", `{"policy":"Reject","capacityRows":1000,"maxWaitMs":1}`)
	r.stall("s")
	row := `{"events":[{"id":"` + strings.Repeat("x", 1<<20) + `"}]}`
	n := 0
	for ; n < 100; n++ {
		if got := r.push("s", row); got.Outcome == view.IngestOverloaded {
			if !strings.Contains(got.Error, "MiB") {
				t.Errorf("%q does not say that the bytes are the reason", got.Error)
			}
			break
		}
	}
	if n < 14 || n > 16 {
		t.Errorf("%d rows of 1 MiB were admitted", n)
	}
	b := r.buffer("s")
	b.mu.Lock()
	held := 0
	for _, e := range b.entries {
		held += len(e.payload)
	}
	b.mu.Unlock()
	if held > 6<<20 {
		t.Errorf("%d MiB are held in memory", held>>20)
	}
	r.drained("s")
	if got := len(r.stored("s")); got != n+1 {
		t.Errorf("%d rows stored, want %d", got, n+1)
	}
}

package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/server/view"
)

func TestRowDedup(t *testing.T) {
	for _, policy := range []string{"Reject", "Inline"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.source("s", `{"policy":"`+policy+`","dedupKeyField":"id","dedupWindow":4}`)
			if got := r.ids("s", "a", "b", "a"); got.Accepted != 2 || got.Duplicate != 1 {
				t.Errorf("inside a push: %+v", got)
			}
			if got := r.ids("s", "b", "c"); got.Accepted != 1 || got.Duplicate != 1 {
				t.Errorf("across pushes: %+v", got)
			}
			if got := r.push("s", `{"events":[{"n":1},{"n":1},{"id":null}]}`); got.Accepted != 3 || got.Duplicate != 0 {
				t.Errorf("rows without a key: %+v", got)
			}
			if got := r.ids("s", "a", "b"); got.Outcome != view.Accepted || got.Accepted != 0 || got.Duplicate != 2 {
				t.Errorf("only duplicates: %+v", got)
			}
			r.await("the counters are stored", func() bool { return !r.buffer("s").hasBookkeeping() })
			r.crash()
			if got := r.ids("s", "c"); got.Duplicate != 1 {
				t.Errorf("after a crash: %+v", got)
			}
			r.ids("s", "d", "e") // a leaves the window of four
			r.walEmpty("s")
			r.restart()
			if got := r.ids("s", "b", "c", "d", "e"); got.Duplicate != 4 {
				t.Errorf("after a restart: %+v", got)
			}
			if got := r.ids("s", "a"); got.Accepted != 1 {
				t.Errorf("the oldest key is forgotten: %+v", got)
			}
			if got := strings.Join(r.stored("s"), " "); got != "a b c <nil> <nil> <nil> d e a" {
				t.Errorf("stored %q", got)
			}
			if s := r.balanced("s"); s.TotalDuplicate != 1+1+2+1+4 {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestDuplicatesTakeNoRoom(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"policy":"Reject","capacityRows":3,"maxWaitMs":20,"dedupKeyField":"id"}`)
	r.stall("s")
	r.ids("s", "a")
	if got := r.ids("s", "a", "first", "b"); got.Outcome != view.Accepted || got.Accepted != 1 || got.Duplicate != 2 {
		t.Errorf("%+v", got)
	}
	if got := r.ids("s", "c"); got.Outcome != view.IngestOverloaded {
		t.Errorf("%+v", got)
	}
	r.drained("s")
	if got := r.ids("s", "c"); got.Accepted != 1 {
		t.Errorf("a refused row left its key behind: %+v", got)
	}
}

func TestDedupSettingsMayChange(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"dedupKeyField":"id","dedupWindow":3000}`)
	r.ids("s", many("a", 900)...)
	r.ids("s", many("b", 900)...)
	edit := func(field *string, size int) {
		t.Helper()
		sn, err := r.store.Snapshot("")
		if err != nil {
			t.Fatal(err)
		}
		rec, _ := sn.Source("s")
		def, c := rec.Source, *rec.Ingest
		c.DedupKeyField, c.DedupWindow = field, size
		def.Ingest = &c
		if _, err := r.store.UpdateSource(t.Context(), "", "tester", "s", def, true); err != nil {
			t.Fatal(err)
		}
	}
	id, n := "id", "n"
	edit(&id, 1000)
	if got := r.ids("s", "b5", "a899", "a700"); got.Duplicate != 2 || got.Accepted != 1 {
		t.Errorf("a smaller window: %+v", got)
	}
	edit(nil, 0)
	if got := r.ids("s", "b5"); got.Accepted != 1 {
		t.Errorf("without dedup: %+v", got)
	}
	edit(&n, 1000)
	if got := r.push("s", `{"events":[{"id":"b5","n":1},{"id":"b6","n":1}]}`); got.Accepted != 1 || got.Duplicate != 1 {
		t.Errorf("another field: %+v", got)
	}
	r.crash()
	if got := r.push("s", `{"events":[{"n":1},{"n":2}]}`); got.Accepted != 1 || got.Duplicate != 1 {
		t.Errorf("after a crash: %+v", got)
	}
}

func TestLongWindowSurvives(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"dedupKeyField":"id","maxBatchRows":1000}`)
	for i := range 12 {
		r.ids("s", many(fmt.Sprint("p", i, "-"), 1000)...)
	}
	r.walEmpty("s")
	r.restart()
	if got := r.ids("s", "p2-0", "p11-999", "p1-999"); got.Duplicate != 2 || got.Accepted != 1 {
		t.Errorf("%+v", got)
	}
	keys, err := r.in.buckets["SF_default_dedup"].Keys(t.Context(), "s.>")
	if err != nil || len(keys) > 13 {
		t.Errorf("%d chunks are stored, %v", len(keys), err)
	}
}

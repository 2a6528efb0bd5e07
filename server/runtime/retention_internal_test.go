package runtime

import (
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// TestEvictionsAreMarkedInTheJournal: TBL-003, TBL-034: the journal tells the rows that retention takes back from those
// that come.
func TestEvictionsAreMarkedInTheJournal(t *testing.T) {
	w := newWorld(t)
	w.source("ticks", field("n", types.Long))
	d := catalog.NewTable()
	d.Name, d.SQL, d.RetentionMaxRows = "newest", "SELECT n FROM ticks", 2
	r, err := w.catalog.CreateTable(w.ctx(), "", "test", d)
	if err != nil {
		t.Fatal(err)
	}
	w.ids["newest"] = r.ID
	w.startTable("newest")
	var seq uint64
	for n := range 5 {
		seq = w.publish("ticks", map[string]any{"n": n, "_ts": 1000 + n})
		w.rows("newest", "ticks", seq)
	}
	st := w.rt.env.entity(kindTable, r.ID).stream
	end, err := st.State(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	came, marked := 0, 0
	err = readEntries(w.ctx(), st, 1, end.Last, func(s streams.Stored) error {
		if s.Kind != streams.Delta {
			return nil
		}
		_, b, evicted, err := wire.DecodeMarked(s.Data)
		if err != nil {
			return err
		}
		for i := range b.N {
			is := evicted != nil && evicted[i]
			if is != (b.W(i) < 0) {
				t.Errorf("row %v with weight %d, evicted %v", b.Row(i), b.W(i), is)
			}
			if is {
				marked++
			} else {
				came++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if came != 5 || marked != 3 {
		t.Errorf("%d rows came and %d are marked as evicted, want 5 and 3", came, marked)
	}
}

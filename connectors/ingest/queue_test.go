package ingest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/ingest"
)

func appendRows(q *ingest.Queue, seq uint64, n int) {
	q.Append(ingest.Entry{Seq: seq, Rows: ingest.Range{From: q.Next(), To: q.Next() + int64(n)}, Size: n})
}

func TestPoliciesOfAFullQueue(t *testing.T) {
	full := func() *ingest.Queue {
		q := ingest.NewQueue(0)
		appendRows(q, 1, 6)
		appendRows(q, 2, 3)
		return q
	}
	for _, c := range []struct {
		policy connectors.Policy
		n      int
		ok     bool
		take   int
		evict  int
	}{
		{connectors.Reject, 1, true, 1, 0}, {connectors.Reject, 2, false, 0, 0}, {connectors.Block, 2, false, 0, 0},
		{connectors.DropNewest, 5, true, 1, 0}, {connectors.DropOldest, 5, true, 5, 4}, {connectors.DropOldest, 10, true, 10, 9},
		{connectors.DropOldest, 1, true, 1, 0}, {connectors.Reject, 0, true, 0, 0},
	} {
		q := full()
		d := q.Decide(c.policy, c.n, 10)
		evict := 0
		for _, r := range d.Evict {
			evict += r.Len()
		}
		if d.OK != c.ok || d.Take != c.take || evict != c.evict {
			t.Errorf("%s of %d rows: %+v", c.policy, c.n, d)
		}
		if q.Depth() != 9 {
			t.Errorf("Decide changed the depth to %d", q.Depth())
		}
	}
}

func TestTakenRowsAreNotEvicted(t *testing.T) {
	q := ingest.NewQueue(0)
	appendRows(q, 1, 6)
	appendRows(q, 2, 4)
	_, live, _ := q.Take()
	d := q.Decide(connectors.DropOldest, 8, 10)
	if len(d.Evict) != 1 || d.Evict[0] != (ingest.Range{From: 6, To: 10}) {
		t.Fatalf("evicts %v", d.Evict)
	}
	q.Evict(d.Evict)
	appendRows(q, 3, 8)
	q.Done(live)
	if live.Len() != 6 || q.Depth() != 8 || q.Published != 6 || q.Evicted != 4 {
		t.Errorf("live %v, depth %d, published %d, evicted %d", live, q.Depth(), q.Published, q.Evicted)
	}
	if e, live, ok := q.Take(); !ok || e.Seq != 2 || live.Len() != 0 {
		t.Errorf("the evicted entry: %+v %v", e, live)
	}
}

// model is the obvious queue: one element a row.
type model struct{ waiting, taken []int64 }

// TestQueueBalances drives the queue against one element a row: every row leaves exactly once, in order, published or
// evicted, and the books balance after each step. A restart rebuilds the queue from what a log would hold.
func TestQueueBalances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const capacity = 20
		q := ingest.NewQueue(0)
		var m model
		var log []ingest.Entry // entries that are not finished
		var evicted []ingest.Range
		seq, admitted, published, gone := uint64(0), int64(0), int64(0), int64(0)
		take := func() {
			e, live, ok := q.Take()
			if ok != (len(log) > 0) {
				t.Fatalf("Take = %v with %d entries", ok, len(log))
			}
			if !ok {
				return
			}
			if e.Seq != log[0].Seq {
				t.Fatalf("took entry %d, want %d", e.Seq, log[0].Seq)
			}
			for i := live.From; i < live.To; i++ {
				if len(m.waiting) == 0 || m.waiting[0] != i {
					t.Fatalf("took row %d, the oldest are %v", i, m.waiting)
				}
				m.taken, m.waiting = append(m.taken, i), m.waiting[1:]
			}
			if len(m.waiting) > 0 && m.waiting[0] < e.Rows.To {
				t.Fatalf("row %d was left behind", m.waiting[0])
			}
			if rapid.Bool().Draw(t, "evict while taken") {
				push(t, q, &m, &log, &evicted, &seq, &admitted, &gone, capacity)
			}
			q.Done(live)
			published += int64(len(m.taken))
			m.taken = nil
			log = log[1:]
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				take()
			case 2: // restart: the entries that are left, and the evictions that any of them recorded
				next := q.Next()
				if len(log) > 0 {
					next = log[0].Rows.From
				}
				depth := q.Depth()
				q = ingest.NewQueue(next)
				for _, e := range log {
					q.Append(e)
				}
				q.Restored(evicted)
				if q.Depth() != depth {
					t.Fatalf("depth %d after the restart, was %d", q.Depth(), depth)
				}
			default:
				push(t, q, &m, &log, &evicted, &seq, &admitted, &gone, capacity)
			}
			if q.Depth() != len(m.waiting) || admitted != published+gone+int64(q.Depth()) {
				t.Fatalf("admitted %d, published %d, evicted %d, depth %d, waiting %v", admitted, published, gone, q.Depth(), m.waiting)
			}
			if q.Admitted != q.Published+q.Evicted+int64(q.Depth()) {
				t.Fatalf("the queue's own books: %d, %d, %d, %d", q.Admitted, q.Published, q.Evicted, q.Depth())
			}
		}
		for len(log) > 0 {
			take()
		}
	})
}

func push(t *rapid.T, q *ingest.Queue, m *model, log *[]ingest.Entry, evicted *[]ingest.Range, seq *uint64, admitted, gone *int64, capacity int) {
	p := rapid.SampledFrom(connectors.Policies()[:4]).Draw(t, "policy")
	n := rapid.IntRange(1, capacity).Draw(t, "rows")
	d := q.Decide(p, n, capacity)
	if !d.OK || d.Take == 0 {
		return
	}
	for _, r := range d.Evict {
		for i := r.From; i < r.To; i++ {
			if m.waiting[0] != i {
				t.Fatalf("evicts row %d, the oldest is %d", i, m.waiting[0])
			}
			m.waiting = m.waiting[1:]
			*gone++
		}
	}
	q.Evict(d.Evict)
	*evicted = append(*evicted, d.Evict...)
	*seq++
	e := ingest.Entry{Seq: *seq, Rows: ingest.Range{From: q.Next(), To: q.Next() + int64(d.Take)}, Size: 1}
	q.Append(e)
	*log = append(*log, e)
	for i := e.Rows.From; i < e.Rows.To; i++ {
		m.waiting = append(m.waiting, i)
	}
	*admitted += int64(d.Take)
}

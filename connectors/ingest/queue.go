package ingest

import (
	"fmt"

	"github.com/streamsforge/streamsforge/connectors"
)

// Range is a range of row numbers, To excluded. Rows of a source's buffer are numbered from 0 in the order of their
// admission.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Len is how many rows the range holds.
func (r Range) Len() int { return int(max(r.To-r.From, 0)) }

// Entry is one waiting write-ahead message.
type Entry struct {
	Seq  uint64 // its sequence in the write-ahead stream
	Rows Range  // the rows it holds
	Size int    // its bytes
	Data any    // what the owner keeps with it
}

// Queue counts the rows of one buffer. It knows what is waiting, what the drain has taken and what was evicted; the
// owner moves the bytes. It is not safe for concurrent use.
//
// Invariant: Admitted = Published + Evicted + Depth().
type Queue struct {
	waiting []slot // oldest first, from head
	head    int
	evicted int   // slots below this index have no live rows
	next    int64 // number of the next row
	rows    int   // rows waiting and not evicted
	taken   int   // rows that the drain has taken and not finished
	bytes   int

	Admitted  int64
	Published int64
	Evicted   int64
}

// slot is a waiting entry and the rows of it that are not evicted: a tail of its rows.
type slot struct {
	Entry
	live Range
}

// NewQueue returns an empty queue that numbers its rows from next.
func NewQueue(next int64) *Queue { return &Queue{next: next} }

// Depth is how many admitted rows are neither published nor evicted.
func (q *Queue) Depth() int { return q.rows + q.taken }

// Bytes is the size of the waiting entries.
func (q *Queue) Bytes() int { return q.bytes }

// Next is the number of the next row.
func (q *Queue) Next() int64 { return q.next }

// Empty reports whether nothing waits for the drain.
func (q *Queue) Empty() bool { return q.head == len(q.waiting) }

// Decision is what a policy does with a push.
type Decision struct {
	OK    bool    // false: the buffer is full and the push is refused
	Take  int     // rows to admit, from the first
	Evict []Range // rows to evict before, oldest first
}

// Decide applies a policy to a push of n rows. It changes nothing. Rows that the drain has taken can no longer be
// evicted, so under DropOldest the depth may exceed the capacity by the entry that is being moved.
func (q *Queue) Decide(p connectors.Policy, n, capacity int) Decision {
	room := max(capacity-q.Depth(), 0)
	switch {
	case n <= room:
		return Decision{OK: true, Take: n}
	case p == connectors.DropNewest:
		return Decision{OK: true, Take: room}
	case p == connectors.DropOldest:
		return Decision{OK: true, Take: n, Evict: q.oldest(min(n-room, q.rows))}
	default:
		return Decision{}
	}
}

// oldest lists the oldest n rows that wait, neighbouring ranges joined.
func (q *Queue) oldest(n int) []Range {
	var out []Range
	for i := max(q.evicted, q.head); n > 0; i++ {
		r := q.waiting[i].live
		r.To = min(r.To, r.From+int64(n))
		n -= r.Len()
		switch last := len(out) - 1; {
		case r.Len() == 0:
		case last >= 0 && out[last].To == r.From:
			out[last].To = r.To
		default:
			out = append(out, r)
		}
	}
	return out
}

// Evict drops the rows of a Decision.
func (q *Queue) Evict(ranges []Range) {
	for _, r := range ranges {
		n := q.drop(r, max(q.evicted, q.head))
		if n != r.Len() {
			panic(fmt.Sprintf("BUG: ingest.Queue: rows %d..%d do not all wait", r.From, r.To))
		}
	}
	for q.evicted = max(q.evicted, q.head); q.evicted < len(q.waiting) && q.waiting[q.evicted].live.Len() == 0; {
		q.evicted++
	}
}

// drop takes the rows of a range out of the slots from an index on.
func (q *Queue) drop(r Range, from int) int {
	n := 0
	for i := from; i < len(q.waiting) && q.waiting[i].Rows.From < r.To; i++ {
		live := &q.waiting[i].live
		if live.Len() == 0 || live.From < r.From {
			continue
		}
		to := min(live.To, r.To)
		n += int(to - live.From)
		live.From = to
	}
	q.rows -= n
	q.Evicted += int64(n)
	return n
}

// Append adds a stored entry. Its rows come after all before it.
func (q *Queue) Append(e Entry) {
	if e.Rows.From < q.next {
		panic(fmt.Sprintf("BUG: ingest.Queue: entry starts at row %d, expected %d or more", e.Rows.From, q.next))
	}
	q.waiting = append(q.waiting, slot{e, e.Rows})
	q.next = e.Rows.To
	q.rows += e.Rows.Len()
	q.bytes += e.Size
	q.Admitted += int64(e.Rows.Len())
}

// Take hands the oldest entry to the drain together with the rows of it that are not evicted; the range is empty when
// all of them are. Done follows.
func (q *Queue) Take() (e Entry, live Range, ok bool) {
	if q.Empty() {
		return Entry{}, Range{}, false
	}
	s := q.waiting[q.head]
	q.waiting[q.head] = slot{}
	q.head++
	q.rows -= s.live.Len()
	q.taken += s.live.Len()
	q.bytes -= s.Size
	if q.Empty() {
		q.waiting, q.head, q.evicted = q.waiting[:0], 0, 0
	} else if q.head > 1024 && q.head*2 > len(q.waiting) {
		n := copy(q.waiting, q.waiting[q.head:])
		clear(q.waiting[n:])
		q.evicted = max(q.evicted-q.head, 0)
		q.waiting, q.head = q.waiting[:n], 0
	}
	return s.Entry, s.live, true
}

// Done says that the taken rows are published.
func (q *Queue) Done(live Range) {
	q.taken -= live.Len()
	q.Published += int64(live.Len())
}

// Restored evicts, after a start, what an earlier process had evicted of the entries that are left: their rows were
// admitted before and are counted as evicted. Ranges of entries that are gone have no effect.
func (q *Queue) Restored(ranges []Range) {
	for _, r := range ranges {
		q.drop(r, q.head)
	}
}

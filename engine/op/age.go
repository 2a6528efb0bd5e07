package op

import (
	"bytes"
	"math"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// Retention bounds the rows that are kept. The zero value bounds nothing.
type Retention struct {
	// MaxRows is how many rows are kept at most; 0 is any number.
	MaxRows int64
	// TTL is how far the event time of a row may be behind that of the newest row, in milliseconds; 0 is any.
	TTL int64
}

// horizon is the time below which rows are too old.
func (r Retention) horizon(newest int64) int64 {
	if r.TTL == 0 || newest < math.MinInt64+r.TTL {
		return math.MinInt64
	}
	return newest - r.TTL
}

// ages finds the oldest of the things that are held: by time, and by their bytes where the time is equal, so that the
// answer depends on what is held and not on how it came.
//
// The queue holds an entry for each of them. An entry is corrected when it comes up: things that left are skipped, and
// things whose time has grown since go back. A thing whose time shrank has a second entry; the first is void then.
type ages struct {
	names *zset.KeyTable
	items zset.Slab[ageItem]
	queue []ageEntry
	live  int
}

// ageItem is what is known of a thing.
type ageItem struct {
	ts     int64
	queued int64 // the time of its entry
	live   bool
	inside bool // the queue has an entry
}

type ageEntry struct {
	ts int64
	id uint32
}

func newAges() *ages { return &ages{names: zset.NewKeyTable()} }

// put holds a thing from now on, or changes its time.
func (a *ages) put(name []byte, ts int64) uint32 {
	id, added := a.names.Insert(name)
	if n := int(id) + 1 - a.items.Len(); n > 0 {
		a.items.Grow(n)
	}
	it := a.items.At(id)
	if added {
		*it = ageItem{}
	}
	if !it.live {
		it.live = true
		a.live++
	}
	it.ts = ts
	if !it.inside || ts < it.queued {
		it.inside, it.queued = true, ts
		a.push(ageEntry{ts, id})
	}
	return id
}

// drop lets a thing go.
func (a *ages) drop(id uint32) {
	if it := a.items.At(id); it.live {
		it.live = false
		a.live--
	}
}

// oldest returns the oldest thing; false when nothing is held.
func (a *ages) oldest() (id uint32, ts int64, ok bool) {
	for len(a.queue) > 0 {
		e := a.queue[0]
		it := a.items.At(e.id)
		switch {
		case !it.inside || it.queued != e.ts: // void
			a.pop()
		case !it.live:
			it.inside = false
			a.pop()
		case it.ts != e.ts:
			it.queued = it.ts
			a.pop()
			a.push(ageEntry{it.ts, e.id})
		default:
			return e.id, e.ts, true
		}
	}
	return 0, 0, false
}

// compact forgets what has left, once it is more than what is held. The numbers of things that left are given anew
// after it.
func (a *ages) compact() {
	if len(a.queue) <= 2*a.live+64 && a.names.Len() <= 2*a.live+64 {
		return
	}
	queue := a.queue[:0]
	a.names.Each(func(id uint32, _ []byte) bool {
		if it := a.items.At(id); it.live {
			it.queued = it.ts
			queue = append(queue, ageEntry{it.ts, id})
		} else {
			it.inside = false
		}
		return true
	})
	var gone []uint32
	a.names.Each(func(id uint32, _ []byte) bool {
		if !a.items.At(id).live {
			gone = append(gone, id)
		}
		return true
	})
	a.queue = queue
	for i := len(queue)/2 - 1; i >= 0; i-- {
		a.sink(i)
	}
	for _, id := range gone {
		a.names.Remove(id)
	}
}

func (a *ages) before(x, y ageEntry) bool {
	if x.ts != y.ts || x.id == y.id {
		return x.ts < y.ts
	}
	return bytes.Compare(a.names.Key(x.id), a.names.Key(y.id)) < 0
}

func (a *ages) push(e ageEntry) {
	q := append(a.queue, e)
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !a.before(e, q[up]) {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = e
	a.queue = q
}

func (a *ages) pop() {
	last := len(a.queue) - 1
	a.queue[0] = a.queue[last]
	a.queue = a.queue[:last]
	if last > 0 {
		a.sink(0)
	}
}

// sink moves an entry down to its place.
func (a *ages) sink(i int) {
	q := a.queue
	e := q[i]
	for {
		down := 2*i + 1
		if down >= len(q) {
			break
		}
		if down+1 < len(q) && a.before(q[down+1], q[down]) {
			down++
		}
		if !a.before(q[down], e) {
			break
		}
		q[i] = q[down]
		i = down
	}
	q[i] = e
}

// StateBytes is the memory of names and queue.
func (a *ages) StateBytes() int64 {
	return a.names.StateBytes() + a.items.Bytes() + int64(16*cap(a.queue))
}

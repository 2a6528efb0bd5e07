package op

// timeHeap is a queue of kept rows by time, then by arrival.
type timeHeap []timeEntry

type timeEntry struct {
	ts   int64
	seq  uint64
	id   uint32
	side uint8
}

func (a timeEntry) before(b timeEntry) bool {
	if a.ts != b.ts {
		return a.ts < b.ts
	}
	return a.seq < b.seq
}

// push adds an entry; rows mostly come in order of time, which costs one comparison.
func (h *timeHeap) push(e timeEntry) {
	q := append(*h, e)
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(q[up]) {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = e
	*h = q
}

// pop removes the first entry of a queue that is not empty.
func (h *timeHeap) pop() timeEntry {
	q := *h
	first, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	if len(q) == 0 {
		return first
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(q) {
			break
		}
		if down+1 < len(q) && q[down+1].before(q[down]) {
			down++
		}
		if !q[down].before(last) {
			break
		}
		q[i] = q[down]
		i = down
	}
	q[i] = last
	return first
}

package flow

import (
	"bytes"

	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// sink collects what leaves the flow, as batches that own their memory.
type sink struct {
	parts []*zset.Batch
	// evicted are those of the parts that retention takes back.
	evicted []*zset.Batch
	// sorted promises that one part alone is sorted and consolidated.
	sorted bool
	taken  int64
	every  []int32
}

// take keeps rows. What is stable is shared, everything else is copied.
func (s *sink) take(d op.Delta) {
	n := d.Len()
	if n == 0 {
		return
	}
	s.taken += int64(n)
	if d.Evicted {
		defer func() { s.evicted = append(s.evicted, s.parts[len(s.parts)-1]) }()
	}
	switch {
	case d.Stable && d.Sel == nil:
		s.parts = append(s.parts, d.B)
		return
	case d.Sel == nil:
		for i := len(s.every); i < n; i++ {
			s.every = append(s.every, int32(i))
		}
		d.Sel = s.every[:n]
	}
	b := zset.Gather(d.B, d.Sel)
	if !d.Stable {
		for c := range b.Cols {
			zeroNulls(&b.Cols[c])
		}
	}
	s.parts = append(s.parts, b)
}

// zeroNulls clears the values of NULLs: computed columns leave anything there.
func zeroNulls(c *zset.Column) {
	if c.Valid == nil {
		return
	}
	for i := range c.F64 {
		if c.IsNull(i) {
			c.F64[i] = 0
		}
	}
	for i := range c.I64 {
		if c.IsNull(i) {
			c.I64[i] = 0
		}
	}
	for i := range c.Codes {
		if c.IsNull(i) {
			c.Codes[i] = 0
		}
	}
}

// rows returns everything in order, nil when there is nothing.
func (s *sink) rows() *zset.Batch {
	if len(s.parts) == 0 {
		return nil
	}
	b := zset.Concat(s.parts...)
	s.reset()
	return b
}

// delta returns the net change, nil when there is none. Invariant 3: it is sorted, consolidated and free of zero
// weights.
func (s *sink) delta() *zset.Batch {
	if s.sorted && len(s.parts) == 1 {
		b := s.parts[0]
		s.reset()
		return b
	}
	b := s.rows()
	if b == nil {
		return nil
	}
	if b = zset.Consolidate(b); b.N == 0 {
		return nil
	}
	return b
}

// gone returns the rows that retention takes back, consolidated; nil when there are none.
func (s *sink) gone() *zset.Batch {
	if len(s.evicted) == 0 {
		return nil
	}
	b := zset.Consolidate(zset.Concat(s.evicted...))
	clear(s.evicted)
	s.evicted = s.evicted[:0]
	return b
}

// markEvicted finds evicted rows in the delta that holds them; both are sorted. A row that is evicted and comes again
// by the projection of another one is a row that stays.
func markEvicted(delta, evicted *zset.Batch) []bool {
	if delta == nil || evicted == nil {
		return nil
	}
	var marks []bool
	var x, y []byte
	for i, k := 0, 0; i < delta.N && k < evicted.N; {
		x, y = zset.AppendRecord(x[:0], delta, i, nil), zset.AppendRecord(y[:0], evicted, k, nil)
		switch c := bytes.Compare(x, y); {
		case c < 0:
			i++
		case c > 0:
			k++
		default:
			if delta.W(i) < 0 {
				if marks == nil {
					marks = make([]bool, delta.N)
				}
				marks[i] = true
			}
			i++
			k++
		}
	}
	return marks
}

func (s *sink) reset() {
	clear(s.parts)
	s.parts = s.parts[:0]
}

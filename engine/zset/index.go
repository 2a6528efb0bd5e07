package zset

// index is the hash index of the state structures: open addressing over 8-byte slots (the upper 32 bits of the
// hash as a tag, the id + 1), split into segments of at most 64 Ki slots by the top bits of the tag (extendible
// hashing). A full segment splits in two, so that growth never rehashes the whole table at once: the pause is that
// of one segment, however large the state. A rehash reads the slots only, because the tag gives the home slot.
//
// A segment probes linearly and removes by shifting back; it never holds tombstones.
type index struct {
	dir   []segment // 1<<depth entries; a segment stands at every entry that its local depth leaves open
	shift uint      // 64 - depth
	depth uint8
	n     int
}

type segment struct {
	slots []uint64
	used  *int32 // shared by the copies of the segment in the directory
	depth uint8  // bits of the tag that select the segment
	bits  uint8  // log2 of the number of slots
}

const (
	firstSegmentBits = 3
	maxSegmentBits   = 16
	maxIndexDepth    = 16
)

func (x *index) init() {
	x.dir = []segment{newSegment(0, firstSegmentBits)}
	x.depth, x.shift, x.n = 0, 64, 0
}

func newSegment(depth, bits uint8) segment {
	return segment{slots: make([]uint64, 1<<bits), used: new(int32), depth: depth, bits: bits}
}

// segment returns the segment of a hash.
func (x *index) segment(h uint64) *segment { return &x.dir[h>>x.shift] }

// home is the first slot to look at: the tag's bits below the ones that select the segment.
func (s *segment) home(h uint64) uint64 {
	return h >> 32 << (32 + s.depth) >> (64 - s.bits)
}

// add enters an id that is not there, after find ended at slot i.
func (x *index) add(h uint64, s *segment, i uint64, id uint32) {
	s.slots[i] = h>>32<<32 | uint64(id+1)
	x.n++
	*s.used++
	if u := uint64(*s.used); u*4 > uint64(len(s.slots))*3 {
		x.grow(h)
	}
}

// put enters an id without looking for an equal key.
func (x *index) put(h uint64, id uint32) {
	s := x.segment(h)
	mask := uint64(len(s.slots) - 1)
	i := s.home(h)
	for s.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.add(h, s, i, id)
}

// find returns the slot of an id; the id is there.
func (x *index) find(h uint64, id uint32) (s *segment, i uint64) {
	s = x.segment(h)
	mask := uint64(len(s.slots) - 1)
	want := h>>32<<32 | uint64(id+1)
	for i = s.home(h); s.slots[i] != want; i = (i + 1) & mask {
		if s.slots[i] == 0 {
			panic("BUG: an id is missing in its index")
		}
	}
	return s, i
}

// set makes a slot point to another id with the same hash.
func (s *segment) set(i uint64, id uint32) { s.slots[i] = s.slots[i]>>32<<32 | uint64(id+1) }

// remove empties slot i and moves back what had been pushed on by it.
func (x *index) remove(s *segment, i uint64) {
	x.n--
	*s.used--
	mask := uint64(len(s.slots) - 1)
	for {
		s.slots[i] = 0
		j := i
		for {
			j = (j + 1) & mask
			e := s.slots[j]
			if e == 0 {
				return
			}
			if (j-s.home(e))&mask >= (j-i)&mask {
				s.slots[i] = e
				i = j
				break
			}
		}
	}
}

// grow makes room in the segment of a hash.
func (x *index) grow(h uint64) {
	s := x.segment(h)
	if s.bits < maxSegmentBits || s.depth == maxIndexDepth {
		x.replace(h, s.rehash(s.depth, s.bits+1, func(uint64) bool { return true }))
		return
	}
	if s.depth == x.depth {
		wider := make([]segment, 0, 2*len(x.dir))
		for _, s := range x.dir {
			wider = append(wider, s, s)
		}
		x.dir = wider
		x.depth++
		x.shift--
		s = x.segment(h)
	}
	bit := uint64(1) << (63 - s.depth)
	zero := s.rehash(s.depth+1, s.bits, func(e uint64) bool { return e&bit == 0 })
	one := s.rehash(s.depth+1, s.bits, func(e uint64) bool { return e&bit != 0 })
	x.replace(h&^bit, zero)
	x.replace(h|bit, one)
}

func (s *segment) rehash(depth, bits uint8, want func(slot uint64) bool) segment {
	out := newSegment(depth, bits)
	mask := uint64(len(out.slots) - 1)
	for _, e := range s.slots {
		if e == 0 || !want(e) {
			continue
		}
		i := out.home(e)
		for out.slots[i] != 0 {
			i = (i + 1) & mask
		}
		out.slots[i] = e
		*out.used++
	}
	return out
}

// replace puts a segment at all directory entries that its depth leaves open for the hash.
func (x *index) replace(h uint64, s segment) {
	span := uint64(1) << (x.depth - s.depth)
	from := h >> x.shift &^ (span - 1)
	for i := range span {
		x.dir[from+i] = s
	}
}

// bytes returns the memory the index holds.
func (x *index) bytes() int64 {
	n := int64(0)
	for i := 0; i < len(x.dir); {
		s := &x.dir[i]
		n += int64(8 * len(s.slots))
		i += 1 << (x.depth - s.depth)
	}
	return n + int64(48*len(x.dir))
}

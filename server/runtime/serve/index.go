package serve

// index finds the slot of a record by its hash: linear probing over words that hold 32 bits of the hash and the slot
// plus one. Deleting shifts the entries behind it back, so that there are no tombstones.
type index struct {
	words []uint64
	n     int
}

func (x *index) init(capacity int) {
	size := 64
	for size*3 < capacity*4 {
		size *= 2
	}
	x.words, x.n = make([]uint64, size), 0
}

func (x *index) mask() uint64 { return uint64(len(x.words) - 1) }

// find returns the place of the entry that same accepts, or of the empty word where it belongs.
func (x *index) find(h uint64, same func(slot uint32) bool) (at uint64, slot uint32, ok bool) {
	m := x.mask()
	for at = h & m; ; at = (at + 1) & m {
		w := x.words[at]
		if w == 0 {
			return at, 0, false
		}
		if w>>32 == h>>32 && same(uint32(w)-1) {
			return at, uint32(w) - 1, true
		}
	}
}

// put fills the empty word that find returned. It reports whether the table should grow.
func (x *index) put(at, h uint64, slot uint32) (full bool) {
	x.words[at] = h>>32<<32 | uint64(slot+1)
	x.n++
	return x.n*4 > len(x.words)*3
}

// remove empties a word. hash gives the hash of the record in a slot, to see which entries may move back.
func (x *index) remove(at uint64, hash func(slot uint32) uint64) {
	m := x.mask()
	x.n--
	for next := (at + 1) & m; ; next = (next + 1) & m {
		w := x.words[next]
		if w == 0 {
			break
		}
		home := hash(uint32(w)-1) & m
		// The entry may fill the hole when its home is not between the hole and itself.
		if (next-home)&m >= (next-at)&m {
			x.words[at] = w
			at = next
		}
	}
	x.words[at] = 0
}

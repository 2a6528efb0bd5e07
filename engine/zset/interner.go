package zset

// Interner gives equal texts one small code, in order of first appearance. It is the growing side of a Dict.
type Interner struct {
	slots []uint64 // upper 32 bits of the hash, code + 1
	offs  []uint32
	bytes []byte
	seen  uint64 // calls of Code
	dict  *Dict  // the last snapshot
	root  *lineage
}

// A dictionary pays while few texts are many cells. These bounds decide that it does not any more. The share of
// new texts is judged twice: early, to find the columns where nearly every text is new (ids), and late, when also
// a column of a few hundred equally frequent texts has shown that they come again.
const (
	internMaxEntries = 4096
	internMaxBytes   = 1 << 20
	internEarly      = 256
	internLate       = 4096

	// internRetry is the number of rows after which a column that lost its dictionary gets another chance.
	internRetry = 1 << 18
)

// emptyDict stands in a column of NULLs only, so that code 0 is always an entry.
var emptyDict = &Dict{Offs: []uint32{0, 0}}

// lineage is the identity that the snapshots of one interner share.
type lineage struct{ _ byte }

// NewInterner returns an empty interner.
func NewInterner() *Interner {
	return &Interner{slots: make([]uint64, 64), offs: []uint32{0}, root: new(lineage)}
}

// Len returns the number of distinct texts.
func (t *Interner) Len() int { return len(t.offs) - 1 }

// Code returns the code of a text.
func (t *Interner) Code(s []byte) uint32 {
	t.seen++
	h := Hash(s)
	mask := uint64(len(t.slots) - 1)
	i := h & mask
	for {
		e := t.slots[i]
		if e == 0 {
			break
		}
		if e>>32 == h>>32 {
			code := uint32(e) - 1
			if string(t.bytes[t.offs[code]:t.offs[code+1]]) == string(s) {
				return code
			}
		}
		i = (i + 1) & mask
	}
	code := uint32(t.Len())
	t.bytes = append(t.bytes, s...)
	t.offs = append(t.offs, uint32(len(t.bytes)))
	t.slots[i] = h>>32<<32 | uint64(code+1)
	if 2*t.Len() > len(t.slots) {
		t.grow()
	}
	return code
}

func (t *Interner) grow() {
	t.slots = make([]uint64, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for code := range uint32(t.Len()) {
		h := Hash(t.bytes[t.offs[code]:t.offs[code+1]])
		i := h & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = h>>32<<32 | uint64(code+1)
	}
}

// Worth reports whether the texts seen so far repeat enough for a dictionary.
func (t *Interner) Worth() bool {
	n := uint64(t.Len())
	switch {
	case n > internMaxEntries || len(t.bytes) > internMaxBytes:
		return false
	case t.seen >= internLate:
		return 2*n <= t.seen
	case t.seen >= internEarly:
		return 32*n <= 31*t.seen
	}
	return true
}

// Dict returns the texts so far as an immutable dictionary. It is the same one until a new text arrives, and a
// later one extends it (see Dict.Extends).
func (t *Interner) Dict() *Dict {
	if t.dict == nil || t.dict.Len() != t.Len() {
		// The slices are only appended to: what the snapshot sees never changes.
		t.dict = &Dict{Offs: t.offs[:len(t.offs):len(t.offs)], Bytes: t.bytes[:len(t.bytes):len(t.bytes)], root: t.root}
	}
	return t.dict
}

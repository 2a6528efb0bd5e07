package zset

import (
	"encoding/binary"
	"math"
)

// Arrangement is a keyed Z-set at rest: for each key a list of canonical records with their weights. It is one
// side of a join. A record leaves when its weight becomes zero; a negative weight is kept.
//
// Match gives the records of a key in the order in which they came; Each goes by slot, and a freed slot is used
// again, the last freed first. Both depend on the sequence of calls only.
//
// A key that occurs in its record (the key columns stand together in the record: first, by preference) is stored
// once. A key with few records is a list that is searched; one with many gets an index of its records as well, so
// that adding and removing stay cheap when one key has a million of them.
//
// An Arrangement belongs to one goroutine.
type Arrangement struct {
	ix   index // key -> first record of its list
	many index // record -> slot, for the keys with many records
	ar   arena // payload: see below
	wide map[uint32]int64
}

// The payload of a record: four words, the record, and the key when it does not occur in the record.
//
//	0  next   slot + 1 of the next record of the key; in the last one endMark, the flag and the number of records
//	4  prev   slot + 1 of the one before; in the first one that of the last
//	8  weight 32 bits; wideMark: it is in the map wide
//	12 key    offset and length, 16 bits each; ownKey: the key stands behind the record, then its length, 32 bits
const (
	recNext   = 0
	recPrev   = 4
	recWeight = 8
	recKey    = 12
	recPrefix = 16

	endMark   = 1 << 31
	manyFlag  = 1 << 30
	countMask = manyFlag - 1
	ownKey    = math.MaxUint32
	wideMark  = math.MinInt32

	// A list longer than manyFrom gets an index, which it loses at manyTo records.
	manyFrom = 8
	manyTo   = 4
)

// NewArrangement returns an empty arrangement.
func NewArrangement() *Arrangement {
	a := &Arrangement{}
	a.Reset()
	return a
}

// Reset removes all records and frees the memory.
func (a *Arrangement) Reset() {
	*a = Arrangement{}
	a.ix.init()
	a.many.init()
}

// Len returns the number of distinct records, each counted once a key.
func (a *Arrangement) Len() int { return a.ar.count() }

// Keys returns the number of keys that have a record.
func (a *Arrangement) Keys() int { return a.ix.n }

// StateBytes returns the memory of the arrangement.
func (a *Arrangement) StateBytes() int64 {
	return a.ar.bytes() + a.ix.bytes() + a.many.bytes() + int64(32*len(a.wide))
}

func word(p []byte, at int) uint32       { return binary.LittleEndian.Uint32(p[at:]) }
func setWord(p []byte, at int, v uint32) { binary.LittleEndian.PutUint32(p[at:], v) }

// keyIn returns the key of a payload.
func keyIn(p []byte) []byte {
	k := word(p, recKey)
	if k == ownKey {
		n := len(p) - 4
		return p[n-int(word(p, n)) : n]
	}
	from := recPrefix + k>>16
	return p[from : from+k&0xffff]
}

// recordIn returns the record of a payload.
func recordIn(p []byte) []byte {
	if word(p, recKey) == ownKey {
		n := len(p) - 4
		return p[recPrefix : n-int(word(p, n))]
	}
	return p[recPrefix:]
}

func (a *Arrangement) weight(id uint32, p []byte) int64 {
	w := int32(word(p, recWeight))
	if w == wideMark {
		return a.wide[id]
	}
	return int64(w)
}

func (a *Arrangement) setWeight(id uint32, p []byte, w int64) {
	if w > wideMark && w <= math.MaxInt32 {
		if int32(word(p, recWeight)) == wideMark {
			delete(a.wide, id)
		}
		setWord(p, recWeight, uint32(int32(w)))
		return
	}
	if a.wide == nil {
		a.wide = map[uint32]int64{}
	}
	a.wide[id] = w
	setWord(p, recWeight, uint32(1<<31))
}

// probe returns the slot of the key in ix, or the empty slot where it would go.
func (a *Arrangement) probe(s *segment, h uint64, key []byte) (i uint64, ok bool) {
	slots := s.slots
	mask := uint64(len(slots) - 1)
	for i = s.home(h) & mask; ; i = (i + 1) & mask {
		e := slots[i&mask]
		if e == 0 {
			return i, false
		}
		if (e^h)>>32 == 0 && string(keyIn(a.ar.payload(uint32(e)-1))) == string(key) {
			return i, true
		}
	}
}

// manyHash is the hash of a record of a key in the index of the long lists.
func manyHash(h uint64, rec []byte) uint64 { return mix(h^hashK1, Hash(rec)^hashK0) }

// probeMany finds a record of a key with many records.
func (a *Arrangement) probeMany(h2 uint64, key, rec []byte) (id uint32, ok bool) {
	s := a.many.segment(h2)
	mask := uint64(len(s.slots) - 1)
	for i := s.home(h2); ; i = (i + 1) & mask {
		e := s.slots[i]
		if e == 0 {
			return 0, false
		}
		if (e^h2)>>32 == 0 {
			p := a.ar.payload(uint32(e) - 1)
			if string(recordIn(p)) == string(rec) && string(keyIn(p)) == string(key) {
				return uint32(e) - 1, true
			}
		}
	}
}

// Matches walks the records of one key. It is good until the next change of the arrangement.
type Matches struct {
	a    *Arrangement
	next uint32 // slot + 1; endMark at the end
}

// Find returns the records of a key.
func (a *Arrangement) Find(key []byte) Matches { return a.FindHash(Hash(key), key) }

// FindHash is Find with the key's hash at hand.
func (a *Arrangement) FindHash(h uint64, key []byte) Matches {
	s := a.ix.segment(h)
	i, ok := a.probe(s, h, key)
	if !ok {
		return Matches{next: endMark}
	}
	return Matches{a: a, next: uint32(s.slots[i])}
}

// Next returns the next record and its weight; ok is false after the last one.
func (m *Matches) Next() (rec []byte, w int64, ok bool) {
	if m.next&endMark != 0 {
		return nil, 0, false
	}
	id := m.next - 1
	p := m.a.ar.payload(id)
	m.next = word(p, recNext)
	return recordIn(p), m.a.weight(id, p), true
}

// Match calls f for every record of a key. f must not change the arrangement.
func (a *Arrangement) Match(key []byte, f func(rec []byte, w int64)) {
	m := a.Find(key)
	for {
		rec, w, ok := m.Next()
		if !ok {
			return
		}
		f(rec, w)
	}
}

// Count returns the number of distinct records of a key.
func (a *Arrangement) Count(key []byte) int {
	h := Hash(key)
	s := a.ix.segment(h)
	i, ok := a.probe(s, h, key)
	if !ok {
		return 0
	}
	head := a.ar.payload(uint32(s.slots[i]) - 1)
	tail := a.ar.payload(word(head, recPrev) - 1)
	return int(word(tail, recNext) & countMask)
}

// TouchBatch brings what lookups of the keys will need into the cache. It fills keys.Hash. AddBatch does it by
// itself; a caller that calls FindHash key by key calls it first.
func (a *Arrangement) TouchBatch(keys *KeyBatch) {
	keys.HashAll()
	a.ar.touch(&a.ix, keys.Hash)
}

// AddBatch adds record i to key i with weight i (nil: +1 each). before and after, when not nil, take the weight of
// each record around its own step. It fills keys.Hash.
func (a *Arrangement) AddBatch(keys, recs *KeyBatch, weight, before, after []int64) {
	a.TouchBatch(keys)
	for i, h := range keys.Hash {
		w := int64(1)
		if weight != nil {
			w = weight[i]
		}
		x, y := a.AddHash(h, keys.Key(i), recs.Key(i), w)
		if before != nil {
			before[i] = x
		}
		if after != nil {
			after[i] = y
		}
	}
}

// Each calls f for every record by slot until f returns false. f must not change the arrangement.
func (a *Arrangement) Each(f func(key, rec []byte, w int64) bool) {
	for id := range uint32(a.ar.refs.Len()) {
		if !a.ar.alive(id) {
			continue
		}
		p := a.ar.payload(id)
		if !f(keyIn(p), recordIn(p), a.weight(id, p)) {
			return
		}
	}
}

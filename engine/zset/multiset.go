package zset

import (
	"encoding/binary"
	"fmt"
)

// Multiset is a Z-set at rest: canonical records with their weights. A record leaves when its weight becomes zero;
// a negative weight is kept (a debt). A record keeps its slot while it is there, and a freed slot is used again,
// the last freed first; iteration goes by slot. It depends on the sequence of calls only.
//
// A Multiset belongs to one goroutine.
type Multiset struct {
	ix index
	ar arena // payload: weight, record
}

const multisetPrefix = 8

// NewMultiset returns an empty multiset.
func NewMultiset() *Multiset {
	m := &Multiset{}
	m.ix.init()
	return m
}

// Len returns the number of distinct records.
func (m *Multiset) Len() int { return m.ar.count() }

// StateBytes returns the memory of the multiset.
func (m *Multiset) StateBytes() int64 { return m.ar.bytes() + m.ix.bytes() }

// Weight returns the weight of a record, 0 when it is not there.
func (m *Multiset) Weight(rec []byte) int64 {
	h := Hash(rec)
	s := m.ix.segment(h)
	i, ok := m.probe(s, h, rec)
	if !ok {
		return 0
	}
	return weightOf(m.ar.payload(uint32(s.slots[i]) - 1))
}

func weightOf(p []byte) int64 { return int64(binary.LittleEndian.Uint64(p)) }

func (m *Multiset) probe(s *segment, h uint64, rec []byte) (i uint64, ok bool) {
	slots := s.slots
	mask := uint64(len(slots) - 1)
	for i = s.home(h) & mask; ; i = (i + 1) & mask {
		e := slots[i&mask]
		if e == 0 {
			return i, false
		}
		if (e^h)>>32 == 0 && string(m.ar.payload(uint32(e) - 1)[multisetPrefix:]) == string(rec) {
			return i, true
		}
	}
}

// Add adds w to the weight of a record and returns the weight before and after.
func (m *Multiset) Add(rec []byte, w int64) (before, after int64) {
	return m.AddHash(Hash(rec), rec, w)
}

// AddHash is Add with the record's hash at hand.
func (m *Multiset) AddHash(h uint64, rec []byte, w int64) (before, after int64) {
	s := m.ix.segment(h)
	i, ok := m.probe(s, h, rec)
	if !ok {
		if w != 0 {
			m.enter(h, s, i, rec, w)
		}
		return 0, w
	}
	id := uint32(s.slots[i]) - 1
	p := m.ar.payload(id)
	before = weightOf(p)
	after = before + w
	if after == 0 {
		m.ix.remove(s, i)
		m.ar.release(id)
	} else {
		binary.LittleEndian.PutUint64(p, uint64(after))
	}
	return before, after
}

func (m *Multiset) enter(h uint64, s *segment, i uint64, rec []byte, w int64) {
	id, p := m.ar.alloc(multisetPrefix + len(rec))
	binary.LittleEndian.PutUint64(p, uint64(w))
	copy(p[multisetPrefix:], rec)
	m.ix.add(h, s, i, id)
}

// AddBatch adds the records with their weights (nil: +1 each). before and after, when not nil, take the weights of
// each record around its own step. It fills recs.Hash.
func (m *Multiset) AddBatch(recs *KeyBatch, weight, before, after []int64) {
	recs.HashAll()
	m.ar.touch(&m.ix, recs.Hash)
	for i, h := range recs.Hash {
		w := int64(1)
		if weight != nil {
			w = weight[i]
		}
		x, y := m.AddHash(h, recs.Key(i), w)
		if before != nil {
			before[i] = x
		}
		if after != nil {
			after[i] = y
		}
	}
}

// Each calls f for every record by slot until f returns false. The record is valid during the call; f must not
// change the multiset.
func (m *Multiset) Each(f func(rec []byte, w int64) bool) {
	for id := range uint32(m.ar.refs.Len()) {
		if !m.ar.alive(id) {
			continue
		}
		p := m.ar.payload(id)
		if !f(p[multisetPrefix:], weightOf(p)) {
			return
		}
	}
}

// Reset removes all records and frees the memory.
func (m *Multiset) Reset() {
	m.ix, m.ar = index{}, arena{}
	m.ix.init()
}

// AppendSnapshot appends the state: version, slots, free slots, then weight and record by slot.
func (m *Multiset) AppendSnapshot(dst []byte) []byte {
	dst, at := beginSnapshot(dst, snapMultiset, &m.ar)
	dst = m.ar.appendIDs(dst)
	m.Each(func(rec []byte, w int64) bool {
		dst = binary.AppendVarint(dst, w)
		dst = append(binary.AppendUvarint(dst, uint64(len(rec))), rec...)
		return true
	})
	return endSnapshot(dst, at)
}

// Restore replaces the state with a snapshot's. After an error the multiset is empty.
func (m *Multiset) Restore(b []byte) error {
	m.Reset()
	if err := m.restore(b); err != nil {
		m.Reset()
		return fmt.Errorf("restore multiset: %w", err)
	}
	return nil
}

func (m *Multiset) restore(b []byte) error {
	r, err := openSnapshot(b, snapMultiset)
	if err != nil {
		return err
	}
	live, err := m.ar.restoreIDs(r)
	if err != nil {
		return err
	}
	for _, id := range live {
		w, rec := r.varint(), r.text()
		if r.failed() {
			return r.err()
		}
		h := Hash(rec)
		s := m.ix.segment(h)
		i, ok := m.probe(s, h, rec)
		if ok || w == 0 {
			return fmt.Errorf("%w: a record is there twice or has no weight", ErrSnapshot)
		}
		p := m.ar.place(id, multisetPrefix+len(rec))
		binary.LittleEndian.PutUint64(p, uint64(w))
		copy(p[multisetPrefix:], rec)
		m.ix.add(h, s, i, id)
	}
	return r.end()
}

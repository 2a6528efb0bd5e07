package zset

import (
	"encoding/binary"
	"fmt"
)

// KeyTable gives every distinct key a dense id: 0, 1, 2, ... in order of arrival. An id that was removed is given
// to a later key, the last removed first, so that arrays beside the table (see Slab) stay as small as the largest
// number of keys. Ids and iteration depend on the sequence of calls only.
//
//	t := zset.NewKeyTable()
//	id, added := t.Insert(key)
//
// A KeyTable belongs to one goroutine.
type KeyTable struct {
	ix index
	ar arena
}

// NewKeyTable returns an empty table.
func NewKeyTable() *KeyTable {
	t := &KeyTable{}
	t.ix.init()
	return t
}

// Len returns the number of keys.
func (t *KeyTable) Len() int { return t.ar.count() }

// Cap returns the number of ids given out so far: every id is below it.
func (t *KeyTable) Cap() int { return t.ar.refs.Len() }

// Bytes returns the memory of the table.
func (t *KeyTable) Bytes() int64 { return t.ar.bytes() + t.ix.bytes() }

// StateBytes is Bytes under the name that all state structures share.
func (t *KeyTable) StateBytes() int64 { return t.Bytes() }

// Key returns the key of an id, nil when the id has none. It is valid until the next change of the table.
func (t *KeyTable) Key(id uint32) []byte {
	if !t.ar.alive(id) {
		return nil
	}
	return t.ar.payload(id)
}

// Find returns the id of a key.
func (t *KeyTable) Find(key []byte) (id uint32, ok bool) { return t.FindHash(Hash(key), key) }

// FindHash is Find with the key's hash at hand.
func (t *KeyTable) FindHash(h uint64, key []byte) (id uint32, ok bool) {
	s := t.ix.segment(h)
	i, ok := t.probe(s, h, key)
	if !ok {
		return 0, false
	}
	return uint32(s.slots[i]) - 1, true
}

// probe returns the slot of the key, or the empty slot where it would go.
func (t *KeyTable) probe(s *segment, h uint64, key []byte) (i uint64, ok bool) {
	slots := s.slots
	mask := uint64(len(slots) - 1)
	for i = s.home(h) & mask; ; i = (i + 1) & mask {
		e := slots[i&mask]
		if e == 0 {
			return i, false
		}
		if (e^h)>>32 == 0 && string(t.ar.payload(uint32(e)-1)) == string(key) {
			return i, true
		}
	}
}

// Insert returns the id of a key and whether the key is new.
func (t *KeyTable) Insert(key []byte) (id uint32, added bool) { return t.InsertHash(Hash(key), key) }

// InsertHash is Insert with the key's hash at hand.
func (t *KeyTable) InsertHash(h uint64, key []byte) (id uint32, added bool) {
	s := t.ix.segment(h)
	i, ok := t.probe(s, h, key)
	if ok {
		return uint32(s.slots[i]) - 1, false
	}
	id, p := t.ar.alloc(len(key))
	copy(p, key)
	t.ix.add(h, s, i, id)
	return id, true
}

// Remove forgets the key of an id. The id may be given to another key from then on.
func (t *KeyTable) Remove(id uint32) {
	if !t.ar.alive(id) {
		return
	}
	s, i := t.ix.find(Hash(t.ar.payload(id)), id)
	t.ix.remove(s, i)
	t.ar.release(id)
}

// FindBatch looks up all keys; ids[i] is NoID for a key that is not there. It fills keys.Hash.
func (t *KeyTable) FindBatch(keys *KeyBatch, ids []uint32) {
	keys.HashAll()
	t.touch(keys.Hash)
	for i, h := range keys.Hash {
		id, ok := t.FindHash(h, keys.Key(i))
		if !ok {
			id = NoID
		}
		ids[i] = id
	}
}

// InsertBatch looks up all keys and inserts the ones that are not there. It fills keys.Hash and returns how many
// are new. New ids are not always the largest ones: see KeyTable.
func (t *KeyTable) InsertBatch(keys *KeyBatch, ids []uint32) (added int) {
	keys.HashAll()
	t.touch(keys.Hash)
	for i, h := range keys.Hash {
		id, isNew := t.InsertHash(h, keys.Key(i))
		if isNew {
			added++
		}
		ids[i] = id
	}
	return added
}

// NoID stands for "not there" in a list of ids.
const NoID = ^uint32(0)

func (t *KeyTable) touch(hashes []uint64) { t.ar.touch(&t.ix, hashes) }

// Each calls f for every key in the order of the ids until f returns false.
func (t *KeyTable) Each(f func(id uint32, key []byte) bool) {
	for id := range uint32(t.ar.refs.Len()) {
		if t.ar.alive(id) && !f(id, t.ar.payload(id)) {
			return
		}
	}
}

// Reset removes all keys and frees the memory.
func (t *KeyTable) Reset() {
	t.ix, t.ar = index{}, arena{}
	t.ix.init()
}

// AppendSnapshot appends the table's state: version, the number of ids, the keys by id, the free ids.
func (t *KeyTable) AppendSnapshot(dst []byte) []byte {
	dst, at := beginSnapshot(dst, snapKeyTable, &t.ar)
	dst = t.ar.appendIDs(dst)
	for id := range uint32(t.ar.refs.Len()) {
		if t.ar.alive(id) {
			key := t.ar.payload(id)
			dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
		}
	}
	return endSnapshot(dst, at)
}

// Restore replaces the state with a snapshot's. After an error the table is empty.
func (t *KeyTable) Restore(b []byte) error {
	t.Reset()
	err := t.restore(b)
	if err != nil {
		t.Reset()
		return fmt.Errorf("restore key table: %w", err)
	}
	return nil
}

func (t *KeyTable) restore(b []byte) error {
	r, err := openSnapshot(b, snapKeyTable)
	if err != nil {
		return err
	}
	live, err := t.ar.restoreIDs(r)
	if err != nil {
		return err
	}
	for _, id := range live {
		key := r.text()
		if r.failed() {
			return r.err()
		}
		h := Hash(key)
		s := t.ix.segment(h)
		i, ok := t.probe(s, h, key)
		if ok {
			return fmt.Errorf("%w: a key is there twice", ErrSnapshot)
		}
		copy(t.ar.place(id, len(key)), key)
		t.ix.add(h, s, i, id)
	}
	return r.end()
}

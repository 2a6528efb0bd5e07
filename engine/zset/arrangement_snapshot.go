package zset

import (
	"encoding/binary"
	"fmt"
)

// AppendSnapshot appends the state: version, slots, free slots, then by slot the next slot of the list (+1, 0 at
// the end), the weight, the record, and the key's place in it (+1, and its length) or 0 and the key.
func (a *Arrangement) AppendSnapshot(dst []byte) []byte {
	dst, at := beginSnapshot(dst, snapArrangement, &a.ar)
	dst = a.ar.appendIDs(dst)
	for id := range uint32(a.ar.refs.Len()) {
		if !a.ar.alive(id) {
			continue
		}
		p := a.ar.payload(id)
		next := word(p, recNext)
		if next&endMark != 0 {
			next = 0
		}
		rec := recordIn(p)
		dst = binary.AppendUvarint(dst, uint64(next))
		dst = binary.AppendVarint(dst, a.weight(id, p))
		dst = append(binary.AppendUvarint(dst, uint64(len(rec))), rec...)
		if k := word(p, recKey); k == ownKey {
			key := keyIn(p)
			dst = append(binary.AppendUvarint(append(dst, 0), uint64(len(key))), key...)
		} else {
			dst = binary.AppendUvarint(dst, uint64(k>>16+1))
			dst = binary.AppendUvarint(dst, uint64(k&0xffff))
		}
	}
	return endSnapshot(dst, at)
}

// Restore replaces the state with a snapshot's. After an error the arrangement is empty.
func (a *Arrangement) Restore(b []byte) error {
	a.Reset()
	if err := a.restore(b); err != nil {
		a.Reset()
		return fmt.Errorf("restore arrangement: %w", err)
	}
	return nil
}

func (a *Arrangement) restore(b []byte) error {
	r, err := openSnapshot(b, snapArrangement)
	if err != nil {
		return err
	}
	live, err := a.ar.restoreIDs(r)
	if err != nil {
		return err
	}
	next := make([]uint32, a.ar.refs.Len()) // slot + 1
	follows := make([]bool, a.ar.refs.Len())
	for _, id := range live {
		n, w, rec := r.uvarint(), r.varint(), r.text()
		var key []byte
		if at := r.uvarint(); at == 0 {
			key = r.text()
		} else if size := r.uvarint(); at-1 > uint64(len(rec)) || size > uint64(len(rec))-(at-1) {
			r.bad("a key lies outside of its record")
		} else {
			key = rec[at-1 : at-1+size]
		}
		if r.failed() {
			return r.err()
		}
		if w == 0 || n > uint64(len(next)) || n != 0 && follows[n-1] {
			return fmt.Errorf("%w: slot %d has no weight or a wrong next slot", ErrSnapshot, id)
		}
		if n != 0 {
			next[id], follows[n-1] = uint32(n), true
		}
		a.fill(id, a.ar.place(id, payloadSize(key, rec)), key, rec, w)
	}
	if err := r.end(); err != nil {
		return err
	}
	return a.relink(live, next, follows)
}

// relink rebuilds the lists from the next slots: every list begins at a slot that follows none, and together they
// hold every record once.
func (a *Arrangement) relink(live, next []uint32, follows []bool) error {
	left := len(live)
	for _, head := range live {
		if follows[head] {
			continue
		}
		key := keyIn(a.ar.payload(head))
		h := Hash(key)
		s := a.ix.segment(h)
		i, ok := a.probe(s, h, key)
		if ok {
			return fmt.Errorf("%w: a key has two lists", ErrSnapshot)
		}
		p := a.ar.payload(head)
		setWord(p, recNext, endMark|1)
		setWord(p, recPrev, head+1)
		a.ix.add(h, s, i, head)
		left--
		for id := next[head]; id != 0; id = next[id-1] {
			if !a.ar.alive(id - 1) {
				return fmt.Errorf("%w: a list goes on in a free slot", ErrSnapshot)
			}
			p := a.ar.payload(id - 1)
			rec := recordIn(p)
			if string(keyIn(p)) != string(key) {
				return fmt.Errorf("%w: a list has two keys", ErrSnapshot)
			}
			if _, ok := a.findRecord(h, head, key, rec); ok {
				return fmt.Errorf("%w: a record is there twice", ErrSnapshot)
			}
			a.append(h, head, id-1, key, rec)
			left--
		}
	}
	if left != 0 {
		return fmt.Errorf("%w: %d records are in no list", ErrSnapshot, left)
	}
	return nil
}

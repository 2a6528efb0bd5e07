package zset

import "bytes"

// Add adds w to the weight of a record of a key and returns the weight before and after.
func (a *Arrangement) Add(key, rec []byte, w int64) (before, after int64) {
	return a.AddHash(Hash(key), key, rec, w)
}

// AddHash is Add with the key's hash at hand.
func (a *Arrangement) AddHash(h uint64, key, rec []byte, w int64) (before, after int64) {
	s := a.ix.segment(h)
	i, ok := a.probe(s, h, key)
	if !ok {
		if w != 0 {
			id := a.enter(key, rec, w)
			p := a.ar.payload(id)
			setWord(p, recNext, endMark|1)
			setWord(p, recPrev, id+1)
			a.ix.add(h, s, i, id)
		}
		return 0, w
	}
	head := uint32(s.slots[i]) - 1
	id, ok := a.findRecord(h, head, key, rec)
	if !ok {
		if w != 0 {
			a.append(h, head, a.enter(key, rec, w), key, rec)
		}
		return 0, w
	}
	p := a.ar.payload(id)
	before = a.weight(id, p)
	after = before + w
	if after != 0 {
		a.setWeight(id, p, after)
		return before, after
	}
	a.unlink(h, s, i, head, id)
	delete(a.wide, id)
	a.ar.release(id)
	return before, 0
}

// enter stores a record outside of every list.
func (a *Arrangement) enter(key, rec []byte, w int64) (id uint32) {
	id, p := a.ar.alloc(payloadSize(key, rec))
	a.fill(id, p, key, rec, w)
	return id
}

// keyPlace returns where the key stands in the record, or ownKey.
func keyPlace(key, rec []byte) uint32 {
	at := 0
	if !bytes.HasPrefix(rec, key) {
		at = bytes.Index(rec, key)
	}
	if at < 0 || at > 0x7fff || len(key) > 0xffff {
		return ownKey
	}
	return uint32(at)<<16 | uint32(len(key))
}

func payloadSize(key, rec []byte) int {
	n := recPrefix + len(rec)
	if keyPlace(key, rec) == ownKey {
		n += len(key) + 4
	}
	return n
}

func (a *Arrangement) fill(id uint32, p, key, rec []byte, w int64) {
	k := keyPlace(key, rec)
	setWord(p, recKey, k)
	n := copy(p[recPrefix:], rec)
	if k == ownKey {
		n += copy(p[recPrefix+n:], key)
		setWord(p, recPrefix+n, uint32(len(key)))
	}
	setWord(p, recWeight, 0) // not the mark that the place may hold from before
	a.setWeight(id, p, w)
}

// tail returns the last record of a list and its end word.
func (a *Arrangement) tail(head uint32) (id uint32, p []byte, end uint32) {
	id = word(a.ar.payload(head), recPrev) - 1
	p = a.ar.payload(id)
	return id, p, word(p, recNext)
}

func (a *Arrangement) findRecord(h uint64, head uint32, key, rec []byte) (id uint32, ok bool) {
	for next, steps := head+1, 0; ; steps++ {
		id = next - 1
		p := a.ar.payload(id)
		if string(recordIn(p)) == string(rec) {
			return id, true
		}
		if next = word(p, recNext); next&endMark != 0 {
			return 0, false
		}
		// A list this long may have an index; its end word says so.
		if steps == manyTo {
			if _, _, end := a.tail(head); end&manyFlag != 0 {
				return a.probeMany(manyHash(h, rec), key, rec)
			}
		}
	}
}

// append puts a record at the end of a list.
func (a *Arrangement) append(h uint64, head, id uint32, key, rec []byte) {
	last, tail, end := a.tail(head)
	p := a.ar.payload(id)
	end++
	setWord(tail, recNext, id+1)
	setWord(p, recPrev, last+1)
	setWord(p, recNext, end)
	setWord(a.ar.payload(head), recPrev, id+1)
	switch {
	case end&manyFlag != 0:
		a.many.put(manyHash(h, rec), id)
	case end&countMask > manyFrom:
		setWord(p, recNext, end|manyFlag)
		for next := head + 1; next&endMark == 0; {
			p := a.ar.payload(next - 1)
			a.many.put(manyHash(h, recordIn(p)), next-1)
			next = word(p, recNext)
		}
	}
}

// unlink takes a record out of the list of its key, whose first record stands in slot i of s.
func (a *Arrangement) unlink(h uint64, s *segment, i uint64, head, id uint32) {
	p := a.ar.payload(id)
	last, tail, end := a.tail(head)
	if end&countMask == 1 {
		a.ix.remove(s, i)
		return
	}
	if end&manyFlag != 0 {
		ms, mi := a.many.find(manyHash(h, recordIn(p)), id)
		a.many.remove(ms, mi)
	}
	next, prev := word(p, recNext), word(p, recPrev)
	end--
	switch id {
	case head:
		head = next - 1
		setWord(a.ar.payload(head), recPrev, prev)
		s.set(i, head)
		setWord(tail, recNext, end)
	case last:
		last = prev - 1
		setWord(a.ar.payload(last), recNext, end)
		setWord(a.ar.payload(head), recPrev, prev)
	default:
		setWord(a.ar.payload(prev-1), recNext, next)
		setWord(a.ar.payload(next-1), recPrev, prev)
		setWord(tail, recNext, end)
	}
	if end&manyFlag != 0 && end&countMask <= manyTo {
		setWord(a.ar.payload(last), recNext, end&^manyFlag)
		for next := head + 1; next&endMark == 0; {
			p := a.ar.payload(next - 1)
			ms, mi := a.many.find(manyHash(h, recordIn(p)), next-1)
			a.many.remove(ms, mi)
			next = word(p, recNext)
		}
	}
}

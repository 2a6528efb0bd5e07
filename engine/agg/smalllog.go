package agg

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// smallLogs keeps the logs of groups with few values in blocks of 4, 16 and 64 entries. A ref names class, place
// (plus one, so that a ref is never 0) and length.
type smallLogs struct {
	four      zset.Slab[[4]entry]
	sixteen   zset.Slab[[16]entry]
	sixtyFour zset.Slab[[64]entry]
	free      [smallClasses][]uint32
}

const smallClasses = 3

func smallSize(class int) int { return 4 << (2 * class) }

const placeMask = 1<<lenShift - 1

// take returns the ref of an empty block.
func (s *smallLogs) take(class int) uint64 {
	var id uint32
	if n := len(s.free[class]); n > 0 {
		id = s.free[class][n-1]
		s.free[class] = s.free[class][:n-1]
	} else {
		switch class {
		case 0:
			id = uint32(s.four.Len())
			s.four.Grow(1)
		case 1:
			id = uint32(s.sixteen.Len())
			s.sixteen.Grow(1)
		default:
			id = uint32(s.sixtyFour.Len())
			s.sixtyFour.Grow(1)
		}
	}
	return uint64(class)<<(lenShift+8) | uint64(id) + 1
}

func (s *smallLogs) release(ref uint64) {
	if place := ref & placeMask; place != 0 {
		class := ref & ofClass >> (lenShift + 8)
		s.free[class] = append(s.free[class], uint32(place-1))
	}
}

// entries returns the log of a ref; its capacity is the block's.
func (s *smallLogs) entries(ref uint64) []entry {
	place := ref & placeMask
	if place == 0 {
		return nil
	}
	n := ref & lenMask >> lenShift
	switch ref & ofClass >> (lenShift + 8) {
	case 0:
		return s.four.At(uint32(place - 1))[:n]
	case 1:
		return s.sixteen.At(uint32(place - 1))[:n]
	default:
		return s.sixtyFour.At(uint32(place - 1))[:n]
	}
}

func (s *smallLogs) bytes() int64 {
	n := s.four.Bytes() + s.sixteen.Bytes() + s.sixtyFour.Bytes()
	for _, f := range s.free {
		n += int64(4 * cap(f))
	}
	return n
}

func (s *smallLogs) appendSnapshot(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.four.Len()))
	for i := range uint32(s.four.Len()) {
		dst = appendEntries(dst, s.four.At(i)[:])
	}
	dst = binary.AppendUvarint(dst, uint64(s.sixteen.Len()))
	for i := range uint32(s.sixteen.Len()) {
		dst = appendEntries(dst, s.sixteen.At(i)[:])
	}
	dst = binary.AppendUvarint(dst, uint64(s.sixtyFour.Len()))
	for i := range uint32(s.sixtyFour.Len()) {
		dst = appendEntries(dst, s.sixtyFour.At(i)[:])
	}
	for _, f := range s.free {
		dst = binary.AppendUvarint(dst, uint64(len(f)))
		for _, id := range f {
			dst = binary.AppendUvarint(dst, uint64(id))
		}
	}
	return dst
}

func (s *smallLogs) restore(r *reader) error {
	*s = smallLogs{}
	s.four.Grow(r.count(4 * 16))
	for i := range uint32(s.four.Len()) {
		r.entries(s.four.At(i)[:])
	}
	s.sixteen.Grow(r.count(16 * 16))
	for i := range uint32(s.sixteen.Len()) {
		r.entries(s.sixteen.At(i)[:])
	}
	s.sixtyFour.Grow(r.count(64 * 16))
	for i := range uint32(s.sixtyFour.Len()) {
		r.entries(s.sixtyFour.At(i)[:])
	}
	have := [smallClasses]int{s.four.Len(), s.sixteen.Len(), s.sixtyFour.Len()}
	for class := range s.free {
		for range r.count(1) {
			id := r.uvarint()
			if id >= uint64(have[class]) {
				return fmt.Errorf("%w: free block %d of %d", ErrSnapshot, id, have[class])
			}
			s.free[class] = append(s.free[class], uint32(id))
		}
	}
	return nil
}

func appendEntries(dst []byte, ents []entry) []byte {
	for _, e := range ents {
		dst = binary.LittleEndian.AppendUint64(dst, e.v)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.w))
	}
	return dst
}

func (r *reader) entries(ents []entry) {
	for i := range ents {
		ents[i] = entry{r.word(), int64(r.word())}
	}
}

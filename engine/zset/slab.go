package zset

import "unsafe"

// Slab is a growing array of small values without pointers, addressed by dense ids (the ids of a KeyTable, for
// example: one accumulator a group). It grows in chunks, so that growth does not copy what is there. A *T is good
// until the next Grow.
//
// T must not hold Go pointers: state costs the garbage collector nothing.
type Slab[T any] struct {
	chunks [][]T
	n      int
}

const (
	slabBits  = 14
	slabChunk = 1 << slabBits
)

// At returns the address of value i.
func (s *Slab[T]) At(i uint32) *T { return &s.chunks[i>>slabBits][i&(slabChunk-1)] }

// Len returns the number of values.
func (s *Slab[T]) Len() int { return s.n }

// Grow adds k zero values.
func (s *Slab[T]) Grow(k int) {
	for want := s.n + k; s.n < want; {
		last := len(s.chunks) - 1
		if s.n == len(s.chunks)*slabChunk {
			// The first chunk starts small; the others are whole from the start.
			size := slabChunk
			if last < 0 {
				size = 0
			}
			s.chunks = append(s.chunks, make([]T, size))
			last++
		}
		room := s.chunks[last]
		at := s.n - last*slabChunk
		n := min(want-s.n, slabChunk-at)
		if at+n > len(room) {
			// Only the first chunk gets here.
			grown := make([]T, min(slabChunk, max(16, 2*len(room), at+n)))
			copy(grown, room)
			s.chunks[last] = grown
		}
		s.n += n
	}
}

// Reset empties the slab.
func (s *Slab[T]) Reset() { *s = Slab[T]{} }

// Bytes returns the memory the slab holds.
func (s *Slab[T]) Bytes() int64 {
	var t T
	n := int64(0)
	for _, c := range s.chunks {
		n += int64(len(c))
	}
	return n * int64(unsafe.Sizeof(t))
}

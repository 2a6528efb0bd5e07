package agg

import (
	"encoding/binary"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// part is one piece of state that every group has: a count, a sum, an extreme. Several aggregates can read one
// part: AVG(x) and SUM(x) share the sum of x.
//
// The words of a group lie at st[off:]; they are all zero for a new group, and a group whose rows are all taken
// back has a state that isEmpty.
type part interface {
	words() int
	// add takes a batch: row sel[k] (row k when sel is nil) belongs to groups[k]. col is the part's argument,
	// aligned with the batch; nil for a part without one.
	add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, col *zset.Column)
	// isEmpty reports whether nothing is counted, so that the state can be forgotten.
	isEmpty(st []uint64) bool
	// release frees what the words refer to.
	release(st []uint64)
	// bytes is the memory beside the words.
	bytes() int64
	// appendSnapshot and restore carry what the words refer to.
	appendSnapshot(dst []byte) []byte
	restore(b []byte) error
}

// states keeps the words of all groups, group after group, in chunks: growth never copies more than one chunk.
type states struct {
	stride int
	chunks [][]uint64
	n      int
}

const (
	stateBits  = 12
	stateChunk = 1 << stateBits
)

// at returns the words of a group.
func (s *states) at(g uint32) []uint64 {
	return s.chunks[g>>stateBits][int(g&(stateChunk-1))*s.stride:]
}

// grow makes room for groups below n.
func (s *states) grow(n int) {
	for s.n < n {
		if last := len(s.chunks) - 1; last == 0 && len(s.chunks[0]) < stateChunk*s.stride {
			// Only the first chunk starts small.
			size := min(stateChunk, max(n, 2*s.n))
			grown := make([]uint64, size*s.stride)
			copy(grown, s.chunks[0])
			s.chunks[0] = grown
			s.n = size
			continue
		}
		size := stateChunk
		if len(s.chunks) == 0 {
			size = min(stateChunk, max(n, 8))
		}
		s.chunks = append(s.chunks, make([]uint64, size*s.stride))
		s.n += size
	}
}

func (s *states) bytes() int64 {
	n := int64(0)
	for _, c := range s.chunks {
		n += int64(8 * len(c))
	}
	return n
}

// noBeside is embedded by parts whose words are their whole state.
type noBeside struct{}

func (noBeside) release([]uint64)                 {}
func (noBeside) bytes() int64                     { return 0 }
func (noBeside) appendSnapshot(dst []byte) []byte { return dst }
func (noBeside) restore(b []byte) error           { return wantEnd(b) }

// rowAt is the position of the k-th selected row.
func rowAt(sel []int32, k int) int {
	if sel == nil {
		return k
	}
	return int(sel[k])
}

// rowsPart counts rows: COUNT(*), and whether the group exists. It is always the first word.
type rowsPart struct{ noBeside }

func (rowsPart) words() int { return 1 }

func (rowsPart) add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, _ *zset.Column) {
	if b.Weight == nil {
		for _, g := range groups {
			t.at(g)[off]++
		}
		return
	}
	for k, g := range groups {
		t.at(g)[off] += uint64(b.Weight[rowAt(sel, k)])
	}
}

func (rowsPart) isEmpty(st []uint64) bool { return st[0] == 0 }

// countPart counts values that are not NULL.
type countPart struct{ noBeside }

func (countPart) words() int { return 1 }

func (countPart) add(t *states, off int, b *zset.Batch, sel []int32, groups []uint32, col *zset.Column) {
	if b.Weight == nil && col.Valid == nil {
		for _, g := range groups {
			t.at(g)[off]++
		}
		return
	}
	for k, g := range groups {
		if i := rowAt(sel, k); !col.IsNull(i) {
			t.at(g)[off] += uint64(b.W(i))
		}
	}
}

func (countPart) isEmpty(st []uint64) bool { return st[0] == 0 }

// appendBlock and readBlock frame a piece of a snapshot by its length.
func appendBlock(dst []byte, write func([]byte) []byte) []byte {
	at := len(dst)
	dst = write(append(dst, 0, 0, 0, 0, 0, 0, 0, 0))
	binary.LittleEndian.PutUint64(dst[at:], uint64(len(dst)-at-8))
	return dst
}

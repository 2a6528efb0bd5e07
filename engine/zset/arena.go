package zset

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// arena keeps blocks of bytes in 1 MiB chunks and gives each a dense id. It is the memory of every state
// structure of the package: no Go pointer inside, growth never copies, freed space is used again.
//
// A block is a header (its id, the length of its payload), the payload, and padding to 8 bytes. The id leads to
// the place of the block through refs, and the header leads back, so that a block can be moved: when more than
// half of the space is free, the chunk with the least in it is emptied into the holes of the others. That costs
// one copied byte for each byte freed at most, and at most half a chunk at a time.
//
// Slices of an arena are valid until the next alloc, release or resize.
type arena struct {
	chunks [][]byte
	live   []uint32 // units in use, a chunk
	empty  []uint32 // chunks without memory, to be used again
	spare  []byte   // memory of one dropped chunk
	cur    uint32   // the chunk that grows; 0 none: chunk 0 has no memory, so that place 0 is no block
	top    uint32   // units handed out in the chunk that grows

	holes [sizeClasses]uint32 // first free block of a class, 0 none: a doubly linked list through the payloads

	touched byte // keeps the loads of touch alive

	refs    Slab[uint32] // id -> place of the block, in units; 0 is no block
	freeIDs []uint32     // ids to be used again, last one first

	liveUnits uint64
	holeUnits uint64 // in free blocks of chunks
}

const (
	unitBytes  = 8
	chunkBits  = 17 // units a chunk
	chunkUnits = 1 << chunkBits
	chunkBytes = chunkUnits * unitBytes
	firstChunk = 4 << 10 // the first chunk starts small, so that small state is small

	headerBytes = 8
	freeMark    = math.MaxUint32 // in place of the id: a free block
	minUnits    = 2              // a free block holds two links

	touchFrom = 1 << 14 // below this many ids the state is in the cache anyway
	touchStep = 256

	exactClasses = 64 // sizes up to 512 bytes have a class each; above, eight classes a doubling
	sizeClasses  = exactClasses + 1 + 8*(chunkBits-6) + 1
)

// units returns the size of the block for a payload, rounded up to its class, and the class.
func units(payload int) (n uint32, class int) {
	u := (uint32(payload) + headerBytes + unitBytes - 1) / unitBytes
	if u <= exactClasses {
		u = max(u, minUnits)
		return u, int(u)
	}
	if u > chunkUnits {
		return u, -1
	}
	shift := bits.Len32(u-1) - 4
	step := (u - 1) >> shift // 8..15
	return (step + 1) << shift, exactClasses + 1 + (shift-3)*8 + int(step) - 8
}

func (a *arena) block(ref uint32) []byte {
	return a.chunks[ref>>chunkBits][(ref&(chunkUnits-1))*unitBytes:]
}

// payload returns the payload of a live id.
func (a *arena) payload(id uint32) []byte {
	b := a.block(*a.refs.At(id))
	n := binary.LittleEndian.Uint32(b[4:])
	return b[headerBytes : headerBytes+n : headerBytes+n]
}

// alive reports whether the id has a block.
func (a *arena) alive(id uint32) bool { return id < uint32(a.refs.Len()) && *a.refs.At(id) != 0 }

// count returns the number of live ids.
func (a *arena) count() int { return a.refs.Len() - len(a.freeIDs) }

// alloc makes a block and gives it an id. The payload is not cleared.
func (a *arena) alloc(payload int) (id uint32, p []byte) {
	if n := len(a.freeIDs); n > 0 {
		id = a.freeIDs[n-1]
		a.freeIDs = a.freeIDs[:n-1]
	} else {
		id = uint32(a.refs.Len())
		a.refs.Grow(1)
	}
	return id, a.place(id, payload)
}

// place gives an id a block.
func (a *arena) place(id uint32, payload int) []byte {
	n, class := units(payload)
	ref := a.take(n, class)
	*a.refs.At(id) = ref
	a.live[ref>>chunkBits] += n
	a.liveUnits += uint64(n)
	b := a.block(ref)
	binary.LittleEndian.PutUint32(b, id)
	binary.LittleEndian.PutUint32(b[4:], uint32(payload))
	return b[headerBytes : headerBytes+payload : headerBytes+payload]
}

// take finds room: a hole of the class, else the end of the growing chunk.
func (a *arena) take(n uint32, class int) uint32 {
	if class < 0 {
		// A block larger than a chunk has a chunk of its own.
		c := a.newChunk(int(n) * unitBytes)
		return c << chunkBits
	}
	if ref := a.holes[class]; ref != 0 {
		a.unhole(ref, class)
		a.holeUnits -= uint64(n)
		return ref
	}
	if a.cur == 0 {
		a.cur, a.top = a.newChunk(firstChunk), 0
	}
	if a.top+n > chunkUnits {
		a.closeChunk()
		a.cur, a.top = a.newChunk(chunkBytes), 0
	}
	if need := int(a.top+n) * unitBytes; need > len(a.chunks[a.cur]) {
		// Only a first chunk is smaller than it may become; a place in it is an offset and survives the copy.
		size := len(a.chunks[a.cur])
		for size < need {
			size *= 2
		}
		grown := make([]byte, min(size, chunkBytes))
		copy(grown, a.chunks[a.cur])
		a.chunks[a.cur] = grown
	}
	ref := a.cur<<chunkBits | a.top
	a.top += n
	return ref
}

// closeChunk makes the rest of the growing chunk one free block, so that a chunk is walked from end to end.
func (a *arena) closeChunk() {
	rest := chunkUnits - a.top
	if grown := uint32(len(a.chunks[a.cur]) / unitBytes); grown < chunkUnits {
		rest = grown - a.top
	}
	// The largest class that fits, again and again: the pieces are holes for later blocks.
	for rest >= minUnits {
		n, class := classBelow(rest)
		ref := a.cur<<chunkBits | a.top
		a.hole(ref, n, class)
		a.top += n
		rest -= n
	}
	if rest == 1 {
		b := a.block(a.cur<<chunkBits | a.top)
		binary.LittleEndian.PutUint32(b, freeMark)
		binary.LittleEndian.PutUint32(b[4:], 1)
	}
}

// classBelow returns the largest size of a class that is not above u.
func classBelow(u uint32) (n uint32, class int) {
	if u <= exactClasses {
		return u, int(u)
	}
	shift := bits.Len32(u) - 4
	return units(int(u>>shift<<shift)*unitBytes - headerBytes)
}

func (a *arena) newChunk(size int) uint32 {
	if len(a.chunks) == 0 {
		a.chunks, a.live = append(a.chunks, nil), append(a.live, 0)
	}
	mem := a.spare
	if a.spare = nil; len(mem) != size {
		mem = make([]byte, size)
	}
	if n := len(a.empty); n > 0 {
		c := a.empty[n-1]
		a.empty = a.empty[:n-1]
		a.chunks[c] = mem
		return c
	}
	if len(a.chunks) == 1<<(32-chunkBits) {
		panic("state is larger than 32 GiB in one structure; raise the parallelism of the table to split it")
	}
	a.chunks = append(a.chunks, mem)
	a.live = append(a.live, 0)
	return uint32(len(a.chunks) - 1)
}

// hole puts a free block into the list of its class.
func (a *arena) hole(ref, n uint32, class int) {
	b := a.block(ref)
	first := a.holes[class]
	binary.LittleEndian.PutUint32(b, freeMark)
	binary.LittleEndian.PutUint32(b[4:], n)
	binary.LittleEndian.PutUint32(b[8:], first)
	binary.LittleEndian.PutUint32(b[12:], 0)
	if first != 0 {
		binary.LittleEndian.PutUint32(a.block(first)[12:], ref)
	}
	a.holes[class] = ref
	a.holeUnits += uint64(n)
}

// unhole takes a free block out of the list of its class.
func (a *arena) unhole(ref uint32, class int) {
	b := a.block(ref)
	next, prev := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	if prev == 0 {
		a.holes[class] = next
	} else {
		binary.LittleEndian.PutUint32(a.block(prev)[8:], next)
	}
	if next != 0 {
		binary.LittleEndian.PutUint32(a.block(next)[12:], prev)
	}
}

// release frees the block and the id.
func (a *arena) release(id uint32) {
	a.vacate(id)
	*a.refs.At(id) = 0
	a.freeIDs = append(a.freeIDs, id)
	a.compact()
}

func (a *arena) vacate(id uint32) {
	ref := *a.refs.At(id)
	a.vacateAt(ref, int(binary.LittleEndian.Uint32(a.block(ref)[4:])))
}

func (a *arena) vacateAt(ref uint32, payload int) {
	n, class := units(payload)
	c := ref >> chunkBits
	a.live[c] -= n
	a.liveUnits -= uint64(n)
	if class < 0 {
		a.dropChunk(c)
		return
	}
	a.hole(ref, n, class)
}

func (a *arena) dropChunk(c uint32) {
	if len(a.chunks[c]) == chunkBytes {
		a.spare = a.chunks[c]
	}
	a.chunks[c] = nil
	a.empty = append(a.empty, c)
}

// compact empties one chunk when more than half of the space in chunks is holes.
func (a *arena) compact() {
	if a.holeUnits < 2*chunkUnits || a.holeUnits < a.liveUnits {
		return
	}
	victim, least := uint32(0), uint32(math.MaxUint32)
	for c, l := range a.live {
		if uint32(c) != a.cur && l < least && len(a.chunks[c]) > 0 && len(a.chunks[c]) <= chunkBytes {
			victim, least = uint32(c), l
		}
	}
	if least > chunkUnits/2 {
		return
	}
	a.evacuate(victim)
}

func (a *arena) evacuate(c uint32) {
	mem := a.chunks[c]
	end := uint32(len(mem) / unitBytes)
	// The holes leave their lists first, so that no block of the chunk moves within it.
	for u := uint32(0); u < end; {
		b := mem[u*unitBytes:]
		n := binary.LittleEndian.Uint32(b[4:])
		if binary.LittleEndian.Uint32(b) == freeMark {
			if n >= minUnits {
				_, class := units(int(n)*unitBytes - headerBytes)
				a.unhole(c<<chunkBits|u, class)
				a.holeUnits -= uint64(n)
			}
		} else {
			n, _ = units(int(n))
		}
		u += n
	}
	for u := uint32(0); u < end; {
		b := mem[u*unitBytes:]
		id, n := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if id == freeMark {
			u += n
			continue
		}
		size, _ := units(int(n))
		a.live[c] -= size
		a.liveUnits -= uint64(size)
		copy(a.place(id, int(n)), b[headerBytes:headerBytes+n])
		u += size
	}
	a.dropChunk(c)
}

// bytes returns the memory the arena holds.
func (a *arena) bytes() int64 {
	n := a.refs.Bytes() + int64(4*cap(a.freeIDs)+len(a.spare))
	for _, c := range a.chunks {
		n += int64(len(c))
	}
	return n
}

// touch reads what a batch of probes will need: the home slots, then the blocks that they name. The loads of one
// pass do not depend on each other, so that the processor overlaps their cache misses.
func (a *arena) touch(x *index, hashes []uint64) {
	if x.n < touchFrom {
		return
	}
	var ids [touchStep]uint32
	var refs [touchStep]uint32
	sum := byte(0)
	for len(hashes) > 0 {
		n := min(len(hashes), touchStep)
		for i, h := range hashes[:n] {
			s := x.segment(h)
			ids[i] = uint32(s.slots[s.home(h)])
		}
		for i, id := range ids[:n] {
			refs[i] = 0
			if id != 0 {
				refs[i] = *a.refs.At(id - 1)
			}
		}
		for _, ref := range refs[:n] {
			if ref != 0 {
				sum += a.block(ref)[0]
			}
		}
		hashes = hashes[n:]
	}
	a.touched ^= sum
}

package zset

import (
	"encoding/binary"
	"math/bits"
)

// The constants of the hash are fixed: the same key has the same hash in every process and on every run, so that
// state, partitions and iteration order agree everywhere.
const (
	hashK0 = 0xa0761d6478bd642f
	hashK1 = 0xe7037ed1a0b428db
)

// Hash returns the 64-bit hash of a key. It is a wyhash-like mix of 16 bytes at a time with a fixed seed; all of
// its bits are usable.
func Hash(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * hashK0
	var x, y uint64
	switch {
	case n > 16:
		p := b
		for len(p) > 16 {
			h = mix(binary.LittleEndian.Uint64(p)^hashK0^h, binary.LittleEndian.Uint64(p[8:])^hashK1)
			p = p[16:]
		}
		x, y = binary.LittleEndian.Uint64(b[n-16:]), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 8:
		x, y = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x, y = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		x = uint64(b[0])<<16 | uint64(b[n>>1])<<8 | uint64(b[n-1])
	}
	return mix(mix(x^hashK0^h, y^hashK1), hashK0^uint64(n))
}

// HashUint64 returns the hash of one word.
func HashUint64(x uint64) uint64 { return mix(mix(x^hashK0, hashK1), hashK1^8) }

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

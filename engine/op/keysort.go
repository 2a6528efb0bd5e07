package op

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// keySorter orders keys by their bytes. What all keys have in common at the front is skipped; then they are sorted
// by the next eight bytes with a radix sort, and only keys that agree in those are compared.
type keySorter struct {
	a, b  []sortKey
	order []int32
}

type sortKey struct {
	prefix uint64
	at     int32
}

// radixFrom is the number of keys from which a radix sort pays.
const radixFrom = 64

// sort returns the positions of the keys in order; the list is valid until the next call. The keys are distinct.
func (s *keySorter) sort(keys [][]byte) []int32 {
	n := len(keys)
	s.a, s.order = grow(s.a, n), grow(s.order, n)
	skip := commonPrefix(keys)
	for i, k := range keys {
		s.a[i] = sortKey{prefixOf(k[skip:]), int32(i)}
	}
	if n >= radixFrom {
		s.radix()
	} else {
		slices.SortFunc(s.a, func(x, y sortKey) int {
			if x.prefix != y.prefix {
				if x.prefix < y.prefix {
					return -1
				}
				return 1
			}
			return 0
		})
	}
	for i := 0; i < n; {
		j := i + 1
		for j < n && s.a[j].prefix == s.a[i].prefix {
			j++
		}
		if j > i+1 {
			slices.SortFunc(s.a[i:j], func(x, y sortKey) int { return bytes.Compare(keys[x.at], keys[y.at]) })
		}
		i = j
	}
	for i := range s.a {
		s.order[i] = s.a[i].at
	}
	return s.order
}

// radix sorts by prefix, lowest byte first; bytes that all keys share are skipped.
func (s *keySorter) radix() {
	s.b = grow(s.b, len(s.a))
	var counts [8][256]uint32
	for _, k := range s.a {
		p := k.prefix
		for d := range counts {
			counts[d][byte(p)]++
			p >>= 8
		}
	}
	for d := range counts {
		c := &counts[d]
		if c[byte(s.a[0].prefix>>(8*d))] == uint32(len(s.a)) {
			continue
		}
		at := uint32(0)
		for i, n := range c {
			c[i] = at
			at += n
		}
		for _, k := range s.a {
			digit := byte(k.prefix >> (8 * d))
			s.b[c[digit]] = k
			c[digit]++
		}
		s.a, s.b = s.b, s.a
	}
}

// commonPrefix is the length of what all keys begin with.
func commonPrefix(keys [][]byte) int {
	if len(keys) == 0 {
		return 0
	}
	first := keys[0]
	n := len(first)
	for _, k := range keys[1:] {
		n = min(n, len(k))
		for n > 0 && !bytes.Equal(first[:n], k[:n]) {
			i := 0
			for first[i] == k[i] {
				i++
			}
			n = i
		}
	}
	return n
}

// prefixOf is the first eight bytes of a key as a number. Keys are canonical records, of which none is the
// beginning of another, so that filling up with zeros keeps the order.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var buf [8]byte
	copy(buf[:], key)
	return binary.BigEndian.Uint64(buf[:])
}

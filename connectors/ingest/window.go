package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Key stands for the value of a dedup field: a hash wide enough that nobody finds two values with one Key.
type Key [16]byte

// KeyOf returns the key of a field's value. Values of different fields or kinds have different keys, so a window
// survives a change of the field.
func KeyOf(field string, v types.Value) Key {
	h := sha256.New()
	h.Write([]byte(field))
	h.Write([]byte{0, byte(v.Kind())})
	h.Write([]byte(v.String()))
	var k Key
	copy(k[:], h.Sum(nil))
	return k
}

// chunkKeys is how many keys are stored together. Adding keys rewrites the chunks that they fall into and no other.
const chunkKeys = 1000

// Window remembers the newest keys, first in, first out. Keys are numbered from 0 in the order they came; chunk n
// holds the keys n*1000 .. n*1000+999, so that what is stored grows at its end only.
type Window struct {
	ring []Key // key number n is at n % size
	next int64 // number of the next key
	low  int64 // number of the oldest key
	set  map[Key]int64
}

// NewWindow returns an empty window of a size of at least one key.
func NewWindow(size int) *Window {
	return &Window{ring: make([]Key, size), set: make(map[Key]int64)}
}

// Has reports whether a key is remembered.
func (w *Window) Has(k Key) bool {
	_, ok := w.set[k]
	return ok
}

// Next is the number that the next key will have.
func (w *Window) Next() int64 { return w.next }

// Len is how many numbers are remembered.
func (w *Window) Len() int { return int(w.next - w.low) }

// Add remembers a key and forgets the oldest one when the window is full. A remembered key is not added again.
func (w *Window) Add(k Key) {
	if !w.Has(k) {
		w.push(k)
	}
}

func (w *Window) push(k Key) {
	if w.Len() == len(w.ring) {
		old := w.at(w.low)
		if w.set[*old] == w.low {
			delete(w.set, *old)
		}
		w.low++
	}
	*w.at(w.next) = k
	w.set[k] = w.next
	w.next++
}

func (w *Window) at(number int64) *Key { return &w.ring[number%int64(len(w.ring))] }

// Chunks lists the chunks that hold the keys from a number on, and the first chunk that is still needed: every lower
// one may be deleted.
func (w *Window) Chunks(from int64) (changed []int64, oldest int64) {
	oldest = w.low / chunkKeys
	if from >= w.next {
		return nil, oldest
	}
	for c := max(from/chunkKeys, oldest); c <= (w.next-1)/chunkKeys; c++ {
		changed = append(changed, c)
	}
	return changed, oldest
}

const (
	chunkVersion = 1
	chunkHeader  = 1 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendChunk encodes a chunk: version, CRC-32C of the rest, number of its first key, the keys. See
// docs/format/ingest.md.
func (w *Window) AppendChunk(dst []byte, chunk int64) []byte {
	lo, hi := max(chunk*chunkKeys, w.low), min((chunk+1)*chunkKeys, w.next)
	start := len(dst)
	dst = append(dst, chunkVersion, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(lo))
	for n := lo; n < hi; n++ {
		dst = append(dst, w.at(n)[:]...)
	}
	binary.LittleEndian.PutUint32(dst[start+1:], crc32.Checksum(dst[start+5:], castagnoli))
	return dst
}

func firstKey(b []byte) uint64 {
	if len(b) < chunkHeader {
		return 0
	}
	return binary.LittleEndian.Uint64(b[5:])
}

var errChunk = errors.New("damaged chunk of dedup keys")

// RestoreWindow makes a window of stored chunks, in whatever order they come. Keys before a gap are forgotten: the
// window would not be one of consecutive numbers.
func RestoreWindow(size int, chunks [][]byte) (*Window, error) {
	chunks = slices.Clone(chunks)
	slices.SortFunc(chunks, func(x, y []byte) int { return cmp.Compare(firstKey(x), firstKey(y)) })
	w := NewWindow(size)
	for _, b := range chunks {
		if len(b) < chunkHeader || (len(b)-chunkHeader)%len(Key{}) != 0 || (len(b)-chunkHeader)/len(Key{}) > chunkKeys ||
			b[0] != chunkVersion || binary.LittleEndian.Uint32(b[1:]) != crc32.Checksum(b[5:], castagnoli) {
			return nil, errChunk
		}
		first := int64(binary.LittleEndian.Uint64(b[5:]))
		if first < 0 || first > 1<<62 {
			return nil, errChunk
		}
		if first != w.next {
			w = NewWindow(size)
			w.next, w.low = first, first
		}
		for b = b[chunkHeader:]; len(b) > 0; b = b[len(Key{}):] {
			w.push(Key(b[:len(Key{})]))
		}
	}
	return w, nil
}

// Places is how many places the stored chunks of a window of a size go round in: more than can be needed at once.
func Places(size int) int64 { return int64(size)/chunkKeys + 3 }

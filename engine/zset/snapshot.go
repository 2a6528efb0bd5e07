package zset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// ErrSnapshot is returned for bytes that are not a snapshot of the structure that should be restored: cut off,
// damaged, of another structure or of a version that this program does not know.
var ErrSnapshot = errors.New("not a valid snapshot")

// The kinds of snapshots. A snapshot is 'Z' 'S', kind, version, the state, and a CRC-32C of all before it.
const (
	snapKeyTable    = 'K'
	snapMultiset    = 'M'
	snapArrangement = 'A'

	snapVersion = 1
	snapHeader  = 4
	snapTrailer = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// beginSnapshot makes room for about the size of the state, so that a large one is not copied while it grows.
func beginSnapshot(dst []byte, kind byte, a *arena) (out []byte, at int) {
	dst = slices.Grow(dst, int(a.liveUnits)*unitBytes+snapHeader+snapTrailer)
	return append(dst, 'Z', 'S', kind, snapVersion), len(dst)
}

func endSnapshot(dst []byte, at int) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

func openSnapshot(b []byte, kind byte) (*snapReader, error) {
	if len(b) < snapHeader+snapTrailer {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrSnapshot, len(b))
	}
	if b[0] != 'Z' || b[1] != 'S' || b[2] != kind {
		return nil, fmt.Errorf("%w: it begins with % x, not with the mark of kind %q", ErrSnapshot, b[:3], kind)
	}
	if b[3] != snapVersion {
		return nil, fmt.Errorf("%w: it has version %d, this program reads version %d", ErrSnapshot, b[3], snapVersion)
	}
	end := len(b) - snapTrailer
	if got, want := crc32.Checksum(b[:end], castagnoli), binary.LittleEndian.Uint32(b[end:]); got != want {
		return nil, fmt.Errorf("%w: the checksum is %08x, not %08x", ErrSnapshot, got, want)
	}
	return &snapReader{b: b[snapHeader:end]}, nil
}

// snapReader reads the fields of a snapshot. After the first field that is cut off it returns zeros and failed.
type snapReader struct {
	b    []byte
	fail string
}

func (r *snapReader) failed() bool { return r.fail != "" }

func (r *snapReader) err() error {
	if r.fail == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrSnapshot, r.fail)
}

func (r *snapReader) bad(what string) {
	if r.fail == "" {
		r.fail = what
	}
	r.b = nil
}

func (r *snapReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad("a number is cut off")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *snapReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad("a number is cut off")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *snapReader) text() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad("a text is cut off")
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *snapReader) end() error {
	if len(r.b) != 0 {
		r.bad(fmt.Sprintf("%d bytes are left over", len(r.b)))
	}
	return r.err()
}

// appendIDs writes the number of ids and the free ones in the order of their reuse.
func (a *arena) appendIDs(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(a.refs.Len()))
	dst = binary.AppendUvarint(dst, uint64(len(a.freeIDs)))
	for _, id := range a.freeIDs {
		dst = binary.AppendUvarint(dst, uint64(id))
	}
	return dst
}

// restoreIDs reads what appendIDs wrote and returns the live ids in order. A live id takes at least one byte of
// the rest, which bounds what a damaged count can make it allocate.
func (a *arena) restoreIDs(r *snapReader) ([]uint32, error) {
	n, free := r.uvarint(), r.uvarint()
	if r.failed() {
		return nil, r.err()
	}
	if n >= uint64(NoID) || free > n || n > uint64(len(r.b)) {
		return nil, fmt.Errorf("%w: %d ids of which %d free do not fit in %d bytes", ErrSnapshot, n, free, len(r.b))
	}
	isFree := make([]bool, n)
	for range free {
		id := r.uvarint()
		if r.failed() {
			return nil, r.err()
		}
		if id >= n || isFree[id] {
			return nil, fmt.Errorf("%w: free id %d is out of range or there twice", ErrSnapshot, id)
		}
		isFree[id] = true
		a.freeIDs = append(a.freeIDs, uint32(id))
	}
	a.refs.Grow(int(n))
	live := make([]uint32, 0, n-free)
	for id := range uint32(n) {
		if !isFree[id] {
			live = append(live, id)
		}
	}
	return live, nil
}

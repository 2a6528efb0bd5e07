package agg

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// ErrSnapshot is returned for bytes that are not a snapshot of the aggregates that should be restored.
var ErrSnapshot = errors.New("not a valid snapshot of aggregates")

// reader reads the fields of a snapshot; after the first field that is cut off it gives zeros.
type reader struct {
	b    []byte
	fail bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		r.fail, r.b = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

// count reads a number of entries of at least size bytes each, so that damage cannot ask for much memory.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.b)/size) {
		r.fail, r.b = true, nil
		return 0
	}
	return int(n)
}

// block reads what appendBlock wrote.
func (r *reader) block() []byte {
	n := r.word()
	if n > uint64(len(r.b)) {
		r.fail, r.b = true, nil
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) end() error {
	if r.fail {
		return fmt.Errorf("%w: it is cut off", ErrSnapshot)
	}
	return wantEnd(r.b)
}

func wantEnd(b []byte) error {
	if len(b) != 0 {
		return fmt.Errorf("%w: %d bytes are left over", ErrSnapshot, len(b))
	}
	return nil
}

func appendInts(dst []byte, s *zset.Slab[int64]) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.Len()))
	for i := range uint32(s.Len()) {
		dst = binary.AppendVarint(dst, *s.At(i))
	}
	return dst
}

func restoreInts(r *reader, s *zset.Slab[int64]) error {
	s.Reset()
	n := r.count(1)
	s.Grow(n)
	for i := range uint32(n) {
		*s.At(i) = r.varint()
	}
	if r.fail {
		return fmt.Errorf("%w: it is cut off", ErrSnapshot)
	}
	return nil
}

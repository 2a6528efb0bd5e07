package op

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrSnapshot is returned for bytes that are not a snapshot of the operator that should be restored.
var ErrSnapshot = errors.New("not a valid snapshot of an operator")

func wantEmpty(b []byte) error {
	if len(b) != 0 {
		return fmt.Errorf("%w: %d bytes are left over", ErrSnapshot, len(b))
	}
	return nil
}

// appendBlock appends what write appends, after its length.
func appendBlock(dst []byte, write func([]byte) []byte) []byte {
	at := len(dst)
	dst = write(append(dst, 0, 0, 0, 0, 0, 0, 0, 0))
	binary.LittleEndian.PutUint64(dst[at:], uint64(len(dst)-at-8))
	return dst
}

// appendBool appends one byte.
func appendBool(dst *[]byte, v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	*dst = append(*dst, b)
}

// snapReader reads the fields of a snapshot; after the first field that is cut off it gives zeros.
type snapReader struct {
	b    []byte
	fail bool
}

// openSnapshot checks the version, the first byte.
func openSnapshot(b []byte, version byte) (*snapReader, error) {
	if len(b) == 0 || b[0] != version {
		return nil, fmt.Errorf("%w: unknown version", ErrSnapshot)
	}
	return &snapReader{b: b[1:]}, nil
}

func (r *snapReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *snapReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads a number of entries of at least one byte each.
func (r *snapReader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail, r.b = true, nil
		return 0
	}
	return int(n)
}

func (r *snapReader) block() []byte {
	if len(r.b) < 8 {
		r.fail, r.b = true, nil
		return nil
	}
	n := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	if n > uint64(len(r.b)) {
		r.fail, r.b = true, nil
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

// bytes reads n bytes.
func (r *snapReader) bytes(n int) []byte {
	if n > len(r.b) {
		r.fail, r.b = true, nil
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *snapReader) end() error {
	if r.fail {
		return fmt.Errorf("%w: it is cut off", ErrSnapshot)
	}
	return wantEmpty(r.b)
}

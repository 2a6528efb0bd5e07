package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// ContentType is the content type of an encoded batch.
const ContentType = "application/x-sf-batch"

// ErrFormat is returned for bytes that are not an encoded batch of a version that this program reads.
var ErrFormat = errors.New("not an encoded batch")

// The frame: two bytes of magic, version, form, then the body, then the CRC-32C of all before it.
const (
	magic0, magic1 = 'S', 'B'
	version        = 1
	// versionMarked is a frame whose body begins with a mark for each row: what retention has taken back.
	versionMarked = 2
	formRows      = 0
	formBlock     = 1
	headerBytes   = 4
	trailerBytes  = 4

	// blockFrom is the number of rows from which a block is smaller and faster than rows.
	blockFrom = 16
	// maxRows bounds a batch, so that a few bytes cannot stand for billions of equal rows.
	maxRows = 1 << 24
	// maxColumns bounds a batch in the other direction.
	maxColumns = 1 << 14
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode appends the encoded batch to dst. kinds are those of the batch's columns.
func Encode(dst []byte, kinds []types.Kind, b *zset.Batch) []byte {
	return EncodeMarked(dst, kinds, b, nil)
}

// EncodeMarked is Encode with a mark for each row that retention takes back; nil marks none.
func EncodeMarked(dst []byte, kinds []types.Kind, b *zset.Batch, evicted []bool) []byte {
	if len(kinds) != len(b.Cols) || b.N > maxRows || len(kinds) > maxColumns {
		panic(fmt.Sprintf("BUG: a batch of %d columns and %d rows is encoded with %d kinds", len(b.Cols), b.N, len(kinds)))
	}
	at := len(dst)
	form := byte(formRows)
	if b.N >= blockFrom {
		form = formBlock
	}
	v := byte(version)
	if evicted != nil {
		v = versionMarked
	}
	dst = append(dst, magic0, magic1, v, form)
	dst = binary.AppendUvarint(dst, uint64(b.N))
	dst = binary.AppendUvarint(dst, uint64(len(kinds)))
	for _, k := range kinds {
		dst = append(dst, byte(k))
	}
	if evicted != nil {
		dst = appendMarks(dst, evicted[:b.N])
	}
	if form == formRows {
		dst = appendRows(dst, b)
	} else {
		dst = appendBlock(dst, b)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

// Decode reads an encoded batch. The texts of the batch may share p's memory, which must not change afterwards.
func Decode(p []byte) (kinds []types.Kind, b *zset.Batch, err error) {
	kinds, b, _, err = DecodeMarked(p)
	return kinds, b, err
}

// DecodeMarked is Decode with the marks of rows that retention has taken back; nil when there are none.
func DecodeMarked(p []byte) (kinds []types.Kind, b *zset.Batch, evicted []bool, err error) {
	if len(p) < headerBytes+trailerBytes {
		return nil, nil, nil, fmt.Errorf("%w: %d bytes are too few", ErrFormat, len(p))
	}
	if p[0] != magic0 || p[1] != magic1 {
		return nil, nil, nil, fmt.Errorf("%w: it begins with % x", ErrFormat, p[:2])
	}
	if p[2] != version && p[2] != versionMarked {
		return nil, nil, nil, fmt.Errorf("%w: it has version %d, this program reads versions up to %d", ErrFormat, p[2], versionMarked)
	}
	end := len(p) - trailerBytes
	if got, want := crc32.Checksum(p[:end], castagnoli), binary.LittleEndian.Uint32(p[end:]); got != want {
		return nil, nil, nil, fmt.Errorf("%w: the checksum is %08x, not %08x", ErrFormat, got, want)
	}
	r := reader{p: p[headerBytes:end]}
	n, cols := r.uvarint(), r.uvarint()
	if r.fail == "" && (n > maxRows || cols > maxColumns) {
		r.bad("it says that it has more rows or columns than a batch can have")
	}
	kinds = make([]types.Kind, 0, min(cols, uint64(len(r.p))))
	for _, k := range r.take(cols) {
		if types.Kind(k) >= types.Unknown {
			r.bad("it has a column of an unknown kind")
		}
		kinds = append(kinds, types.Kind(k))
	}
	if p[2] == versionMarked && r.fail == "" {
		evicted = r.marks(int(n))
	}
	if r.fail == "" {
		switch p[3] {
		case formRows:
			b = r.rows(kinds, int(n))
		case formBlock:
			b = r.block(kinds, int(n))
		default:
			r.bad("it has an unknown form")
		}
	}
	if r.fail == "" && len(r.p) > 0 {
		r.bad(fmt.Sprintf("%d bytes are left over", len(r.p)))
	}
	if r.fail != "" {
		return nil, nil, nil, fmt.Errorf("%w: %s", ErrFormat, r.fail)
	}
	return kinds, b, evicted, nil
}

// reader reads fields. After the first failure it returns zeros and keeps the reason.
type reader struct {
	p    []byte
	fail string
}

func (r *reader) bad(reason string) {
	if r.fail == "" {
		r.fail = reason
	}
	r.p = nil
}

// take returns the next n bytes.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.p)) {
		r.bad("it is cut off")
		return nil
	}
	out := r.p[:n:n]
	r.p = r.p[n:]
	return out
}

func (r *reader) byte() byte {
	if len(r.p) == 0 {
		r.bad("it is cut off")
		return 0
	}
	b := r.p[0]
	r.p = r.p[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.p)
	if n <= 0 {
		r.bad("a number is cut off or too long")
		return 0
	}
	r.p = r.p[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.p)
	if n <= 0 {
		r.bad("a number is cut off or too long")
		return 0
	}
	r.p = r.p[n:]
	return v
}

package flow

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	partMagic   = "SFPF"
	partVersion = 1
)

// ErrOtherPartitions is returned for a snapshot of the same query in another number of partitions: the state must be
// built from the inputs again. It is an ErrOtherPlan.
var ErrOtherPartitions = fmt.Errorf("%w: it has another number of partitions", ErrOtherPlan)

// Snapshot appends the whole state. It is taken between Flush and the next Push.
//
// Layout: "SFPF", version, fingerprint of the plan (8 bytes), number of partitions; then length-prefixed blocks: time
// and counters, then for every partition of every stage its counters and the snapshot of its flow; a CRC-32C of all
// before it ends it.
func (f *Partitioned) Snapshot(dst []byte) []byte {
	if f.queued > 0 {
		panic("BUG: snapshot of partitions between Push and Flush")
	}
	from := len(dst)
	dst = append(append(dst, partMagic...), partVersion)
	dst = binary.LittleEndian.AppendUint64(dst, fingerprint(f.physical.Query))
	dst = binary.AppendUvarint(dst, uint64(f.physical.Partitions))
	dst = appendBlock(dst, f.appendBooks)
	for _, s := range f.stages {
		for _, t := range s.parts {
			dst = binary.AppendVarint(binary.AppendVarint(dst, t.in), t.put)
			dst = appendBlock(dst, t.flow.Snapshot)
		}
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli))
}

func (f *Partitioned) appendBooks(dst []byte) []byte {
	put := func(vs ...int64) {
		for _, v := range vs {
			dst = binary.AppendVarint(dst, v)
		}
	}
	for _, in := range f.inputs {
		put(in.rows, in.newest, in.last, flag(in.pushed), flag(in.idle))
	}
	put(f.scope.watermark, f.epoch, f.rowsOut)
	return dst
}

// Restore replaces the state by a snapshot of the same query in as many partitions. The receiver must be new.
func (f *Partitioned) Restore(b []byte) error {
	const head = len(partMagic) + 1 + 8
	if len(b) >= len(snapMagic) && string(b[:len(snapMagic)]) == snapMagic {
		return ErrOtherPartitions
	}
	if len(b) < head+4 || string(b[:len(partMagic)]) != partMagic {
		return fmt.Errorf("%w: it does not begin with %q", ErrSnapshot, partMagic)
	}
	if v := b[len(partMagic)]; v != partVersion { // Invariant 8: a new version reads the one before; there is none before this.
		return fmt.Errorf("%w: it has version %d, this program reads version %d", ErrSnapshot, v, partVersion)
	}
	if got := binary.LittleEndian.Uint64(b[len(partMagic)+1:]); got != fingerprint(f.physical.Query) {
		return ErrOtherPlan
	}
	end := len(b) - 4
	if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return fmt.Errorf("%w: the checksum does not match", ErrSnapshot)
	}
	r := reader{b: b[head:end]}
	if n := r.uvarint(); n != uint64(f.physical.Partitions) {
		return fmt.Errorf("%w: %d, not %d", ErrOtherPartitions, n, f.physical.Partitions)
	}
	books := reader{b: r.block()}
	for _, in := range f.inputs {
		in.rows, in.newest, in.last = books.varint(), books.varint(), books.varint()
		in.pushed, in.idle = books.varint() != 0, books.varint() != 0
	}
	f.scope.watermark, f.epoch, f.rowsOut = books.varint(), books.varint(), books.varint()
	if books.fail || len(books.b) > 0 {
		return fmt.Errorf("%w: the counters are damaged", ErrSnapshot)
	}
	for _, s := range f.stages {
		for p, t := range s.parts {
			t.in, t.put = r.varint(), r.varint()
			if err := t.flow.Restore(r.block()); err != nil {
				return fmt.Errorf("stage %d, partition %d: %w", s.def.ID, p, err)
			}
		}
	}
	if r.fail || len(r.b) > 0 {
		return fmt.Errorf("%w: it is cut off or too long", ErrSnapshot)
	}
	return nil
}

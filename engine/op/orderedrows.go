package op

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// appendOrdered appends rows that are kept in order by partition: the partitions, the rows, and for each partition its
// rows in order with their weights.
func appendOrdered(dst []byte, parts *groups, table *zset.KeyTable, lists [][]uint32, weight *zset.Slab[int64]) []byte {
	dst = appendBlock(dst, parts.table.AppendSnapshot)
	dst = appendBlock(dst, table.AppendSnapshot)
	dst = binary.AppendUvarint(dst, uint64(len(lists)))
	for _, list := range lists {
		dst = binary.AppendUvarint(dst, uint64(len(list)))
		for _, id := range list {
			dst = binary.AppendUvarint(dst, uint64(id))
			dst = binary.AppendVarint(dst, *weight.At(id))
		}
	}
	return dst
}

// restoreOrdered reads what appendOrdered wrote, which ends the snapshot.
func restoreOrdered(s *snapReader, parts *groups, table *zset.KeyTable, weight *zset.Slab[int64]) (lists [][]uint32, err error) {
	if err := parts.table.Restore(s.block()); err != nil {
		return nil, fmt.Errorf("partitions: %w", err)
	}
	parts.forget()
	if err := table.Restore(s.block()); err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	rows := table.Cap()
	weight.Reset()
	weight.Grow(rows)
	lists = make([][]uint32, s.count())
	for g := range lists {
		list := make([]uint32, s.count())
		for i := range list {
			id, w := s.uvarint(), s.varint()
			if id >= uint64(rows) {
				return nil, fmt.Errorf("%w: row %d of %d", ErrSnapshot, id, rows)
			}
			list[i] = uint32(id)
			*weight.At(uint32(id)) = w
		}
		lists[g] = list
	}
	return lists, s.end()
}

package changelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"sort"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// ErrSnapshot is returned for bytes that are not a snapshot of Upserts with the same columns.
var ErrSnapshot = errors.New("not a snapshot of upserts by key")

// Upserts makes an updating relation of a list of facts: a declared key gives them an identity, and a later fact of a
// key supersedes the earlier one. Its state is the newest row of every key.
//
// Facts are taken in the order of the batch, and the last one wins. Where the batch is a delta, whose order says
// nothing, the one with the newest event time wins: an older one is ignored, one of the same time replaces.
type Upserts struct {
	kinds []types.Kind
	key   []int
	// time is the column of the event time, -1 without one.
	time int
	rows map[string]string // key record -> row record
}

// NewUpserts makes an empty state for rows of the kinds. time is the column by which the newest fact wins, -1 for the
// order of arrival.
func NewUpserts(kinds []types.Kind, key []int, time int) *Upserts {
	return &Upserts{kinds: slices.Clone(kinds), key: slices.Clone(key), time: time, rows: map[string]string{}}
}

// Apply takes facts and returns the net change of the relation, sorted and consolidated; nil when there is none.
func (u *Upserts) Apply(b *zset.Batch) *zset.Batch {
	if b == nil || b.N == 0 {
		return nil
	}
	order := make([]int, b.N)
	for i := range order {
		order[i] = i
	}
	if u.time >= 0 {
		slices.SortStableFunc(order, func(i, j int) int { return b.Cols[u.time].Compare(i, j) })
	}
	out := zset.NewBuilder(u.kinds)
	for _, i := range order {
		if b.W(i) <= 0 {
			continue // facts are never taken back
		}
		k := string(zset.AppendRecord(nil, b, i, u.key))
		if old, ok := u.rows[k]; ok {
			if u.time >= 0 && u.later([]byte(old), b, i) {
				continue
			}
			out.Record([]byte(old), 0)
			out.EndRow(-1)
		}
		row := zset.AppendRecord(nil, b, i, nil)
		u.rows[k] = string(row)
		out.Record(row, 0)
		out.EndRow(1)
	}
	if d := zset.Consolidate(out.Build()); d.N > 0 {
		return d
	}
	return nil
}

// later reports whether a row at rest is newer than one that comes.
func (u *Upserts) later(old []byte, b *zset.Batch, row int) bool {
	was, come := zset.SkipCells(old, u.time), zset.AppendRecord(nil, b, row, []int{u.time})
	return bytes.Compare(was[:min(len(was), len(come))], come) > 0
}

// Len is the number of keys.
func (u *Upserts) Len() int { return len(u.rows) }

// AppendSnapshot appends the state: the number of keys, then key and row as records with their lengths, by key.
func (u *Upserts) AppendSnapshot(dst []byte) []byte {
	keys := make([]string, 0, len(u.rows))
	for k := range u.rows {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	dst = binary.AppendUvarint(dst, uint64(len(keys)))
	for _, k := range keys {
		dst = appendText(appendText(dst, k), u.rows[k])
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Restore replaces the state by a snapshot.
func (u *Upserts) Restore(b []byte) error {
	n, used := binary.Uvarint(b)
	if used <= 0 {
		return ErrSnapshot
	}
	b = b[used:]
	rows := map[string]string{}
	for range min(n, uint64(len(b))+1) {
		k, rest, ok := readText(b)
		if !ok {
			return ErrSnapshot
		}
		row, rest, ok := readText(rest)
		if !ok {
			return ErrSnapshot
		}
		if _, err := zset.RecordValues([]byte(row), u.kinds); err != nil {
			return ErrSnapshot
		}
		rows[k], b = row, rest
	}
	if len(b) > 0 || uint64(len(rows)) != n {
		return ErrSnapshot
	}
	u.rows = rows
	return nil
}

func readText(b []byte) (s string, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return "", nil, false
	}
	b = b[used:]
	return string(b[:n]), b[n:], true
}

package op

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Lookup completes the rows of a stream (port 0) with the rows that a table (port 1) has when they come. A later change
// of the table changes nothing that was given out, so the output of a stream is a stream.
//
// Only the table is kept, by its key. Matches are given out in the order of the stream's rows, those of one row in
// the order of their records; with outer, a row without a match is given out with NULLs. A NULL in a key matches
// nothing. What the table has taken back more often than it was given matches nothing either.
type Lookup struct {
	stream, table joinSide
	residual      *expr.Kernel
	outer         bool
	kinds         []types.Kind

	out   *zset.Builder
	marks []int64
	found []match
	// Filtered counts pairs that the residual condition dropped.
	Filtered int64
}

var _ Operator = (*Lookup)(nil)

type match struct {
	rec    []byte
	weight int64
}

// NewLookup makes a lookup of rows of two schemas. residual, over the columns of both, may be nil.
func NewLookup(stream, table types.Schema, streamKeys, tableKeys []expr.Expr, residual expr.Expr, outer bool) *Lookup {
	l := &Lookup{outer: outer, kinds: append(kindsOf(stream), kindsOf(table)...)}
	l.stream = newJoinSide(streamKeys, 0, len(stream), 0)
	l.table = newJoinSide(tableKeys, 0, len(table), len(stream))
	if residual != nil {
		l.residual = expr.Compile(residual)
	}
	l.out = zset.NewBuilder(l.kinds)
	return l
}

// Apply keeps changes of the table, and completes rows of the stream.
func (l *Lookup) Apply(port int, d Delta, emit Emit) {
	if port == 1 {
		l.table.encode(d)
		var weight []int64
		if d.B.Weight != nil {
			for _, i := range l.table.sel {
				weight = append(weight, d.B.Weight[i])
			}
		}
		l.table.rows.AddBatch(&l.table.keys, &l.table.recs, weight, nil, nil)
		return
	}
	l.stream.encode(d)
	l.table.rows.TouchBatch(&l.stream.keys)
	l.marks = l.marks[:0]
	at := 0 // among the rows whose key is not NULL
	for k := range d.Len() {
		i := d.At(k)
		before := l.out.Len()
		if at < len(l.stream.sel) && int(l.stream.sel[at]) == i {
			l.pairs(d, i, at)
			at++
		}
		if l.outer && l.out.Len() == before {
			l.pad(d, i)
		}
	}
	l.give(d.Marks != nil, emit)
}

// pairs adds a row of the stream with each of its matches.
func (l *Lookup) pairs(d Delta, i, at int) {
	l.found = l.found[:0]
	m := l.table.rows.FindHash(l.stream.keys.Hash[at], l.stream.keys.Key(at))
	for {
		rec, w, ok := m.Next()
		if !ok {
			break
		}
		if w > 0 {
			l.found = append(l.found, match{rec, w})
		}
	}
	if len(l.found) > 1 {
		slices.SortFunc(l.found, func(a, b match) int { return bytes.Compare(a.rec, b.rec) })
	}
	if l.residual != nil {
		l.filter(d, i)
	}
	for _, f := range l.found {
		for range f.weight {
			l.row(d, i)
			l.table.decode(l.out, f.rec)
			l.out.EndRow(d.B.W(i))
		}
	}
}

// filter drops the matches that the residual condition does not pass.
func (l *Lookup) filter(d Delta, i int) {
	if len(l.found) == 0 {
		return
	}
	pairs := zset.NewBuilder(l.kinds)
	for _, f := range l.found {
		for c := range d.B.Cols {
			pairs.Cell(c, &d.B.Cols[c], i)
		}
		l.table.decode(pairs, f.rec)
		pairs.EndRow(1)
	}
	kept := l.found[:0]
	for _, k := range l.residual.Filter(pairs.Build(), nil) {
		kept = append(kept, l.found[k])
	}
	l.Filtered += int64(len(l.found) - len(kept))
	l.found = kept
}

func (l *Lookup) row(d Delta, i int) {
	for c := range d.B.Cols {
		l.out.Cell(c, &d.B.Cols[c], i)
	}
	if d.Marks != nil {
		l.marks = append(l.marks, d.Marks[i])
	}
}

func (l *Lookup) pad(d Delta, i int) {
	l.row(d, i)
	for c := len(d.B.Cols); c < len(l.kinds); c++ {
		l.out.Null(c)
	}
	l.out.EndRow(d.B.W(i))
}

func (l *Lookup) give(marked bool, emit Emit) {
	if l.out.Len() == 0 {
		return
	}
	out := Delta{B: l.out.Build(), Stable: true}
	if marked {
		out.Marks = l.marks
	}
	emit(out)
}

// Advance does nothing: rows are given out when they come.
func (*Lookup) Advance(int64, Emit) {}

// Flush does nothing.
func (*Lookup) Flush(Emit) {}

// Waits is false.
func (*Lookup) Waits() bool { return false }

const lookupVersion = 1

// AppendSnapshot appends the table.
func (l *Lookup) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, lookupVersion)
	dst = binary.AppendVarint(dst, l.Filtered)
	return appendBlock(dst, l.table.rows.AppendSnapshot)
}

// Restore replaces the table.
func (l *Lookup) Restore(b []byte) error {
	s, err := openSnapshot(b, lookupVersion)
	if err != nil {
		return err
	}
	l.Filtered = s.varint()
	rows := s.block()
	if err := s.end(); err != nil {
		return err
	}
	if err := l.table.rows.Restore(rows); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

// StateBytes is the memory of the table.
func (l *Lookup) StateBytes() int64 { return l.table.rows.StateBytes() }

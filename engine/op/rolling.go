package op

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// RollingKind is what a row is told of a rolling snapshot.
type RollingKind uint8

// The kinds.
const (
	RollingIn       RollingKind = iota // whether the snapshot has a value
	RollingExists                      // whether the snapshot has a row
	RollingValue                       // the value of the snapshot's row
	RollingStrictIn                    // whether the snapshot has a value, NULL when NULLs leave that open
)

// Rolling adds a column to each row of a stream that it reads from a snapshot: the rows that the newest closed window
// of a query gave out. Port 0 is the stream, port 1 the query. Replace begins the snapshot of another window; its rows
// follow. Values compare as numbers (Long 1 is Double 1.0), NULLs of the snapshot are no values.
type Rolling struct {
	kind  RollingKind
	value *expr.Kernel
	col   int
	read  types.Kind

	end   int64 // of the window whose rows are the snapshot
	rows  int64
	nulls int64          // rows whose value is NULL
	table *zset.KeyTable // the values of RollingIn
	cell  []byte         // the value of RollingValue, as a record of one cell
	key   []byte
	out   *zset.Builder
}

var _ Operator = (*Rolling)(nil)

// NewRolling reads the column col, of a kind, of the snapshots. value is what RollingIn looks for, over the stream.
func NewRolling(read types.Kind, kind RollingKind, value expr.Expr, col int) *Rolling {
	r := &Rolling{kind: kind, col: col, read: types.Bool, end: math.MinInt64, table: zset.NewKeyTable(), cell: zset.AppendNullCell(nil)}
	if kind == RollingValue {
		r.read = read
	}
	if value != nil {
		r.value = expr.Compile(value)
	}
	r.out = zset.NewBuilder([]types.Kind{r.read})
	return r
}

// Replace empties the snapshot: the window that ends at a time gives its rows out now.
func (r *Rolling) Replace(end int64) {
	if end == r.end {
		return // another session that ends at the same time
	}
	r.end, r.rows, r.nulls = end, 0, 0
	r.table.Reset()
	r.cell = zset.AppendNullCell(r.cell[:0])
}

// Apply reads the snapshot for rows of the stream, or adds rows to it.
func (r *Rolling) Apply(port int, d Delta, emit Emit) {
	if port == 1 {
		r.take(d)
		return
	}
	var keys *zset.Column
	if r.value != nil {
		keys = r.value.Aligned(d.B, d.Sel)
	}
	at := 0
	for k := range d.Len() {
		i := d.At(k)
		for ; at < i; at++ { // rows that are not selected
			r.out.Null(0)
			r.out.EndRow(1)
		}
		at++
		switch r.kind {
		case RollingIn:
			r.key = zset.AppendComparableCell(r.key[:0], keys, i)
			_, there := r.table.Find(r.key)
			r.out.Bool(0, there)
		case RollingStrictIn:
			r.key = zset.AppendComparableCell(r.key[:0], keys, i)
			_, there := r.table.Find(r.key)
			if !there && r.rows > 0 && (keys.IsNull(i) || r.nulls > 0) {
				r.out.Null(0)
			} else {
				r.out.Bool(0, there)
			}
		case RollingExists:
			r.out.Bool(0, r.rows > 0)
		default:
			r.out.Record(r.cell, 0)
		}
		r.out.EndRow(1)
	}
	for ; at < d.B.N; at++ {
		r.out.Null(0)
		r.out.EndRow(1)
	}
	b := *d.B
	b.Cols = append(d.B.Cols[:len(d.B.Cols):len(d.B.Cols)], r.out.Build().Cols[0])
	d.B = &b
	emit(d)
}

// take adds rows to the snapshot.
func (r *Rolling) take(d Delta) {
	col := &d.B.Cols[r.col]
	for k := range d.Len() {
		i := d.At(k)
		r.rows++
		switch {
		case r.kind == RollingValue:
			r.cell = zset.AppendCell(r.cell[:0], col, i)
		case r.value == nil:
		case col.IsNull(i):
			r.nulls++
		default:
			r.key = zset.AppendComparableCell(r.key[:0], col, i)
			r.table.Insert(r.key)
		}
	}
}

// Advance does nothing: the windows of the query say when they close.
func (*Rolling) Advance(int64, Emit) {}

// Flush does nothing.
func (*Rolling) Flush(Emit) {}

// Waits is false.
func (*Rolling) Waits() bool { return false }

const rollingVersion = 1

// AppendSnapshot appends the snapshot.
func (r *Rolling) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, rollingVersion)
	dst = binary.AppendVarint(dst, r.end)
	dst = binary.AppendVarint(dst, r.rows)
	dst = binary.AppendVarint(dst, r.nulls)
	dst = appendBlock(dst, func(dst []byte) []byte { return append(dst, r.cell...) })
	return appendBlock(dst, r.table.AppendSnapshot)
}

// Restore replaces the snapshot.
func (r *Rolling) Restore(b []byte) error {
	s, err := openSnapshot(b, rollingVersion)
	if err != nil {
		return err
	}
	r.end, r.rows, r.nulls = s.varint(), s.varint(), s.varint()
	cell, table := s.block(), s.block()
	if err := s.end(); err != nil {
		return err
	}
	if _, err := zset.RecordValues(cell, []types.Kind{r.read}); err != nil {
		return fmt.Errorf("%w: the value of a rolling snapshot: %w", ErrSnapshot, err)
	}
	r.cell = append(r.cell[:0], cell...)
	if err := r.table.Restore(table); err != nil {
		return fmt.Errorf("rolling snapshot: %w", err)
	}
	return nil
}

// StateBytes is the memory of the snapshot.
func (r *Rolling) StateBytes() int64 { return r.table.StateBytes() + int64(cap(r.cell)) }

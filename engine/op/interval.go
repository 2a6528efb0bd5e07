package op

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// IntervalSide is what an interval join needs to know of one of its inputs.
type IntervalSide struct {
	Schema types.Schema
	Ts     int // position of the event time
	Keys   []expr.Expr
	// Keep says that rows without a partner are given out with NULLs for the other side.
	Keep bool
	// OnLate takes late rows, with the columns of the side; nil drops them.
	OnLate Emit
}

// IntervalJoin pairs rows of two streams with equal keys whose event times differ by at most a duration. Both sides
// are kept until the watermark passes a row's time plus the duration; nothing that comes later and is not late can
// match it then.
//
// A row is late when its time is below the watermark that the rows before it had reached. Late rows are counted and
// handed to the late output. That makes the pairs independent of how rows are cut into batches: every partner that a
// row on time can have is still kept.
//
// Pairs are given out when the second row comes, in order of the first row's arrival; rows without a partner when
// they leave, in order of time, then of arrival.
type IntervalJoin struct {
	within   int64
	residual *expr.Kernel
	sides    [2]intervalSide
	leaving  timeHeap
	seq      uint64
	closed   int64 // the watermark of the last Advance
	out      *zset.Builder
	pairs    []pair
	width    int

	// Filtered counts pairs that the residual condition dropped.
	Filtered int64
	// Late are the books of late rows, by side.
	Late [2]Lateness
}

var _ Operator = (*IntervalJoin)(nil)

// intervalSide is one input with the rows that can still match.
type intervalSide struct {
	IntervalSide
	kernels []*expr.Kernel
	cols    zset.Batch // the key columns of the batch at hand
	first   int        // the side's first column in the output

	keys  *zset.KeyTable     // comparable key -> list
	lists zset.Slab[rowList] // by key
	recs  *zset.KeyTable     // sequence number and record -> row
	rows  zset.Slab[keptRow] // by record
	sel   []int32
	late  []int32
	key   []byte
	rec   []byte
}

// rowList is the rows of one key in order of arrival, linked through keptRow.
type rowList struct{ head, tail uint32 }

// keptRow is a row that can still match.
type keptRow struct {
	ts         int64
	seq        uint64
	key        uint32 // zset.NoID for a row with a NULL in its key
	prev, next uint32
	matched    bool
}

// pair is a candidate: the kept rows of both sides, by side.
type pair [2]uint32

// seqPrefix is the length of the sequence number before a kept record.
const seqPrefix = 8

// NewIntervalJoin makes a join of two streams within a duration in milliseconds. residual, over the columns of both
// and the event time, may be nil.
func NewIntervalJoin(left, right IntervalSide, within int64, residual expr.Expr) *IntervalJoin {
	kinds := append(kindsOf(left.Schema), kindsOf(right.Schema)...)
	j := &IntervalJoin{within: within, closed: math.MinInt64, out: zset.NewBuilder(append(kinds, types.Long)), width: len(kinds)}
	for i, s := range []IntervalSide{left, right} {
		side := &j.sides[i]
		*side = intervalSide{IntervalSide: s, keys: zset.NewKeyTable(), recs: zset.NewKeyTable(),
			cols: zset.Batch{Cols: make([]zset.Column, len(s.Keys))}}
		for _, k := range s.Keys {
			side.kernels = append(side.kernels, expr.Compile(k))
		}
	}
	j.sides[1].first = len(left.Schema)
	if residual != nil {
		j.residual = expr.Compile(residual)
	}
	return j
}

// Apply joins rows of one side (port 0 left, 1 right) with the kept rows of the other, and keeps them.
func (j *IntervalJoin) Apply(port int, d Delta, emit Emit) {
	own, other := &j.sides[port], &j.sides[1-port]
	j.admit(port, d)
	if len(own.sel) == 0 {
		return
	}
	own.cols.N = d.B.N
	for i, k := range own.kernels {
		own.cols.Cols[i] = *k.Aligned(d.B, own.sel)
	}
	times := &d.B.Cols[own.Ts]
	for _, i := range own.sel {
		at := int(i)
		ts := times.I64[at]
		known := own.encodeKey(at)
		if !known && !own.Keep {
			continue
		}
		id := j.keep(port, d.B, at, ts, known)
		if !known {
			continue
		}
		k, there := other.keys.Find(own.key)
		if !there {
			continue
		}
		for o := other.lists.At(k).head; o != zset.NoID; {
			row := other.rows.At(o)
			if near(ts, row.ts, j.within) {
				var p pair
				p[port], p[1-port] = id, o
				j.pair(p, d.B, at, port, row.ts)
				if len(j.pairs) == maxJoinBatch {
					j.give(emit)
				}
			}
			o = row.next
		}
	}
	j.give(emit)
}

// near reports whether two times differ by at most a duration.
func near(a, b, within int64) bool {
	if a < b {
		a, b = b, a
	}
	return uint64(a)-uint64(b) <= uint64(within)
}

// admit parts the rows into those that count and late ones. A row without a time is late.
func (j *IntervalJoin) admit(port int, d Delta) {
	s := &j.sides[port]
	s.sel, s.late = s.sel[:0], s.late[:0]
	col := &d.B.Cols[s.Ts]
	for k := range d.Len() {
		i := d.At(k)
		if by, late := j.behind(col, i, d.Marks); late {
			j.Late[port].add(by)
			s.late = append(s.late, int32(i))
			continue
		}
		s.sel = append(s.sel, int32(i))
	}
	if len(s.late) > 0 && s.OnLate != nil {
		s.OnLate(Delta{B: d.B, Sel: s.late, Stable: d.Stable})
	}
}

func (j *IntervalJoin) behind(col *zset.Column, i int, marks []int64) (by int64, late bool) {
	if col.IsNull(i) {
		return 0, true
	}
	mark := j.closed
	if marks != nil {
		mark = marks[i]
	}
	return lateBy(col.I64[i], mark)
}

// encodeKey writes the key of a row; it is false when the key has a NULL.
func (s *intervalSide) encodeKey(i int) bool {
	s.key = s.key[:0]
	for c := range s.cols.Cols {
		if s.cols.Cols[c].IsNull(i) {
			return false
		}
		s.key = zset.AppendComparableCell(s.key, &s.cols.Cols[c], i)
	}
	return true
}

// keep adds a row to a side.
func (j *IntervalJoin) keep(port int, b *zset.Batch, i int, ts int64, known bool) uint32 {
	s := &j.sides[port]
	s.rec = binary.BigEndian.AppendUint64(s.rec[:0], j.seq)
	s.rec = zset.AppendRecord(s.rec, b, i, nil)
	id, _ := s.recs.Insert(s.rec)
	if need := s.recs.Cap() - s.rows.Len(); need > 0 {
		s.rows.Grow(need)
	}
	row := s.rows.At(id)
	*row = keptRow{ts: ts, seq: j.seq, key: zset.NoID, prev: zset.NoID, next: zset.NoID}
	if known {
		k, added := s.keys.Insert(s.key)
		if need := s.keys.Cap() - s.lists.Len(); need > 0 {
			s.lists.Grow(need)
		}
		list := s.lists.At(k)
		if added {
			*list = rowList{head: zset.NoID, tail: zset.NoID}
		}
		row.key, row.prev = k, list.tail
		if list.tail == zset.NoID {
			list.head = id
		} else {
			s.rows.At(list.tail).next = id
		}
		list.tail = id
	}
	j.leaving.push(timeEntry{ts: ts, seq: j.seq, id: id, side: uint8(port)})
	j.seq++
	return id
}

// pair writes a candidate to the output: the row at hand and a kept one of the other side.
func (j *IntervalJoin) pair(p pair, b *zset.Batch, i, port int, otherTs int64) {
	own, other := &j.sides[port], &j.sides[1-port]
	for c := range b.Cols {
		j.out.Cell(own.first+c, &b.Cols[c], i)
	}
	j.out.Record(other.record(p[1-port]), other.first)
	j.out.Long(j.width, max(b.Cols[own.Ts].I64[i], otherTs))
	j.out.EndRow(1)
	j.pairs = append(j.pairs, p)
}

func (s *intervalSide) record(id uint32) []byte { return s.recs.Key(id)[seqPrefix:] }

// give emits the candidates that satisfy the residual condition, and notes that their rows have a partner.
func (j *IntervalJoin) give(emit Emit) {
	if len(j.pairs) == 0 {
		return
	}
	d := Delta{B: j.out.Build(), Stable: true}
	if j.residual != nil {
		sel := j.residual.Filter(d.B, nil)
		j.Filtered += int64(d.B.N - len(sel))
		if len(sel) < d.B.N {
			d.Sel = append([]int32{}, sel...)
		}
	}
	for k := range d.Len() {
		p := j.pairs[d.At(k)]
		j.sides[0].rows.At(p[0]).matched = true
		j.sides[1].rows.At(p[1]).matched = true
	}
	j.pairs = j.pairs[:0]
	if d.Len() > 0 {
		emit(d)
	}
}

// Advance lets rows go that nothing can match any more, and gives the rows of outer sides out that found no partner.
func (j *IntervalJoin) Advance(watermark int64, emit Emit) {
	if watermark <= j.closed {
		return
	}
	j.closed = watermark
	for len(j.leaving) > 0 && passed(j.leaving[0].ts, j.within, watermark) {
		e := j.leaving.pop()
		s := &j.sides[e.side]
		if s.Keep && !s.rows.At(e.id).matched {
			j.pad(e)
		}
		s.drop(e.id)
	}
	if j.out.Len() > 0 {
		emit(Delta{B: j.out.Build(), Stable: true})
	}
}

// passed reports whether the watermark is behind a time plus a duration.
func passed(ts, within, watermark int64) bool { return watermark > ts && !near(watermark, ts, within) }

func (j *IntervalJoin) pad(e timeEntry) {
	own, other := &j.sides[e.side], &j.sides[1-e.side]
	j.out.Record(own.record(e.id), own.first)
	for c := range other.Schema {
		j.out.Null(other.first + c)
	}
	j.out.Long(j.width, e.ts)
	j.out.EndRow(1)
}

// drop removes a row from a side.
func (s *intervalSide) drop(id uint32) {
	row := s.rows.At(id)
	if row.key != zset.NoID {
		list := s.lists.At(row.key)
		if row.prev == zset.NoID {
			list.head = row.next
		} else {
			s.rows.At(row.prev).next = row.next
		}
		if row.next == zset.NoID {
			list.tail = row.prev
		} else {
			s.rows.At(row.next).prev = row.prev
		}
		if list.head == zset.NoID {
			s.keys.Remove(row.key)
		}
	}
	s.recs.Remove(id)
}

// Flush does nothing: pairs are given out at once.
func (*IntervalJoin) Flush(Emit) {}

// Waits reports whether a row without a partner is held back.
func (j *IntervalJoin) Waits() bool {
	return len(j.leaving) > 0 && (j.sides[0].Keep || j.sides[1].Keep)
}

const intervalVersion = 1

// AppendSnapshot appends the kept rows.
func (j *IntervalJoin) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, intervalVersion)
	dst = binary.AppendVarint(dst, j.Filtered)
	dst = binary.AppendVarint(dst, j.closed)
	dst = binary.AppendUvarint(dst, j.seq)
	for i := range j.sides {
		s := &j.sides[i]
		dst = j.Late[i].append(dst)
		dst = appendBlock(dst, s.keys.AppendSnapshot)
		dst = appendBlock(dst, s.recs.AppendSnapshot)
		dst = binary.AppendUvarint(dst, uint64(s.recs.Len()))
		s.recs.Each(func(id uint32, _ []byte) bool {
			row := s.rows.At(id)
			dst = binary.AppendUvarint(dst, uint64(id))
			dst = binary.AppendVarint(dst, row.ts)
			dst = binary.AppendUvarint(dst, row.seq)
			for _, link := range [3]uint32{row.key, row.prev, row.next} {
				dst = binary.AppendUvarint(dst, uint64(link+1)) // NoID becomes 0
			}
			appendBool(&dst, row.matched)
			return true
		})
		dst = binary.AppendUvarint(dst, uint64(s.keys.Len()))
		s.keys.Each(func(id uint32, _ []byte) bool {
			list := s.lists.At(id)
			for _, link := range [3]uint32{id, list.head, list.tail} {
				dst = binary.AppendUvarint(dst, uint64(link))
			}
			return true
		})
	}
	return dst
}

// Restore replaces the kept rows.
func (j *IntervalJoin) Restore(b []byte) error {
	r, err := openSnapshot(b, intervalVersion)
	if err != nil {
		return err
	}
	j.Filtered, j.closed, j.seq = r.varint(), r.varint(), r.uvarint()
	for i := range j.sides {
		j.Late[i].restore(r)
		if err := j.restoreSide(i, r); err != nil {
			return err
		}
	}
	return r.end()
}

func (j *IntervalJoin) restoreSide(port int, r *snapReader) error {
	s := &j.sides[port]
	if err := s.keys.Restore(r.block()); err != nil {
		return fmt.Errorf("keys of side %d: %w", port, err)
	}
	if err := s.recs.Restore(r.block()); err != nil {
		return fmt.Errorf("rows of side %d: %w", port, err)
	}
	s.rows.Grow(s.recs.Cap())
	s.lists.Grow(s.keys.Cap())
	bad := fmt.Errorf("%w: side %d names a row that is not there", ErrSnapshot, port)
	for range r.count() {
		id := uint32(r.uvarint())
		row := keptRow{ts: r.varint(), seq: r.uvarint()}
		row.key, row.prev, row.next = uint32(r.uvarint())-1, uint32(r.uvarint())-1, uint32(r.uvarint())-1
		row.matched = r.uvarint() != 0
		for _, link := range [3]uint32{id, row.prev, row.next} {
			if link != zset.NoID && len(s.recs.Key(link)) < seqPrefix || id == zset.NoID {
				return bad
			}
		}
		if row.key != zset.NoID && s.keys.Key(row.key) == nil {
			return bad
		}
		*s.rows.At(id) = row
		j.leaving.push(timeEntry{ts: row.ts, seq: row.seq, id: id, side: uint8(port)})
	}
	for range r.count() {
		id, list := uint32(r.uvarint()), rowList{head: uint32(r.uvarint()), tail: uint32(r.uvarint())}
		if s.keys.Key(id) == nil || s.recs.Key(list.head) == nil || s.recs.Key(list.tail) == nil {
			return bad
		}
		*s.lists.At(id) = list
	}
	return nil
}

// StateBytes is the memory of the kept rows.
func (j *IntervalJoin) StateBytes() int64 {
	n := int64(cap(j.leaving)) * 24
	for i := range j.sides {
		s := &j.sides[i]
		n += s.keys.StateBytes() + s.recs.StateBytes() + s.lists.Bytes() + s.rows.Bytes()
	}
	return n
}

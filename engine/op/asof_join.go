package op

import (
	"bytes"
	"fmt"
	"sort"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// AsofJoin pairs each left row with one right row of its key: the latest at or before the left row's time. Of right rows
// of one time it is the greatest in the order of records, whatever their multiplicity; a right row that is not there (its
// weight is not positive) is not found. A left row without one is dropped, or padded with NULLs.
//
// The result is a function of both sides as they are. A right change takes the pairs of its key back whose right row
// it changes, and gives the new ones; left rows before the earliest changed time are not touched. A change costs time in
// proportion to the rows of its key.
type AsofJoin struct {
	sides  [2]joinSide
	times  [2]int // column of the time
	at     [2]int // its place in the record
	strict bool   // before, not at or before
	outer  bool
	out    *zset.Builder

	groups *zset.KeyTable // keys of the batch at hand
	lists  [][]moment     // by group
	rows   [][]int32      // by group: positions in the selection
	ids    []uint32
}

var _ Operator = (*AsofJoin)(nil)

// moment is a right record with its time.
type moment struct {
	time int64
	rec  []byte
}

// NewAsofJoin makes an as-of join by the keys and the columns of time, which are numbers of milliseconds.
func NewAsofJoin(left, right types.Schema, leftKeys, rightKeys []expr.Expr, leftTime, rightTime int, strict, outer bool) *AsofJoin {
	j := &AsofJoin{times: [2]int{leftTime, rightTime}, strict: strict, outer: outer, groups: zset.NewKeyTable()}
	j.out = zset.NewBuilder(append(kindsOf(left), kindsOf(right)...))
	j.sides[0] = newJoinSide(leftKeys, 0, len(left), 0)
	j.sides[1] = newJoinSide(rightKeys, 0, len(right), len(left))
	for s := range j.sides {
		for i, c := range j.sides[s].order {
			if c == j.times[s] {
				j.at[s] = i
			}
		}
	}
	return j
}

// Apply takes changes of one side (port 0 left, 1 right).
func (j *AsofJoin) Apply(port int, d Delta, emit Emit) {
	own := &j.sides[port]
	times := &d.B.Cols[j.times[port]]
	own.encode(d)
	j.dropTimeless(port, d, times, emit)
	own.keys.HashAll()
	j.group(own)
	if port == 0 {
		j.left(d.B, times, emit)
	} else {
		j.right(d.B, times, emit)
	}
	j.give(emit)
}

// dropTimeless takes rows without a time out of those at hand; like rows with a NULL key they match nothing.
func (j *AsofJoin) dropTimeless(port int, d Delta, times *zset.Column, emit Emit) {
	own := &j.sides[port]
	if times.Valid != nil {
		kept := own.sel[:0]
		for _, i := range own.sel {
			if !times.IsNull(int(i)) {
				kept = append(kept, i)
			}
		}
		if len(kept) < own.keys.Len() {
			own.sel = kept
			own.keys.Reset()
			own.recs.Reset()
			own.keys.Encode(&own.cols, nil, own.sel)
			own.recs.Encode(d.B, own.order, own.sel)
		}
	}
	if port == 1 || !j.outer || len(own.sel) == d.Len() {
		return
	}
	next := 0
	for k := range d.Len() {
		i := d.At(k)
		if next < len(own.sel) && int(own.sel[next]) == i {
			next++
			continue
		}
		j.pairRow(d.B, i, nil, d.B.W(i), emit)
	}
}

// group numbers the keys of the batch in the order in which they come.
func (j *AsofJoin) group(own *joinSide) {
	j.groups.Reset()
	j.lists, j.rows = j.lists[:0], j.rows[:0]
	j.ids = grow(j.ids, len(own.sel))
	for k := range own.sel {
		id, added := j.groups.InsertHash(own.keys.Hash[k], own.keys.Key(k))
		if added {
			j.lists, j.rows = append(j.lists, nil), append(j.rows, nil)
		}
		j.rows[id] = append(j.rows[id], int32(k))
		j.ids[k] = id
	}
}

func (j *AsofJoin) left(b *zset.Batch, times *zset.Column, emit Emit) {
	own := &j.sides[0]
	for id := range j.rows {
		j.lists[id] = j.moments(own.keys.Key(int(j.rows[id][0])), false)
	}
	for k, i := range own.sel {
		if m, ok := j.pick(j.lists[j.ids[k]], times.I64[i]); ok || j.outer {
			j.pairRow(b, int(i), m.rec, b.W(int(i)), emit)
		}
		own.rows.AddHash(own.keys.Hash[k], own.keys.Key(k), own.recs.Key(k), b.W(int(i)))
	}
}

func (j *AsofJoin) right(b *zset.Batch, times *zset.Column, emit Emit) {
	own, lefts := &j.sides[1], &j.sides[0]
	for _, rows := range j.rows {
		key := own.keys.Key(int(rows[0]))
		watched := lefts.rows.Count(key) > 0
		var before []moment
		if watched {
			// The records are copied: those that leave give their memory up.
			before = j.moments(key, true)
		}
		first := times.I64[own.sel[rows[0]]]
		for _, k := range rows {
			i := own.sel[k]
			first = min(first, times.I64[i])
			own.rows.AddHash(own.keys.Hash[k], key, own.recs.Key(int(k)), b.W(int(i)))
		}
		if !watched {
			continue
		}
		after := j.moments(key, false)
		for m := lefts.rows.Find(key); ; {
			rec, w, ok := m.Next()
			if !ok {
				break
			}
			t := timeIn(rec, j.at[0])
			if t < first {
				continue
			}
			was, hadOne := j.pick(before, t)
			is, hasOne := j.pick(after, t)
			if hadOne == hasOne && bytes.Equal(was.rec, is.rec) {
				continue
			}
			if hadOne || j.outer {
				j.pairRecord(rec, was.rec, -w, emit)
			}
			if hasOne || j.outer {
				j.pairRecord(rec, is.rec, w, emit)
			}
		}
	}
}

// moments lists the right rows of a key that are there, by time and record. copied makes them outlive a change.
func (j *AsofJoin) moments(key []byte, copied bool) []moment {
	var out []moment
	for m := j.sides[1].rows.Find(key); ; {
		rec, w, ok := m.Next()
		if !ok {
			break
		}
		if w <= 0 {
			continue
		}
		if copied {
			rec = bytes.Clone(rec)
		}
		out = append(out, moment{timeIn(rec, j.at[1]), rec})
	}
	sort.Slice(out, func(a, b int) bool {
		if out[a].time != out[b].time {
			return out[a].time < out[b].time
		}
		return bytes.Compare(out[a].rec, out[b].rec) < 0
	})
	return out
}

// pick finds the latest moment at or before a time.
func (j *AsofJoin) pick(list []moment, t int64) (moment, bool) {
	n := sort.Search(len(list), func(i int) bool {
		return list[i].time > t || j.strict && list[i].time == t
	})
	if n == 0 {
		return moment{}, false
	}
	return list[n-1], true
}

// timeIn reads the cell of a record that holds its time.
func timeIn(rec []byte, at int) int64 {
	c, _, err := zset.ReadCell(zset.SkipCells(rec, at))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return c.I
}

// pairRow gives a left row of the batch at hand with a right record; nil pads.
func (j *AsofJoin) pairRow(b *zset.Batch, i int, right []byte, w int64, emit Emit) {
	for c := range b.Cols {
		j.out.Cell(c, &b.Cols[c], i)
	}
	j.endPair(right, w, emit)
}

func (j *AsofJoin) pairRecord(left, right []byte, w int64, emit Emit) {
	j.sides[0].decode(j.out, left)
	j.endPair(right, w, emit)
}

func (j *AsofJoin) endPair(right []byte, w int64, emit Emit) {
	if right != nil {
		j.sides[1].decode(j.out, right)
	} else {
		for c := j.sides[1].first; c < len(j.out.Kinds()); c++ {
			j.out.Null(c)
		}
	}
	j.out.EndRow(w)
	if j.out.Len() == maxJoinBatch {
		j.give(emit)
	}
}

func (j *AsofJoin) give(emit Emit) {
	if j.out.Len() > 0 {
		emit(Delta{B: j.out.Build(), Stable: true})
	}
}

// Advance does nothing: a table joins what is there.
func (*AsofJoin) Advance(int64, Emit) {}

// Flush does nothing: pairs are given out at once.
func (*AsofJoin) Flush(Emit) {}

// Waits is false.
func (*AsofJoin) Waits() bool { return false }

const asofJoinVersion = 1

// AppendSnapshot appends both sides.
func (j *AsofJoin) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, asofJoinVersion)
	dst = appendBlock(dst, j.sides[0].rows.AppendSnapshot)
	return appendBlock(dst, j.sides[1].rows.AppendSnapshot)
}

// Restore replaces both sides.
func (j *AsofJoin) Restore(b []byte) error {
	r, err := openSnapshot(b, asofJoinVersion)
	if err != nil {
		return err
	}
	left, right := r.block(), r.block()
	if err := r.end(); err != nil {
		return err
	}
	if err := j.sides[0].rows.Restore(left); err != nil {
		return fmt.Errorf("left side: %w", err)
	}
	if err := j.sides[1].rows.Restore(right); err != nil {
		return fmt.Errorf("right side: %w", err)
	}
	return nil
}

// StateBytes is the memory of both sides.
func (j *AsofJoin) StateBytes() int64 {
	return j.sides[0].rows.StateBytes() + j.sides[1].rows.StateBytes()
}

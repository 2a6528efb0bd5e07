package op

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Retain bounds a table: at the end of every epoch rows that are too old leave, and then the oldest rows beyond the
// largest number. Rows of one time leave in the order of their records.
//
// Old is measured by event time against the newest row that ever came; without event time every row is as old as the
// others. What leaves is taken back as by a retraction, marked as evicted. A retraction of a row that has left already
// finds nothing and does nothing.
type Retain struct {
	ts     int // position of the event time, -1 without one
	bounds Retention

	rows   *ages
	kept   zset.Slab[heldRow]
	total  int64 // sum of the weights that are kept
	newest int64
	// Evicted counts the rows that left, also those that were never shown.
	Evicted int64
	epoch   []uint32 // rows that changed in this epoch
	touched []uint32 // rows that changed since the last flush
	rec     zset.KeyBatch

	out, gone *zset.Builder
}

var _ Operator = (*Retain)(nil)

// heldRow is the books of a row: shown + came = weight + evicted, but for retractions that found nothing.
type heldRow struct {
	weight  int64 // kept now
	shown   int64 // kept at the last flush
	change  int64 // net change of this epoch
	evicted int64 // evicted since the last flush, of what was shown
	marks   uint8 // inEpoch, inFlush
}

const (
	inEpoch uint8 = 1 << iota
	inFlush
)

// NewRetain makes the operator over rows of the given columns. ts is the position of their event time, or -1.
func NewRetain(in types.Schema, ts int, bounds Retention) *Retain {
	kinds := kindsOf(in)
	return &Retain{ts: ts, bounds: bounds, rows: newAges(), newest: math.MinInt64, out: zset.NewBuilder(kinds), gone: zset.NewBuilder(kinds)}
}

// Apply adds up the changes of an epoch.
func (r *Retain) Apply(_ int, d Delta, _ Emit) {
	r.rec.Reset()
	r.rec.Encode(d.B, nil, d.Sel)
	for k := range d.Len() {
		i := d.At(k)
		w := d.B.W(i)
		ts := int64(0)
		if r.ts >= 0 {
			ts = math.MinInt64
			if c := &d.B.Cols[r.ts]; !c.IsNull(i) {
				ts = c.I64[i]
			}
		}
		if w > 0 {
			r.newest = max(r.newest, ts)
		}
		name := r.rec.Key(k)
		id, ok := r.rows.names.Find(name)
		if !ok {
			// It is held from the first mention to the end of the epoch at least; what nets to nothing leaves then.
			id = r.rows.put(name, ts)
			if n := int(id) + 1 - r.kept.Len(); n > 0 {
				r.kept.Grow(n)
			}
			*r.kept.At(id) = heldRow{}
		} else {
			r.rows.put(name, ts)
		}
		row := r.kept.At(id)
		row.change += w
		if row.marks&inEpoch == 0 {
			row.marks |= inEpoch
			r.epoch = append(r.epoch, id)
		}
	}
}

// Advance ends an epoch.
func (r *Retain) Advance(int64, Emit) {
	if len(r.epoch) == 0 {
		return
	}
	for _, id := range r.epoch {
		row := r.touch(id)
		before := row.weight
		row.weight = max(before+row.change, 0)
		row.change, row.marks = 0, row.marks&^inEpoch
		r.total += row.weight - before
		// What is taken back is first what came since the last flush, then what was shown.
		row.evicted = max(min(row.evicted, row.shown-row.weight), 0)
		if row.weight == 0 {
			r.rows.drop(id)
		}
	}
	r.epoch = r.epoch[:0]
	r.evict()
}

func (r *Retain) touch(id uint32) *heldRow {
	row := r.kept.At(id)
	if row.marks&inFlush == 0 {
		row.marks |= inFlush
		row.shown = row.weight
		r.touched = append(r.touched, id)
	}
	return row
}

// evict takes rows back until the bounds hold: first by age, then by number.
func (r *Retain) evict() {
	horizon := r.bounds.horizon(r.newest)
	for {
		id, ts, ok := r.rows.oldest()
		if !ok {
			return
		}
		row := r.kept.At(id)
		n := row.weight
		if ts >= horizon {
			if r.bounds.MaxRows == 0 || r.total <= r.bounds.MaxRows {
				return
			}
			n = min(n, r.total-r.bounds.MaxRows)
		}
		row = r.touch(id)
		// Rows that came and left between two flushes were never shown.
		shown := min(row.weight, row.shown)
		row.weight -= n
		r.total -= n
		r.Evicted += n
		row.evicted += max(shown-row.weight, 0)
		if row.weight == 0 {
			r.rows.drop(id)
		}
	}
}

// Flush gives out what changed.
func (r *Retain) Flush(emit Emit) {
	for _, id := range r.touched {
		row := r.kept.At(id)
		rec := r.rows.names.Key(id)
		if w := row.weight - row.shown + row.evicted; w != 0 {
			r.out.Record(rec, 0)
			r.out.EndRow(w)
		}
		if row.evicted > 0 {
			r.gone.Record(rec, 0)
			r.gone.EndRow(-row.evicted)
		}
		row.shown, row.evicted, row.marks = 0, 0, 0
	}
	r.touched = r.touched[:0]
	r.rows.compact()
	if r.out.Len() > 0 {
		emit(Delta{B: r.out.Build(), Stable: true})
	}
	if r.gone.Len() > 0 {
		emit(Delta{B: r.gone.Build(), Stable: true, Evicted: true})
	}
}

// Waits is false: age is measured against other rows and not against the clock.
func (*Retain) Waits() bool { return false }

const retainVersion = 1

// AppendSnapshot appends the kept rows and the newest time.
func (r *Retain) AppendSnapshot(dst []byte) []byte {
	if len(r.touched) > 0 || len(r.epoch) > 0 {
		panic("BUG: snapshot of a Retain between Apply and Flush")
	}
	dst = append(dst, retainVersion)
	dst = binary.AppendVarint(dst, r.newest)
	dst = binary.AppendVarint(dst, r.Evicted)
	dst = binary.AppendUvarint(dst, uint64(r.rows.live))
	r.rows.names.Each(func(id uint32, name []byte) bool {
		if it := r.rows.items.At(id); it.live {
			dst = binary.AppendVarint(dst, it.ts)
			dst = binary.AppendVarint(dst, r.kept.At(id).weight)
			dst = binary.AppendUvarint(dst, uint64(len(name)))
			dst = append(dst, name...)
		}
		return true
	})
	return dst
}

// Restore replaces the state.
func (r *Retain) Restore(b []byte) error {
	s, err := openSnapshot(b, retainVersion)
	if err != nil {
		return err
	}
	r.newest, r.Evicted = s.varint(), s.varint()
	r.rows, r.total = newAges(), 0
	r.kept.Reset()
	for range s.count() {
		ts, w := s.varint(), s.varint()
		name := s.bytes(s.count())
		if s.fail || w <= 0 {
			return fmt.Errorf("%w: a kept row with weight %d", ErrSnapshot, w)
		}
		id := r.rows.put(name, ts)
		if n := int(id) + 1 - r.kept.Len(); n > 0 {
			r.kept.Grow(n)
		}
		*r.kept.At(id) = heldRow{weight: w}
		r.total += w
	}
	return s.end()
}

// StateBytes is the memory of the kept rows.
func (r *Retain) StateBytes() int64 { return r.rows.StateBytes() + r.kept.Bytes() }

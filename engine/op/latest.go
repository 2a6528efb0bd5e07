package op

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// LatestBy keeps the newest whole row of each key by event time.
//
//   - A row whose time is newer than or equal to the retained row's replaces it; an older one is ignored.
//   - A row whose retraction mark is TRUE removes the key, unless it is older than the retained row. It is not kept.
//   - A retraction (negative weight) removes the key when its row equals the retained one, and is ignored otherwise.
//     Nothing older comes back.
//
// Over an input that updates rows, the retractions of an epoch are taken before its assertions: an update to an
// older time is then an update, in whatever order the two halves came.
//
// The output is the net change since the last flush: -old and +new of every key that has another row.
type LatestBy struct {
	keys    []int
	ts      int
	retract int
	// updating is set for an input that is not append-only: rows wait for the end of the epoch.
	updating bool

	rows *zset.Arrangement // key -> the retained row, weight 1

	key, rec zset.KeyBatch
	pending  pendingRows

	touched *zset.KeyTable // keys touched since the last flush
	order   []uint32       // their numbers, in order
	before  []beforeRow    // by number
	arena   []byte         // the rows of before
	scratch []byte

	// bounds and ages are set for a table with retention: at the end of every epoch the keys that are too old or too many
	// are forgotten with their rows.
	bounds Retention
	ages   *ages
	newest int64

	out, gone *zset.Builder
	// Evicted counts the keys that retention let go.
	Evicted int64
	// Ignored counts rows that were older than the retained row, or took back a row that is not retained.
	Ignored int64
	// Changes are the books of a keyed source, nil for LATEST BY.
	Changes *Changes
}

var _ Operator = (*LatestBy)(nil)

// beforeRow is the row of a key at the last flush: arena[from:to]; from < 0 when there was none.
type beforeRow struct {
	from, to int
	// evicted says that retention was the last to change the key.
	evicted bool
}

// NewLatestBy makes the operator over rows of the given columns. ts is -1 when the order of arrival decides, retract
// -1 without a retraction mark.
func NewLatestBy(in types.Schema, keys []int, ts, retract int, appendOnly bool) *LatestBy {
	return &LatestBy{keys: keys, ts: ts, retract: retract, updating: !appendOnly, rows: zset.NewArrangement(),
		touched: zset.NewKeyTable(), out: zset.NewBuilder(kindsOf(in)), gone: zset.NewBuilder(kindsOf(in))}
}

// Apply takes rows in order of arrival.
func (l *LatestBy) Apply(_ int, d Delta, _ Emit) {
	l.key.Reset()
	l.rec.Reset()
	l.key.Encode(d.B, l.keys, d.Sel)
	l.rec.Encode(d.B, nil, d.Sel)
	if l.updating {
		for k := range d.Len() {
			i := d.At(k)
			l.pending.add(l.key.Key(k), l.rec.Key(k), l.time(d.B, i), l.removes(d.B, i), d.B.W(i))
		}
		return
	}
	l.rows.TouchBatch(&l.key)
	for k := range d.Len() {
		i := d.At(k)
		l.take(l.key.Hash[k], l.key.Key(k), l.rec.Key(k), l.time(d.B, i), l.removes(d.B, i), d.B.W(i))
	}
}

// time is the event time of a row; a row without one is older than every other.
func (l *LatestBy) time(b *zset.Batch, i int) int64 {
	if l.ts < 0 {
		return 0 // every row is as new as the others: the order of arrival decides
	}
	if c := &b.Cols[l.ts]; !c.IsNull(i) {
		return c.I64[i]
	}
	return math.MinInt64
}

func (l *LatestBy) removes(b *zset.Batch, i int) bool {
	if l.retract < 0 {
		return false
	}
	c := &b.Cols[l.retract]
	return !c.IsNull(i) && c.I64[i] != 0
}

// Bound sets the retention of the table. It is called before the first row.
func (l *LatestBy) Bound(r Retention) {
	l.bounds, l.ages, l.newest = r, newAges(), math.MinInt64
}

func (l *LatestBy) take(h uint64, key, rec []byte, ts int64, removes bool, w int64) {
	if w == 0 {
		return
	}
	m := l.rows.FindHash(h, key)
	old, _, have := m.Next()
	if l.Changes != nil {
		l.Changes.count(removes, have)
	}
	switch {
	case w < 0:
		if !have || !bytes.Equal(old, rec) {
			l.Ignored++
			return
		}
	case have && ts < l.timeOf(old):
		l.Ignored++
		return
	case removes && !have || have && !removes && bytes.Equal(old, rec):
		return // nothing changes
	}
	l.remember(key, old, have, false)
	if have {
		// old is memory of the arrangement, which the change may move.
		l.scratch = append(l.scratch[:0], old...)
		l.rows.AddHash(h, key, l.scratch, -1)
	}
	held := w > 0 && !removes
	if held {
		l.rows.AddHash(h, key, rec, 1)
	}
	if l.ages != nil {
		l.age(key, ts, held)
	}
}

// age keeps the time of a key.
func (l *LatestBy) age(key []byte, ts int64, held bool) {
	if held {
		l.newest = max(l.newest, ts)
		l.ages.put(key, ts)
	} else if id, ok := l.ages.names.Find(key); ok {
		l.ages.drop(id)
	}
}

// evict forgets the keys that retention does not keep.
func (l *LatestBy) evict() {
	horizon := l.bounds.horizon(l.newest)
	for {
		id, ts, ok := l.ages.oldest()
		if !ok || ts >= horizon && (l.bounds.MaxRows == 0 || int64(l.ages.live) <= l.bounds.MaxRows) {
			return
		}
		l.ages.drop(id)
		l.Evicted++
		key := l.ages.names.Key(id)
		m := l.rows.Find(key)
		old, _, _ := m.Next()
		l.remember(key, old, true, true)
		l.scratch = append(l.scratch[:0], old...)
		l.rows.Add(key, l.scratch, -1)
	}
}

// timeOf reads the event time of a retained row.
func (l *LatestBy) timeOf(rec []byte) int64 {
	if l.ts < 0 {
		return 0
	}
	c, _, err := zset.ReadCell(zset.SkipCells(rec, l.ts))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if c.Kind == types.Unknown {
		return math.MinInt64
	}
	return c.I
}

// remember keeps the row that a key had at the last flush.
func (l *LatestBy) remember(key, old []byte, have, evicted bool) {
	id, added := l.touched.Insert(key)
	if !added {
		l.before[id].evicted = evicted
		return
	}
	r := beforeRow{from: -1, evicted: evicted}
	if have {
		r.from = len(l.arena)
		l.arena = append(l.arena, old...)
		r.to = len(l.arena)
	}
	for int(id) >= len(l.before) {
		l.before = append(l.before, beforeRow{})
	}
	l.before[id] = r
	l.order = append(l.order, id)
}

// Advance ends an epoch: waiting rows are taken, retractions first.
func (l *LatestBy) Advance(int64, Emit) {
	l.settle()
	if l.ages != nil {
		l.evict()
	}
}

func (l *LatestBy) settle() {
	p := &l.pending
	for _, negative := range [2]bool{true, false} {
		for i := range p.rows {
			if r := &p.rows[i]; (r.weight < 0) == negative {
				key := p.bytes[r.at : r.at+r.keyLen]
				rec := p.bytes[r.at+r.keyLen : r.at+r.keyLen+r.recLen]
				l.take(zset.Hash(key), key, rec, r.ts, r.removes, r.weight)
			}
		}
	}
	p.reset()
}

// Flush gives out what changed.
func (l *LatestBy) Flush(emit Emit) {
	l.settle()
	for _, id := range l.order {
		r := l.before[id]
		m := l.rows.Find(l.touched.Key(id))
		now, _, have := m.Next()
		if had := r.from >= 0; had {
			old := l.arena[r.from:r.to]
			if have && bytes.Equal(old, now) {
				continue
			}
			to := l.out
			if r.evicted {
				to = l.gone
			}
			to.Record(old, 0)
			to.EndRow(-1)
		}
		if have {
			l.out.Record(now, 0)
			l.out.EndRow(1)
		}
	}
	// Removed last to first, so that the next keys get the same numbers again.
	for i := len(l.order) - 1; i >= 0; i-- {
		l.touched.Remove(l.order[i])
	}
	l.order, l.arena = l.order[:0], l.arena[:0]
	if l.ages != nil {
		l.ages.compact()
	}
	if l.out.Len() > 0 {
		emit(Delta{B: l.out.Build(), Stable: true})
	}
	if l.gone.Len() > 0 {
		emit(Delta{B: l.gone.Build(), Stable: true, Evicted: true})
	}
}

// Waits is false: rows wait for the end of the epoch only.
func (*LatestBy) Waits() bool { return false }

const latestVersion = 1

// AppendSnapshot appends the retained rows.
func (l *LatestBy) AppendSnapshot(dst []byte) []byte {
	if len(l.order) > 0 || len(l.pending.rows) > 0 {
		panic("BUG: snapshot of LATEST BY between Apply and Flush")
	}
	dst = append(dst, latestVersion)
	dst = binary.AppendVarint(dst, l.Ignored)
	dst = appendBlock(dst, l.rows.AppendSnapshot)
	if l.ages != nil {
		dst = binary.AppendVarint(dst, l.newest)
		dst = binary.AppendVarint(dst, l.Evicted)
	}
	if l.Changes != nil {
		dst = l.Changes.append(dst)
	}
	return dst
}

// Restore replaces the state.
func (l *LatestBy) Restore(b []byte) error {
	s, err := openSnapshot(b, latestVersion)
	if err != nil {
		return err
	}
	l.Ignored = s.varint()
	rows := s.block()
	if l.ages != nil {
		l.newest, l.Evicted = s.varint(), s.varint()
	}
	if l.Changes != nil {
		*l.Changes = Changes{Upserts: s.varint(), Deletes: s.varint(), Unknown: s.varint()}
	}
	if err := s.end(); err != nil {
		return err
	}
	if err := l.rows.Restore(rows); err != nil {
		return fmt.Errorf("latest rows: %w", err)
	}
	if l.ages != nil {
		l.ages = newAges()
		l.rows.Each(func(key, rec []byte, _ int64) bool {
			l.ages.put(key, l.timeOf(rec))
			return true
		})
	}
	return nil
}

// StateBytes is the memory of the retained rows.
func (l *LatestBy) StateBytes() int64 {
	n := l.rows.StateBytes() + int64(cap(l.pending.bytes))
	if l.ages != nil {
		n += l.ages.StateBytes()
	}
	return n
}

// pendingRows are the rows of an epoch of an updating input.
type pendingRows struct {
	bytes []byte
	rows  []pendingRow
}

type pendingRow struct {
	at, keyLen, recLen int
	ts, weight         int64
	removes            bool
}

func (p *pendingRows) add(key, rec []byte, ts int64, removes bool, w int64) {
	p.rows = append(p.rows, pendingRow{at: len(p.bytes), keyLen: len(key), recLen: len(rec), ts: ts, weight: w, removes: removes})
	p.bytes = append(append(p.bytes, key...), rec...)
}

func (p *pendingRows) reset() { p.rows, p.bytes = p.rows[:0], p.bytes[:0] }

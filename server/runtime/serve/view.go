package serve

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// View is the rows of a store at one moment. It never changes and may be kept and read by anyone.
type View struct {
	State
	schema  types.Schema
	visible []int
	pages   []*page
	chunks  [][]byte
	slots   int
	shown   int
	debts   int
	undo    []Change
	since   uint64
	adjust  map[string]int64 // weights to add, for an earlier epoch
}

// View takes the present moment.
func (s *Store) View() *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view()
}

func (s *Store) view() *View {
	s.gen++
	s.shared = true
	return &View{
		State: s.state, schema: s.opt.Schema, visible: s.visible, pages: s.pages, chunks: s.chunks,
		slots: s.slots, shown: s.shown, debts: s.debts, undo: s.undo, since: s.since,
	}
}

// Schema is the visible columns.
func (v *View) Schema() types.Schema { return v.schema }

// Len is the number of rows shown.
func (v *View) Len() int { return v.shown }

// Oldest is the earliest epoch that At can go back to.
func (v *View) Oldest() uint64 { return v.since }

// Has reports whether the rows at an epoch not after the view's are known: nothing after it was forgotten and no
// delta spans it.
func (v *View) Has(epoch uint64) bool {
	if epoch < v.since {
		return false
	}
	for i := len(v.undo) - 1; i >= 0 && v.undo[i].Epoch > epoch; i-- {
		if v.undo[i].Prev < epoch {
			return false
		}
	}
	return true
}

// Before is the newest epoch below the given one at which the rows are known, for a search of a common epoch.
func (v *View) Before(epoch uint64) uint64 {
	for i := len(v.undo) - 1; i >= 0; i-- {
		if c := v.undo[i]; c.Prev < epoch && epoch <= c.Epoch {
			return c.Prev
		}
	}
	return epoch - 1
}

// At returns the view at an earlier epoch; false when the rows of that epoch are not known.
func (v *View) At(epoch uint64) (*View, bool) {
	if !v.Has(epoch) {
		return nil, false
	}
	if epoch >= v.Epoch {
		return v, true
	}
	out := *v
	out.adjust = map[string]int64{}
	var rec []byte
	i := len(v.undo) - 1
	for ; i >= 0 && v.undo[i].Epoch > epoch; i-- {
		b := v.undo[i].Batch
		for r := range b.N {
			rec = zset.AppendRecord(rec[:0], b, r, v.visible)
			out.adjust[string(rec)] -= b.W(r)
		}
	}
	out.State = State{Epoch: epoch, Seq: v.Seq - int64(len(v.undo)-1-i)}
	if i >= 0 {
		out.Position, out.TimeMs = v.undo[i].Position, v.undo[i].TimeMs
	}
	out.shown, out.debts = 0, 0
	out.all(func(_ []byte, w int64) bool {
		if w > 0 {
			out.shown++
		} else {
			out.debts++
		}
		return true
	})
	return &out, true
}

// all calls yield with every row and debt in slot order.
func (v *View) all(yield func(rec []byte, w int64) bool) {
	seen := 0
	for slot := range v.slots {
		p := v.pages[slot/pageSlots]
		w := p.weight[slot%pageSlots]
		if w == 0 {
			continue
		}
		rec := record(v.chunks, p.ref[slot%pageSlots])
		if v.adjust != nil {
			if d, ok := v.adjust[string(rec)]; ok {
				w += d
				seen++
			}
		}
		if w != 0 && !yield(rec, w) {
			return
		}
	}
	if seen == len(v.adjust) {
		return
	}
	// Rows that were there at the earlier epoch and are gone now come last.
	left := maps.Clone(v.adjust)
	for slot := range v.slots {
		if p := v.pages[slot/pageSlots]; p.weight[slot%pageSlots] != 0 {
			delete(left, string(record(v.chunks, p.ref[slot%pageSlots])))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(left)) {
		if w := left[k]; w != 0 && !yield([]byte(k), w) {
			return
		}
	}
}

// Each calls yield with the shown rows from offset on, at most limit of them, in their stable order. The record is
// that of the visible columns and must not be changed.
func (v *View) Each(offset, limit int, yield func(rec []byte, w int64)) {
	if limit <= 0 || offset >= v.shown {
		return
	}
	v.all(func(rec []byte, w int64) bool {
		if w < 0 {
			return true
		}
		if offset > 0 {
			offset--
			return true
		}
		yield(rec, w)
		limit--
		return limit > 0
	})
}

// Batch returns every row and debt with its weight, for a dependent that starts from here or a base of the journal.
// Only a table without hidden columns can be taken from its store.
func (v *View) Batch() *zset.Batch {
	b := zset.NewBuilder(kinds(v.schema))
	v.all(func(rec []byte, w int64) bool {
		b.Record(rec, 0)
		b.EndRow(w)
		return true
	})
	return b.Build()
}

func kinds(s types.Schema) []types.Kind {
	out := make([]types.Kind, len(s))
	for i := range s {
		out[i] = s[i].Stored()
	}
	return out
}

// AppendJSON appends a record as a JSON object.
func (v *View) AppendJSON(dst []byte, rec []byte) []byte {
	b := zset.NewBuilder(kinds(v.schema))
	b.Record(rec, 0)
	b.EndRow(1)
	return zset.AppendJSON(dst, v.schema, b.Build(), 0)
}

// snapshotVersion is the first byte of a snapshot.
const snapshotVersion = 1

// AppendSnapshot writes the rows and debts with their weights. It works on a View, so the worker goes on meanwhile.
func (v *View) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, snapshotVersion)
	dst = binary.AppendUvarint(dst, uint64(v.shown+v.debts))
	v.all(func(rec []byte, w int64) bool {
		dst = binary.AppendVarint(dst, w)
		dst = binary.AppendUvarint(dst, uint64(len(rec)))
		dst = append(dst, rec...)
		return true
	})
	return dst
}

// Restore fills an empty store from a snapshot. hidden says that batches will have more columns than the visible.
func (s *Store) Restore(b []byte, at State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	bad := func(what string) error { return fmt.Errorf("served rows of a checkpoint: %s", what) }
	if len(b) == 0 || b[0] != snapshotVersion {
		return bad("unknown version")
	}
	b = b[1:]
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)) {
		return bad("the number of rows is damaged")
	}
	b = b[k:]
	s.ix.init(int(n))
	for range n {
		w, k := binary.Varint(b)
		if k <= 0 || w == 0 {
			return bad("a weight is damaged")
		}
		b = b[k:]
		size, k := binary.Uvarint(b)
		if k <= 0 || size > uint64(len(b)-k) {
			return bad("a row is cut off")
		}
		rec := b[k : k+int(size)]
		b = b[k+int(size):]
		if zset.SkipCells(rec, s.width) == nil && s.width > 0 {
			return bad("a row has too few columns")
		}
		h := zset.Hash(rec)
		place, _, ok := s.ix.find(h, func(slot uint32) bool { return string(s.record(slot)) == string(rec) })
		if ok {
			return bad("a row is there twice")
		}
		slot := uint32(s.slots)
		if s.slots%pageSlots == 0 {
			s.own()
			s.pages = append(s.pages, &page{gen: s.gen})
		}
		s.slots++
		p := s.edit(slot)
		p.ref[slot%pageSlots], p.weight[slot%pageSlots] = s.store(slot, rec), w
		s.count(0, w)
		if s.ix.put(place, h, slot) {
			s.grow()
		}
	}
	if len(b) != 0 {
		return bad("bytes are left over")
	}
	s.state, s.since = at, at.Epoch
	return nil
}

package serve

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

const (
	pageSlots  = 512
	chunkBytes = 1 << 20
	header     = 8 // slot and length before each record

	// undoEntries and undoBytes bound how far back a View can be read. A table that changes in every epoch of a loaded
	// clock keeps about a second.
	undoEntries = 1024
	undoBytes   = 32 << 20
)

// Options describe the rows of a Store.
type Options struct {
	// Schema is the visible columns; a batch may have more columns behind them.
	Schema types.Schema
	// Key are the positions of the columns that identify a row, nil when the whole row does. It decides only where a
	// new row is put.
	Key []int
}

// Change is one delta of a table.
type Change struct {
	// Prev and Epoch say that the delta is the net change of the epochs after Prev up to Epoch.
	Prev, Epoch uint64
	TimeMs      int64
	Seq         int64  // how many deltas the table has published
	Position    uint64 // of the delta in the table's stream
	Batch       *zset.Batch
}

// State names the moment of a View.
type State struct {
	Epoch    uint64
	TimeMs   int64
	Seq      int64
	Position uint64
}

// Store is the served rows of one table. Apply belongs to the worker; everything else may be called by anyone.
type Store struct {
	opt     Options
	visible []int // nil: the batch has no hidden columns
	width   int

	mu     sync.Mutex
	state  State
	ix     index
	pages  []*page
	gen    uint64 // pages of a smaller generation belong to a View and are copied before a write
	shared bool   // the page and chunk lists belong to a View
	slots  int
	free   []uint32
	chunks [][]byte
	dead   []int // bytes of each chunk that no row uses
	live   int   // bytes in use
	lost   int   // bytes in no use
	shown  int   // rows with a positive weight
	debts  int
	undo   []Change
	kept   int    // bytes of undo
	since  uint64 // every delta after this epoch is in undo

	subs    map[*Subscription]struct{}
	dropped int64

	rec     []byte
	key     []byte
	vacated []vacancy        // slots that the delta at hand has freed
	byKey   map[uint64]int32 // hash of the key -> position in vacated
}

type vacancy struct{ slot uint32 }

// taken marks a vacancy that a new row has filled.
const taken = ^uint32(0)

type page struct {
	gen    uint64
	ref    [pageSlots]uint64 // chunk and offset of the record
	weight [pageSlots]int64  // 0: the slot is free
}

// New makes an empty store.
func New(o Options) *Store {
	s := &Store{opt: o, width: len(o.Schema), subs: map[*Subscription]struct{}{}, byKey: map[uint64]int32{}}
	s.ix.init(0)
	return s
}

// Schema is the visible columns.
func (s *Store) Schema() types.Schema { return s.opt.Schema }

func (s *Store) at(slot uint32) *page { return s.pages[slot/pageSlots] }

// edit returns the page of a slot for a write.
func (s *Store) edit(slot uint32) *page {
	i := slot / pageSlots
	p := s.pages[i]
	if p.gen < s.gen {
		s.own()
		c := *p
		c.gen = s.gen
		p = &c
		s.pages[i] = p
	}
	return p
}

// own gives the store page and chunk lists that no View sees.
func (s *Store) own() {
	if s.shared {
		s.pages, s.chunks, s.shared = slices.Clone(s.pages), slices.Clone(s.chunks), false
	}
}

func record(chunks [][]byte, ref uint64) []byte {
	b := chunks[ref>>32][uint32(ref):]
	n := binary.LittleEndian.Uint32(b[4:])
	return b[header : header+n]
}

func (s *Store) record(slot uint32) []byte {
	return record(s.chunks, s.at(slot).ref[slot%pageSlots])
}

// Apply makes the next delta visible and hands it to the subscribers.
func (s *Store) Apply(c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply(c.Batch)
	s.state = State{Epoch: c.Epoch, TimeMs: c.TimeMs, Seq: c.Seq, Position: c.Position}
	s.remember(c)
	for sub := range s.subs {
		s.offer(sub, c)
	}
}

func (s *Store) apply(b *zset.Batch) {
	if len(b.Cols) > s.width && s.visible == nil {
		s.visible = make([]int, s.width)
		for i := range s.visible {
			s.visible[i] = i
		}
	}
	s.vacated = s.vacated[:0]
	clear(s.byKey)
	for i := range b.N {
		if w := b.W(i); w < 0 {
			s.add(b, i, w)
		}
	}
	for i := range b.N {
		if w := b.W(i); w > 0 {
			s.add(b, i, w)
		}
	}
	for _, v := range s.vacated {
		if v.slot != taken {
			s.free = append(s.free, v.slot)
		}
	}
	s.evacuate()
}

func (s *Store) add(b *zset.Batch, row int, w int64) {
	s.rec = zset.AppendRecord(s.rec[:0], b, row, s.visible)
	h := zset.Hash(s.rec)
	at, slot, ok := s.ix.find(h, func(slot uint32) bool { return string(s.record(slot)) == string(s.rec) })
	if !ok {
		slot = s.slotFor(b, row)
		p := s.edit(slot)
		p.ref[slot%pageSlots] = s.store(slot, s.rec)
		p.weight[slot%pageSlots] = w
		s.count(0, w)
		if s.ix.put(at, h, slot) {
			s.grow()
		}
		return
	}
	p := s.edit(slot)
	before := p.weight[slot%pageSlots]
	p.weight[slot%pageSlots] = before + w
	s.count(before, before+w)
	if before+w == 0 {
		s.ix.remove(at, func(slot uint32) uint64 { return zset.Hash(s.record(slot)) })
		s.discard(p.ref[slot%pageSlots])
		if s.opt.Key != nil {
			s.byKey[s.keyHash(b, row)] = int32(len(s.vacated))
		}
		s.vacated = append(s.vacated, vacancy{slot})
	}
}

func (s *Store) count(before, after int64) {
	if before > 0 {
		s.shown--
	} else if before < 0 {
		s.debts--
	}
	if after > 0 {
		s.shown++
	} else if after < 0 {
		s.debts++
	}
}

// keyHash identifies the key of a row inside one delta.
func (s *Store) keyHash(b *zset.Batch, row int) uint64 {
	s.key = zset.AppendRecord(s.key[:0], b, row, s.opt.Key)
	return zset.Hash(s.key)
}

// slotFor picks the slot of a new row: the one that the same delta freed for the same key, a free one, or a new one.
func (s *Store) slotFor(b *zset.Batch, row int) uint32 {
	if s.opt.Key != nil && len(s.vacated) > 0 {
		k := s.keyHash(b, row)
		if i, ok := s.byKey[k]; ok && s.vacated[i].slot != taken {
			slot := s.vacated[i].slot
			s.vacated[i].slot = taken
			return slot
		}
	}
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	slot := uint32(s.slots)
	if s.slots%pageSlots == 0 {
		s.own()
		s.pages = append(s.pages, &page{gen: s.gen})
	}
	s.slots++
	return slot
}

// store appends a record to the last chunk and returns its place.
func (s *Store) store(slot uint32, rec []byte) uint64 {
	n := header + len(rec)
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+n > cap(s.chunks[last]) {
		s.own()
		s.chunks = append(s.chunks, make([]byte, 0, max(chunkBytes, n)))
		s.dead = append(s.dead, 0)
		last++
	}
	c := s.chunks[last]
	at := len(c)
	c = binary.LittleEndian.AppendUint32(c, slot)
	c = binary.LittleEndian.AppendUint32(c, uint32(len(rec)))
	c = append(c, rec...)
	if s.shared {
		// Bytes behind what a View has seen are not its own; the list header is.
		s.own()
	}
	s.chunks[last] = c
	s.live += n
	return uint64(last)<<32 | uint64(at)
}

func (s *Store) discard(ref uint64) {
	n := header + len(record(s.chunks, ref))
	s.dead[ref>>32] += n
	s.live -= n
	s.lost += n
}

// evacuate moves the rows of one mostly unused chunk when half of the memory is lost, so that a store that changes
// all the time stays below twice its rows and no single call takes long.
func (s *Store) evacuate() {
	if s.lost < 4*chunkBytes || s.lost < s.live {
		return
	}
	worst, most := -1, 0
	for i, d := range s.dead {
		if s.chunks[i] != nil && i != len(s.chunks)-1 && d > most {
			worst, most = i, d
		}
	}
	if worst < 0 {
		return
	}
	c := s.chunks[worst]
	for at := 0; at < len(c); {
		slot := binary.LittleEndian.Uint32(c[at:])
		n := int(binary.LittleEndian.Uint32(c[at+4:]))
		ref := uint64(worst)<<32 | uint64(at)
		if int(slot) < s.slots {
			if p := s.at(slot); p.weight[slot%pageSlots] != 0 && p.ref[slot%pageSlots] == ref {
				s.live -= header + n
				s.edit(slot).ref[slot%pageSlots] = s.store(slot, c[at+header:at+header+n])
			}
		}
		at += header + n
	}
	s.own()
	s.lost -= s.dead[worst]
	s.chunks[worst], s.dead[worst] = nil, 0
}

func (s *Store) grow() {
	old := s.ix
	s.ix.init(old.n * 2)
	for _, w := range old.words {
		if w == 0 {
			continue
		}
		slot := uint32(w) - 1
		h := zset.Hash(s.record(slot))
		at, _, _ := s.ix.find(h, func(uint32) bool { return false })
		s.ix.put(at, h, slot)
	}
}

// remember keeps the delta for reads at an earlier epoch.
func (s *Store) remember(c Change) {
	s.undo = append(s.undo, c)
	s.kept += c.Batch.Bytes()
	drop := 0
	for len(s.undo)-drop > undoEntries || s.kept > undoBytes && drop < len(s.undo) {
		s.kept -= s.undo[drop].Batch.Bytes()
		s.since = s.undo[drop].Epoch
		drop++
	}
	if drop > 0 {
		s.undo = slices.Clone(s.undo[drop:]) // Views hold the old list.
	}
}

// Load fills an empty store with rows at a state, as recovery reads them. It may be called several times before the
// first Apply.
func (s *Store) Load(b *zset.Batch, at State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply(b)
	s.state, s.since = at, at.Epoch
}

// Touch moves the state of a store whose rows have not changed, for a recovered table that published nothing since.
func (s *Store) Touch(at State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = at
}

// Bytes is the memory of the store.
func (s *Store) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(len(s.pages))*(16*pageSlots+8) + int64(len(s.ix.words))*8 + int64(len(s.free))*4
	for _, c := range s.chunks {
		n += int64(cap(c))
	}
	return n
}

// Len is the number of rows shown.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown
}

// Dropped is how many subscribers were too slow.
func (s *Store) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Reasons why a subscription ends.
var (
	// ErrSlow says that the subscriber did not keep up: it reads again.
	ErrSlow = errors.New("the subscriber was too slow; read the rows again")
	// ErrReplaced says that a new version of the table has taken over: the subscriber reads again.
	ErrReplaced = errors.New("the table was replaced by a new version; read the rows again")
	// ErrEnded says that the table has gone.
	ErrEnded = errors.New("the table is gone")
)

package clock

import (
	"math"
	"slices"
	"sort"
	"sync"
)

// Options bound what a Clock keeps in memory.
type Options struct {
	// Bytes of segments and deltas that are kept for workers that are behind; above it the oldest are dropped and
	// the worker reads the log by itself. 0 means 256 MiB.
	Bytes int
	// TickMs is how much epoch time passes between two epochs without rows that a waiting worker takes. 0 means 50.
	TickMs int64
}

// history is how many epochs are remembered (time and positions, no rows) for reads at a position.
const history = 8192

// Tick is one epoch and the time it stands for.
type Tick struct {
	Epoch  uint64
	TimeMs int64
}

// Clock is the ring of recent epochs of one environment and the graph of its workers. It is safe for concurrent use.
type Clock struct {
	opt Options

	mu     sync.Mutex
	ticks  []Tick // recent epochs, oldest first
	since  uint64 // every epoch after since is in ticks
	head   Tick
	tracks map[string]*Track
	nodes  []*Node
	bytes  int // of held segments and deltas

	generation uint64 // of memoized frontiers
	waiters    []*waiter
	published  int // since the last release
}

// New makes a clock that stands at the given epoch.
func New(o Options, at Tick) *Clock {
	if o.Bytes == 0 {
		o.Bytes = 256 << 20
	}
	if o.TickMs == 0 {
		o.TickMs = 50
	}
	return &Clock{opt: o, head: at, since: at.Epoch, tracks: map[string]*Track{}}
}

// TickMs is how much epoch time passes between two epochs without rows that a waiting worker takes.
func (c *Clock) TickMs() int64 { return c.opt.TickMs }

// Head returns the newest epoch.
func (c *Clock) Head() Tick {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head
}

// Track is one source as the clock sees it: positions by epoch, and the rows of recent epochs.
type Track struct {
	name    string
	cuts    []cut // oldest first
	held    uint64
	at      Position // at head
	oldest  Position // at the epoch before cuts[0]
	from    uint64   // the epoch from which positions are known
	readers []*Node
}

type cut struct {
	epoch    uint64
	timeMs   int64
	position Position
	segments []*Segment // nil once they are dropped
	rows     int
	bytes    int
}

// Name is the source's name.
func (t *Track) Name() string { return t.name }

// Track returns the track of a source, made on first use. at is the position at the clock's head and counts only
// when the track is new.
func (c *Clock) Track(name string, at Position) *Track {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tracks[name]
	if t == nil {
		t = &Track{name: name, at: at, oldest: at, held: c.head.Epoch, from: c.head.Epoch}
		c.tracks[name] = t
	}
	return t
}

// Find returns a track that exists.
func (c *Clock) Find(name string) (*Track, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tracks[name]
	return t, ok
}

// Record is one epoch to publish. Its record in the epoch log has been acknowledged.
type Record struct {
	Tick
	Cuts   []Cut
	Left   []*Node
	Joined []*Node
	// Held nodes must not reach this epoch: a joined node will take their place at it.
	Held []*Node
}

// Publish makes an epoch the head and wakes the workers that have something to do for it.
func (c *Clock) Publish(r Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Epoch <= c.head.Epoch {
		panic("BUG: clock: an epoch was published twice or out of order")
	}
	c.head = r.Tick
	c.ticks = append(c.ticks, r.Tick)
	c.generation++
	for _, ct := range r.Cuts {
		t := ct.Track
		rows, bytes := ct.size()
		t.cuts = append(t.cuts, cut{
			epoch: r.Epoch, timeMs: r.TimeMs, position: ct.Position, segments: ct.Segments, rows: rows, bytes: bytes,
		})
		t.at = ct.Position
		c.bytes += bytes
		for _, n := range t.readers {
			n.due(r.Epoch)
		}
	}
	for _, n := range c.nodes {
		if n.nextTick <= r.TimeMs {
			n.due(r.Epoch)
		}
	}
	for _, n := range r.Left {
		n.leave(r.Epoch)
	}
	for _, n := range r.Joined {
		n.join(r.Epoch)
	}
	for _, n := range r.Held {
		n.limit = r.Epoch - 1
	}
	if len(r.Left)+len(r.Joined) > 0 {
		for _, n := range c.nodes {
			n.signal()
		}
	}
	if c.published++; c.published >= 16 || c.bytes > c.opt.Bytes {
		c.published = 0
		c.release()
	}
	c.wakeWaiters()
}

// release drops the segments and deltas that nobody needs any more, and the oldest ones when there are too many.
func (c *Clock) release() {
	for _, t := range c.tracks {
		pin := uint64(math.MaxUint64)
		for _, n := range t.readers {
			pin = min(pin, n.pinned())
		}
		c.dropTrack(t, pin)
		t.forget(history)
	}
	for _, n := range c.nodes {
		pin := uint64(math.MaxUint64)
		for _, d := range n.dependents {
			pin = min(pin, d.pinned())
		}
		c.dropFeed(n, pin)
	}
	for c.bytes > c.opt.Bytes && c.dropOldest() {
	}
	if extra := len(c.ticks) - history; extra > history/4 {
		c.since = c.ticks[extra-1].Epoch
		c.ticks = slices.Delete(c.ticks, 0, extra)
	}
}

// dropTrack drops the rows of epochs up to pin.
func (c *Clock) dropTrack(t *Track, pin uint64) {
	i := sort.Search(len(t.cuts), func(i int) bool { return t.cuts[i].epoch > t.held })
	for ; i < len(t.cuts) && t.cuts[i].epoch <= pin; i++ {
		c.bytes -= t.cuts[i].bytes
		t.cuts[i].segments = nil
		t.held = t.cuts[i].epoch
	}
}

func (c *Clock) dropFeed(n *Node, pin uint64) {
	i := 0
	for ; i < len(n.feed) && n.feed[i].Epoch <= pin; i++ {
		c.bytes -= n.feed[i].Bytes
		n.feedHeld = n.feed[i].Epoch
	}
	n.feed = slices.Delete(n.feed, 0, i)
}

// dropOldest drops the oldest held rows or delta, never those of the head.
func (c *Clock) dropOldest() bool {
	oldest := c.head.Epoch
	var track *Track
	var node *Node
	for _, t := range c.tracks {
		i := sort.Search(len(t.cuts), func(i int) bool { return t.cuts[i].epoch > t.held })
		if i < len(t.cuts) && t.cuts[i].epoch < oldest {
			oldest, track, node = t.cuts[i].epoch, t, nil
		}
	}
	for _, n := range c.nodes {
		if len(n.feed) > 0 && n.feed[0].Epoch < oldest {
			oldest, track, node = n.feed[0].Epoch, nil, n
		}
	}
	switch {
	case track != nil:
		c.dropTrack(track, oldest)
	case node != nil:
		c.dropFeed(node, oldest)
	default:
		return false
	}
	return true
}

// forget drops the oldest positions, of epochs whose rows are gone, so that about keep of them stay.
func (t *Track) forget(keep int) {
	extra := len(t.cuts) - keep
	if extra <= keep/4 {
		return
	}
	for extra > 0 && t.cuts[extra-1].epoch > t.held {
		extra--
	}
	if extra > 0 {
		t.oldest, t.from = t.cuts[extra-1].position, t.cuts[extra-1].epoch
		t.cuts = slices.Delete(t.cuts, 0, extra)
	}
}

// after is the index of the first cut of an epoch after e.
func (t *Track) after(e uint64) int {
	return sort.Search(len(t.cuts), func(i int) bool { return t.cuts[i].epoch > e })
}

// position is where the track stands at epoch e.
func (t *Track) position(e uint64) (Position, bool) {
	if i := t.after(e); i > 0 {
		return t.cuts[i-1].position, true
	}
	return t.oldest, e >= t.from
}

// PositionAt returns where a source stands at an epoch; false when the epoch is older than what is remembered.
func (c *Clock) PositionAt(t *Track, epoch uint64) (Position, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.position(epoch)
}

// At returns the positions at the head of all sources, by name, with the head itself.
func (c *Clock) At() (Tick, map[string]Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]Position, len(c.tracks))
	for name, t := range c.tracks {
		out[name] = t.at
	}
	return c.head, out
}

// TimeOf returns the time of an epoch that is remembered.
func (c *Clock) TimeOf(epoch uint64) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch == c.head.Epoch {
		return c.head.TimeMs, true
	}
	i := sort.Search(len(c.ticks), func(i int) bool { return c.ticks[i].Epoch >= epoch })
	if i < len(c.ticks) && c.ticks[i].Epoch == epoch {
		return c.ticks[i].TimeMs, true
	}
	return 0, false
}

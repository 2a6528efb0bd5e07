package clock

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// never is a tick time that does not come.
const never = math.MaxInt64

// Input is one relation that a node reads: a source or another node.
type Input struct {
	Track *Track
	Node  *Node
}

// Node is a table or pipeline in the clock. Its fields are guarded by the clock; the worker that drives it uses the
// methods of Clock.
type Node struct {
	c    *Clock
	name string

	inputs     []Input
	dependents []*Node

	// reached is the border of the last completed step. Up to pending-1 nothing has happened since, so the output at
	// those epochs is the one at reached. pending 0 means that nothing is known to be left to do.
	reached, pending uint64
	shown            uint64 // the border of what has been published: reached, unless the node computes in silence
	live             bool   // fed from the ring; otherwise the worker reads the log by itself
	reserved         uint64 // while not live: rows after this epoch are kept for it
	holding          bool
	absent           bool   // has left: nobody waits for it, and its own deltas do not count
	joinAt           uint64 // the epoch at which it is back; it must stop exactly there
	since            uint64 // the epoch at which it joined last
	stops            []uint64
	limit            uint64 // if set, the node must not pass this epoch: another one takes its place behind it
	timed            bool   // takes epochs without rows while its flow waits for time
	nextTick         int64  // the epoch time from which the next one is due
	lastTick         int64  // time of the last epoch that its flow was advanced to
	coarse           uint64

	feed     []Delta
	feedHeld uint64 // every delta after this epoch is in feed

	cost time.Duration // smoothed cost of a step
	wake chan struct{}
	memo uint64 // generation of edge, the frontier as it was computed last
	edge uint64
	seen uint64 // generation in which the node was last signalled as a dependent
}

// Name of the node.
func (n *Node) Name() string { return n.name }

// Wake is signalled when Collect may have something new.
func (n *Node) Wake() <-chan struct{} { return n.wake }

func (n *Node) signal() {
	select {
	case n.wake <- struct{}{}:
	default: // a signal is pending already
	}
}

// due notes that the node has something to do at epoch e.
func (n *Node) due(e uint64) {
	if !n.live {
		return
	}
	if n.pending == 0 || n.coarse > 1 {
		if n.pending == 0 {
			n.pending = e
		}
		n.signal()
	}
}

func (n *Node) leave(uint64) {
	if !n.absent && n.joinAt <= n.reached {
		n.shown = n.reached
	}
	n.absent, n.live, n.joinAt, n.stops = true, false, 0, nil
	n.nextTick, n.holding, n.cost = never, false, 0
}

// join makes the node wait for at epoch e. Everything it reads must have a border there.
func (n *Node) join(e uint64) {
	n.absent, n.joinAt, n.since = false, e, e
	n.stop(e)
}

func (n *Node) stop(e uint64) {
	if n.reached < e && (len(n.stops) == 0 || n.stops[len(n.stops)-1] < e) {
		n.stops = append(n.stops, e)
		n.signal()
	}
	for _, in := range n.inputs {
		if in.Node != nil && !in.Node.absent {
			in.Node.stop(e)
		}
	}
}

// StopAt makes a node end a step exactly at an epoch that it has not reached yet.
func (c *Clock) StopAt(n *Node, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.stop(epoch)
}

// pinned is the epoch whose later rows and deltas the node still needs in memory.
func (n *Node) pinned() uint64 {
	switch {
	case n.live && n.pending > 0:
		return n.pending - 1
	case !n.live && n.holding:
		return n.reserved
	default:
		return math.MaxUint64
	}
}

// AddNode makes a node. It starts absent and has to be driven with Place, Done, Attach and a record that joins it.
func (c *Clock) AddNode(name string) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &Node{c: c, name: name, absent: true, nextTick: never, wake: make(chan struct{}, 1)}
	c.nodes = append(c.nodes, n)
	return n
}

// Place sets where a node stands before its worker runs: the border it has reached, the newest epoch that its stream
// holds a delta of, and whether it is part of the clock (recovered after a process ended) or has to join.
func (c *Clock) Place(n *Node, reached, published uint64, present bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.reached, n.live, n.pending, n.holding = reached, false, 0, false
	n.absent, n.joinAt, n.limit = !present, 0, 0
	n.stops = slices.DeleteFunc(n.stops, func(e uint64) bool { return e <= reached })
	n.nextTick, n.cost = never, 0
	n.shown = max(n.shown, published)
	if present {
		n.shown = reached
	}
	if len(n.feed) == 0 {
		n.feedHeld = max(n.feedHeld, published)
	}
	c.generation++
}

// SetInputs replaces what a node reads, in the declared order, and whether its flow can wait for time.
func (c *Clock) SetInputs(n *Node, inputs []Input, timed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unlink(n)
	n.inputs, n.timed = slices.Clone(inputs), timed
	for _, in := range inputs {
		if in.Track != nil {
			in.Track.readers = append(in.Track.readers, n)
		} else {
			in.Node.dependents = append(in.Node.dependents, n)
		}
	}
	c.generation++
}

func (c *Clock) unlink(n *Node) {
	same := func(m *Node) bool { return m == n }
	for _, in := range n.inputs {
		if in.Track != nil {
			in.Track.readers = slices.DeleteFunc(in.Track.readers, same)
		} else {
			in.Node.dependents = slices.DeleteFunc(in.Node.dependents, same)
		}
	}
	n.inputs = nil
}

// Remove takes a node out of the graph for good. Nodes that read it go on with its last state.
func (c *Clock) Remove(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unlink(n)
	n.leave(0)
	c.dropFeed(n, math.MaxUint64)
	c.nodes = slices.DeleteFunc(c.nodes, func(m *Node) bool { return m == n })
	c.generation++
	for _, m := range c.nodes {
		m.signal()
	}
	c.wakeWaiters()
}

// Reserve keeps the rows and deltas of epochs after the head for a node that is reading the log by itself, and
// returns the head: once its worker has reached that epoch, Attach succeeds.
func (c *Clock) Reserve(n *Node) Tick {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.holding, n.reserved = true, c.head.Epoch
	return c.head
}

// Attach feeds a node from the ring from now on. It fails when rows or deltas that the node still needs have been
// dropped; the worker then reads on by itself.
func (c *Clock) Attach(n *Node) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan(n)
	if !c.covers(n) {
		n.pending = 0
		return false
	}
	n.live, n.holding = true, false
	c.generation++
	n.signal()
	return true
}

// Detach ends the feeding of a node whose worker stops without leaving the clock, as at a shutdown.
func (c *Clock) Detach(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.live, n.holding, n.nextTick, n.cost = false, false, never, 0
	c.generation++
}

// SetTick tells when the flow of a node is due without rows: last is the epoch time it was advanced to, waits
// whether it waits for time at all.
func (n *Node) setTick(last int64, waits bool) {
	n.lastTick, n.nextTick = last, never
	if n.timed && waits {
		n.nextTick = last + n.c.opt.TickMs
	}
}

// SetTick notes the epoch time that the flow of a node was last advanced to and whether the flow waits for time.
func (c *Clock) SetTick(n *Node, last int64, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.setTick(last, waits)
}

// covers reports whether everything after the node's border is in memory.
func (c *Clock) covers(n *Node) bool {
	for _, in := range n.inputs {
		switch {
		case in.Track != nil:
			t := in.Track
			if n.reached < t.from {
				return false
			}
			if i := t.after(n.reached); i < len(t.cuts) && t.cuts[i].epoch <= t.held {
				return false
			}
		case in.Node.feedHeld > n.reached:
			return false
		}
	}
	// Ticks before the first epoch that is due mean nothing to a flow that does not wait.
	return !n.timed || n.pending == 0 || n.pending > c.since
}

// plan finds the first epoch after the node's border that it has to take.
func (c *Clock) plan(n *Node) {
	first := uint64(math.MaxUint64)
	for _, in := range n.inputs {
		if t := in.Track; t != nil {
			if i := t.after(n.reached); i < len(t.cuts) {
				first = min(first, t.cuts[i].epoch)
			}
		} else if i := in.Node.feedAfter(n.reached); i < len(in.Node.feed) {
			first = min(first, in.Node.feed[i].Epoch)
		} else if in.Node.feedHeld > n.reached {
			first = min(first, in.Node.feedHeld)
		}
	}
	if n.nextTick != never {
		if i := c.tickFrom(n.reached, n.nextTick); i < len(c.ticks) {
			first = min(first, c.ticks[i].Epoch)
		}
	}
	n.pending = 0
	if first != math.MaxUint64 {
		n.pending = first
	}
}

// feedAfter is the index of the first delta after epoch e.
func (n *Node) feedAfter(e uint64) int {
	return sort.Search(len(n.feed), func(i int) bool { return n.feed[i].Epoch > e })
}

// tickFrom is the index of the first epoch after e whose time is at least ms.
func (c *Clock) tickFrom(e uint64, ms int64) int {
	return sort.Search(len(c.ticks), func(i int) bool { return c.ticks[i].Epoch > e && c.ticks[i].TimeMs >= ms })
}

// frontier is the epoch up to which the node's output is settled.
func (c *Clock) frontier(n *Node) uint64 {
	if n.absent || n.joinAt > n.reached {
		return n.shown
	}
	if !n.live {
		return n.reached
	}
	if n.memo == c.generation {
		return n.edge
	}
	f := c.head.Epoch
	if n.pending > 0 {
		f = n.pending - 1
	}
	if n.limit > 0 {
		f = min(f, n.limit)
	}
	for _, in := range n.inputs {
		if in.Node == nil {
			continue
		}
		f = min(f, c.settled(in.Node))
		if i := in.Node.feedAfter(n.reached); i < len(in.Node.feed) {
			// A delta that covers several epochs leaves the rows of those in between unknown here as well.
			f = min(f, in.Node.feed[i].Prev)
		}
	}
	f = max(f, n.reached)
	n.memo, n.edge = c.generation, f
	return f
}

// settled is the frontier of a node as those that read it see it.
func (c *Clock) settled(n *Node) uint64 {
	if n.absent {
		return math.MaxUint64
	}
	f := c.frontier(n)
	if n.joinAt > n.reached {
		f = max(f, n.joinAt-1)
	}
	return f
}

// Frontier returns the epoch up to which a node's output is settled, and whether it takes part in the clock.
func (c *Clock) Frontier(n *Node) (epoch uint64, present bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.frontier(n), !n.absent
}

// Swap lets a node be driven by what has driven another one from an epoch on, at which the other has stopped exactly:
// a new version of a table takes over. The delta is the difference of the two versions for the nodes that read it.
func (c *Clock) Swap(n, by *Node, at uint64, d *Delta) {
	c.mu.Lock()
	defer c.mu.Unlock()
	inputs, timed := slices.Clone(by.inputs), by.timed
	c.unlink(by)
	c.unlink(n)
	n.inputs, n.timed = inputs, timed
	for _, in := range inputs {
		if in.Track != nil {
			in.Track.readers = append(in.Track.readers, n)
		} else {
			in.Node.dependents = append(in.Node.dependents, n)
		}
	}
	n.shown, n.since = at, at
	n.reached, n.live, n.absent, n.joinAt, n.limit = at, by.live, false, 0, 0
	n.stops = slices.DeleteFunc(by.stops, func(e uint64) bool { return e <= at })
	n.lastTick, n.nextTick, n.cost = by.lastTick, by.nextTick, by.cost
	c.nodes = slices.DeleteFunc(c.nodes, func(m *Node) bool { return m == by })
	c.deliver(n, d)
	if n.live {
		c.plan(n)
	}
	c.generation++
	n.signal()
	n.signalDependents()
	c.wakeWaiters()
}

// Release lets a node that was held go on: what was to take its place does not come.
func (c *Clock) Release(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.limit = 0
	c.generation++
	n.signal()
}

// Since is the epoch at which a node joined last: its rows of older epochs came with that one.
func (c *Clock) Since(n *Node) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.since
}

// Absent reports whether a node has left.
func (c *Clock) Absent(n *Node) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.absent
}

// SetCoarse makes a node take only steps that end at multiples of unit, as a slow worker does. For tests.
func (c *Clock) SetCoarse(n *Node, unit uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.coarse = unit
	n.signal()
}

// Behind returns how many epochs the slowest live node has not taken, and the cost of the most expensive step.
func (c *Clock) Behind() (epochs uint64, cost time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if n.live && !n.absent {
			cost = max(cost, n.cost)
			if n.pending > 0 {
				epochs = max(epochs, c.head.Epoch-n.pending+1)
			}
		}
	}
	return epochs, cost
}

// Waiting reports whether a worker that takes part waits for time to pass.
func (c *Clock) Waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if n.nextTick != never {
			return true
		}
	}
	return false
}

// String describes the clock and every node, for logs and failing tests.
func (c *Clock) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "clock at %d, %d bytes held\n", c.head.Epoch, c.bytes)
	for _, n := range c.nodes {
		fmt.Fprintf(&b, "%s: reached %d, pending %d, shown %d, live %v, absent %v, join %d, stops %v, limit %d, feed %d after %d, frontier %d\n",
			n.name, n.reached, n.pending, n.shown, n.live, n.absent, n.joinAt, n.stops, n.limit, len(n.feed), n.feedHeld, c.frontier(n))
	}
	return b.String()
}

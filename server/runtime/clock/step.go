package clock

import (
	"context"
	"math"
	"time"
)

// Limits bound one step; a single epoch is always taken whole.
type Limits struct {
	Rows, Bytes, Epochs int
}

// StepLimits are the bounds of one step of a running worker.
var StepLimits = Limits{Rows: 64 << 10, Bytes: 16 << 20, Epochs: 256}

// Part is what one epoch brings of one input: segments of a source or a delta of a node.
type Part struct {
	Input    int
	Segments []*Segment
	Delta    *Delta
}

// Epoch is one epoch of a step, with the rows that the worker has to take. Without parts it is a tick.
type Epoch struct {
	Tick
	Parts []Part
}

// Work is one step: the epochs after From up to To.
type Work struct {
	From, To uint64
	ToMs     int64 // the time of To, or of the newest known epoch before it
	Epochs   []Epoch
	Rows     int
	// Positions are, by input, where sources stand at To; zero for other inputs.
	Positions []Position
}

// Status of Collect.
type Status uint8

// The answers of Collect.
const (
	// Wait: nothing can be done now; Wake tells when to ask again.
	Wait Status = iota
	// Ready: the work is filled in.
	Ready
	// Behind: rows that the node needs are not in memory; read the log, then Attach.
	Behind
)

// Collect fills in the next step of a live node. The worker makes it, commits it, serves it, and then calls Done.
func (c *Clock) Collect(n *Node, lim Limits, w *Work) Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !n.live || !c.covers(n) {
		n.live = false
		c.generation++
		return Behind
	}
	reach := c.head.Epoch
	for _, in := range n.inputs {
		if in.Node != nil {
			reach = min(reach, c.settled(in.Node))
		}
	}
	if n.limit > 0 {
		reach = min(reach, n.limit)
	}
	blocked := n.blocked()
	stop := uint64(0)
	if len(n.stops) > 0 && n.stops[0] <= reach {
		// An input that was computed again may cover the stop with one delta: then the node stops where that one ends.
		if stop = firstAllowed(n.stops[0], reach, blocked); stop == 0 {
			return Wait
		}
		reach = stop
	}
	*w = Work{Epochs: w.Epochs[:0], Positions: w.Positions[:0]}
	if n.pending == 0 || n.pending > reach {
		if stop == 0 {
			return Wait
		}
		w.From, w.To = stop, stop
		c.finish(n, w)
		return Ready
	}
	m := newMerge(c, n)
	hi := reach
	bytes := 0
	for {
		e := m.next()
		if e > reach {
			break
		}
		rows, size := m.size(e)
		if len(w.Epochs) > 0 && (w.Rows+rows > lim.Rows || bytes+size > lim.Bytes || len(w.Epochs) == lim.Epochs) {
			hi = e - 1
			break
		}
		m.take(e, w)
		bytes += size
	}
	var to uint64
	if n.coarse > 1 {
		if to = reach / n.coarse * n.coarse; to < n.pending || hidden(to, blocked) {
			return Wait
		}
	} else if to = border(n.pending, hi, reach, blocked); to == 0 {
		return Wait
	}
	for e := m.next(); e <= to; e = m.next() {
		m.take(e, w)
	}
	for i := len(w.Epochs) - 1; i >= 0 && w.Epochs[i].Epoch > to; i-- {
		w.Rows -= w.Epochs[i].rows()
		w.Epochs = w.Epochs[:i]
	}
	w.From, w.To = n.pending-1, to
	w.Narrow(n.reached)
	c.finish(n, w)
	return Ready
}

// Narrow moves From back to where the first of the step's deltas begins: what happens inside of an input's delta is
// not known here either.
func (w *Work) Narrow(reached uint64) {
	for i := range w.Epochs {
		for _, p := range w.Epochs[i].Parts {
			if p.Delta != nil {
				w.From = min(w.From, p.Delta.Prev)
			}
		}
	}
	w.From = max(w.From, reached)
}

func (c *Clock) finish(n *Node, w *Work) {
	for _, in := range n.inputs {
		var p Position
		if in.Track != nil {
			p, _ = in.Track.position(w.To)
		}
		w.Positions = append(w.Positions, p)
	}
	w.ToMs = c.head.TimeMs
	if i := c.tickFrom(w.To, math.MinInt64); i < len(c.ticks) && i > 0 {
		w.ToMs = c.ticks[i-1].TimeMs
	}
}

// blocked lists the spans of the deltas that the node has not taken yet: no step may end inside one.
func (n *Node) blocked() []interval {
	var out []interval
	for _, in := range n.inputs {
		if in.Node == nil {
			continue
		}
		for _, d := range in.Node.feed[in.Node.feedAfter(n.reached):] {
			if d.Epoch-d.Prev > 1 {
				out = append(out, interval{d.Prev, d.Epoch})
			}
		}
	}
	return out
}

func (e *Epoch) rows() (n int) {
	for _, p := range e.Parts {
		for _, s := range p.Segments {
			n += s.Batch.N
		}
		if p.Delta != nil {
			n += p.Delta.Batch.N
		}
	}
	return n
}

// merge walks the epochs that concern a node, oldest first, over all of its inputs.
type merge struct {
	c    *Clock
	n    *Node
	at   []int // next cut or delta, by input
	tick int
	last int64 // time of the last epoch that was taken
}

func newMerge(c *Clock, n *Node) *merge {
	m := &merge{c: c, n: n, at: make([]int, len(n.inputs)), last: n.lastTick, tick: len(c.ticks)}
	for i, in := range n.inputs {
		if in.Track != nil {
			m.at[i] = in.Track.after(n.reached)
		} else {
			m.at[i] = in.Node.feedAfter(n.reached)
		}
	}
	if n.timed {
		m.tick = c.tickFrom(max(n.reached, n.pending-1), math.MinInt64)
	}
	return m
}

// next is the next epoch, or the largest number when there is none.
func (m *merge) next() uint64 {
	e := uint64(math.MaxUint64)
	for i, in := range m.n.inputs {
		if t := in.Track; t != nil {
			if m.at[i] < len(t.cuts) {
				e = min(e, t.cuts[m.at[i]].epoch)
			}
		} else if m.at[i] < len(in.Node.feed) {
			e = min(e, in.Node.feed[m.at[i]].Epoch)
		}
	}
	for m.tick < len(m.c.ticks) && m.c.ticks[m.tick].TimeMs < m.last+m.c.opt.TickMs {
		m.tick++
	}
	if m.tick < len(m.c.ticks) {
		e = min(e, m.c.ticks[m.tick].Epoch)
	}
	return e
}

func (m *merge) size(e uint64) (rows, bytes int) {
	for i, in := range m.n.inputs {
		if t := in.Track; t != nil {
			if j := m.at[i]; j < len(t.cuts) && t.cuts[j].epoch == e {
				rows += t.cuts[j].rows
				bytes += t.cuts[j].bytes
			}
		} else if j := m.at[i]; j < len(in.Node.feed) && in.Node.feed[j].Epoch == e {
			rows += in.Node.feed[j].Batch.N
			bytes += in.Node.feed[j].Bytes
		}
	}
	return rows, bytes
}

// take appends epoch e, which next returned, to the work.
func (m *merge) take(e uint64, w *Work) {
	w.Epochs = append(w.Epochs, Epoch{})
	x := &w.Epochs[len(w.Epochs)-1]
	x.Epoch = e
	if m.tick < len(m.c.ticks) && m.c.ticks[m.tick].Epoch == e {
		x.TimeMs = m.c.ticks[m.tick].TimeMs
	}
	for i, in := range m.n.inputs {
		if t := in.Track; t != nil {
			if j := m.at[i]; j < len(t.cuts) && t.cuts[j].epoch == e {
				x.TimeMs = t.cuts[j].timeMs
				x.Parts = append(x.Parts, Part{Input: i, Segments: t.cuts[j].segments})
				m.at[i]++
			}
		} else if j := m.at[i]; j < len(in.Node.feed) && in.Node.feed[j].Epoch == e {
			d := in.Node.feed[j]
			x.Parts = append(x.Parts, Part{Input: i, Delta: &d})
			m.at[i]++
		}
	}
	if x.TimeMs == 0 {
		x.TimeMs = m.c.timeNear(e)
	}
	m.last = x.TimeMs
	w.Rows += x.rows()
}

// timeNear is the time of an epoch, or of the newest known one before it.
func (c *Clock) timeNear(e uint64) int64 {
	if i := c.tickFrom(e, math.MinInt64); i > 0 {
		return c.ticks[i-1].TimeMs
	}
	return c.head.TimeMs
}

// Progress is what a worker reports after a step.
type Progress struct {
	To     uint64
	TickMs int64 // the epoch time that the flow was last advanced to
	Waits  bool  // the flow waits for time
	Delta  *Delta
	Cost   time.Duration
}

// Done completes a step: the delta is handed to the nodes that read this one, and the frontier moves. Everything the
// delta shows is in the log and is served already.
func (c *Clock) Done(n *Node, p Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.To < n.reached {
		panic("BUG: clock: a node went back")
	}
	n.reached = p.To
	for len(n.stops) > 0 && n.stops[0] <= p.To {
		n.stops = n.stops[1:]
	}
	if n.joinAt > 0 && n.joinAt <= p.To {
		n.joinAt = 0
	}
	n.setTick(p.TickMs, p.Waits)
	n.cost = (n.cost*7 + p.Cost) / 8
	if !n.absent && n.joinAt == 0 {
		n.shown = p.To
		c.deliver(n, p.Delta)
	}
	if n.live {
		c.plan(n)
	}
	c.generation++
	n.signalDependents()
	c.wakeWaiters()
}

// deliver puts a delta into the feed of a node.
func (c *Clock) deliver(n *Node, p *Delta) {
	if p == nil {
		return
	}
	n.feed = append(n.feed, *p)
	c.bytes += p.Bytes
	for _, d := range n.dependents {
		if d.live && (d.pending == 0 || d.pending > p.Epoch) {
			d.pending = p.Epoch
		}
	}
	if len(n.dependents) == 0 {
		c.dropFeed(n, math.MaxUint64)
	}
}

// signalDependents wakes every worker downstream that has something left to do: this node may have been what it
// waited for.
func (n *Node) signalDependents() {
	for _, d := range n.dependents {
		if d.seen == n.c.generation {
			continue
		}
		d.seen = n.c.generation
		if d.pending > 0 || len(d.stops) > 0 || !d.live {
			d.signal()
		}
		d.signalDependents()
	}
}

// Reach returns the epoch that a node which reads the log by itself may step to: the head, and what its inputs have
// reached. stop is the next border in between at which it has to end a step, 0 when there is none.
func (c *Clock) Reach(n *Node) (to, stop uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to = c.head.Epoch
	for _, in := range n.inputs {
		if in.Node != nil {
			to = min(to, c.settled(in.Node))
		}
	}
	if n.limit > 0 {
		to = min(to, n.limit)
	}
	if len(n.stops) > 0 && n.stops[0] <= to {
		stop = n.stops[0]
	}
	return to, stop
}

type waiter struct {
	done func() bool
	ch   chan struct{}
}

func (c *Clock) wakeWaiters() {
	keep := c.waiters[:0]
	for _, w := range c.waiters {
		if w.done() {
			close(w.ch)
		} else {
			keep = append(keep, w)
		}
	}
	clear(c.waiters[len(keep):])
	c.waiters = keep
}

func (c *Clock) wait(ctx context.Context, done func() bool) error {
	c.mu.Lock()
	if done() {
		c.mu.Unlock()
		return nil
	}
	w := &waiter{done: done, ch: make(chan struct{})}
	c.waiters = append(c.waiters, w)
	c.mu.Unlock()
	select {
	case <-w.ch:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		for i, x := range c.waiters {
			if x == w {
				c.waiters = append(c.waiters[:i], c.waiters[i+1:]...)
				break
			}
		}
		c.mu.Unlock()
		return ctx.Err()
	}
}

// AwaitEpoch waits until the output of a node is settled up to an epoch.
func (c *Clock) AwaitEpoch(ctx context.Context, n *Node, epoch uint64) error {
	return c.wait(ctx, func() bool { return c.frontier(n) >= epoch })
}

// AwaitPosition waits until the clock has given the row at a position of a source to an epoch, and returns the first
// remembered epoch that contains it. Without an incarnation the position is one of the stream that the clock knows;
// with one, the rows of a stream that the source had before do not count.
func (c *Clock) AwaitPosition(ctx context.Context, t *Track, p Position) (uint64, error) {
	seq := p.Seq
	if err := c.wait(ctx, func() bool {
		return t.at.Seq >= seq && (seq == 0 || p.Incarnation == "" || p.Incarnation == t.at.Incarnation)
	}); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.oldest.Seq >= seq && t.oldest.Incarnation == t.at.Incarnation {
		return t.from, nil
	}
	for i := range t.cuts {
		if p := t.cuts[i].position; p.Seq >= seq && p.Incarnation == t.at.Incarnation {
			return t.cuts[i].epoch, nil
		}
	}
	return c.head.Epoch, nil
}

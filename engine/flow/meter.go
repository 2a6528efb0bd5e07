package flow

import (
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
)

// meter is what is known of one operator as it was built: its place in the plan, and what it has done. The meters of
// a flow are a tree of the shape of the plan, except where one operator does the work of two nodes.
type meter struct {
	node plan.Node
	// fused is the node below whose work the operator does too, nil when there is none.
	fused plan.Node
	op    op.Operator // nil for a scan
	ins   []*meter    // by port
	// rows are those that came to each port.
	rows []int64
	// self is the time of the sampled turns in the operator itself, by kind of turn.
	self [turnKinds]int64
}

// turn is a kind of call from outside; each kind is sampled for itself, so that a regular order of calls cannot hide one.
type turn uint8

const (
	turnPush turn = iota
	turnAdvance
	turnFlush
	turnKinds
)

// sampleEvery is how many turns of a kind share one measurement. Reading a clock takes about as long as adding a row
// to a group, so only one turn in 61 reads it. It is a prime, so that it does not beat with the number of inputs.
const sampleEvery = 61

// stopwatch measures the time of operators in a sample of the turns. Time spent downstream counts for the operators
// downstream.
type stopwatch struct {
	clock   func() int64
	on      bool
	kind    turn
	current *meter
	last    int64
	turns   [turnKinds]int64
	// all and taken are the sizes (rows for pushes, else calls) of all turns and of the measured ones.
	all, taken [turnKinds]int64
}

// Measure makes the flow estimate the time of its operators with a clock that counts nanoseconds; the engine has none
// of its own. It changes nothing that the flow gives out.
func (f *Flow) Measure(clock func() int64) { f.watch = stopwatch{clock: clock} }

func (s *stopwatch) begin(k turn, size int64) {
	if s.clock == nil {
		return
	}
	s.all[k] += size
	s.on = s.turns[k]%sampleEvery == 0
	s.turns[k]++
	if s.on {
		s.kind, s.current = k, nil
		s.taken[k] += size
		s.last = s.clock()
	}
}

// enter charges the time so far to the operator at work and goes on with another one; the answer goes to leave.
func (s *stopwatch) enter(m *meter) *meter {
	now := s.clock()
	if s.current != nil {
		s.current.self[s.kind] += now - s.last
	}
	before := s.current
	s.current, s.last = m, now
	return before
}

// estimate scales the measured time of a meter to all turns.
func (s *stopwatch) estimate(m *meter) int64 {
	total := 0.0
	for k := range m.self {
		if s.taken[k] > 0 {
			total += float64(m.self[k]) * float64(s.all[k]) / float64(s.taken[k])
		}
	}
	return int64(total)
}

// open begins the operators of a node; what is built until close is below it.
func (b *builder) open(n plan.Node) *meter {
	m := &meter{node: n}
	if len(b.meters) > 0 {
		up := b.meters[len(b.meters)-1]
		up.ins = append(up.ins, m)
	} else {
		b.f.meter = m
	}
	b.meters = append(b.meters, m)
	return m
}

func (b *builder) close() { b.meters = b.meters[:len(b.meters)-1] }

// meter is that of the node that is being built.
func (b *builder) meter() *meter { return b.meters[len(b.meters)-1] }

// into hands changes to a port of the operator that is being built.
func (b *builder) into(o op.Operator, port int, out op.Emit) op.Emit {
	m, s := b.meter(), &b.f.watch
	for len(m.rows) <= port {
		m.rows = append(m.rows, 0)
	}
	return func(d op.Delta) {
		m.rows[port] += int64(d.Len())
		if !s.on {
			o.Apply(port, d, out)
			return
		}
		before := s.enter(m)
		o.Apply(port, d, out)
		s.enter(before)
	}
}

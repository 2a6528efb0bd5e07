package clock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
)

func number(v int64) *zset.Batch {
	b := zset.NewBuilder([]types.Kind{types.Long})
	b.Long(0, v)
	b.EndRow(1)
	return b.Build()
}

func sum(b *zset.Batch) (n int64) {
	for i := range b.N {
		n += b.Cols[0].I64[i] * b.W(i)
	}
	return n
}

// world is a clock whose nodes add up their inputs, and the sums that each must have at each epoch.
type world struct {
	t      *rapid.T
	c      *clock.Clock
	names  []string
	nodes  map[string]*node
	tracks map[string]*clock.Track
	seq    map[string]uint64
	total  map[string]int64            // of a source, now
	truth  map[string]map[uint64]int64 // source -> epoch -> sum
}

type node struct {
	n       *clock.Node
	inputs  []string
	work    *clock.Work
	value   int64
	silent  int64 // what a joining node has not handed on yet
	join    uint64
	away    bool
	borders []uint64
}

func (w *world) source(name string) *clock.Track {
	t := w.c.Track(name, clock.Position{Incarnation: "i"})
	w.tracks[name], w.truth[name] = t, map[uint64]int64{0: 0}
	return t
}

func (w *world) add(name string, inputs ...string) {
	n := &node{n: w.c.AddNode(name), inputs: inputs}
	var in []clock.Input
	for _, i := range inputs {
		if t := w.tracks[i]; t != nil {
			in = append(in, clock.Input{Track: t})
		} else {
			in = append(in, clock.Input{Node: w.nodes[i].n})
		}
	}
	w.c.SetInputs(n.n, in, false)
	w.c.Place(n.n, 0, 0, true)
	if !w.c.Attach(n.n) {
		w.t.Fatalf("%s cannot attach to an empty clock", name)
	}
	w.nodes[name] = n
	w.names = append(w.names, name)
}

// want is what a node must show at an epoch when none of its inputs is away.
func (w *world) want(name string, e uint64) (n int64) {
	if truth, ok := w.truth[name]; ok {
		return truth[e]
	}
	for _, i := range w.nodes[name].inputs {
		n += w.want(i, e)
	}
	return n
}

func (w *world) publish(moved map[string]int64, left, joined []*clock.Node) uint64 {
	e := w.c.Head().Epoch + 1
	r := clock.Record{Tick: clock.Tick{Epoch: e, TimeMs: int64(e)}, Left: left, Joined: joined}
	for name, t := range w.tracks {
		if v, ok := moved[name]; ok {
			w.seq[name]++
			w.total[name] += v
			s := &clock.Segment{From: w.seq[name] - 1, To: w.seq[name], Batch: number(v), Bytes: 100}
			r.Cuts = append(r.Cuts, clock.Cut{Track: t, Position: clock.Position{Incarnation: "i", Seq: w.seq[name]}, Segments: []*clock.Segment{s}})
		}
		w.truth[name][e] = w.total[name]
	}
	w.c.Publish(r)
	return e
}

// begin lets a node collect its next step, finish completes it.
func (w *world) begin(name string) bool {
	n := w.nodes[name]
	if n.work != nil {
		return false
	}
	var k clock.Work
	switch w.c.Collect(n.n, clock.Limits{Rows: 4, Bytes: 1 << 20, Epochs: 3}, &k) {
	case clock.Ready:
		n.work = &k
		return true
	case clock.Behind:
		w.t.Fatalf("%s is behind although nothing was dropped", name)
	}
	return false
}

func (w *world) finish(name string) {
	n := w.nodes[name]
	k := n.work
	n.work = nil
	change := int64(0)
	last := k.From
	for _, e := range k.Epochs {
		if e.Epoch <= last || e.Epoch > k.To {
			w.t.Fatalf("%s: step (%d, %d] holds epoch %d after %d", name, k.From, k.To, e.Epoch, last)
		}
		last = e.Epoch
		for _, p := range e.Parts {
			for _, s := range p.Segments {
				change += sum(s.Batch)
			}
			if p.Delta != nil {
				if p.Delta.Epoch > k.To || p.Delta.Prev < k.To && k.To < p.Delta.Epoch {
					w.t.Fatalf("%s stops at %d inside the delta (%d, %d]", name, k.To, p.Delta.Prev, p.Delta.Epoch)
				}
				change += sum(p.Delta.Batch)
			}
		}
	}
	n.value += change
	p := clock.Progress{To: k.To, Cost: time.Microsecond}
	if w.c.Absent(n.n) || n.join > 0 && k.To < n.join {
		n.silent += change
	} else {
		prev := k.From
		if n.join > 0 {
			if k.To != n.join {
				w.t.Fatalf("%s joins at %d but stopped at %d", name, n.join, k.To)
			}
			prev, n.join = n.join-1, 0
			change, n.silent = change+n.silent, 0
		}
		if change != 0 {
			p.Delta = &clock.Delta{Prev: prev, Epoch: k.To, Seq: k.To, Batch: number(change), Bytes: 100}
		}
	}
	w.c.Done(n.n, p)
	n.borders = append(n.borders, k.To)
	if got, want := n.value, w.want(name, k.To); got != want && !w.anyAway(name) {
		w.t.Fatalf("%s shows %d at epoch %d, want %d: two moments are mixed", name, got, k.To, want)
	}
}

// anyAway reports whether something upstream has been away and may not have caught up.
func (w *world) anyAway(name string) bool {
	n, ok := w.nodes[name]
	if !ok {
		return false
	}
	for _, i := range n.inputs {
		if m := w.nodes[i]; m != nil && (m.away || w.anyAway(i)) {
			return true
		}
	}
	return false
}

func newWorld(t *rapid.T) *world {
	w := &world{
		t: t, c: clock.New(clock.Options{}, clock.Tick{}), nodes: map[string]*node{}, tracks: map[string]*clock.Track{},
		seq: map[string]uint64{}, total: map[string]int64{}, truth: map[string]map[uint64]int64{},
	}
	w.source("s")
	w.source("r")
	w.add("a", "s")
	w.add("b", "s")
	w.add("c", "a", "b")      // transfers: both sides of one moment
	w.add("d", "c", "r", "a") // a diamond
	return w
}

// TestEveryBorderShowsOneMoment runs workers in any order and at any speed, lets one leave and come back, and checks
// at every border that a node shows exactly the sum of its inputs at that epoch.
func TestEveryBorderShowsOneMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		steps := rapid.IntRange(50, 400).Draw(t, "steps")
		for range steps {
			name := rapid.SampledFrom(w.names).Draw(t, "node")
			n := w.nodes[name]
			switch rapid.IntRange(0, 9).Draw(t, "do") {
			case 0, 1, 2:
				moved := map[string]int64{}
				if rapid.Bool().Draw(t, "s") {
					moved["s"] = rapid.Int64Range(1, 9).Draw(t, "v")
				}
				if rapid.Bool().Draw(t, "r") {
					moved["r"] = rapid.Int64Range(1, 9).Draw(t, "v")
				}
				w.publish(moved, nil, nil)
			case 3:
				if name == "a" && !n.away && n.work == nil && n.join == 0 {
					w.publish(nil, []*clock.Node{n.n}, nil)
					n.away = true
					// It reads the log by itself up to the head and then goes on from the ring.
					at := w.c.Reserve(n.n).Epoch
					n.silent += w.want(name, at) - n.value
					n.value = w.want(name, at)
					w.c.Place(n.n, at, 0, false)
					if !w.c.Attach(n.n) {
						t.Fatalf("a node that has read up to the head cannot go on")
					}
				}
			case 4:
				if n.away && n.work == nil && n.join == 0 {
					n.join = w.publish(nil, nil, []*clock.Node{n.n})
				}
			default:
				if n.work != nil {
					w.finish(name)
				} else {
					w.begin(name)
				}
			}
		}
		// Everything comes to rest at the head.
		for _, name := range w.names {
			if n := w.nodes[name]; n.away && n.join == 0 {
				if n.work != nil {
					w.finish(name)
				}
				n.join = w.publish(nil, nil, []*clock.Node{n.n})
			}
			w.nodes[name].away = false
		}
		for range 10_000 {
			busy := false
			for _, name := range w.names {
				if w.nodes[name].work != nil {
					w.finishQuietly(name)
					busy = true
				} else if w.begin(name) {
					busy = true
				}
			}
			if !busy {
				break
			}
		}
		for _, name := range w.names {
			f, present := w.c.Frontier(w.nodes[name].n)
			if f != w.c.Head().Epoch || !present {
				t.Fatalf("%s rests at %d (takes part: %v), the head is %d", name, f, present, w.c.Head().Epoch)
			}
			if got, want := w.nodes[name].value, w.want(name, f); got != want {
				t.Fatalf("%s shows %d at the head, want %d", name, got, want)
			}
		}
	})
}

// finishQuietly completes a step while an input that was away may still be catching up.
func (w *world) finishQuietly(name string) {
	n := w.nodes[name]
	away := n.away
	for _, m := range w.nodes {
		m.away = true
	}
	w.finish(name)
	for _, m := range w.nodes {
		m.away = false
	}
	n.away = away
}

func TestCoalescingMeetsAtCommonBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.c.SetCoarse(w.nodes["a"].n, 8)
		w.c.SetCoarse(w.nodes["b"].n, 4)
		for range 64 {
			w.publish(map[string]int64{"s": 1}, nil, nil)
			for _, name := range w.names {
				if w.nodes[name].work != nil && rapid.Bool().Draw(t, "finish") {
					w.finish(name)
				}
				w.begin(name)
			}
		}
		for range 200 {
			for _, name := range w.names {
				if w.nodes[name].work != nil {
					w.finish(name)
				}
				w.begin(name)
			}
		}
		for _, name := range []string{"a", "b", "c"} {
			if f, _ := w.c.Frontier(w.nodes[name].n); f != 64 {
				t.Fatalf("%s reached %d of 64", name, f)
			}
		}
		for _, b := range w.nodes["c"].borders {
			if b%8 != 0 {
				t.Fatalf("c stopped at %d, which is no border of a", b)
			}
		}
	})
}

func TestAwaitPositionThroughAChain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		w.publish(map[string]int64{"s": 1}, nil, nil)
		w.publish(map[string]int64{"s": 1}, nil, nil)
		e, err := w.c.AwaitPosition(t.Context(), w.tracks["s"], clock.Position{Seq: 1})
		if err != nil || e != 1 {
			rt.Fatalf("position 1 is in epoch %d (%v), want 1", e, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.c.AwaitEpoch(ctx, w.nodes["c"].n, e); !errors.Is(err, context.Canceled) {
			rt.Fatalf("c has not stepped, but waiting gave %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- w.c.AwaitEpoch(t.Context(), w.nodes["c"].n, e) }()
		for _, name := range []string{"a", "b", "c"} {
			for w.begin(name) {
				w.finish(name)
			}
		}
		if err := <-done; err != nil {
			rt.Fatal(err)
		}
	})
}

type memoryLog struct {
	entries []clock.Entry
	fail    error
}

func (l *memoryLog) Append(_ context.Context, e clock.Entry) error {
	if l.fail != nil {
		return l.fail
	}
	l.entries = append(l.entries, e)
	return nil
}

type memorySource struct {
	t    *clock.Track
	rows []int64
	seq  uint64
}

func (s *memorySource) Track() *clock.Track { return s.t }
func (s *memorySource) Ready() (bool, bool) { return len(s.rows) > 0, false }

func (s *memorySource) Cut(int, int, bool) (clock.Cut, bool, bool) {
	if len(s.rows) == 0 {
		return clock.Cut{}, false, false
	}
	s.seq++
	v := s.rows[0]
	s.rows = s.rows[1:]
	seg := &clock.Segment{From: s.seq - 1, To: s.seq, Batch: number(v)}
	return clock.Cut{Track: s.t, Position: clock.Position{Seq: s.seq}, Segments: []*clock.Segment{seg}}, true, len(s.rows) > 0
}

func TestSequencerStopsWhenItIsFenced(t *testing.T) {
	c := clock.New(clock.Options{}, clock.Tick{Epoch: 7, TimeMs: 1})
	log := &memoryLog{}
	s := clock.NewSequencer(clock.SequencerOptions{Clock: c, Log: log, Now: time.Now})
	src := &memorySource{t: c.Track("s", clock.Position{}), rows: []int64{1, 2, 3}}
	s.AddSource(src)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	if _, err := c.AwaitPosition(ctx, src.t, clock.Position{Seq: 3}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("Run ended with %v", err)
	}
	if first := log.entries[0]; first.Epoch != 8 {
		t.Fatalf("the first record is %+v: it must follow the head", first)
	}
	for i, e := range log.entries {
		if e.Epoch != uint64(8+i) {
			t.Fatalf("record %d has epoch %d", i, e.Epoch)
		}
	}
	log.fail = fmt.Errorf("append: %w", clock.ErrFenced)
	head := c.Head()
	s = clock.NewSequencer(clock.SequencerOptions{Clock: c, Log: log, Now: time.Now})
	if err := s.Run(t.Context()); !errors.Is(err, clock.ErrFenced) {
		t.Fatalf("a fenced sequencer ended with %v", err)
	}
	if c.Head() != head {
		t.Fatal("an epoch was published whose record was refused")
	}
	if _, err := s.Leave(t.Context()); !errors.Is(err, clock.ErrFenced) {
		t.Fatalf("a request to a stopped sequencer gave %v", err)
	}
}

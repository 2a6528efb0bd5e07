package flow

import (
	"math"

	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// none is the time before every other.
const none = math.MinInt64

// input is one input of the query with what is known of its time.
type input struct {
	at    int
	def   *plan.Input
	scans []*scan
	ts    int // position of the event time among the columns, -1 without one

	rows   int64
	newest int64 // largest event time, none before the first row
	pushed bool  // rows came since the last Advance
	last   int64 // epoch time of the last epoch with rows
	idle   bool
}

func newInput(at int, def *plan.Input) *input {
	in := &input{at: at, def: def, ts: -1, newest: none, idle: true}
	if c, ok := def.Columns.Find(types.TsColumn); ok {
		in.ts = c
	}
	return in
}

// times is the column of the event time, nil without one.
func (in *input) times(b *zset.Batch) *zset.Column {
	if in.ts < 0 {
		return nil
	}
	return &b.Cols[in.ts]
}

// see notes rows: the newest time, and that the input is not idle.
func (in *input) see(times *zset.Column, b *zset.Batch) {
	if times == nil || b.N == 0 {
		return
	}
	in.pushed, in.idle = true, false
	for i, t := range times.I64[:b.N] {
		if t > in.newest && counts(times, b, i) {
			in.newest = t
		}
	}
}

// counts reports whether a row moves the watermark: it has a time and is no retraction.
func counts(times *zset.Column, b *zset.Batch, i int) bool {
	return !times.IsNull(i) && (b.Weight == nil || b.Weight[i] > 0)
}

// tick ends an epoch: an input is idle after a while without rows, or when it never had one.
func (in *input) tick(now, idleMs int64) {
	if in.pushed {
		in.last, in.pushed = now, false
	}
	in.idle = in.newest == none || now-in.last >= idleMs
}

// scope is the watermark over some inputs: the smallest over those that are not idle of (newest event time - lag);
// with all of them idle it goes on by elapsed epoch time. It never goes back and never jumps to the wall clock.
type scope struct {
	inputs    []*input
	lag       int64
	watermark int64
}

// newScope makes a watermark that trails the newest rows by the lag of the query and what an operator waits beyond.
func newScope(t plan.Time, wait int64) *scope {
	return &scope{lag: t.WatermarkLag + wait, watermark: none}
}

func (s *scope) add(in *input) {
	if !s.has(in) {
		s.inputs = append(s.inputs, in)
	}
}

func (s *scope) has(in *input) bool {
	for _, have := range s.inputs {
		if have == in {
			return true
		}
	}
	return false
}

// others is the smallest watermark of the active inputs beside one; math.MaxInt64 when there are none.
func (s *scope) others(in *input) int64 {
	least := int64(math.MaxInt64)
	for _, o := range s.inputs {
		if o != in && !o.idle && o.newest != none {
			least = min(least, o.newest-s.lag)
		}
	}
	return least
}

// marks gives for each row the watermark before it, as the rows before it have moved it.
func (s *scope) marks(buf []int64, in *input, times *zset.Column, b *zset.Batch) []int64 {
	buf = buf[:0]
	others, newest, w := s.others(in), in.newest, s.watermark
	for i, t := range times.I64[:b.N] {
		buf = append(buf, w)
		if t > newest && counts(times, b, i) {
			newest = t
			w = max(w, min(others, newest-s.lag))
		}
	}
	return buf
}

// follow moves the watermark after rows of an input, and reports whether it moved.
func (s *scope) follow(in *input) bool {
	if in.newest == none || !s.has(in) {
		return false
	}
	was := s.watermark
	s.watermark = max(was, min(s.others(in), in.newest-s.lag))
	return s.watermark != was
}

// tick ends an epoch.
func (s *scope) tick(now int64) {
	active, idle := int64(math.MaxInt64), int64(none)
	for _, in := range s.inputs {
		switch {
		case in.newest == none:
		case in.idle:
			idle = max(idle, in.newest-s.lag+now-in.last)
		default:
			active = min(active, in.newest-s.lag)
		}
	}
	if active == math.MaxInt64 {
		active = idle
	}
	s.watermark = max(s.watermark, active)
}

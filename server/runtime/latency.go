package runtime

import (
	"sync/atomic"
	"time"
)

// LatencyBounds are the upper bounds of the buckets of a Latency, in seconds; one more bucket has no bound.
var LatencyBounds = [...]float64{0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// Latency is how long rows took from the append to their source until the step that holds them was served: one
// observation a step, of its newest row. The log keeps milliseconds, so that is the resolution.
type Latency struct {
	// Buckets counts observations up to each bound, the smaller ones included.
	Buckets [len(LatencyBounds)]uint64
	Count   uint64
	Seconds float64 // sum
}

// histogram collects a Latency.
type histogram struct {
	buckets [len(LatencyBounds) + 1]atomic.Uint64
	micros  atomic.Int64
}

func (h *histogram) observe(d time.Duration) {
	d = max(d, 0)
	s := d.Seconds()
	i := 0
	for i < len(LatencyBounds) && s > LatencyBounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.micros.Add(d.Microseconds())
}

func (h *histogram) read() (l Latency) {
	for i := range h.buckets {
		l.Count += h.buckets[i].Load()
		if i < len(l.Buckets) {
			l.Buckets[i] = l.Count
		}
	}
	l.Seconds = float64(h.micros.Load()) / 1e6
	return l
}

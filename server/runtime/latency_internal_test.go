package runtime

import (
	"testing"
	"time"
)

func TestLatencyIsCumulative(t *testing.T) {
	var h histogram
	for _, d := range []time.Duration{-time.Second, time.Millisecond, 2 * time.Millisecond, 2001 * time.Microsecond, time.Minute} {
		h.observe(d)
	}
	l := h.read()
	// A bound belongs to its bucket; what is older than the last bound is in the count alone; a clock that went back is 0.
	if l.Buckets[0] != 2 || l.Buckets[1] != 3 || l.Buckets[2] != 4 || l.Buckets[len(l.Buckets)-1] != 4 || l.Count != 5 {
		t.Errorf("%+v", l)
	}
	if want := 60.005001; l.Seconds != want {
		t.Errorf("a sum of %v seconds, want %v", l.Seconds, want)
	}
}

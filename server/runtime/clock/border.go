package clock

import "math/bits"

// interval is a span of epochs inside which a step may not end: both ends are allowed, what lies between is not.
type interval struct{ prev, epoch uint64 }

func (iv interval) hides(e uint64) bool { return iv.prev < e && e < iv.epoch }

func hidden(e uint64, blocked []interval) bool {
	for _, iv := range blocked {
		if iv.hides(e) {
			return true
		}
	}
	return false
}

// Span is a span of epochs of one delta, read from a journal: a step may not end between Prev and Epoch.
type Span struct{ Prev, Epoch uint64 }

// Border picks where a step ends that must take epoch lo, may go up to hi, and must not go beyond limit. It is what
// Collect does, for a worker that reads the log by itself.
func Border(lo, hi, limit uint64, spans []Span) uint64 {
	blocked := make([]interval, len(spans))
	for i, s := range spans {
		blocked[i] = interval{s.Prev, s.Epoch}
	}
	return border(lo, hi, limit, blocked)
}

// candidates bounds how many epochs border looks at before it takes the first one that is allowed.
const candidates = 4096

// border picks where a step that must take epoch lo and may go up to hi ends: at the epoch with the most trailing
// zero bits, so that workers that coalesce differently meet. blocked spans are avoided. When nothing in lo..hi is
// allowed, the first allowed epoch up to limit is taken. Zero means that there is none yet.
func border(lo, hi, limit uint64, blocked []interval) uint64 {
	if lo > limit {
		return 0
	}
	hi = min(max(hi, lo), limit)
	tried := 0
	for p := bits.Len64(hi) - 1; p >= 0 && tried < candidates; p-- {
		unit := uint64(1) << p
		for e := hi &^ (unit - 1); e >= lo && e > 0; e -= unit {
			if e&(unit<<1-1) == unit || p == 63 { // exactly p trailing zeros: larger ones were tried
				if !hidden(e, blocked) {
					return e
				}
				if tried++; tried == candidates {
					break
				}
			}
			if e < unit {
				break
			}
		}
	}
	return firstAllowed(lo, limit, blocked)
}

// firstAllowed is the smallest epoch from lo up to limit that no span hides, or zero.
func firstAllowed(lo, limit uint64, blocked []interval) uint64 {
	for e := lo; e <= limit; {
		moved := false
		for _, iv := range blocked {
			if iv.hides(e) {
				e, moved = iv.epoch, true
			}
		}
		if !moved {
			return e
		}
	}
	return 0
}

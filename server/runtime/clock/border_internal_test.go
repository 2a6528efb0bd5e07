package clock

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

func TestBorderIsTheMostDivisibleAllowedEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Uint64Range(1, 500).Draw(t, "lo")
		hi := lo + rapid.Uint64Range(0, 60).Draw(t, "hi")
		limit := hi + rapid.Uint64Range(0, 60).Draw(t, "limit")
		var blocked []interval
		for range rapid.IntRange(0, 3).Draw(t, "blocked") {
			p := rapid.Uint64Range(0, 600).Draw(t, "prev")
			blocked = append(blocked, interval{p, p + rapid.Uint64Range(1, 40).Draw(t, "width")})
		}
		got := border(lo, hi, limit, blocked)
		want, best := uint64(0), -1
		for e := lo; e <= hi; e++ {
			if z := bits.TrailingZeros64(e); !hidden(e, blocked) && z >= best {
				want, best = e, z
			}
		}
		for e := hi + 1; best < 0 && e <= limit; e++ {
			if !hidden(e, blocked) {
				want = e
				break
			}
		}
		if got != want {
			t.Fatalf("border(%d, %d, %d, %v) = %d, want %d", lo, hi, limit, blocked, got, want)
		}
	})
}

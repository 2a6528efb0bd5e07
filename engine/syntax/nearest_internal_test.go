package syntax

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	names := []string{"symbol", "price", "qty", "Quantity", "side"}
	for name, want := range map[string]string{
		"qyt": "qty", "SYMBOL": "symbol", "symbl": "symbol", "prise": "price", "quantity": "Quantity", "sdie": "side", "zzz": "", "": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestDistanceIsSymmetric holds the laws of a distance: zero for equal words, the same both ways, never above the
// longer word.
func TestDistanceIsSymmetric(t *testing.T) {
	word := rapid.StringMatching(`[abü]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b, 100)
		if (d == 0) != (a == b) || d != distance(b, a, 100) || d > max(len([]rune(a)), len([]rune(b))) {
			t.Fatalf("%q %q: %d", a, b, d)
		}
		if limited := distance(a, b, 2); limited != min(d, 2) {
			t.Fatalf("%q %q: limited to %d, is %d", a, b, limited, d)
		}
	})
}

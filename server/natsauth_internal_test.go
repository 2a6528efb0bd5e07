package server

import (
	"slices"
	"testing"
)

func TestWiden(t *testing.T) {
	existing := []string{"sf.default.source.*", "sf.default.source.a", "sf.default.source.b", "sf.other.source.c"}
	for _, c := range []struct {
		name          string
		granted, want []string
	}{
		{"all of them", []string{"sf.default.source.*", "sf.default.source.a", "sf.default.source.b"}, []string{"sf.default.source.*"}},
		{"one is kept from the user", []string{"sf.default.source.*", "sf.default.source.a"}, []string{"sf.default.source.a"}},
		{"named ones only", []string{"sf.default.source.b"}, []string{"sf.default.source.b"}},
		{"another environment is not covered", []string{"sf.default.source.*", "sf.default.source.a", "sf.default.source.b", "sf.other.source.c"}, []string{"sf.default.source.*", "sf.other.source.c"}},
		{"nothing", nil, nil},
	} {
		if got := widen(c.granted, existing); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

package analyze

import (
	"strings"
	"testing"
)

func TestDidYouMean(t *testing.T) {
	names := []string{"symbol", "price", "symbol"}
	if got := didYouMean("zzz", names, "columns"); got != "columns: price, symbol" {
		t.Error(got)
	}
	if got := didYouMean("prise", names, "columns"); got != `did you mean "price"?` {
		t.Error(got)
	}
	var many []string
	for c := 'a'; c <= 'n'; c++ {
		many = append(many, "input_"+string(c))
	}
	if got := didYouMean("zzz", many[:12], "inputs"); strings.Contains(got, "more") {
		t.Error(got)
	}
	if got := didYouMean("zzz", many, "inputs"); !strings.HasSuffix(got, "input_k, input_l and 2 more") {
		t.Error(got)
	}
}

package analyze

import "testing"

func TestDidYouMean(t *testing.T) {
	names := []string{"symbol", "price", "symbol"}
	if got := didYouMean("zzz", names, "columns"); got != "columns: price, symbol" {
		t.Error(got)
	}
	if got := didYouMean("prise", names, "columns"); got != `did you mean "price"?` {
		t.Error(got)
	}
}

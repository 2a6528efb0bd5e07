package generator

import (
	"math/rand/v2"
)

var (
	symbols = [...]string{"AAPL", "MSFT", "NVDA", "AMZN", "GOOG", "META", "TSLA", "JPM"}
	venues  = [...]string{"NYSE", "NASDAQ", "ARCA"}
)

// Bounds of a symbol's mid price and of one step of its walk.
const (
	midStartLow, midStartHigh = 100.0, 1000.0
	midLow, midHigh           = 1.0, 100_000.0
	midStep                   = 0.001
)

// market is the made-up market that most profiles share: one walking mid price a symbol.
type market struct {
	r   *rand.Rand
	mid [len(symbols)]float64
}

func newMarket(r *rand.Rand) *market {
	m := &market{r: r}
	for i := range m.mid {
		m.mid[i] = midStartLow + r.Float64()*(midStartHigh-midStartLow)
	}
	return m
}

// event picks a symbol and walks its mid price.
func (m *market) event() (symbol string, mid float64) {
	i := m.r.IntN(len(symbols))
	return symbols[i], m.walk(i)
}

func (m *market) walk(i int) float64 {
	m.mid[i] = min(max(m.around(m.mid[i], midStep), midLow), midHigh)
	return m.mid[i]
}

// around returns v moved by at most the given share, either way.
func (m *market) around(v, share float64) float64 { return v * (1 + share*(2*m.r.Float64()-1)) }

func (m *market) side() string {
	if m.r.IntN(2) == 0 {
		return "BUY"
	}
	return "SELL"
}

func (m *market) venue() string { return pick(m.r, venues[:]) }

// quantity is 10..500 in steps of 10.
func (m *market) quantity() int64 { return 10 * (1 + m.r.Int64N(50)) }

func pick(r *rand.Rand, of []string) string { return of[r.IntN(len(of))] }

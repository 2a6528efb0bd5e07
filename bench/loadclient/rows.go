package main

import (
	"fmt"
	"strconv"
)

var symbols = [...]string{"AAPL", "MSFT", "NVDA", "AMZN", "GOOG", "META", "TSLA", "JPM"}

// rowBytes is the size of every row that can be decoded; badBytes is what is left of one that cannot.
const (
	rowBytes = 128
	badBytes = 60
	baseMs   = 1_700_000_000_000
)

// row is what a row number means.
type row struct {
	symbol string
	cents  int64
	qty    int64
	side   string
}

// rowAt is a pure function of seed and number (splitmix64), so that a reader can tell what was published.
func rowAt(seed, number int64) row {
	x := uint64(seed)*0x9e3779b97f4a7c15 + uint64(number)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	side := "BUY"
	if x>>40&1 == 1 {
		side = "SELL"
	}
	return row{symbols[x%uint64(len(symbols))], int64(10_000 + x>>8%90_000), int64(10 + 10*(x>>32%50)), side}
}

// appendRow adds row number n as JSON of exactly rowBytes: the trade id is as long as it takes.
func appendRow(dst []byte, seed, n int64) []byte {
	r := rowAt(seed, n)
	start := len(dst)
	dst = append(dst, `{"symbol":"`...)
	dst = append(dst, r.symbol...)
	dst = append(dst, `","price":`...)
	dst = fmt.Appendf(dst, "%d.%02d", r.cents/100, r.cents%100)
	dst = append(dst, `,"qty":`...)
	dst = strconv.AppendInt(dst, r.qty, 10)
	dst = append(dst, `,"side":"`...)
	dst = append(dst, r.side...)
	dst = append(dst, `","_ts":`...)
	dst = strconv.AppendInt(dst, baseMs+n/1000, 10)
	dst = append(dst, `,"trade_id":"`...)
	width := rowBytes - (len(dst) - start) - len(`"}`)
	return fmt.Appendf(dst, `%0*d"}`, width, n)
}

// isBad spreads the share of undecodable rows evenly: of the first k rows, floor(k x percent / 100) are bad.
func isBad(percent float64, n int64) bool {
	return int64(float64(n+1)*percent/100) > int64(float64(n)*percent/100)
}

// sum is what the good rows of a symbol add up to.
type sum struct {
	Count int64 `json:"count"`
	Qty   int64 `json:"qty"`
	// Cents is the sum of the prices, in hundredths.
	Cents int64 `json:"cents"`
}

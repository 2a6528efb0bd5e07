package generator_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/connectorstest"
	"github.com/streamsforge/streamsforge/connectors/generator"
	"github.com/streamsforge/streamsforge/engine/types"
)

func TestAcceptance(t *testing.T) {
	for _, p := range generator.Profiles() {
		t.Run(p, func(t *testing.T) {
			d := connectors.Definition{Kind: "generator", Name: "g", Profile: p, EventsPerSecond: 5000}
			unknown, negative := d, d
			unknown.Profile, negative.EventsPerSecond = "ticks", -1
			connectorstest.Run(t, connectorstest.Case{
				Definition: d, MinRows: 1000, Silent: p == generator.Scenario,
				Invalid: map[string]connectors.Definition{"unknown generatorProfile \"ticks\"": unknown, "eventsPerSecond is -1": negative},
			})
		})
	}
}

const nowMs = 1_700_000_000_000

type row = map[string]any

// sample makes rows of a profile, each a JSON object with its time.
func sample(t *testing.T, profile string, fields types.Schema, n int) []row {
	t.Helper()
	rows, err := generator.NewRows(profile, fields, rand.NewPCG(7, 11))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]row, n)
	var b []byte
	for i := range out {
		b = rows.Append(b[:0], nowMs+int64(i))
		if err := json.Unmarshal(b, &out[i]); err != nil {
			t.Fatalf("row %d: %v: %s", i, err, b)
		}
		if out[i]["_ts"] != float64(nowMs+i) {
			t.Fatalf("row %d has time %v", i, out[i]["_ts"])
		}
	}
	return out
}

// keys fails unless the row has exactly these members besides its time.
func keys(t *testing.T, r row, want ...string) {
	t.Helper()
	if len(r) != len(want)+1 {
		t.Fatalf("row %v has other members than %v", r, want)
	}
	for _, k := range want {
		if _, ok := r[k]; !ok {
			t.Fatalf("row %v has no %q", r, k)
		}
	}
}

func num(t *testing.T, r row, key string, lo, hi float64) float64 {
	t.Helper()
	v, ok := r[key].(float64)
	if !ok || v < lo || v > hi {
		t.Fatalf("%s is %v, want a number within %v..%v in %v", key, r[key], lo, hi, r)
	}
	return v
}

func oneOf(t *testing.T, r row, key string, of ...string) string {
	t.Helper()
	v, _ := r[key].(string)
	if !slices.Contains(of, v) {
		t.Fatalf("%s is %v, want one of %v in %v", key, r[key], of, r)
	}
	return v
}

func decimals(t *testing.T, v float64, n int) {
	t.Helper()
	p := math.Pow10(n)
	if math.Abs(math.Round(v*p)-v*p) > 1e-6*p {
		t.Fatalf("%v has more than %d decimals", v, n)
	}
}

// share fails unless got of n is within three percentage points of want.
func share(t *testing.T, what string, got, n int, want float64) {
	t.Helper()
	if s := float64(got) / float64(n); math.Abs(s-want) > 0.03 {
		t.Errorf("%s: share %.3f, want %.2f", what, s, want)
	}
}

var (
	symbols = []string{"AAPL", "MSFT", "NVDA", "AMZN", "GOOG", "META", "TSLA", "JPM"}
	venues  = []string{"NYSE", "NASDAQ", "ARCA"}
)

func TestTrades(t *testing.T) {
	last, buys, seen := map[string]float64{}, 0, map[string]bool{}
	rows := sample(t, "trades", nil, 5000)
	for _, r := range rows {
		keys(t, r, "symbol", "price", "qty", "side", "venue")
		s := oneOf(t, r, "symbol", symbols...)
		price := num(t, r, "price", 1, 100_000)
		decimals(t, price, 2)
		if q := num(t, r, "qty", 10, 500); math.Mod(q, 10) != 0 {
			t.Fatalf("qty %v is not in steps of 10", q)
		}
		seen[oneOf(t, r, "venue", venues...)] = true
		if oneOf(t, r, "side", "BUY", "SELL") == "BUY" {
			buys++
		}
		switch prev, ok := last[s]; {
		case !ok && (price < 99 || price > 1001):
			t.Fatalf("%s starts at %v", s, price)
		case ok && math.Abs(price/prev-1) > 0.001+2*0.0005+0.0002:
			t.Fatalf("%s walks from %v to %v", s, prev, price)
		}
		last[s] = price
	}
	share(t, "BUY", buys, len(rows), 0.5)
	if len(last) != len(symbols) || len(seen) != len(venues) {
		t.Errorf("%d symbols and %d venues", len(last), len(seen))
	}
}

func TestQuotes(t *testing.T) {
	for _, r := range sample(t, "quotes", nil, 2000) {
		keys(t, r, "symbol", "bid", "ask", "bidSize", "askSize", "venue")
		oneOf(t, r, "symbol", symbols...)
		oneOf(t, r, "venue", venues...)
		bid, ask := num(t, r, "bid", 0.9, 101_000), num(t, r, "ask", 0.9, 101_000)
		mid := (bid + ask) / 2
		if want := max(0.01, 0.0005*mid); math.Abs(ask-bid-want) > 2e-4 {
			t.Fatalf("spread of %v is %v, want %v", mid, ask-bid, want)
		}
		for _, k := range []string{"bidSize", "askSize"} {
			if s := num(t, r, k, 10, 1e6); math.Mod(s, 10) != 0 {
				t.Fatalf("%s is %v", k, s)
			}
		}
	}
}

func TestOrders(t *testing.T) {
	hex := regexp.MustCompile(`^[0-9a-f]{8}$`)
	status := map[string]int{}
	rows := sample(t, "orders", nil, 5000)
	for _, r := range rows {
		keys(t, r, "symbol", "orderId", "side", "qty", "limitPrice", "status")
		if id, _ := r["orderId"].(string); !hex.MatchString(id) {
			t.Fatalf("orderId %v", r["orderId"])
		}
		decimals(t, num(t, r, "limitPrice", 0.9, 101_000), 2)
		status[oneOf(t, r, "status", "NEW", "FILLED", "CANCELLED")]++
	}
	share(t, "NEW", status["NEW"], len(rows), 0.6)
	share(t, "FILLED", status["FILLED"], len(rows), 0.3)
	share(t, "CANCELLED", status["CANCELLED"], len(rows), 0.1)
}

func TestJSONEvents(t *testing.T) {
	id := regexp.MustCompile(`^u-([1-9]\d{0,2})$`)
	tags := []string{"web", "mobile", "api", "priority", "retry"}
	types, tiers, sets := map[string]bool{}, map[string]bool{}, map[int]bool{}
	for _, r := range sample(t, "json-events", nil, 2000) {
		keys(t, r, "eventType", "payload")
		types[oneOf(t, r, "eventType", "order.placed", "order.amended", "order.cancelled")] = true
		p := r["payload"].(row)
		user, order := p["user"].(row), p["order"].(row)
		if s, _ := user["id"].(string); !id.MatchString(s) {
			t.Fatalf("user %v", user)
		}
		tiers[oneOf(t, user, "tier", "gold", "silver", "bronze")] = true
		oneOf(t, order, "symbol", symbols...)
		num(t, order, "qty", 10, 500)
		decimals(t, num(t, order, "price", 1, 101_000), 2)
		list := p["tags"].([]any)
		if len(list) == 0 || len(p) != 3 || len(user) != 2 || len(order) != 3 {
			t.Fatalf("payload %v", p)
		}
		set := 0
		for _, x := range list {
			i := slices.Index(tags, x.(string))
			if i < 0 || set&(1<<i) != 0 {
				t.Fatalf("tags %v", list)
			}
			set |= 1 << i
		}
		sets[set] = true
	}
	if len(types) != 3 || len(tiers) != 3 || len(sets) != 31 {
		t.Errorf("%d types, %d tiers, %d tag sets", len(types), len(tiers), len(sets))
	}
}

func TestMultileg(t *testing.T) {
	id := regexp.MustCompile(`^T-\d{6}$`)
	products, flies := map[string]int{}, map[int]bool{}
	rows := sample(t, "multileg", nil, 3000)
	for _, r := range rows {
		if s, _ := r["trade_id"].(string); !id.MatchString(s) {
			t.Fatalf("trade_id %v", r["trade_id"])
		}
		legs := r["legs"].([]any)
		product := oneOf(t, r, "product", "IRS", "STRADDLE", "STRANGLE", "FLY")
		products[product]++
		if product == "IRS" {
			keys(t, r, "trade_id", "product", "notional_ccy", "legs")
			swap(t, r, legs)
			continue
		}
		keys(t, r, "trade_id", "product", "legs")
		if product == "FLY" {
			flies[len(legs)] = true
		} else if len(legs) != 2 {
			t.Fatalf("%s has %d legs", product, len(legs))
		}
		options(t, r, legs)
	}
	share(t, "IRS", products["IRS"], len(rows), 0.5)
	if len(products) != 4 || !flies[3] || !flies[4] || len(flies) != 2 {
		t.Errorf("products %v, legs of a FLY %v", products, flies)
	}
}

func swap(t *testing.T, r row, legs []any) {
	t.Helper()
	if len(legs) != 2 {
		t.Fatalf("IRS has %d legs", len(legs))
	}
	for i, want := range [][2]string{{"PAY", "FIXED"}, {"RCV", "FLOAT"}} {
		l := legs[i].(row)
		if len(l) != 6 || l["leg_no"] != float64(i+1) || l["pay_rcv"] != want[0] || l["rate_type"] != want[1] || l["ccy"] != r["notional_ccy"] {
			t.Fatalf("leg %v of %v", l, r)
		}
		oneOf(t, l, "ccy", "USD", "EUR", "GBP", "JPY")
		num(t, l, "notional", 1e6, 99e6)
		decimals(t, num(t, l, "rate", 0, 5), 3)
	}
}

func options(t *testing.T, r row, legs []any) {
	t.Helper()
	n := float64(len(legs))
	first := legs[0].(row)
	mid := first["strike"].(float64) / (1 + 0.02*(1-(n+1)/2))
	for i, x := range legs {
		l := x.(row)
		want := "CALL"
		if i%2 == 1 {
			want = "PUT"
		}
		if len(l) != 5 || l["leg_no"] != float64(i+1) || l["cp"] != want || l["ratio"] != 1.0 || l["expiry_ts"] != first["expiry_ts"] {
			t.Fatalf("leg %v of %v", l, r)
		}
		if s := mid * (1 + 0.02*(float64(i+1)-(n+1)/2)); math.Abs(l["strike"].(float64)-s) > 0.02 {
			t.Fatalf("strike of leg %d is %v, want %v", i+1, l["strike"], s)
		}
		ahead := (l["expiry_ts"].(float64) - r["_ts"].(float64)) / (24 * 3600 * 1000)
		if ahead < 7 || ahead > 180 || ahead != math.Trunc(ahead) {
			t.Fatalf("expiry is %v days ahead", ahead)
		}
	}
}

type life struct {
	stage, fills int
	filled       float64
	qty          float64
}

func TestLifecycle(t *testing.T) {
	id := regexp.MustCompile(`^ORD-[0-9A-F]{8}$`)
	names := []string{"", "NEW", "ACK", "PART_FILL", "FILLED", "CANCELED"}
	live := map[string]*life{}
	done, canceled, fills := 0, 0, map[int]int{}
	rows := sample(t, "lifecycle", nil, 20000)
	for i, r := range rows {
		keys(t, r, "order_id", "symbol", "side", "stage", "stage_rank", "stage_ts", "qty", "filled_qty", "px")
		oid, _ := r["order_id"].(string)
		if !id.MatchString(oid) || r["stage_ts"] != r["_ts"] {
			t.Fatalf("row %v", r)
		}
		rank := int(num(t, r, "stage_rank", 1, 5))
		if r["stage"] != names[rank] {
			t.Fatalf("stage %v has rank %d", r["stage"], rank)
		}
		qty, filled, px := num(t, r, "qty", 200, 5000), num(t, r, "filled_qty", 0, 5000), num(t, r, "px", 0, 101_000)
		decimals(t, px, 4)
		o := live[oid]
		if (o == nil) != (rank == 1) {
			t.Fatalf("order %s appears at rank %d", oid, rank)
		}
		if o == nil {
			o = &life{qty: qty}
			live[oid] = o
		}
		valid := rank == 1 && filled == 0 || rank == 2 && o.stage == 1 && filled == 0 ||
			rank == 3 && o.stage >= 2 && filled > o.filled && filled < qty ||
			rank == 4 && o.stage >= 2 && filled == qty || rank == 5 && o.stage >= 2 && filled == o.filled
		if !valid || math.Mod(qty, 100) != 0 || qty != o.qty || (filled == 0) != (px == 0) {
			t.Fatalf("row %d: %v after %+v", i, r, *o)
		}
		if rank == 3 {
			o.fills++
		}
		o.stage, o.filled = rank, filled
		if rank >= 4 {
			done++
			if rank == 5 {
				canceled++
			} else {
				fills[o.fills]++
			}
			delete(live, oid)
		}
		if n := len(live); n > 20 || i > 100 && n < 9 {
			t.Fatalf("row %d: %d live orders", i, n)
		}
	}
	share(t, "canceled", canceled, done, 0.15)
	for n := range 4 {
		share(t, "orders with a number of partial fills", fills[n], done-canceled, 0.25)
	}
	if len(fills) != 4 {
		t.Errorf("partial fills %v", fills)
	}
}

func TestGenericMatchesAnySchema(t *testing.T) {
	word := func(f string) *regexp.Regexp { return regexp.MustCompile(`^` + f + `-[1-9]\d{0,2}$`) }
	fields := types.Schema{
		{Name: "name", Kind: types.String}, {Name: "x", Kind: types.Double}, {Name: "n", Kind: types.Long},
		{Name: "ok", Kind: types.Bool}, {Name: "at", Kind: types.Timestamp}, {Name: "any", Kind: types.Json},
		{Name: "_ts", Kind: types.Long}, {Name: "_retract", Kind: types.Bool}, {Name: "say \"hi\"\n", Kind: types.Long},
		{Name: "payload", Kind: types.Json, Children: []types.Field{
			{Name: "user", Kind: types.Json, Children: []types.Field{{Name: "id", Kind: types.String}, {Name: "tier", Kind: types.String}}},
		}},
		{Name: "list", Kind: types.Long, IsArray: true},
		{Name: "legs", Kind: types.Json, IsArray: true, Children: []types.Field{{Name: "leg", Kind: types.Long}}},
		{Name: "free", Kind: types.Json, IsArray: true},
	}
	yes, lengths := 0, map[int]bool{}
	rows := sample(t, "generic", fields, 1500)
	for _, r := range rows {
		keys(t, r, "name", "x", "n", "ok", "at", "any", "_retract", "say \"hi\"\n", "payload", "list", "legs", "free")
		decimals(t, num(t, r, "x", 0, 1000), 4)
		num(t, r, "n", 0, 9999)
		if r["at"] != r["_ts"] || r["_retract"] != false {
			t.Fatalf("row %v", r)
		}
		num(t, r["any"].(row), "value", 1, 99)
		user := r["payload"].(row)["user"].(row)
		if !word("name").MatchString(r["name"].(string)) || !word("id").MatchString(user["id"].(string)) || !word("tier").MatchString(user["tier"].(string)) {
			t.Fatalf("texts of %v", r)
		}
		if r["ok"] == true {
			yes++
		}
		for _, v := range r["list"].([]any) {
			num(t, row{"v": v}, "v", 0, 9999)
		}
		lengths[len(r["list"].([]any))] = true
		for _, v := range r["legs"].([]any) {
			num(t, v.(row), "leg", 0, 9999)
		}
		num(t, r["free"].([]any)[0].(row), "value", 1, 99)
	}
	share(t, "true", yes, len(rows), 0.5)
	if len(lengths) != 3 || lengths[0] {
		t.Errorf("lists of lengths %v", lengths)
	}
}

func TestGenericWithoutFields(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range sample(t, "generic", nil, 1000) {
		keys(t, r, "key", "value")
		seen[oneOf(t, r, "key", "k1", "k2", "k3", "k4", "k5")] = true
		num(t, r, "value", 0, 1000)
	}
	if len(seen) != 5 {
		t.Errorf("keys %v", seen)
	}
}

func TestSameSeedSameRows(t *testing.T) {
	for _, p := range generator.Profiles() {
		if p == generator.Scenario {
			continue
		}
		a, _ := generator.NewRows(p, nil, rand.NewPCG(1, 1))
		b, _ := generator.NewRows(p, nil, rand.NewPCG(1, 1))
		other, _ := generator.NewRows(p, nil, rand.NewPCG(2, 1))
		var x, y, z []byte
		for i := range int64(200) {
			x, y, z = a.Append(x, i), b.Append(y, i), other.Append(z, i)
		}
		if string(x) != string(y) || string(x) == string(z) {
			t.Errorf("%s: same seed equal: %v, other seed equal: %v", p, string(x) == string(y), string(x) == string(z))
		}
	}
	if _, err := generator.NewRows("nope", nil, rand.NewPCG(1, 1)); err == nil {
		t.Error("an unknown profile was accepted")
	}
}

// TestPace runs each rate for an hour or so of its own time: rows a second within 10 percent, as few messages as the
// shortest tick allows.
func TestPace(t *testing.T) {
	cases := []struct {
		rate     float64
		duration time.Duration
		messages float64 // a second
	}{
		{0.001, 10 * time.Hour, 0.1}, {0, 10 * time.Hour, 0.1}, {0.5, time.Hour, 0.5}, {3, 10 * time.Minute, 3}, {8, 10 * time.Minute, 8},
		{50, 10 * time.Second, 50}, {999, 10 * time.Second, 999}, {1000, 10 * time.Second, 1000}, {1500, 5 * time.Second, 1000}, {100_000, time.Second, 1000},
	}
	for _, c := range cases {
		clock := connectorstest.NewClock()
		clock.Auto = true
		s, err := generator.New(connectors.Definition{Profile: "trades", EventsPerSecond: c.rate}, connectors.Env{Clock: clock, Rand: rand.NewPCG(1, 2)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Open(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		rows, msgs := 0, 0
		for clock.Now().Sub(connectorstest.Start) < c.duration {
			r, err := s.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			msgs += len(r.Messages)
			for _, m := range r.Messages {
				rows += m.Rows
			}
		}
		want := max(c.rate, 0.1)
		if got := float64(rows) / c.duration.Seconds(); math.Abs(got/want-1) > 0.1 {
			t.Errorf("rate %v: %v rows a second, want %v", c.rate, got, want)
		}
		if got := float64(msgs) / c.duration.Seconds(); math.Abs(got/c.messages-1) > 0.1 {
			t.Errorf("rate %v: %v messages a second, want %v", c.rate, got, c.messages)
		}
	}
}

func TestStallIsNotPouredOut(t *testing.T) {
	clock := connectorstest.NewClock()
	s, err := generator.New(connectors.Definition{Profile: "trades", EventsPerSecond: 100}, connectors.Env{Clock: clock, Rand: rand.NewPCG(1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	clock.Advance(8 * time.Hour)
	r, err := s.Read(t.Context())
	if err != nil || len(r.Messages) != 1 || r.Messages[0].Rows != 100 {
		t.Fatalf("after a night: %d messages, %v; want the rows of one second", len(r.Messages), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		r, err := s.Read(ctx)
		if err != nil {
			done <- -1
			return
		}
		done <- r.Messages[0].Rows
	}()
	if _, err := clock.AwaitWaiter(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.Advance(10 * time.Millisecond)
	if n := <-done; n != 1 {
		t.Errorf("the next tick brought %d rows, want 1", n)
	}
	cancel()
}

func TestLargeTicksAreSplitIntoMessages(t *testing.T) {
	clock := connectorstest.NewClock()
	s, err := generator.New(connectors.Definition{Profile: "trades", EventsPerSecond: 1_000_000}, connectors.Env{Clock: clock, Rand: rand.NewPCG(1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	clock.Advance(20 * time.Millisecond)
	r, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, m := range r.Messages {
		if len(m.Data) > 160<<10 || connectorstest.CountRows(t, m) != m.Rows {
			t.Errorf("message of %d bytes and %d rows", len(m.Data), m.Rows)
		}
		rows += m.Rows
	}
	if rows != 20_000 || len(r.Messages) < 2 {
		t.Errorf("%d rows in %d messages", rows, len(r.Messages))
	}
}

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

func TestRowsHaveOneSizeAndOneMeaning(t *testing.T) {
	for _, n := range []int64{0, 1, 999, 1_000_000, 1 << 40} {
		b := appendRow(nil, 1, n)
		var got struct {
			Symbol  string      `json:"symbol"`
			Price   json.Number `json:"price"`
			Qty     int64       `json:"qty"`
			Side    string      `json:"side"`
			TradeID string      `json:"trade_id"`
		}
		if err := json.Unmarshal(b, &got); err != nil || len(b) != rowBytes {
			t.Fatalf("row %d has %d bytes: %s, %v", n, len(b), b, err)
		}
		want := rowAt(1, n)
		id, err := strconv.ParseInt(got.TradeID, 10, 64)
		if got.Symbol != want.symbol || got.Qty != want.qty || got.Side != want.side || id != n || err != nil {
			t.Errorf("row %d is %s, want %+v", n, b, want)
		}
		if json.Valid(b[:badBytes]) {
			t.Errorf("row %d cut is JSON: %s", n, b[:badBytes])
		}
	}
	bad := 0
	for n := range int64(10_000) {
		if isBad(1, n) {
			bad++
		}
		if isBad(0, n) || !isBad(100, n) {
			t.Fatalf("row %d of no or of all bad rows", n)
		}
	}
	if bad != 100 {
		t.Errorf("%d of 10,000 rows are bad, want 100", bad)
	}
}

type oneUser struct{}

func (oneUser) Authenticate(user, password, _ string) (*streams.Identity, error) {
	if user != "loader" || password != "secret" {
		return nil, streams.ErrRefused
	}
	return &streams.Identity{User: user, Publish: []string{streams.SourceSubject("default", "trades")}}, nil
}

func TestLoad(t *testing.T) {
	s := streamstest.Open(t, func(o *streams.Options) { o.Listen, o.Auth = "127.0.0.1:0", oneUser{} })
	st, err := s.EnsureSource(t.Context(), "default", "trades", streams.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "acks")
	o := options{
		url: "nats://" + s.Address(), user: "loader", password: "secret", env: "default", source: "trades", acks: path,
		rows: 2500, perMessage: 10, bad: 1, window: 64, seed: 3, timeout: 20 * time.Second,
	}
	r := run(t.Context(), o)
	if r.Error != "" || r.Rows != 2500 || r.Bad != 25 || r.Messages != 250 || r.FirstSeq != 1 || r.LastSeq != 250 || r.RowsPerSec <= 0 {
		t.Fatalf("%+v", r)
	}
	state, err := st.State(t.Context())
	if err != nil || state.Messages != 250 {
		t.Errorf("%d messages, %v", state.Messages, err)
	}
	good, bad := map[string]sum{}, 0
	for seq := uint64(1); seq <= 250; seq++ {
		m, err := st.Get(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(m.Data), "\n") {
			var row struct {
				Symbol string `json:"symbol"`
				Qty    int64  `json:"qty"`
			}
			if json.Unmarshal([]byte(line), &row) != nil {
				bad++
				continue
			}
			e := good[row.Symbol]
			e.Count, e.Qty = e.Count+1, e.Qty+row.Qty
			good[row.Symbol] = e
		}
	}
	if bad != 25 || len(good) != len(symbols) {
		t.Errorf("%d bad rows, %d symbols", bad, len(good))
	}
	for k, v := range good {
		if e := r.Expected[k]; e.Count != v.Count || e.Qty != v.Qty {
			t.Errorf("%s: %+v, the report says %+v", k, v, e)
		}
	}
	lines, err := os.ReadFile(path)
	if err != nil || strings.Count(string(lines), "\n") != 250 || !strings.HasPrefix(string(lines), "1 0 10\n2 10 10\n") {
		t.Errorf("acks %.40q, %v", lines, err)
	}

	o.acks, o.rows, o.rate, o.perMessage = "", 40, 200, 1
	if r := run(t.Context(), o); r.Error != "" || r.Seconds < 0.15 {
		t.Errorf("with a rate: %+v", r)
	}
	wrong := o
	wrong.password = "guess"
	if r := run(t.Context(), wrong); r.Error == "" {
		t.Error("a wrong password was accepted")
	}
	other := o
	other.source, other.timeout = "orders", 2*time.Second
	if r := run(t.Context(), other); r.Error == "" || r.Rows != 0 {
		t.Errorf("a source without the right: %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := run(ctx, o); r.Error == "" {
		t.Error("a stopped client reports success")
	}
}

func TestOptions(t *testing.T) {
	right := options{rows: 1, perMessage: 1, window: 1}
	if err := right.check(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*options){
		func(o *options) { o.rows = -1 }, func(o *options) { o.perMessage = 0 }, func(o *options) { o.window = 0 },
		func(o *options) { o.bad = 101 }, func(o *options) { o.rate = -1 },
	} {
		o := right
		change(&o)
		if o.check() == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

package ingest_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/engine/types"
)

func TestKeys(t *testing.T) {
	shape := regexp.MustCompile(`^sfk_[0-9a-f]{64}$`)
	secret, salt, hash := ingest.NewKey()
	other, salt2, hash2 := ingest.NewKey()
	if !shape.MatchString(secret) || secret == other || salt == salt2 || hash == hash2 || strings.Contains(hash+salt, secret[4:]) {
		t.Fatalf("keys %s %s %s, %s %s %s", secret, salt, hash, other, salt2, hash2)
	}
	for _, c := range []struct {
		secret, salt, hash string
		want               bool
	}{
		{secret, salt, hash, true}, {other, salt, hash, false}, {secret, salt2, hash, false}, {secret, salt, hash2, false}, {"", salt, hash, false},
		{secret[4:], salt, hash, false}, {secret + "0", salt, hash, false}, {strings.ToUpper(secret), salt, hash, false}, {secret, salt, "", false}, {"sfk_", "", "", false},
		{"***", "***", "***", false},
	} {
		if got := ingest.KeyMatches(c.secret, c.salt, c.hash); got != c.want {
			t.Errorf("KeyMatches(%q, %q, %q) = %v", c.secret, c.salt, c.hash, got)
		}
	}
}

func TestSectionProblems(t *testing.T) {
	right := connectors.IngestConfig{Policy: connectors.Reject, CapacityRows: 1, MaxWaitMs: 1, MaxBatchRows: 1}
	fields := types.Schema{{Name: "id", Kind: types.String}}
	for want, change := range map[string]func(*connectors.IngestConfig){
		"":                     func(*connectors.IngestConfig) {},
		"ingest.policy \"No\"": func(c *connectors.IngestConfig) { c.Policy = "No" },
		"capacityRows is 0":    func(c *connectors.IngestConfig) { c.CapacityRows = 0 },
		"maxBatchRows is -1":   func(c *connectors.IngestConfig) { c.MaxBatchRows = -1 },
		"maxWaitMs is 30001":   func(c *connectors.IngestConfig) { c.MaxWaitMs = 30001 },
		"dedupWindow is -1":    func(c *connectors.IngestConfig) { c.DedupWindow = -1 },
		"dedupKeyField \"x\"":  func(c *connectors.IngestConfig) { c.DedupKeyField = "x" },
	} {
		c := right
		change(&c)
		got := strings.Join(connectors.Validate(connectors.Definition{Kind: "ingest", Fields: fields, Ingest: &c}), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("problems %q, want %q", got, want)
		}
	}
	if got := connectors.Validate(connectors.Definition{Kind: "ingest"}); len(got) != 1 || !strings.Contains(got[0], "needs the ingest section") {
		t.Errorf("without a section: %q", got)
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	h := ingest.Header{
		Version: 1, Rows: ingest.Range{From: 3, To: 9}, More: true, After: 7, Evict: []ingest.Range{{From: 0, To: 2}}, Idempotency: "k",
		Answer: &ingest.Answer{Accepted: 6, RowErrors: []string{"row 1: é\n"}}, Totals: ingest.Totals{Accepted: 9, Evicted: 2, LastPushMs: 5},
	}
	s := h.Encode()
	if strings.ContainsAny(s, "\r\n") {
		t.Errorf("a header must be one line: %q", s)
	}
	back, err := ingest.ParseHeader(s)
	if err != nil || back.Encode() != s {
		t.Errorf("ParseHeader(%s) = %+v, %v", s, back, err)
	}
	for _, bad := range []string{"", "{}", `{"v":2,"rows":{"from":0,"to":1}}`, `{"v":1,"rows":{"from":2,"to":1}}`, `{"v":1,"rows":{"from":-1,"to":1}}`, "x"} {
		if _, err := ingest.ParseHeader(bad); err == nil {
			t.Errorf("ParseHeader(%q) succeeded", bad)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add(ingest.Header{Rows: ingest.Range{To: 5}}.Encode())
	f.Add(`{"v":1,"rows":{"from":1,"to":2},"evict":[{"from":0,"to":1}],"answer":null}`)
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ingest.ParseHeader(s)
		if err != nil {
			return
		}
		if again, err := ingest.ParseHeader(h.Encode()); err != nil || again.Encode() != h.Encode() {
			t.Fatalf("%+v does not survive its own encoding: %v", h, err)
		}
	})
}

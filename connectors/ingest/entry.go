package ingest

import (
	"encoding/json"
	"fmt"
)

// Header is the state that a write-ahead entry carries beside its rows: enough to go on after a crash with the same
// counts, answers and dedup keys. It travels as JSON in the header Sf-Entry; docs/format/ingest.md lists it.
type Header struct {
	Version int `json:"v"`
	// Rows are the numbers of the rows in this entry.
	Rows Range `json:"rows"`
	// More says that the push goes on in the next entry. A group without its last entry was never admitted.
	More bool `json:"more,omitempty"`
	// After is a sequence of the source's stream: the rows of this entry are published above it, if at all.
	After uint64 `json:"after"`
	// Evict are the rows that were evicted to make room for this push.
	Evict []Range `json:"evict,omitempty"`
	// Idempotency is the hash of the push's key and Answer what it was answered; both on the last entry of the push.
	Idempotency string  `json:"idem,omitempty"`
	Answer      *Answer `json:"answer,omitempty"`
	// Totals are the counters after this push.
	Totals Totals `json:"totals"`
}

// headerVersion is the version that this build writes.
const headerVersion = 1

// Answer is the part of an accepted push's answer that a repeated push gets again.
type Answer struct {
	Accepted  int      `json:"accepted"`
	Dropped   int      `json:"dropped"`
	Invalid   int      `json:"invalid"`
	Duplicate int      `json:"duplicate"`
	Depth     int      `json:"depth"`
	Capacity  int      `json:"capacity"`
	RowErrors []string `json:"rowErrors,omitempty"`
	Position  uint64   `json:"position,omitempty"`
}

// Totals are the counters of a source since it was created. They are never merged: Rejected counts rows of refused
// pushes, Dropped rows that a full buffer did not admit, Evicted admitted rows that made room for newer ones, Invalid
// rows that did not decode, Duplicate rows whose key was known.
type Totals struct {
	Accepted   int64 `json:"accepted"`
	Rejected   int64 `json:"rejected"`
	Dropped    int64 `json:"dropped"`
	Evicted    int64 `json:"evicted"`
	Invalid    int64 `json:"invalid"`
	Published  int64 `json:"published"`
	Duplicate  int64 `json:"duplicate"`
	LastPushMs int64 `json:"lastPushMs"`
}

// Max takes the larger of each counter: counters only grow, so the larger one is the newer.
func (t Totals) Max(u Totals) Totals {
	return Totals{
		Accepted: max(t.Accepted, u.Accepted), Rejected: max(t.Rejected, u.Rejected), Dropped: max(t.Dropped, u.Dropped),
		Evicted: max(t.Evicted, u.Evicted), Invalid: max(t.Invalid, u.Invalid), Published: max(t.Published, u.Published),
		Duplicate: max(t.Duplicate, u.Duplicate), LastPushMs: max(t.LastPushMs, u.LastPushMs),
	}
}

// Encode writes the header.
func (h Header) Encode() string {
	h.Version = headerVersion
	b, err := json.Marshal(h)
	if err != nil {
		panic("BUG: ingest.Header: " + err.Error())
	}
	return string(b)
}

// ParseHeader reads a header of this or an earlier version.
func ParseHeader(s string) (Header, error) {
	var h Header
	if err := json.Unmarshal([]byte(s), &h); err != nil {
		return Header{}, fmt.Errorf("write-ahead entry: %w", err)
	}
	switch {
	case h.Version < 1 || h.Version > headerVersion:
		return Header{}, fmt.Errorf("write-ahead entry of version %d: this build reads up to %d", h.Version, headerVersion)
	case h.Rows.From < 0 || h.Rows.To < h.Rows.From:
		return Header{}, fmt.Errorf("write-ahead entry with rows %d..%d", h.Rows.From, h.Rows.To)
	}
	return h, nil
}

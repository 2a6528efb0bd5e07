package ingest

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Checker decides which rows of a push may be admitted. It runs the decoder that every reader of the source runs, so
// what it lets through decodes later to the same row. It belongs to one goroutine at a time.
type Checker struct {
	dec     *decode.Decoder
	policy  decode.Policy
	retract int // column of _retract when it is a Bool, else -1
	key     int // column of the dedup key, -1 without one
	field   string
}

// NewChecker returns a checker for a source's fields. dedupField is "" for a source without row dedup.
func NewChecker(fields types.Schema, o decode.Options, dedupField string) *Checker {
	c := &Checker{dec: decode.New(fields, o), policy: o.OnCoercion, retract: -1, key: -1, field: dedupField}
	layout := c.dec.Layout()
	for i, f := range layout {
		if f.Name == types.RetractColumn && f.Kind == types.Bool {
			c.retract = i
		}
	}
	if i, ok := layout.Find(dedupField); ok && dedupField != "" {
		c.key = i
	}
	return c
}

// Row is an admissible row.
type Row struct {
	Data []byte // as it came
	// Key is the dedup key; HasKey is false for a source without one and for a row whose key is NULL: such a row is
	// never a duplicate.
	Key    Key
	HasKey bool
}

// Checked is what became of the rows of a push.
type Checked struct {
	Rows    []Row
	Invalid int      // rows that may not be admitted
	Errors  []string // "row <i>: ...", one for each invalid row, at most maxErrors
	// Refused says that the push as a whole may not be admitted.
	Refused bool
}

// maxErrors bounds the row errors of one answer; maxErrorBytes the text of one.
const (
	maxErrors     = 1000
	maxErrorBytes = 500
)

// Check decodes the rows of a push. A row that is no object, that has an unknown member where those are refused, or
// that retracts where it may not, is a row error: without partial one such row refuses the push. A value that does
// not coerce follows the source's policy: NULL, or the row is left out, or the push is refused.
//
// mayRetract is asked at most once, when a row has _retract true; it returns "" or why that is not possible.
func (c *Checker) Check(events [][]byte, nowMs int64, partial bool, mayRetract func() string) Checked {
	var out Checked
	reasons := map[int]string{}
	bad := func(i int, reason string) {
		out.Invalid++
		reasons[i] = reason
	}
	taken := make([]int, 0, len(events))
	for i, e := range events {
		if k := firstByte(e); k != '{' {
			bad(i, "expected an object, found "+valueName(k))
			out.Refused = out.Refused || !partial
			continue
		}
		r := c.dec.Append(decode.Message{Payload: e, ContentType: "application/json", TimeMs: nowMs})
		if len(r.Failures) == 0 {
			taken = append(taken, i)
			continue
		}
		f := r.Failures[0]
		bad(i, f.Reason)
		switch {
		case f.Stage != decode.StageCoerce:
			out.Refused = out.Refused || !partial
		case c.policy == decode.RejectBatch:
			out.Refused = true
		}
	}
	c.admissible(&out, events, taken, c.dec.Take(), partial, mayRetract, bad)
	for _, i := range slices.Sorted(maps.Keys(reasons)) {
		if len(out.Errors) == maxErrors {
			break
		}
		out.Errors = append(out.Errors, fmt.Sprintf("row %d: %s", i, shorten(reasons[i])))
	}
	if out.Refused {
		out.Rows = nil
	}
	return out
}

// shorten bounds a reason, which may quote the row, without cutting a character.
func shorten(s string) string {
	if len(s) <= maxErrorBytes {
		return s
	}
	n := maxErrorBytes
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func (c *Checker) admissible(out *Checked, events [][]byte, taken []int, b *zset.Batch, partial bool, mayRetract func() string, bad func(int, string)) {
	refusal, asked := "", false
	out.Rows = make([]Row, 0, len(taken))
	for n, i := range taken {
		if c.retract >= 0 && !b.Cols[c.retract].IsNull(n) && b.Cols[c.retract].I64[n] != 0 {
			if !asked {
				refusal, asked = mayRetract(), true
			}
			if refusal != "" {
				bad(i, refusal)
				out.Refused = out.Refused || !partial
				continue
			}
		}
		r := Row{Data: events[i]}
		if c.key >= 0 && !b.Cols[c.key].IsNull(n) {
			r.Key, r.HasKey = KeyOf(c.field, b.Cols[c.key].Value(n)), true
		}
		out.Rows = append(out.Rows, r)
	}
}

func firstByte(b []byte) byte {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

func valueName(first byte) string {
	switch first {
	case 0:
		return "nothing"
	case '[':
		return "an array"
	case '"':
		return "a text"
	case 't', 'f':
		return "a bool"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

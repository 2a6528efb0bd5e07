package decode

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// ContentTypeBlock is the content type of the own columnar format.
const ContentTypeBlock = "application/x-sf-batch"

// maxScratch is how many bytes of buffers a decoder keeps between batches.
const maxScratch = 1 << 20

// Decoder decodes messages of one source into an open batch. It belongs to one goroutine.
type Decoder struct {
	layout types.Schema
	opts   Options
	plan   plan
	b      *zset.Builder
	done   []*zset.Batch // finished parts of the open batch: blocks, and the rows before a block
	rows   int           // rows in done

	// State of the row at hand.
	stamp   uint64 // number of the row; a target with this stamp has been set
	timeMs  int64  // of the message
	own     eventTime
	mapped  eventTime
	retract cellBool
	deleted bool // the row's _op says that it is taken back
	coerced int
	failed  string // why the row is not taken although it is valid JSON
	refused bool   // failed names an undeclared member
	scratch []byte // characters of a string with escapes
	names   []span // of scanValue
	slow    slowPath

	compact   compactor
	compacted []byte
}

// eventTime is a member that may say when the row happened.
type eventTime struct {
	ms int64
	ok bool
}

type cellBool struct{ set, null, v bool }

// New returns a decoder for a source with the declared fields.
func New(fields types.Schema, o Options) *Decoder {
	d := &Decoder{layout: Schema(fields), opts: o}
	kinds := make([]types.Kind, len(d.layout))
	for c, f := range d.layout {
		kinds[c] = f.Kind
	}
	d.b = zset.NewBuilder(kinds)
	for c, f := range d.layout {
		if f.Kind == types.String {
			d.b.Intern(c)
		}
	}
	d.plan = compile(fields, d.layout, o)
	return d
}

// Layout returns the columns of the batches: Schema of the declared fields.
func (d *Decoder) Layout() types.Schema { return d.layout }

// Len returns the number of rows in the open batch.
func (d *Decoder) Len() int { return d.rows + d.b.Len() }

// Bytes returns the size of the open batch in memory.
func (d *Decoder) Bytes() int {
	n := d.b.Bytes()
	for _, b := range d.done {
		n += b.Bytes()
	}
	return n
}

// Take returns the open batch and opens a new one. The rows are in the order of Append.
func (d *Decoder) Take() *zset.Batch {
	// One very large value must not keep its buffers for ever.
	if cap(d.scratch)+cap(d.compacted)+cap(d.compact.text) > maxScratch {
		d.scratch, d.compacted, d.compact = nil, nil, compactor{}
	}
	if len(d.done) == 0 {
		return d.b.Build()
	}
	d.closePart()
	out := zset.Concat(d.done...)
	d.done, d.rows = nil, 0
	return out
}

func (d *Decoder) closePart() {
	if d.b.Len() > 0 {
		d.rows += d.b.Len()
		d.done = append(d.done, d.b.Build())
	}
}

// Append decodes a message and adds its rows to the open batch.
func (d *Decoder) Append(m Message) Result {
	d.timeMs, d.coerced = m.TimeMs, 0
	start := d.b.Len()
	var r Result
	if ct := mediaType(m.ContentType); ct == ContentTypeBlock {
		r = d.block(m.Payload)
	} else if i := skipSpace(m.Payload, 0); i == len(m.Payload) {
		r = whole(StageDecode, 0, "the payload is empty", m.Payload)
	} else {
		switch {
		case isNDJSON(ct):
			r = d.lines(m.Payload)
		case m.Payload[i] == '[':
			r = d.array(m.Payload, i)
		case isJSON(ct):
			r = d.object(m.Payload, i)
		default:
			r = d.byShape(m.Payload, i)
		}
		r.Rows = d.b.Len() - start
	}
	if len(r.Failures) > 0 && r.Failures[len(r.Failures)-1].Whole {
		d.b.Truncate(start)
		d.coerced, r.Rows = 0, 0
		r.Failures = r.Failures[len(r.Failures)-1:]
	}
	r.Coerced = d.coerced
	return r
}

func whole(stage string, index int, reason string, payload []byte) Result {
	return Result{Failures: []Failure{{Index: index, Stage: stage, Reason: reason, Payload: payload, Whole: true}}}
}

// mediaType returns a content type without its parameters, in lower case.
func mediaType(s string) string {
	if i := strings.IndexByte(s, ';'); i >= 0 {
		s = s[:i]
	}
	return strings.ToLower(strings.TrimSpace(s))
}

func isNDJSON(ct string) bool {
	switch ct {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines":
		return true
	}
	return false
}

func isJSON(ct string) bool { return ct == "application/json" || strings.HasSuffix(ct, "+json") }

// object decodes a payload that is one JSON object.
func (d *Decoder) object(b []byte, i int) (r Result) {
	end, f := d.row(b, i)
	if f == nil {
		if end = skipSpace(b, end); end == len(b) {
			return r
		}
		f = &Failure{Stage: StageDecode, Reason: fmt.Sprintf("there is more after the object, at byte %d", end)}
	}
	// The message is the row.
	return whole(f.Stage, 0, f.Reason, b)
}

// byShape decodes a payload without a content type: one JSON value, or NDJSON when it is several lines.
func (d *Decoder) byShape(b []byte, i int) Result {
	start := d.b.Len()
	coerced := d.coerced
	first := bytes.IndexByte(b[i:], '\n')
	end, f := d.row(b, i)
	if f == nil && skipSpace(b, end) == len(b) {
		return Result{}
	}
	d.b.Truncate(start)
	d.coerced = coerced
	if first >= 0 && f == nil && end <= i+first || d.hasObjectLine(b[i:]) {
		return d.lines(b)
	}
	return d.object(b, i)
}

// hasObjectLine reports whether a payload of several lines has one that is an object by itself: then it is NDJSON
// with broken lines, and not one broken value.
func (d *Decoder) hasObjectLine(b []byte) bool {
	for n := 0; len(b) > 0; n++ {
		line, rest := cutLine(b)
		if n == 0 && rest == nil {
			return false
		}
		if i := skipSpace(line, 0); i < len(line) && line[i] == '{' {
			if end, ok := d.slow.valid(line, i); ok && skipSpace(line, end) == len(line) {
				return true
			}
		}
		b = rest
	}
	return false
}

// cutLine splits at the first line feed; rest is nil when there is none.
func cutLine(b []byte) (line, rest []byte) {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		return b[:n], b[n+1:]
	}
	return b, nil
}

// lines decodes NDJSON: every line that is not blank is a row, and a broken one fails alone. A line that is JSON
// but not a row to take fails the message under RejectBatch.
func (d *Decoder) lines(b []byte) (r Result) {
	all := b
	for index := 0; len(b) > 0; {
		line := b
		if n := bytes.IndexByte(b, '\n'); n >= 0 {
			line, b = b[:n], b[n+1:]
		} else {
			b = nil
		}
		i := skipSpace(line, 0)
		if i == len(line) {
			continue
		}
		at, coerced := d.b.Len(), d.coerced
		end, f := d.row(line, i)
		if f == nil {
			if end = skipSpace(line, end); end != len(line) {
				d.b.Truncate(at)
				d.coerced = coerced
				f = &Failure{Stage: StageDecode, Reason: fmt.Sprintf("there is more after the object, at byte %d of the line", end)}
			}
		}
		if f != nil {
			if f.Index == isRow && d.opts.OnCoercion == RejectBatch {
				return whole(f.Stage, index, fmt.Sprintf("row %d: %s", index, f.Reason), all)
			}
			f.Index, f.Payload = index, line
			r.Failures = append(r.Failures, *f)
		}
		index++
	}
	return r
}

// array decodes a JSON array of objects. Text that is not JSON fails the whole message, because the rows behind it
// cannot be told apart; a row that is JSON but no object, or that does not fit, fails alone.
func (d *Decoder) array(b []byte, i int) (r Result) {
	all := b
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return d.arrayEnd(r, b, i+1)
	}
	for index := 0; ; index++ {
		from := i
		end, f := d.row(b, i)
		if f != nil {
			if f.Index != isRow || d.opts.OnCoercion == RejectBatch {
				return whole(f.Stage, index, fmt.Sprintf("row %d: %s", index, f.Reason), all)
			}
			f.Index, f.Payload = index, b[from:end]
			r.Failures = append(r.Failures, *f)
		}
		i = skipSpace(b, end)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == ']' {
			return d.arrayEnd(r, b, i+1)
		}
		return whole(StageDecode, index, fmt.Sprintf("the array has no \",\" or \"]\" after row %d, at byte %d", index, i), all)
	}
}

func (d *Decoder) arrayEnd(r Result, b []byte, i int) Result {
	if i = skipSpace(b, i); i != len(b) {
		return whole(StageDecode, 0, fmt.Sprintf("there is more after the array, at byte %d", i), b)
	}
	return r
}

// block adds a message of the columnar format. Its batch becomes a part of the open batch as it is.
func (d *Decoder) block(payload []byte) Result {
	if d.opts.Block == nil {
		return whole(StageDecode, 0, "messages of content type "+ContentTypeBlock+" are not taken here", payload)
	}
	b, err := d.opts.Block(payload, d.layout)
	if err != nil {
		return whole(StageDecode, 0, err.Error(), payload)
	}
	if len(b.Cols) != len(d.layout) {
		return whole(StageDecode, 0, fmt.Sprintf("the block has %d columns, the source %d", len(b.Cols), len(d.layout)), payload)
	}
	for c := range b.Cols {
		if b.Cols[c].Kind != d.layout[c].Kind {
			return whole(StageDecode, 0, fmt.Sprintf("column %q of the block is a %v, the source has a %v",
				d.layout[c].Name, b.Cols[c].Kind, d.layout[c].Kind), payload)
		}
	}
	if b.N > 0 {
		d.closePart()
		d.done = append(d.done, d.plan.complete(b, d.timeMs))
		d.rows += b.N
	}
	return Result{Rows: b.N}
}

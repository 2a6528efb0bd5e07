package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Request is one push of rows. Its rows are parts of the parsed body.
type Request struct {
	// Events are the rows as they came, one JSON value each; whether it is an object is the Checker's business.
	Events         [][]byte
	Partial        bool
	IdempotencyKey string
}

// MaxIdempotencyKey bounds the bytes of an idempotency key.
const MaxIdempotencyKey = 512

// BodyError says why a body is not a push.
type BodyError struct{ Reason string }

func (e *BodyError) Error() string { return e.Reason }

// ParseBody reads {"events": [...], "partial"?: bool, "idempotencyKey"?: string}. Rows keep their bytes: a row with
// text that is not UTF-8 or with a member twice is left to the Checker, so that it is reported as a row. Unknown
// members are ignored, a repeated one counts as its last. The Request holds parts of body.
func ParseBody(body []byte) (Request, error) {
	p := bodyParser{body: body}
	p.d = jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	r, err := p.request()
	if err != nil {
		return Request{}, err
	}
	if _, err := p.d.ReadToken(); !errors.Is(err, io.EOF) {
		return Request{}, &BodyError{fmt.Sprintf("the body goes on after its end at byte %d", p.d.InputOffset())}
	}
	return r, nil
}

type bodyParser struct {
	body []byte
	d    *jsontext.Decoder
	row  int // the row being read, -1 outside
}

const bodyShape = `{"events": [row, ...], "partial"?: bool, "idempotencyKey"?: string}`

func (p *bodyParser) request() (Request, error) {
	p.row = -1
	if len(bytes.TrimSpace(p.body)) == 0 {
		return Request{}, &BodyError{"the body is empty: expected " + bodyShape}
	}
	if k := p.d.PeekKind(); k != '{' && k != 0 {
		return Request{}, &BodyError{"the body is not an object: expected " + bodyShape}
	}
	if _, err := p.d.ReadToken(); err != nil {
		return Request{}, p.syntax(err)
	}
	var r Request
	for p.d.PeekKind() != '}' {
		name, err := p.d.ReadToken()
		if err != nil {
			return Request{}, p.syntax(err)
		}
		if err := p.member(&r, name.String()); err != nil {
			return Request{}, err
		}
	}
	if _, err := p.d.ReadToken(); err != nil {
		return Request{}, p.syntax(err)
	}
	if r.Events == nil {
		return Request{}, &BodyError{"events is missing: expected " + bodyShape}
	}
	return r, nil
}

func (p *bodyParser) member(r *Request, name string) error {
	switch name {
	case "events":
		return p.events(r)
	case "partial", "idempotencyKey":
	default:
		if err := p.d.SkipValue(); err != nil {
			return p.syntax(err)
		}
		return nil
	}
	k := p.d.PeekKind()
	v, err := p.d.ReadToken()
	switch {
	case err != nil:
		return p.syntax(err)
	case name == "partial" && (k == 't' || k == 'f'):
		r.Partial = v.Bool()
	case name == "partial" && k == 'n':
		r.Partial = false
	case name == "idempotencyKey" && k == '"':
		r.IdempotencyKey = v.String()
		if len(r.IdempotencyKey) > MaxIdempotencyKey {
			return &BodyError{fmt.Sprintf("idempotencyKey has %d bytes: at most %d are allowed", len(r.IdempotencyKey), MaxIdempotencyKey)}
		}
	case name == "idempotencyKey" && k == 'n':
		r.IdempotencyKey = ""
	case name == "partial":
		return &BodyError{"partial is not true or false"}
	default:
		return &BodyError{"idempotencyKey is not a text"}
	}
	return nil
}

func (p *bodyParser) events(r *Request) error {
	k := p.d.PeekKind()
	if k != '[' && k != 0 {
		return &BodyError{"events is not an array: expected " + bodyShape}
	}
	if _, err := p.d.ReadToken(); err != nil {
		return p.syntax(err)
	}
	r.Events = [][]byte{}
	for p.row = 0; p.d.PeekKind() != ']'; p.row++ {
		v, err := p.d.ReadValue()
		if err != nil {
			return p.syntax(err)
		}
		end := p.d.InputOffset()
		r.Events = append(r.Events, p.body[end-int64(len(v)):end:end])
	}
	p.row = -1
	if _, err := p.d.ReadToken(); err != nil {
		return p.syntax(err)
	}
	return nil
}

func (p *bodyParser) syntax(err error) error {
	at := p.d.InputOffset()
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		at, err = s.ByteOffset, s.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("it ends in the middle")
	}
	where := ""
	if p.row >= 0 {
		where = fmt.Sprintf(" in row %d", p.row)
	}
	return &BodyError{fmt.Sprintf("the body is not JSON at byte %d%s: %v", at, where, err)}
}

// SplitRows cuts a payload that Join has made into its rows.
func SplitRows(payload []byte) ([][]byte, error) {
	if len(payload) > 0 && payload[0] != '[' {
		return [][]byte{payload}, nil
	}
	p := bodyParser{body: payload, d: jsontext.NewDecoder(bytes.NewBuffer(payload), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	var r Request
	if err := p.events(&r); err != nil {
		return nil, err
	}
	return r.Events, nil
}

// Join makes one payload of rows: the row itself, or a JSON array of several. Every row keeps its bytes.
func Join(rows [][]byte) []byte {
	if len(rows) == 1 {
		return rows[0]
	}
	n := 2
	for _, r := range rows {
		n += len(r) + 1
	}
	out := append(make([]byte, 0, n), '[')
	for i, r := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, r...)
	}
	return append(out, ']')
}

// Cut splits rows into groups whose payloads have at most limit bytes. tooLarge is -1, or the first row that is larger
// than the limit by itself; there are no groups then.
func Cut(rows [][]byte, limit int) (groups [][][]byte, tooLarge int) {
	from, size := 0, 2
	for i, r := range rows {
		if len(r)+2 > limit {
			return nil, i
		}
		if i > from && size+len(r)+1 > limit {
			groups = append(groups, rows[from:i])
			from, size = i, 2
		}
		size += len(r) + 1
	}
	if from < len(rows) {
		groups = append(groups, rows[from:])
	}
	return groups, -1
}

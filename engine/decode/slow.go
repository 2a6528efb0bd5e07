package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// slowPath decides about rows that the fast path did not take. It reads them with jsontext, which is strict and
// whose errors say what is wrong and where.
type slowPath struct {
	buf bytes.Buffer
	dec jsontext.Decoder
	at  []span // text of the value of each target; to 0 is none
}

// valid reports whether there is one JSON value at i, and its end. Depth is not looked at.
func (s *slowPath) valid(b []byte, i int) (end int, ok bool) {
	s.reset(b, i)
	_, err := s.dec.ReadValue()
	return i + int(s.dec.InputOffset()), err == nil
}

func (s *slowPath) reset(b []byte, i int) {
	s.buf = *bytes.NewBuffer(b[i:])
	s.dec.Reset(&s.buf, jsontext.AllowDuplicateNames(true))
}

// slowRow decodes the object at i. Of members with the same name the last one counts.
func (d *Decoder) slowRow(b []byte, i int) (end, set int, f *Failure) {
	s := &d.slow
	p := &d.plan
	s.reset(b, i)
	raw, err := s.dec.ReadValue()
	if err != nil {
		return i, 0, &Failure{Stage: StageDecode, Reason: reasonOf(err, i)}
	}
	end = i + int(s.dec.InputOffset())
	if raw.Kind() != '{' {
		return end, 0, &Failure{Index: isRow, Stage: StageDecode, Reason: fmt.Sprintf("a row is an object, this is %s", kindName(raw.Kind()))}
	}
	if depth(raw) > maxDepth {
		return i, 0, &Failure{Stage: StageDecode, Reason: fmt.Sprintf("the row is nested deeper than %d levels", maxDepth)}
	}
	d.begin()
	s.at = append(s.at[:0], make([]span, len(p.targets))...)
	s.reset(b[:end], i)
	if _, err = s.dec.ReadToken(); err == nil {
		err = d.members(b, i)
	}
	if err != nil {
		return i, 0, &Failure{Stage: StageDecode, Reason: reasonOf(err, i)}
	}
	for k := range p.targets {
		t, v := &p.targets[k], s.at[k]
		if v.to == 0 {
			continue
		}
		t.seen = d.stamp
		if t.col >= 0 && t.op < opEventTime {
			set++
		}
		d.coerce(t, b[v.from:v.to], false)
	}
	return end, set, nil
}

// members notes where the last value of each target stands.
func (d *Decoder) members(b []byte, i int) error {
	s := &d.slow
	for s.dec.PeekKind() == '"' {
		name, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		k := d.plan.byName[text]
		if k == 0 && d.plan.unknown([]byte(text)) {
			d.refuse([]byte(text))
		}
		v, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		to := i + int(s.dec.InputOffset())
		s.at[k] = span{to - len(v), to}
	}
	return nil
}

// depth returns how deep a valid value nests.
func depth(raw []byte) (most int) {
	level := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			level++
			most = max(most, level)
		case '}', ']':
			level--
		case '"':
			i, _, _ = scanString(raw, i+1)
		}
	}
	return most
}

// reasonOf makes a reason of an error of jsontext; i is where its text begins in the payload.
func reasonOf(err error, i int) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the text ends inside of a value"
	}
	var se *jsontext.SyntacticError
	if errors.As(err, &se) && se.Err != nil {
		return fmt.Sprintf("%s at byte %d", strings.TrimPrefix(se.Err.Error(), "jsontext: "), i+int(se.ByteOffset))
	}
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a Bool"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case '[':
		return "an array"
	}
	return "something else"
}

package decode

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/streamsforge/streamsforge/engine/types"
)

// maxShown bounds how much of a value a reason shows.
const maxShown = 60

// coerce sets the target's column from the text of a valid JSON value. clean says that the text is compact. It is
// the one set of rules of the fast and the slow path, beyond the plain cases that the fast path does itself.
func (d *Decoder) coerce(t *target, raw []byte, clean bool) {
	if t.mapped {
		d.mapped = d.readEventTime(raw)
	}
	if t.deletes {
		d.deleted = raw[0] == '"' && isDelete(d.text(raw))
	}
	switch t.op {
	case opIgnore:
		return
	case opEventTime:
		d.own = d.readEventTime(raw)
		return
	case opRetract:
		d.retract = cellBool{set: true, null: raw[0] == 'n', v: raw[0] == 't'}
		return
	}
	if raw[0] == 'n' {
		d.b.Null(t.col)
		return
	}
	switch t.op {
	case opString:
		if raw[0] == '"' {
			d.b.Text(t.col, d.text(raw))
			return
		}
		d.json(t, raw, clean)
		return
	case opJson:
		d.json(t, raw, clean)
		return
	case opArray:
		if raw[0] == '[' {
			d.json(t, raw, clean)
			return
		}
	case opDouble:
		if f, ok := types.JsonToDouble(raw); ok {
			d.b.Double(t.col, f)
			return
		}
	case opLong:
		if v, ok := types.JsonToLong(raw); ok {
			d.b.Long(t.col, v)
			return
		}
	case opBool:
		if v, ok := types.JsonToBool(raw); ok {
			d.b.Bool(t.col, v)
			return
		}
	case opTimestamp:
		if v, ok := d.timestamp(raw); ok {
			d.b.Long(t.col, v)
			return
		}
	}
	d.misfit(t, raw)
}

// text returns the characters of a JSON string. They share the memory of raw or of d.scratch.
func (d *Decoder) text(raw []byte) []byte {
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	d.scratch, _ = types.AppendUnescaped(d.scratch[:0], raw)
	return d.scratch
}

// json stores the value's compact text.
func (d *Decoder) json(t *target, raw []byte, clean bool) {
	if !clean {
		d.compacted = d.compact.append(d.compacted[:0], raw)
		raw = d.compacted
	}
	d.b.Text(t.col, raw)
}

// timestamp is the rule of a declared Timestamp field: a number, or integer text, and not ISO-8601.
func (d *Decoder) timestamp(raw []byte) (int64, bool) {
	switch raw[0] {
	case '"':
		return types.TextToLong(d.text(raw))
	case 't', 'f', '{', '[':
		return 0, false
	}
	return types.NumberToLong(raw)
}

// readEventTime is the rule of event times: a number, or ISO-8601 text, and not integer text.
func (d *Decoder) readEventTime(raw []byte) eventTime {
	switch raw[0] {
	case '"':
		ms, ok := types.ParseTime(d.text(raw))
		return eventTime{ms, ok}
	case 't', 'f', 'n', '{', '[':
		return eventTime{}
	}
	ms, ok := types.NumberToLong(raw)
	return eventTime{ms, ok}
}

// misfit handles a value that does not fit its field: NULL and counted, or the row fails.
func (d *Decoder) misfit(t *target, raw []byte) {
	d.b.Null(t.col)
	if d.opts.OnCoercion == Null {
		d.coerced++
		return
	}
	if d.failed == "" {
		d.failed = fmt.Sprintf("field %q: %s is not a %s", t.name, shown(raw), opNames[t.op])
	}
}

var opNames = [...]string{opDouble: "Double", opLong: "Long", opBool: "Bool", opTimestamp: "Timestamp", opArray: "list", opRetract: ""}

func shown(raw []byte) string {
	if len(raw) <= maxShown {
		return string(raw)
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(raw[n]) {
		n--
	}
	return string(raw[:n]) + "..."
}

// refuse fails a row for a member that is not declared, whatever the policy says about values.
func (d *Decoder) refuse(name []byte) {
	if !d.refused {
		d.refused, d.failed = true, fmt.Sprintf("field %q is not declared", shown(name))
	}
}

// finishRow sets the columns that the row did not have, the event time and the retract mark, and ends the row.
func (d *Decoder) finishRow(set int) {
	p := &d.plan
	if set != p.columns {
		for i := range p.targets {
			t := &p.targets[i]
			if t.seen != d.stamp && t.col >= 0 && t.op != opEventTime && t.op != opRetract {
				d.b.Null(t.col)
			}
		}
	}
	if p.ts >= 0 {
		ms := d.timeMs
		switch {
		case d.own.ok:
			ms = d.own.ms
		case d.mapped.ok:
			ms = d.mapped.ms
		}
		d.b.Long(p.ts, ms)
	}
	if p.retract >= 0 {
		switch {
		case d.deleted:
			d.b.Bool(p.retract, true)
		case p.nulls && (!d.retract.set || d.retract.null):
			d.b.Null(p.retract)
		default:
			d.b.Bool(p.retract, d.retract.v)
		}
	}
	d.b.EndRow(1)
}
